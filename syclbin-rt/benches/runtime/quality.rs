// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the code is: the kernel of examples/nbody beside the same kernel in OpenCL C, on one driver in one process.

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::time::Instant;

use opencl3::command_queue::{create_command_queue, enqueue_nd_range_kernel, finish};
use opencl3::context::context::create_context;
use opencl3::event::release_event;
use opencl3::kernel::create_kernel;
use opencl3::memory::{CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, create_buffer};
use opencl3::program::{build_program, create_program_with_il, create_program_with_source};
use opencl3::types::{cl_command_queue, cl_context, cl_device_id, cl_kernel, cl_program};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

use crate::figures::{Rounds, goal};
use crate::raw::{device, failed, set};
use crate::world::{World, at};

/// The part's name in a process of its own.
pub(crate) const QUALITY: &str = "--quality";

/// How many stars there are, and how many floats one has.
const STARS: u32 = 1024;
const FLOATS: usize = 4;
/// Operations for each pair of stars, as the benchmark of GPUs counts them.
const OPERATIONS: f64 = 20.0;
const ROUNDS: usize = 300;

/// Compares the kernels, in a process that has the world's environment.
pub(crate) fn bench(world: &World) -> Result<(), String> {
    println!("\n## Code quality: nbody, {STARS} stars, least of {ROUNDS} alternating launches\n");
    let file = match compiled(&world.folder) {
        Ok(file) => file,
        Err(reason) => {
            println!("left out: {reason}");
            return Ok(());
        }
    };
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg(QUALITY).arg(file).envs(world.environment());
    let status = command.status().map_err(|error| error.to_string())?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{QUALITY}: {status}"))
    }
}

/// Compiles the example's kernel with the installed compiler.
fn compiled(folder: &Path) -> Result<std::path::PathBuf, String> {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref());
    let home = home.map_err(|error| error.to_string())?;
    let compiler = home.newest(Component::Compiler);
    let compiler = compiler.ok_or("component compiler is not installed")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = folder.join("nbody.syclbin");
    let mut command = Command::new(compiler.entry());
    command.args(["-fsyclbin", "-O2", "-I"]);
    command.arg(root.join("syclbin-build/include"));
    command.arg(root.join("examples/nbody/kernels/nbody.cpp"));
    let output = command.arg("-o").arg(&file).output();
    let output = output.map_err(|error| at(&compiler.entry(), &error))?;
    if output.status.success() {
        Ok(file)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The process that launches both kernels in turn.
pub(crate) fn process(words: &[&str]) -> Result<(), String> {
    let [file] = words else {
        return Err(format!("{QUALITY} takes a file"));
    };
    let (device, name) = device()?;
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
    let source = include_str!("../kernels/nbody.cl");
    let theirs = create_program_with_source(context, &[source])
        .map_err(failed("clCreateProgramWithSource"))?;
    let ours = kernel(context, device, ours, c"__sycl_kernel_step")?;
    let theirs = kernel(context, device, theirs, c"step")?;
    let (mut of_ours, mut of_theirs) = (Rounds::default(), Rounds::default());
    for _ in 0..ROUNDS {
        of_ours.add(launch(queue, ours)?);
        of_theirs.add(launch(queue, theirs)?);
    }
    let speed = |rounds: &Rounds| OPERATIONS * f64::from(STARS).powi(2) / rounds.least() * 1e-9;
    println!("device: {name}\n");
    println!("| kernel | GFLOP/s |\n|---|---|");
    println!("| OpenCL C, default options | {:.1} |", speed(&of_theirs));
    println!("| examples/nbody, -O2 | {:.1} |\n", speed(&of_ours));
    println!(
        "ratio of speeds: {:.3}",
        speed(&of_ours) / speed(&of_theirs)
    );
    goal(
        "time beside OpenCL C",
        of_ours.least() / of_theirs.least(),
        1.0,
    );
    Ok(())
}

/// Builds a program, and sets the arguments of its kernel.
fn kernel(
    context: cl_context,
    device: cl_device_id,
    program: cl_program,
    name: &CStr,
) -> Result<cl_kernel, String> {
    build_program(program, &[device], c"", None, null_mut()).map_err(failed("clBuildProgram"))?;
    let kernel = create_kernel(program, name).map_err(failed("clCreateKernel"))?;
    let numbers = (0..STARS as usize * FLOATS).map(|i| (i * 37 % 101) as f32 / 101.0 + 0.1);
    let mut numbers: Vec<f32> = numbers.collect();
    for index in 0..3 {
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let start: *mut c_void = numbers.as_mut_ptr().cast();
        // SAFETY: the context is alive, and the driver copies all of `numbers` before it returns.
        let memory = unsafe { create_buffer(context, flags, size_of_val(&*numbers), start) };
        let memory = memory.map_err(failed("clCreateBuffer"))?;
        set(kernel, index, &memory).map_err(failed("clSetKernelArg"))?;
    }
    let all = set(kernel, 3, &STARS)
        .and_then(|()| set(kernel, 4, &1e-3f32))
        .and_then(|()| set(kernel, 5, &1e-2f32));
    all.map_err(failed("clSetKernelArg"))?;
    Ok(kernel)
}

/// Launches a kernel, and returns the seconds until it has ended.
fn launch(queue: cl_command_queue, kernel: cl_kernel) -> Result<f64, String> {
    let size = [STARS as usize];
    let start = Instant::now();
    // SAFETY: the arguments are set, and each buffer has an element for each work-item.
    unsafe {
        let all = size.as_ptr();
        let event = enqueue_nd_range_kernel(queue, kernel, 1, null(), all, null(), 0, null());
        let event = event.map_err(failed("clEnqueueNDRangeKernel"))?;
        release_event(event).map_err(failed("clReleaseEvent"))?;
    }
    finish(queue).map_err(failed("clFinish"))?;
    Ok(start.elapsed().as_secs_f64())
}
