// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every kind of parameter reaches the kernel, and what cannot be right is refused by name.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use bytemuck::{Pod, Zeroable};
use syclbin::metadata::ModuleMetadata;
use syclbin::{AbstractModule, Image, IrType, State, Syclbin};
use syclbin_rt::{
    AccessorRange, Addressing, Arg, Aspect, Buffer, DeviceArray, DevicePointer, ErrorKind, Event,
    Filtering, Kernel, Launch, LocalMemory, NdRange, Queue, Result, Sampler,
};

use crate::common;

const STRUCTS: &str = "structs.object.syclbin";
const WORK_GROUP: &str = "work_group.object.syclbin";
const FUNCTOR: &str = "functor.object.syclbin";

/// `struct Particle` of `structs.cpp`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
struct Particle {
    mass: f32,
    id: i32,
    position: [f64; 3],
    velocity: [f32; 4],
}

const _: () = assert!(size_of::<Particle>() == 48);

fn particle(number: u8) -> Particle {
    let number = f32::from(number);
    Particle {
        mass: number + 0.5,
        id: -1,
        position: [1e9; 3],
        velocity: [number, 1.0, -2.0, 0.5],
    }
}

#[track_caller]
fn assert_problem(launched: Result<Event>, message: &str) {
    let error = launched.expect_err("it cannot be right");
    assert!(error.kind() == ErrorKind::Launch, "{error}");
    assert_eq!(error.to_string(), message);
}

fn kinetic(queue: &Queue, proto: Arg<'_>) -> Result<Vec<f32>> {
    let kernel = common::kernel(queue, STRUCTS, "kinetic");
    let particles: Vec<Particle> = (0..100).map(particle).collect();
    let particles = queue.upload(&particles)?;
    let mut out = queue.zeroed::<f32>(100)?;
    let args = [
        proto,
        Arg::read(&particles),
        Arg::write(&mut out),
        Arg::scalar(100u64),
    ];
    let names = &["proto", "in", "out", "count"];
    // SAFETY: both buffers hold `count` elements of the kernel's types.
    unsafe { Launch::new(&kernel, names, args).launch(128)? };
    queue.download(&out)
}

#[test]
fn struct_is_passed_copied_or_borrowed() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let proto = Particle {
        mass: 1000.0,
        ..particle(0)
    };
    // Sums of few small multiples of an eighth are exact.
    let expected: Vec<f32> = (0..100)
        .map(|number| {
            let Particle { mass, velocity, .. } = particle(number);
            let dot: f32 = velocity.iter().map(|v| v * v).sum();
            0.5 * mass * dot + 1000.0
        })
        .collect();
    assert_eq!(kinetic(&queue, Arg::value(proto))?, expected);
    assert_eq!(kinetic(&queue, Arg::value_ref(&proto))?, expected);
    Ok(())
}

#[test]
fn a_value_of_the_wrong_size_is_named() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    // One that lies in the argument, one that does not.
    for (value, size) in [(Arg::value([0u8; 47]), 47), (Arg::value([0u8; 80]), 80)] {
        let message = kinetic(&queue, value).unwrap_err().to_string();
        assert_eq!(
            message,
            format!(
                "kernel kinetic: argument 0 (proto) is {size} bytes long, but the kernel expects 48"
            )
        );
    }
    Ok(())
}

fn block_sum(
    kernel: &Result<Kernel>,
    input: &Buffer<i32>,
    out: &mut Buffer<i32>,
    scratch: Arg<'_>,
) -> Result<Event> {
    let args = [Arg::read(input), Arg::write(out), scratch];
    // SAFETY: one work-item per element of `input`, and a sum for every 64 of them. All tests here
    // give less than 64 numbers of scratch memory only where the launch is refused.
    unsafe { Launch::new(kernel, &["in", "out", "scratch"], args).launch(input.len()) }
}

#[test]
fn local_memory_has_the_requested_size() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, WORK_GROUP, "block_sum");
    let numbers: Vec<i32> = (0..640).collect();
    let expected: Vec<i32> = numbers.chunks(64).map(|chunk| chunk.iter().sum()).collect();
    let input = queue.upload(&numbers)?;
    for scratch in [
        Arg::local(256),
        LocalMemory::<i32>::of(64).into(),
        LocalMemory::<[i32; 64]>::of(1).into(),
    ] {
        let mut out = queue.zeroed::<i32>(10)?;
        block_sum(&kernel, &input, &mut out, scratch)?;
        assert_eq!(queue.download(&out)?, expected);
    }
    Ok(())
}

#[test]
fn excessive_local_memory_never_reaches_the_driver() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, WORK_GROUP, "block_sum");
    let input = queue.upload(&[1i32; 64])?;
    let mut out = queue.zeroed::<i32>(1)?;
    let (device, max) = (queue.device(), queue.device().local_memory_bytes());
    let most = usize::try_from(max).expect("a number of bytes");
    for (scratch, requested) in [
        (Arg::local(most + 1), max + 1),
        (LocalMemory::<i32>::of(usize::MAX).into(), u64::MAX),
    ] {
        let launched = block_sum(&kernel, &input, &mut out, scratch);
        assert_problem(
            launched,
            &format!(
                "kernel block_sum: argument 2 (scratch) requests {requested} bytes of work-group memory in addition \
                 to 0 bytes that the kernel already uses, but {device} has only {max}"
            ),
        );
    }
    block_sum(&kernel, &input, &mut out, Arg::local(most))?;
    assert_eq!(queue.download(&out)?, [64]);
    Ok(())
}

/// `kernel void two(local uint *a, local uint *b)` does nothing. Written by hand: no file here has a
/// kernel with two of them.
fn two_of_work_group_memory() -> Vec<u8> {
    let [main, void, uint, pointer, function, a, b, label] = [1, 2, 3, 4, 5, 6, 7, 8];
    let name = u32::from_le_bytes(*b"two\0");
    let instructions: &[(u32, &[u32])] = &[
        (17, &[4]),             // Addresses
        (17, &[6]),             // Kernel
        (14, &[2, 2]),          // memory model: 64-bit addresses, OpenCL
        (15, &[6, main, name]), // entry point of a kernel
        (19, &[void]),
        (21, &[uint, 32, 0]),
        (32, &[pointer, 4, uint]), // to memory of the work-group
        (33, &[function, void, pointer, pointer]),
        (54, &[void, main, 0, function]),
        (55, &[pointer, a]),
        (55, &[pointer, b]),
        (248, &[label]),
        (253, &[]),
        (56, &[]),
    ];
    let mut words: Vec<u32> = vec![0x0723_0203, 0x0001_0000, 0, 9, 0];
    for (code, operands) in instructions {
        let count = u32::try_from(operands.len() + 1).expect("a short instruction");
        words.push(count << 16 | code);
        words.extend(*operands);
    }
    let code: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let mut module = AbstractModule::default();
    module.add_kernel_name("two");
    let image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", code);
    module.images.push(image);
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    common::written(&file)
}

#[test]
fn local_memory_of_all_arguments_is_summed() -> Result<()> {
    // Its kernel is SPIR-V, written by hand.
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let kernel = common::load(&queue, &two_of_work_group_memory())?.kernel("two");
    let (device, max) = (queue.device(), queue.device().local_memory_bytes());
    let most = usize::try_from(max).expect("a number of bytes");
    // SAFETY: it touches no memory.
    let launch = |args| unsafe { Launch::new(&kernel, &["a", "b"], args).launch(1) };
    assert_problem(
        launch([Arg::local(most - 7), Arg::local(8)]),
        &format!(
            "kernel two: argument 1 (b) requests 8 bytes of work-group memory in addition to {} bytes that the kernel \
             already uses, but {device} has only {max}",
            max - 7
        ),
    );
    launch([Arg::local(most / 2), Arg::local(most / 2)])?;
    launch([Arg::local(0), LocalMemory::<i32>::of(0).into()])?.wait()
}

#[test]
fn wrong_argument_kind_never_reaches_the_driver() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, WORK_GROUP, "block_sum");
    let input = queue.upload(&[1i32; 64])?;
    let mut out = queue.zeroed::<i32>(1)?;
    let other = queue.zeroed::<i32>(64)?;
    for (scratch, given) in [
        (Arg::read(&other), "a buffer"),
        // Of the size of a handle, which a driver would take it for.
        (Arg::scalar(0x1234_5678u64), "a value"),
    ] {
        let launched = block_sum(&kernel, &input, &mut out, scratch);
        assert_problem(
            launched,
            &format!(
                "kernel block_sum: argument 2 (scratch) is {given}, but the kernel expects work-group memory"
            ),
        );
    }
    let args = [Arg::scalar(1u64), Arg::write(&mut out), Arg::local(256)];
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { Launch::new(&kernel, &["in", "out", "scratch"], args).launch(64) };
    assert_problem(
        launched,
        "kernel block_sum: argument 0 (in) is a value, but the kernel expects a buffer",
    );
    let message = kinetic(&queue, Arg::local(48)).unwrap_err().to_string();
    assert_eq!(
        message,
        "kernel kinetic: argument 0 (proto) is work-group memory, but the kernel expects a struct by value"
    );
    block_sum(&kernel, &input, &mut out, Arg::local(256))?;
    assert_eq!(queue.download(&out)?, [64]);
    Ok(())
}

#[test]
fn required_work_group_is_in_sycl_order() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let required = |file, name| -> Result<Option<Vec<usize>>> {
        let kernel = common::kernel(&queue, file, name)?;
        Ok(kernel.required_local_size().map(<[usize]>::to_vec))
    };
    assert_eq!(required(WORK_GROUP, "coords")?, Some(vec![2, 4, 8]));
    assert_eq!(required(WORK_GROUP, "block_sum")?, Some(vec![64]));
    assert_eq!(required(WORK_GROUP, "histogram")?, None);
    Ok(())
}

/// The parameters of the functor `Triad`, in the order of its members.
const TRIAD: &[&str; 4] = &["tile", "in", "out", "k"];

fn triad(queue: &Queue, tile: Arg<'_>, from: AccessorRange, to: AccessorRange) -> Result<Vec<f32>> {
    let kernel = common::kernel(queue, FUNCTOR, "_ZTS5Triad");
    let numbers: Vec<f32> = (0..128u8).map(f32::from).collect();
    let input = queue.upload(&numbers)?;
    let mut out = queue.zeroed::<f32>(128)?;
    let args = [
        tile,
        Arg::read_accessor(&input, from),
        Arg::write_accessor(&mut out, to),
        Arg::scalar(3.0f32),
    ];
    // SAFETY: 64 work-items stay inside both buffers, also behind an offset of 64, and the tile has
    // room for the work-group.
    unsafe { Launch::new(&kernel, TRIAD, args).launch(NdRange::new(64).local(32))? };
    queue.download(&out)
}

/// What `Triad` writes: the groups of 32, each reversed, times 3.
fn reversed(numbers: std::ops::Range<u8>) -> Vec<f32> {
    let numbers: Vec<u8> = numbers.collect();
    let groups = numbers.chunks(32);
    let reversed = groups.flat_map(|group| group.iter().rev());
    reversed.map(|number| 3.0 * f32::from(*number)).collect()
}

#[test]
fn accessors_skip_arguments_removed_by_the_compiler() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let tile = || Arg::local_accessor::<f32>(32);
    let whole = AccessorRange::new(128);
    let out = triad(&queue, tile(), whole, whole)?;
    assert_eq!(out[..64], reversed(0..64));
    assert_eq!(out[64..], [0.0; 64]);
    // The offsets are arguments of the device.
    let upper = whole.part(64, 64);
    let out = triad(&queue, tile(), upper, whole.part(32, 64))?;
    assert_eq!(out[..32], [0.0; 32]);
    assert_eq!(out[32..96], reversed(64..128));
    assert_eq!(out[96..], [0.0; 32]);
    Ok(())
}

#[test]
fn accessor_beyond_its_buffer_is_refused() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let tile = || Arg::local_accessor::<f32>(32);
    let whole = AccessorRange::new(128);
    let message = triad(&queue, tile(), whole, 129.into()).unwrap_err();
    assert_eq!(
        message.to_string(),
        "kernel Triad: argument 2 (out) is an accessor to a buffer of [129] elements, but the buffer has \
         128"
    );
    let message = triad(&queue, tile(), whole.part(65, 64), whole).unwrap_err();
    assert_eq!(
        message.to_string(),
        "kernel Triad: argument 1 (in) is an accessor of [64] elements at offset [65], which does not fit into a \
         buffer of [128] elements"
    );
    let large = Arg::local_accessor::<f32>([1 << 20, 1 << 20]);
    let error = triad(&queue, large, whole, whole).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch);
    assert!(error.to_string().contains("(tile) requests "), "{error}");
    Ok(())
}

#[test]
fn argument_count_error_counts_accessors_as_four() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, FUNCTOR, "_ZTS5Triad");
    let input = queue.zeroed::<f32>(64)?;
    let tile = Arg::local_accessor::<f32>(32);
    let args = [tile, Arg::read_accessor(&input, 64), Arg::scalar(3.0f32)];
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { Launch::new(&kernel, &["tile", "in", "k"], args).launch(64) };
    assert_problem(
        launched,
        "kernel Triad: expected 13 arguments, found 9 (tile, in, k); each accessor counts \
         as 4",
    );
    Ok(())
}

#[test]
fn an_argument_after_accessors_keeps_its_name() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, FUNCTOR, "_ZTS5Triad");
    let input = queue.zeroed::<f32>(64)?;
    let mut out = queue.zeroed::<f32>(64)?;
    let args = [
        Arg::local_accessor::<f32>(32),
        Arg::read_accessor(&input, 64),
        Arg::write_accessor(&mut out, [8, 8]),
        Arg::scalar(3.0f64),
    ];
    // SAFETY: the size of an argument is refused, so nothing runs.
    let launched = unsafe { Launch::new(&kernel, TRIAD, args).launch(64) };
    let message = launched.unwrap_err().to_string();
    // An id of two dimensions is too large for an accessor of one.
    assert!(
        message.contains("argument 2 (out) is 16 bytes long, but the kernel expects 8"),
        "{message}"
    );
    let args = [
        Arg::local_accessor::<f32>(32),
        Arg::read_accessor(&input, 64),
        Arg::write_accessor(&mut out, 64),
        Arg::scalar(3.0f64),
    ];
    // SAFETY: the size of an argument is refused, so nothing runs.
    let launched = unsafe { Launch::new(&kernel, TRIAD, args).launch(64) };
    let message = launched.unwrap_err().to_string();
    assert!(message.contains("argument 3 (k)"), "{message}");
    Ok(())
}

#[test]
fn a_sampler_is_made_where_there_are_images() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let sampler = Sampler::new(&queue, Addressing::ClampToEdge, Filtering::Nearest, false);
    let sampler = match sampler {
        Ok(sampler) => sampler,
        Err(error) => {
            assert!(error.kind() == ErrorKind::Unsupported, "{error}");
            assert!(!queue.device().has(Aspect::IMAGE), "{error}");
            common::say_skipped(&error.to_string());
            return Ok(());
        }
    };
    let message = kinetic(&queue, Arg::sampler(&sampler)).unwrap_err();
    assert_eq!(
        message.to_string(),
        "kernel kinetic: argument 0 (proto) is a sampler, but the kernel expects a struct by value"
    );
    Ok(())
}

/// `struct Span` of `structs.cpp`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Span {
    data: DevicePointer<f32>,
    count: i32,
    padding: u32,
}

/// A device array, unless the device has none.
fn array(queue: &Queue, data: &[f32]) -> Result<Option<DeviceArray<f32>>> {
    match DeviceArray::upload(queue, data) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            common::say_skipped(&error.to_string());
            Ok(None)
        }
        made => made.map(Some),
    }
}

#[test]
fn pointer_inside_a_struct_reaches_its_array() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let Some(out) = array(&queue, &[-1.0; 8])? else {
        return Ok(());
    };
    if !queue.device().has(Aspect::FP16) {
        common::say_skipped("fp16");
        return Ok(());
    }
    let kernel = common::kernel(&queue, STRUCTS, "widen");
    let halves = [0.5f32, -2.0, 65504.0, 0.0, 1.0, 3.25, -0.125, 9.0].map(half::f16::from_f32);
    let input = queue.upload(&halves)?;
    // From the second element on.
    let span = Span {
        data: out.pointer().wrapping_add(1),
        count: 5,
        padding: 0,
    };
    let args = [Arg::value(span), Arg::read(&input), Arg::scalar(0i32)];
    // SAFETY: the kernel checks its index against the count, and behind the pointer are 7 elements.
    unsafe { Launch::new(&kernel, &["out", "in", "unused"], args).launch(8)? };
    let expected = [-1.0, 0.5, -2.0, 65504.0, 0.0, 1.0, -1.0, -1.0];
    assert_eq!(queue.download(&out)?, expected);
    // The array waits for the kernel when it goes.
    let args = [Arg::value(span), Arg::read(&input), Arg::scalar(0i32)];
    // SAFETY: as above.
    unsafe { Launch::new(&kernel, &["out", "in", "unused"], args).launch(8)? };
    drop((out, kernel));
    queue.wait()
}

#[test]
fn a_pointer_of_an_array_is_an_argument() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let Some(mut x) = array(&queue, &[1.0; 4])? else {
        return Ok(());
    };
    assert_eq!((x.len(), x.is_empty()), (4, false));
    assert!(queue.write(&mut x, &[1.0]).is_err(), "another length");
    queue.write(&mut x, &[1.0, 2.0, 3.0, 4.0])?;
    let kernel = common::kernel(&queue, "vector_ops.object.syclbin", "saxpy");
    let mut y = queue.upload(&[10.0f32; 4])?;
    let args = [
        Arg::scalar(2.0f32),
        Arg::pointer(x.pointer()),
        Arg::write(&mut y),
        Arg::scalar(4u32),
    ];
    // SAFETY: both have 4 elements.
    unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(4)? };
    assert_eq!(queue.download(&y)?, [12.0, 14.0, 16.0, 18.0]);
    Ok(())
}

#[test]
fn an_array_beyond_counting_never_reaches_the_driver() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    if array(&queue, &[])?.is_none() {
        return Ok(());
    }
    // The first wraps to 0 bytes; no slice of Rust's is as long as the second.
    for len in [usize::MAX / 4 + 1, usize::MAX / 8 + 1] {
        let error = DeviceArray::<f32>::zeroed(&queue, len).unwrap_err();
        assert!(
            error.kind() == ErrorKind::OutOfMemory
                && error.to_string().contains(&format!("{len} elements")),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn kernel_handler_is_passed_as_null_pointer() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    // What stands in for it: a kernel that never reads through its pointer when `n` is 0.
    let kernel = common::kernel(&queue, "vector_ops.object.syclbin", "saxpy");
    let names = &["a", "x", "y", "n"];
    let mut y = queue.upload(&[10.0f32])?;
    let args = [
        Arg::scalar(2.0f32),
        Arg::kernel_handler(),
        Arg::write(&mut y),
        Arg::scalar(0u32),
    ];
    // SAFETY: it touches no element.
    unsafe { Launch::new(&kernel, names, args).launch(1)? };
    assert_eq!(queue.download(&y)?, [10.0]);
    let args = [
        Arg::kernel_handler(),
        Arg::read(&y),
        Arg::read(&y),
        Arg::scalar(0u32),
    ];
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { Launch::new(&kernel, names, args).launch(1) };
    assert_problem(
        launched,
        "kernel saxpy: argument 0 (a) is a kernel handler, but the kernel expects a number",
    );
    let message = kinetic(&queue, Arg::kernel_handler()).unwrap_err();
    assert_eq!(
        message.to_string(),
        "kernel kinetic: argument 0 (proto) is 8 bytes long, but the kernel expects 48"
    );
    Ok(())
}

#[test]
fn a_half_goes_by_value() {
    // No file here has a kernel that takes one; it is two bytes in C++ as well.
    let arg = Arg::value(half::f16::from_f32(1.0));
    assert_eq!(format!("{arg:?}"), "Arg([00, 3c])");
    let arg = Arg::value(half::bf16::from_f32(1.0));
    assert_eq!(format!("{arg:?}"), "Arg([80, 3f])");
}

#[test]
fn scratch_memory_is_an_argument_if_declared() -> Result<()> {
    const KERNEL: &str = "_ZTS6AddOne";
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let declared = |index: u32| {
        let bytes = common::testfile("functor.object.syclbin");
        let mut file = syclbin::read::parse(&bytes).expect("a good file");
        for module in &mut file.modules {
            let sets = &mut module.metadata;
            let mut metadata = ModuleMetadata::read(sets).expect("good metadata");
            metadata.implicit_local_arguments.insert(KERNEL, index);
            metadata.write(sets);
        }
        common::load(&queue, &common::written(&file))?.kernel(KERNEL)
    };
    let launched = |kernel: &Result<Kernel>| -> Result<Vec<i32>> {
        let mut data = queue.zeroed::<i32>(4)?;
        let args = [Arg::write(&mut data), Arg::scalar(3i32)];
        // SAFETY: a work-item for each element.
        unsafe { Launch::new(kernel, &["data", "amount"], args).launch(4)? };
        queue.download(&data)
    };
    // -1 stands for none.
    assert_eq!(launched(&declared(u32::MAX))?, [3; 4]);
    if common::on_cuda() {
        // PTX does not declare the memory, so the kernel is launched with an argument more.
        let message = launched(&declared(2)).unwrap_err().to_string();
        assert!(
            message.contains("expected 3 arguments, found 2"),
            "{message}"
        );
    }
    Ok(())
}

#[test]
fn buffer_is_no_double() -> Result<()> {
    const SCALE: &str = "_Z19__sycl_kernel_scaleIdEvPT_S0_";
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    if !queue.device().has(Aspect::FP64) {
        common::say_skipped("fp64");
        return Ok(());
    }
    let bytes = common::testfile("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut file.modules {
        // PTX says so without the SPIR-V of the same source.
        module
            .images
            .retain(|image| image.is_ptx() || !common::on_cuda());
    }
    let kernel = common::load(&queue, &common::written(&file))?.kernel(SCALE);
    let (mut data, mut factor) = (queue.zeroed::<f64>(1)?, queue.zeroed::<f64>(1)?);
    let args = [Arg::write(&mut data), Arg::write(&mut factor)];
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(1) };
    let message = launched.unwrap_err().to_string();
    assert!(
        message.contains("argument 1 (factor) is a buffer, but the kernel expects a number"),
        "{message}"
    );
    Ok(())
}

#[test]
fn spirv_tells_what_ptx_takes() -> Result<()> {
    const SAXPY: &str = "__sycl_kernel_saxpy";
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    if !common::on_cuda() {
        common::say_skipped("the device takes no PTX");
        return Ok(());
    }
    let ptx = ".version 6.3\n.target sm_50\n.address_size 64\n.visible .entry __sycl_kernel_saxpy(\n\
        .param .f32 a,\n.param .u64 x,\n.param .u64 y,\n.param .u32 n\n)\n{\n\tret;\n}\n";
    let bytes = test_files::read("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    let has_saxpy = |module: &AbstractModule<'_>| module.kernel_names().any(|name| name == SAXPY);
    file.modules.retain(has_saxpy);
    let module = &mut file.modules[0];
    let image = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", ptx.as_bytes());
    module.images.push(image);
    let launched = |file: &Syclbin<'_>| -> Result<Event> {
        let kernel = common::load(&queue, &common::written(file))?.kernel(SAXPY);
        let mut y = queue.zeroed::<f32>(1)?;
        let args = [
            Arg::scalar(2.0f32),
            Arg::scalar(0u64),
            Arg::write(&mut y),
            Arg::scalar(1u32),
        ];
        // SAFETY: the kernel does nothing.
        unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(1) }
    };
    let message = launched(&file).unwrap_err().to_string();
    assert!(
        message.contains("argument 1 (x) is ") && message.ends_with("the kernel expects a buffer"),
        "{message}"
    );
    // The PTX alone calls an address a number.
    file.modules[0].images.remove(0);
    launched(&file)?.wait()
}
