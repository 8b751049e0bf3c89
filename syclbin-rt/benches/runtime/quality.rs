// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the code is: kernels of examples beside the same kernels in OpenCL C, on one driver in one process.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{null, null_mut};
use std::time::Instant;

use opencl3::command_queue::{create_command_queue, enqueue_nd_range_kernel, finish};
use opencl3::context::context::create_context;
use opencl3::event::release_event;
use opencl3::kernel::{create_kernel, set_kernel_arg};
use opencl3::memory::{CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, create_buffer};
use opencl3::program::{build_program, create_program_with_il, create_program_with_source};
use opencl3::types::{cl_command_queue, cl_context, cl_device_id, cl_kernel, cl_program};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

use crate::figures::Rounds;
use crate::raw::{device, failed, set};
use crate::report::Report;
use crate::world::{World, at, numbers};

/// The part's name in a process of its own.
pub(crate) const QUALITY: &str = "--quality";

const ROUNDS: usize = 300;
const SPEED: &str = "GFLOP/s";

/// A kernel of an example, and the same in OpenCL C.
struct Case {
    /// The example.
    name: &'static str,
    symbol: &'static CStr,
    source: &'static str,
    name_in_c: &'static CStr,
    /// Floats of each of the three buffers.
    floats: usize,
    numbers: &'static [Number],
    /// Bytes of work-group memory of the last arguments.
    local_memory: &'static [usize],
    /// Work-items, and those of a work-group where the kernel requires that; dimension x first.
    global: &'static [usize],
    local: Option<&'static [usize]>,
    /// Operations of a launch.
    operations: f64,
}

/// An argument after the buffers.
#[derive(Clone, Copy)]
enum Number {
    Unsigned(u32),
    Float(f32),
}

const STARS: u32 = 1024;
/// Rows and columns of each matrix.
const SIDE: u32 = 512;
/// Bytes of a strip of a matrix, which a work-group multiplies.
const STRIP: usize = 64 * 64 * 4;

const CASES: [Case; 2] = [
    Case {
        name: "nbody",
        symbol: c"__sycl_kernel_step",
        source: include_str!("../kernels/nbody.cl"),
        name_in_c: c"step",
        floats: STARS as usize * 4,
        numbers: &[
            Number::Unsigned(STARS),
            Number::Float(1e-3),
            Number::Float(1e-2),
        ],
        local_memory: &[],
        global: &[STARS as usize],
        local: None,
        // 20 for each pair of stars, as the benchmark of GPUs counts them.
        operations: 20.0 * STARS as f64 * STARS as f64,
    },
    Case {
        name: "matmul",
        symbol: c"__sycl_kernel_matmul",
        source: include_str!("../kernels/matmul.cl"),
        name_in_c: c"matmul",
        floats: SIDE as usize * SIDE as usize,
        numbers: &[Number::Unsigned(SIDE); 3],
        local_memory: &[STRIP; 2],
        global: &[SIDE as usize / 4, SIDE as usize / 4],
        local: Some(&[16, 16]),
        operations: 2.0 * SIDE as f64 * SIDE as f64 * SIDE as f64,
    },
];

/// Compares each kernel in a process of its own, which has the world's environment.
pub(crate) fn bench(world: &World, report: &mut Report) -> Result<(), String> {
    report.table("speed of kernels");
    for case in &CASES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let source = root.join(format!("examples/{0}/kernels/{0}.cpp", case.name));
        match compiled(&source, &world.folder) {
            Ok(file) => compare(world, case.name, &file, report)?,
            Err(reason) => report.leave_out(reason),
        }
    }
    Ok(())
}

fn compare(world: &World, name: &str, file: &Path, report: &mut Report) -> Result<(), String> {
    let rounds = world.rounds(ROUNDS).to_string();
    let mut command = world.child(&[QUALITY, name, &rounds])?;
    let said = world.ask(command.arg(file))?;
    let [ours, theirs] = numbers(&said)?;
    report.add(
        name,
        "syclbin-clang -O2",
        SPEED,
        &Rounds::once(ours),
        Some(ours / theirs),
    );
    report.add(name, "OpenCL C", SPEED, &Rounds::once(theirs), Some(1.0));
    report.goal(&format!("{name}: time over OpenCL C"), theirs / ours, 1.0);
    Ok(())
}

/// Compiles a source with the installed compiler, into a file in this directory.
pub(crate) fn compiled(source: &Path, folder: &Path) -> Result<PathBuf, String> {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref());
    let home = home.map_err(|error| error.to_string())?;
    let compiler = home.newest(Component::Compiler);
    let compiler = compiler.ok_or("component compiler is not installed")?;
    let name = source.file_stem().unwrap_or_default();
    let file = folder.join(name).with_extension("syclbin");
    let mut command = Command::new(compiler.entry());
    command.args(["-fsyclbin", "-O2", "-fno-discard-value-names", "-I"]);
    command.arg(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../syclbin-build/include"
    ));
    let output = command.arg(source).arg("-o").arg(&file).output();
    let output = output.map_err(|error| at(&compiler.entry(), &error))?;
    if output.status.success() {
        Ok(file)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The process that launches both kernels in turn.
pub(crate) fn process(words: &[&str]) -> Result<(), String> {
    let [name, rounds, file] = words else {
        return Err(format!("{QUALITY} takes a kernel, rounds and a file"));
    };
    let rounds: usize = rounds.parse().map_err(|_| "no number of rounds")?;
    let case = CASES.iter().find(|case| case.name == *name);
    let case = case.ok_or("no such kernel")?;
    let (device, _) = device()?;
    let context =
        create_context(&[device], null(), None, null_mut()).map_err(failed("clCreateContext"))?;
    // SAFETY: the device is one of the context.
    let queue = unsafe { create_command_queue(context, device, 0) };
    let queue = queue.map_err(failed("clCreateCommandQueue"))?;
    let bytes = std::fs::read(file).map_err(|error| at(Path::new(file), &error))?;
    let parsed = syclbin::read::parse(&bytes).map_err(|error| error.to_string())?;
    let mut images = parsed.modules.iter().flat_map(|module| &module.images);
    let spirv = images.find_map(syclbin::Image::spirv);
    let spirv = spirv.ok_or("the file has no SPIR-V")?;
    let ours = create_program_with_il(context, spirv).map_err(failed("clCreateProgramWithIL"))?;
    let theirs = create_program_with_source(context, &[case.source])
        .map_err(failed("clCreateProgramWithSource"))?;
    let ours = kernel(context, device, ours, case.symbol, case)?;
    let theirs = kernel(context, device, theirs, case.name_in_c, case)?;
    let (mut of_ours, mut of_theirs) = (Rounds::default(), Rounds::default());
    for _ in 0..rounds {
        of_ours.add(launch(queue, ours, case)?);
        of_theirs.add(launch(queue, theirs, case)?);
    }
    let speed = |rounds: &Rounds| case.operations / rounds.least() * 1e-9;
    println!("{} {}", speed(&of_ours), speed(&of_theirs));
    Ok(())
}

/// Builds a program, and sets the arguments of its kernel.
fn kernel(
    context: cl_context,
    device: cl_device_id,
    program: cl_program,
    name: &CStr,
    case: &Case,
) -> Result<cl_kernel, String> {
    build_program(program, &[device], c"", None, null_mut()).map_err(failed("clBuildProgram"))?;
    let kernel = create_kernel(program, name).map_err(failed("clCreateKernel"))?;
    let numbers = (0..case.floats).map(|i| (i * 37 % 101) as f32 / 101.0 + 0.1);
    let mut numbers: Vec<f32> = numbers.collect();
    for index in 0..3 {
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let start: *mut c_void = numbers.as_mut_ptr().cast();
        // SAFETY: the context is alive, and the driver copies all of `numbers` before it returns.
        let memory = unsafe { create_buffer(context, flags, size_of_val(&*numbers), start) };
        let memory = memory.map_err(failed("clCreateBuffer"))?;
        set(kernel, index, &memory).map_err(failed("clSetKernelArg"))?;
    }
    let mut index = 3;
    for number in case.numbers {
        let set = match number {
            Number::Unsigned(number) => set(kernel, index, number),
            Number::Float(number) => set(kernel, index, number),
        };
        set.map_err(failed("clSetKernelArg"))?;
        index += 1;
    }
    for bytes in case.local_memory {
        // SAFETY: the driver reads nothing from a null pointer, and allocates the memory of a work-group.
        let set = unsafe { set_kernel_arg(kernel, index, *bytes, null()) };
        set.map_err(failed("clSetKernelArg"))?;
        index += 1;
    }
    Ok(kernel)
}

/// Launches a kernel, and returns the seconds until it has ended.
fn launch(queue: cl_command_queue, kernel: cl_kernel, case: &Case) -> Result<f64, String> {
    let dimensions = u32::try_from(case.global.len()).map_err(|error| error.to_string())?;
    let local = case.local.map_or(null(), <[usize]>::as_ptr);
    let start = Instant::now();
    // SAFETY: the arguments are set, and the buffers have as many elements as the kernel uses.
    unsafe {
        let global = case.global.as_ptr();
        let event =
            enqueue_nd_range_kernel(queue, kernel, dimensions, null(), global, local, 0, null());
        let event = event.map_err(failed("clEnqueueNDRangeKernel"))?;
        release_event(event).map_err(failed("clReleaseEvent"))?;
    }
    finish(queue).map_err(failed("clFinish"))?;
    Ok(start.elapsed().as_secs_f64())
}
