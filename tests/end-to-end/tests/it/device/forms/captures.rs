// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lambdas capture, by the parameters of their stubs.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::{AnyRange, Arg, Launch, NdRange};

use crate::common::queue;

syclbin_rt::include_syclbin! { mod captures = "captures"; }
use captures::{Grid, Particle};

/// The file on the device, unless there is none.
macro_rules! load {
    ($queue:ident, $kernels:ident) => {
        let Some($queue) = queue() else { return };
        let $kernels = captures::Module::load(&$queue).unwrap();
    };
}

fn particle() -> Particle {
    Particle {
        mass: 2.0,
        position: [1.0, 2.0, 3.0],
        charge: -1,
    }
}

#[test]
fn pointers_and_numbers_are_parameters() {
    load!(queue, kernels);
    let x = queue.upload(&[1.0f32, 2.0, 3.0]).unwrap();
    let mut y = queue.upload(&[10.0f32, 20.0, 30.0]).unwrap();
    // SAFETY: here and below, the kernels stay inside of their buffers.
    unsafe { kernels.pointers(&mut y, &x).launch(3) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [11.0, 22.0, 33.0]);
    let mut to = queue.zeroed::<i64>(6).unwrap();
    let launch = kernels.numbers(&mut to, true, -5, 65535, u32::MAX, i64::MIN, 1.5);
    // SAFETY: as above.
    unsafe { launch.launch(()) }.unwrap();
    let expected = [1, -5, 65535, i64::from(u32::MAX), i64::MIN, 3];
    assert_eq!(queue.download(&to).unwrap(), expected);
}

#[test]
fn structs_and_enums_are_parameters() {
    load!(queue, kernels);
    let mut to = queue.zeroed::<f32>(3).unwrap();
    // SAFETY: as above.
    unsafe { kernels.structs(&mut to, particle()).launch(()) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [2.0, 3.0, -1.0]);
    let mut all = queue.upload(&[particle(), particle()]).unwrap();
    // SAFETY: as above.
    unsafe { kernels.particles(&mut all, 4.0).launch(2) }.unwrap();
    let all = queue.download(&all).unwrap();
    assert!(all.iter().all(|one| one.mass == 8.0 && one.charge == -1));
    let mut out = queue.zeroed::<i32>(1).unwrap();
    // SAFETY: as above.
    unsafe { kernels.enums(&mut out, 5).launch(()) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [100]);
}

#[test]
fn arrays_and_bindings_are_parameters() {
    load!(queue, kernels);
    let mut to = queue.zeroed::<i32>(4).unwrap();
    // SAFETY: as above.
    unsafe { kernels.arrays(&mut to, [7u32, 8, 9, 10]).launch(4) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [14, 16, 18, 20]);
    // SAFETY: as above.
    unsafe { kernels.standard(&mut to, [4, 5, 6]).launch(3) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [5, 6, 7, 20]);
    let mut float = queue.zeroed::<f32>(1).unwrap();
    // SAFETY: as above.
    unsafe { kernels.bindings(&mut float, 0.5, 3).launch(()) }.unwrap();
    assert_eq!(queue.download(&float).unwrap(), [3.5]);
    // The binding refers to a variable of the host, and the capture is a copy.
    // SAFETY: as above.
    unsafe { kernels.referred_bindings(&mut float, 0.5, 3).launch(()) }.unwrap();
    assert_eq!(queue.download(&float).unwrap(), [1.5]);
    // SAFETY: as above.
    unsafe { kernels.references_inside(4, &mut to).launch(()) }.unwrap();
    assert_eq!(queue.download(&to).unwrap()[0], 7);
}

#[test]
fn initializers_vectors_and_functions_are_parameters() {
    load!(queue, kernels);
    let mut to = queue.zeroed::<i32>(1).unwrap();
    let mut first = queue.zeroed::<i32>(1).unwrap();
    // SAFETY: as above.
    unsafe { kernels.initializers(&mut to, 6, &mut first).launch(()) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [6]);
    assert_eq!(queue.download(&first).unwrap(), [7]);
    let mut floats = queue.zeroed::<f32>(3).unwrap();
    let launch = kernels.vectors(&mut floats, [1.0, 2.0, 3.0, 4.0], [5, 6], [7, 8]);
    // SAFETY: as above.
    unsafe { launch.launch(()) }.unwrap();
    assert_eq!(queue.download(&floats).unwrap(), [5.0, 56.0, 78.0]);
    let times = captures::functions::times { factor: 0.5 };
    // SAFETY: as above.
    unsafe { kernels.functions(&mut floats, times).launch(3) }.unwrap();
    assert_eq!(queue.download(&floats).unwrap(), [2.5, 28.0, 39.0]);
}

#[test]
fn untyped_launches_check_described_dimensions() {
    let Some(queue) = queue() else { return };
    // SAFETY: the compiler made the file.
    let module = unsafe { syclbin_rt::Module::load(&queue, captures::SYCLBIN) }.unwrap();
    let is_of_items = |symbol: &&str| symbol.contains("particles");
    let symbol = module.kernel_names().find(is_of_items).unwrap().to_owned();
    let kernel = module.kernel(&symbol);
    let mut all = queue.upload(&[particle()]).unwrap();
    let args = [Arg::write(&mut all), Arg::scalar(4.0f32)];
    let launch = Launch::new(&kernel, &["all", "by"], args);
    // SAFETY: nothing runs.
    let text = unsafe { launch.launch(AnyRange::from([1, 1])) }
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("ranges of 1 dimension, not for [1, 1]"),
        "{text}"
    );
}

#[test]
fn captured_lambdas_have_members() {
    load!(queue, kernels);
    let mut to = queue.upload(&[1.0f32, 2.0]).unwrap();
    let weigh = captures::closures::weigh {
        p: particle(),
        w: u32::MAX,
    };
    // SAFETY: as above.
    unsafe { kernels.closures(&mut to, weigh).launch(2) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [4_294_967_300.0; 2]);
    let nodes = captures::Nodes {
        items: syclbin_rt::DevicePointer::<()>::null(),
        ..Default::default()
    };
    // SAFETY: as above. Without nodes, the kernel does not follow the pointer.
    unsafe { kernels.nodes(&mut to, nodes).launch(()) }.unwrap();
    assert_eq!(queue.download(&to).unwrap()[0], 0.0);
}

#[test]
fn work_group_memory_of_known_size_is_hidden() {
    load!(queue, kernels);
    let mut data = queue.upload(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let range = NdRange::new(8).local(4);
    // SAFETY: as above.
    unsafe { kernels.totals(&mut data).launch(range) }.unwrap();
    let expected = [5, 6, 7, 8, 13, 14, 15, 16];
    assert_eq!(queue.download(&data).unwrap(), expected);
}

#[test]
fn constants_are_not_parameters_of_lambdas() {
    load!(queue, kernels);
    let mut to = queue.zeroed::<i32>(1).unwrap();
    // SAFETY: as above.
    unsafe { kernels.constants(&mut to).launch(()) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [3]);
    let other = captures::Module::builder(&queue).Steps(8).load().unwrap();
    // SAFETY: as above.
    unsafe { other.constants(&mut to).launch(()) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [8]);
}

#[test]
fn copied_object_is_parameter_this() {
    load!(queue, kernels);
    let this = Grid {
        width: 5.0,
        cells: [0.0; 8],
    };
    let mut to = queue.zeroed::<f32>(4).unwrap();
    // SAFETY: as above.
    unsafe { kernels.Grid.copy(this, &mut to).launch(4) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [5.0, 6.0, 7.0, 8.0]);
    let mut grid = queue.upload(&[this]).unwrap();
    // SAFETY: as above.
    unsafe { kernels.Grid.point(&mut grid).launch(8) }.unwrap();
    assert_eq!(queue.download(&grid).unwrap()[0].cells, [5.0; 8]);
    // A captured pointer to the object is a pointer to its copy on the device.
    // SAFETY: as above.
    unsafe { kernels.Grid.explicit_this(&mut grid).launch(8) }.unwrap();
    assert_eq!(queue.download(&grid).unwrap()[0].cells, [6.0; 8]);
}

#[test]
fn accessors_are_parameters_by_their_names() {
    load!(queue, kernels);
    let x = queue.upload(&[1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let y = queue.upload(&[0.5f32; 4]).unwrap();
    let mut sum = queue.zeroed::<f32>(4).unwrap();
    // SAFETY: as above.
    unsafe { kernels.buffers(&mut sum, &x, &y).launch(4) }.unwrap();
    assert_eq!(queue.download(&sum).unwrap(), [1.5, 2.5, 3.5, 4.5]);
    // SAFETY: as above.
    unsafe { kernels.doubled(&mut sum).launch(4) }.unwrap();
    assert_eq!(queue.download(&sum).unwrap(), [3.0, 5.0, 7.0, 9.0]);
    let launch = kernels.matrices((&mut sum, [2, 2]), (&x, [2, 2]));
    // SAFETY: as above.
    unsafe { launch.launch([2, 2]) }.unwrap();
    assert_eq!(queue.download(&sum).unwrap(), [1.0, 3.0, 2.0, 4.0]);
    let mut data = queue.upload(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    // SAFETY: as above.
    unsafe {
        kernels
            .groups(4, &mut data)
            .launch(NdRange::new(8).local(4))
    }
    .unwrap();
    assert_eq!(queue.download(&data).unwrap(), [4, 3, 2, 1, 8, 7, 6, 5]);
}
