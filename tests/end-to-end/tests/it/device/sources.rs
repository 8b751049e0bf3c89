// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several sources in one file, compiled by the real compiler.
#![allow(unsafe_code)] // launching a kernel is unsafe

use syclbin::State;
use syclbin::property::set;

use crate::common::{queue, spirv_queue};

syclbin_rt::include_syclbin! {
    mod several = "several";
}

syclbin_rt::include_syclbin! {
    mod linked = "linked";
}

syclbin_rt::include_syclbin! {
    mod linked_now = "linked_now";
}

syclbin_rt::include_syclbin! {
    mod linked_native = "linked_native";
}

syclbin_rt::include_syclbin! {
    mod importing = "importing";
}

syclbin_rt::include_syclbin! {
    mod exporting = "exporting";
}

syclbin_rt::include_syclbin! {
    mod native = "native";
}

syclbin_rt::include_syclbin! {
    mod counters = "counters";
}

const LINKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/linked.syclbin"));
const DOUBLE_ASSERT: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/double_assert.syclbin"));
const SEVERAL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/several.syclbin"));

#[test]
fn dependent_sources_make_an_object_to_link() {
    let file = syclbin::read::parse(LINKED).unwrap();
    assert_eq!(file.state(), Some(State::Object));
    let of = |set: &str| -> Vec<&str> {
        let sets = file
            .modules
            .iter()
            .filter_map(|module| module.metadata.set(set));
        sets.flat_map(|set| set.iter().map(|(symbol, _)| symbol))
            .collect()
    };
    assert_eq!(of(set::IMPORTED_SYMBOLS), ["_Z5shapef"]);
    assert_eq!(of(set::EXPORTED_SYMBOLS), ["_Z5shapef"]);
    let findings = syclbin_tools::verify::verify(LINKED);
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn independent_sources_make_an_executable() {
    let file = syclbin::read::parse(SEVERAL).unwrap();
    assert_eq!(file.state(), Some(State::Executable));
    let Some(queue) = spirv_queue() else { return };
    let kernels = several::Module::load(&queue).unwrap();
    let x = queue.upload(&[1.0f32; 64]).unwrap();
    let mut y = queue.upload(&[2.0f32; 64]).unwrap();
    // SAFETY: both buffers hold 64 elements.
    unsafe { kernels.saxpy(2.0, &x, &mut y, 64).launch(64) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [4.0; 64]);
}

#[test]
fn kernel_calls_a_function_of_another_source() {
    let Some(queue) = queue() else { return };
    let kernels = linked::Module::load(&queue).unwrap();
    let x: Vec<f32> = (0u8..64).map(f32::from).collect();
    let (x, mut y) = (
        queue.upload(&x).unwrap(),
        queue.upload(&[0.0f32; 64]).unwrap(),
    );
    // SAFETY: both buffers hold 64 elements.
    unsafe { kernels.apply(&x, &mut y).launch(64) }.unwrap();
    let expected: Vec<f32> = (0u16..64).map(|x| f32::from(x * x + 1)).collect();
    assert_eq!(queue.download(&y).unwrap(), expected);
}

#[test]
fn build_links_sources_ahead_of_time() {
    for (bytes, images) in [(linked_now::SYCLBIN, 1), (linked_native::SYCLBIN, 2)] {
        let file = syclbin::read::parse(bytes).unwrap();
        assert_eq!(file.state(), Some(State::Executable));
        let with_kernel =
            |module: &&syclbin::AbstractModule<'_>| module.kernel_names().next().is_some();
        let module = file.modules.iter().find(with_kernel).unwrap();
        assert_eq!(module.metadata.set(set::IMPORTED_SYMBOLS), None);
        assert_eq!(module.images.len(), images);
        let findings = syclbin_tools::verify::verify(bytes);
        assert!(findings.is_empty(), "{findings:?}");
    }
    let Some(queue) = spirv_queue() else { return };
    let x = queue.upload(&[3.0f32; 8]).unwrap();
    let [mut y, mut z] = [(); 2].map(|()| queue.upload(&[0.0f32; 8]).unwrap());
    let kernels = linked_now::Module::load(&queue).unwrap();
    // SAFETY: both buffers hold 8 elements.
    unsafe { kernels.apply(&x, &mut y).launch(8) }.unwrap();
    let kernels = linked_native::Module::load(&queue).unwrap();
    // SAFETY: as above.
    unsafe { kernels.apply(&x, &mut z).launch(8) }.unwrap();
    for out in [y, z] {
        assert_eq!(queue.download(&out).unwrap(), [10.0; 8]);
    }
}

#[test]
fn kernel_calls_a_function_of_linked_file() {
    let Some(queue) = queue() else { return };
    let x = queue.upload(&[3.0f32; 8]).unwrap();
    let mut y = queue.upload(&[0.0f32; 8]).unwrap();
    let alone = importing::Module::load(&queue).and_then(|kernels| {
        // SAFETY: both buffers hold 8 elements.
        unsafe { kernels.apply(&x, &mut y).launch(8) }
    });
    let alone = alone.err().unwrap().to_string();
    assert!(alone.contains("shape(float) [_Z5shapef]"), "{alone}");
    let builder = importing::Module::builder(&queue);
    let kernels = builder.link(exporting::Module::FILE).load().unwrap();
    // SAFETY: both buffers hold 8 elements.
    unsafe { kernels.apply(&x, &mut y).launch(8) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [10.0; 8]);
}

#[test]
fn build_for_two_targets_has_native_code() {
    let file = syclbin::read::parse(native::SYCLBIN).unwrap();
    let images = file.modules.iter().map(|module| &module.images);
    let kinds: Vec<Vec<bool>> = images
        .map(|images| images.iter().map(|image| image.native).collect())
        .collect();
    assert_eq!(kinds, [[false, true], [false, true]]);
    let Some(queue) = spirv_queue() else { return };
    let kernels = native::Module::load(&queue).unwrap();
    let x = queue.upload(&[1.0f32; 64]).unwrap();
    let mut y = queue.upload(&[2.0f32; 64]).unwrap();
    let n: u32 = 64; // `unsigned` in the source, which native code does not tell
    // SAFETY: both buffers hold 64 elements.
    unsafe { kernels.saxpy(2.0, &x, &mut y, n).launch(64) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [4.0; 64]);
}

#[test]
fn asserts_do_not_make_sources_depend() {
    let file = syclbin::read::parse(DOUBLE_ASSERT).unwrap();
    assert_eq!(file.state(), Some(State::Executable));
    let mut modules = file.modules.iter();
    assert!(modules.all(|module| module.metadata.set(set::IMPORTED_SYMBOLS).is_none()));
}

#[test]
fn static_variables_of_sources_are_separate() {
    let Some(queue) = queue() else { return };
    let kernels = counters::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<i32>(1).unwrap();
    for (ones, tens) in [(1, 10), (2, 20)] {
        // SAFETY: both write one number.
        unsafe { kernels.count_ones(&mut out).launch(()) }.unwrap();
        assert_eq!(queue.download(&out).unwrap(), [ones]);
        // SAFETY: as above.
        unsafe { kernels.count_tens(&mut out).launch(()) }.unwrap();
        assert_eq!(queue.download(&out).unwrap(), [tens]);
    }
    let file = syclbin::read::parse(counters::SYCLBIN).unwrap();
    let found = syclbin::signature::kernels(&file).unwrap();
    let mut types = Vec::new();
    for kernel in found
        .kernels
        .iter()
        .filter(|one| one.symbol.contains("scale"))
    {
        let times = kernel.parameters.as_ref().unwrap()[1].ty.structure();
        types.push(found.layouts.describe(times.unwrap()));
    }
    types.sort();
    assert_eq!(types.len(), 2);
    assert!(
        types[0].starts_with("struct scale::times { double by;"),
        "{types:?}"
    );
    assert!(
        types[1].starts_with("struct scale::times { int by;"),
        "{types:?}"
    );
    let counters = [kernels.counter(), kernels.counter_()];
    let counters = counters.map(|counter| counter.unwrap().read().unwrap());
    assert_eq!(counters, [2, 20]);
}
