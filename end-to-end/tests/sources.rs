//! Several sources in one file, compiled by the real compiler.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may
#![allow(unsafe_code)] // launching a kernel is unsafe

mod common;

use syclbin::State;
use syclbin::property::set;

syclbin_rt::include_syclbin! {
    mod several = "several";
}

syclbin_rt::include_syclbin! {
    mod linked = "linked";
}

const LINKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/linked.syclbin"));
const SEVERAL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/several.syclbin"));

#[test]
fn a_function_of_another_source_stays_linkable_and_the_file_says_that_it_is_to_be_linked() {
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
    let findings = syclbin::verify::verify(LINKED);
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn sources_that_need_nothing_of_each_other_make_a_file_to_execute() {
    let file = syclbin::read::parse(SEVERAL).unwrap();
    assert_eq!(file.state(), Some(State::Executable));
    let Some(queue) = common::queue() else { return };
    let kernels = several::Module::load(&queue).unwrap();
    let x = queue.upload(&[1.0f32; 64]).unwrap();
    let mut y = queue.upload(&[2.0f32; 64]).unwrap();
    // SAFETY: both buffers hold 64 elements.
    unsafe { kernels.saxpy(2.0, &x, &mut y, 64).launch(64) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [4.0; 64]);
}

#[test]
fn what_nobody_links_yet_is_refused_by_name_when_it_is_launched() {
    let Some(queue) = common::queue() else { return };
    let x = queue.upload(&[1.0f32; 64]).unwrap();
    let mut y = queue.upload(&[2.0f32; 64]).unwrap();
    let error = linked::Module::load(&queue).and_then(|kernels| {
        // SAFETY: both buffers hold 64 elements.
        unsafe { kernels.apply(&x, &mut y).launch(64) }
    });
    let error = error.err().unwrap().to_string();
    assert!(error.contains("shape"), "{error}");
}
