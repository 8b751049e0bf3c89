// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of errors: a variant for each thing that can go wrong, and its sentence.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use syclbin::signature::Difference;
use syclbin::{MergeError, State};

use crate::backend::failure::Code;
use crate::error::image_problem::ImageProblem;
use crate::error::launch_problem::LaunchProblem;

/// The kind of an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No OpenCL device was found, or no device that takes SPIR-V.
    #[error(
        "no device found that runs SYCLBIN kernels; `{install}` installs one that runs on the CPU{}",
        list(tried),
        install = syclbin_toolchain::INSTALL_COMMAND
    )]
    NoDevice {
        /// Every place that was searched, and the result.
        tried: Vec<String>,
    },
    /// A selector that does not follow the grammar of [`Device::select`](crate::Device::select).
    #[error("device selector {selector:?} (SYCLBIN_DEVICE or Device::select): {reason}")]
    Selector {
        /// The selector.
        selector: String,
        /// The mistake in the selector.
        reason: String,
    },
    /// No device matches the selector.
    #[error(
        "device selector {selector:?} (SYCLBIN_DEVICE or Device::select): {reason}; there is{}",
        list(available)
    )]
    NotSelected {
        /// The selector.
        selector: String,
        /// The request of the selector.
        reason: String,
        /// The available devices, by index.
        available: Vec<String>,
    },
    /// A device cannot be divided in the requested way.
    #[error("{device} cannot be divided: {reason}")]
    Partition {
        /// The device.
        device: String,
        /// The reason.
        reason: String,
    },
    /// The bytes are not a SYCLBIN file, or the file is damaged.
    #[error("cannot read the SYCLBIN file: {0}")]
    File(#[source] syclbin::Error),
    /// A file cannot be read from its file system.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The problem of the file system.
        #[source]
        error: std::io::Error,
    },
    /// A tensor and a buffer cannot share memory.
    #[cfg(feature = "dlpack")]
    #[error("cannot share the memory of a tensor: {0}")]
    Tensor(#[source] crate::dlpack::TensorProblem),
    /// A buffer cannot be downloaded as an array of this shape.
    #[cfg(feature = "ndarray")]
    #[error("cannot download {len} elements as an array of shape {shape:?}: the numbers differ")]
    Shape {
        /// The lengths of the array, outermost first.
        shape: Vec<usize>,
        /// The number of elements on the device.
        len: usize,
    },
    /// The file of a [trace](crate::trace) cannot be written.
    #[error("cannot write the trace {}: {error}", path.display())]
    TraceFile {
        /// The path of the file.
        path: PathBuf,
        /// The problem of the file system.
        #[source]
        error: std::io::Error,
    },
    /// The file at a path is not a SYCLBIN file, or it is damaged.
    #[error("cannot read the SYCLBIN file {}: {error}", path.display())]
    FileAt {
        /// The path of the file.
        path: PathBuf,
        /// The problem of the file.
        #[source]
        error: syclbin::Error,
    },
    /// A file that is loaded for generated stubs lacks something that they need, or has it otherwise.
    #[error("{} does not fit the stubs{}", file(path.as_deref()), list(differences))]
    Stubs {
        /// The path of the file, if it was loaded from one.
        path: Option<PathBuf>,
        /// All differences.
        differences: Vec<Difference>,
    },
    /// The bytes of a file to link are not a SYCLBIN file, or the file is damaged.
    #[error("cannot read linked SYCLBIN file {index}: {error}")]
    LinkedFile {
        /// The number of the file, counted from 1 in the order of the files.
        index: usize,
        /// The problem of the file.
        #[source]
        error: syclbin::Error,
    },
    /// A file that is linked with others is an executable, which is linked already.
    #[error(
        "cannot link {}: {} is in state executable, so it is linked already; load it without other files, \
         or compile it to an object (`Build::link_at_load`, `-fsyclbin=object`)",
        linked(files),
        files.get(*index).map_or("a file", String::as_str)
    )]
    LinkedExecutable {
        /// The number of the executable; 0 is the loaded file.
        index: usize,
        /// A description of each file. The loaded file comes first.
        files: Vec<String>,
    },
    /// A module cannot be saved in a state.
    #[error("cannot save the module in state {state}: {reason}")]
    SaveState {
        /// The requested state.
        state: State,
        /// The reason, and what to do.
        reason: String,
    },
    /// Modules cannot be saved in one file.
    #[error("cannot save the modules in one file: {0}")]
    Merge(#[source] MergeError),
    /// A module has properties that no file can hold.
    #[error("cannot write the SYCLBIN file: {0}")]
    Unwritable(#[source] syclbin::write::Error),
    /// Two modules were compiled for different processors, and the driver would refuse one of them once
    /// the other is loaded.
    #[error(
        "modules {} and {} are native code for different processors, which Intel's CPU driver does not \
         take together, as other native code was loaded between them; save in a process that loads no \
         other native code before",
        modules[0], modules[1]
    )]
    MixedCode {
        /// Their numbers in the file that was loaded.
        modules: [usize; 2],
    },
    /// The file has no code that runs on the device.
    #[error(
        "nothing in this SYCLBIN file runs on {device}{}\n`Module::best_device()` of the generated code and \
         `Device::best_for(file)` return a device that runs it, if this machine has one",
        list(reasons)
    )]
    NoImage {
        /// The device.
        device: String,
        /// Why each image was skipped.
        reasons: Vec<String>,
    },
    /// The file has no code for any device of this machine.
    #[error(
        "no device of this machine runs anything in this SYCLBIN file{}",
        list(reasons)
    )]
    NoFittingDevice {
        /// Each device, and why it does not run the file.
        reasons: Vec<String>,
    },
    /// The file has no kernel of this name.
    #[error("no kernel {name} in this SYCLBIN file; it has {}", join(available))]
    NoKernel {
        /// The requested name.
        name: String,
        /// The available symbols.
        available: Vec<String>,
    },
    /// The file has the kernel, but no image of it runs on the device.
    #[error("kernel {kernel} does not run on {device}{}", list(reasons))]
    KernelUnavailable {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// The reason why each image with the kernel was skipped.
        reasons: Vec<String>,
    },
    /// Some kernels that were to be built do not run on the device.
    #[error("not all kernels run on {device}{}", list(reasons))]
    NotBuilt {
        /// The device.
        device: String,
        /// The reason for each kernel, or for each image of a module.
        reasons: Vec<String>,
    },
    /// The file has no device global of this name, or the device has none.
    #[error(
        "no device global {name} of this SYCLBIN file is on {device}; there is {}",
        join(available)
    )]
    NoGlobal {
        /// The requested name.
        name: String,
        /// The device.
        device: String,
        /// The available unique identifiers.
        available: Vec<String>,
    },
    /// The file has no specialization constant of this name.
    #[error(
        "no specialization constant {name} in this SYCLBIN file; it has {}",
        join(available)
    )]
    NoConstant {
        /// The given name.
        name: String,
        /// The available names.
        available: Vec<String>,
    },
    /// A specialization constant is given a value of another size.
    #[error("specialization constant {name} has {size} bytes, the value has {given}")]
    ConstantSize {
        /// Its name.
        name: String,
        /// Its size, in bytes.
        size: usize,
        /// The size of the value, in bytes.
        given: usize,
    },
    /// A value of a specialization constant has a byte for a `bool` that is neither 0 nor 1.
    #[error(
        "byte {offset} of the value for specialization constant {name} is {byte}, but it is a `bool`; write 0 or 1"
    )]
    ConstantBool {
        /// The name of the constant.
        name: String,
        /// The offset of the `bool` in the value.
        offset: usize,
        /// The byte.
        byte: u8,
    },
    /// A device global is read or written as a type of another size.
    #[error("device global {name} has {size} bytes, the Rust type has {given}")]
    GlobalSize {
        /// Its unique identifier.
        name: String,
        /// Its size, in bytes.
        size: usize,
        /// The size of the type, in bytes.
        given: usize,
    },
    /// An invalid launch; the driver was not asked.
    #[error("kernel {kernel}: {problem}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// The problem of the launch.
        problem: LaunchProblem,
    },
    /// A buffer is used on a queue of another device.
    #[error("the buffer is on {buffer}, the queue is on {queue}")]
    BufferDevice {
        /// The device of the buffer.
        buffer: String,
        /// The device of the queue.
        queue: String,
    },
    /// A command cannot wait for an event of another device.
    #[error("event {index} to wait for ({event}) is on {device}, the queue is on {queue}")]
    EventDevice {
        /// The event, counted from 0.
        index: usize,
        /// The action of the event's command.
        event: String,
        /// The event's device.
        device: String,
        /// The device of the queue.
        queue: String,
    },
    /// The times of a command were requested, but its queue does not record them.
    #[error(
        "no times were noted of {command}; make the queue by \
         Device::queue_with(QueueOptions::new().profiling())"
    )]
    NoProfile {
        /// The action of the command.
        command: String,
    },
    /// A copy between a buffer and a slice of another length.
    #[error("the buffer has {buffer} elements, the slice has {slice}; they must be equal")]
    Length {
        /// The number of elements of the buffer.
        buffer: usize,
        /// The number of elements of the slice.
        slice: usize,
    },
    /// A buffer larger than the address space.
    #[error("a buffer of {elements} elements of {element_bytes} bytes exceeds the address space")]
    TooLarge {
        /// The requested number of elements.
        elements: usize,
        /// The size of an element in bytes.
        element_bytes: usize,
    },
    /// The host does not have enough memory for a download.
    #[error(
        "the host has no memory for {bytes} bytes; download parts of the slice, or read them into memory of your own"
    )]
    HostMemory {
        /// The size of the download in bytes.
        bytes: usize,
    },
    /// A part of memory that does not lie inside it.
    #[error("the range {start}..{end} is not inside of {len} elements")]
    OutOfRange {
        /// The first element of the part.
        start: usize,
        /// The end of the part.
        end: usize,
        /// The number of elements.
        len: usize,
    },
    /// A launch is recorded for a queue other than its module's queue.
    #[error("kernel {kernel} is of a module on another queue than the one that records")]
    RecordedQueue {
        /// The kernel.
        kernel: String,
    },
    /// The host asks for a view of memory that a prepared launch or a recording could change at any
    /// time.
    #[error(
        "a prepared launch or a recording has this memory; drop it first, or download the memory instead"
    )]
    MemoryInUse,
    /// The host asks for a view of memory that only the device reaches.
    #[error(
        "the host does not reach the memory of a DeviceArray; download it, or make it a SharedArray or a HostArray"
    )]
    OutOfReach,
    /// Something that takes more than one command cannot be recorded.
    #[error(
        "{what} takes more than one command and cannot be recorded; put it into the queue between two recordings"
    )]
    Unrecordable {
        /// The action that cannot be recorded.
        what: &'static str,
    },
    /// A copy between two slices of different lengths.
    #[error("copying {from} elements to {to}; they must be as many")]
    CopyLength {
        /// The number of elements to copy.
        from: usize,
        /// The number of elements of the destination.
        to: usize,
    },
    /// An `assert` in a kernel has failed. Its work-item went on, and so did all others. If several have failed, this
    /// is one of them.
    #[error(
        "{file}:{line}: assert `{condition}` failed in `{function}`, work-item {work_item:?} (the dimension that counts \
         fastest first), on {device}"
    )]
    Assert {
        /// The condition, at most 255 bytes of it.
        condition: String,
        /// The path of the source file as the compiler was given it, at most 255 bytes of it.
        file: String,
        /// The line in that file.
        line: u32,
        /// The C++ function that has the assert: a kernel, or a function that a kernel calls.
        function: String,
        /// The global id of the work-item. The dimension that counts fastest, the last of a range, is first.
        work_item: [u64; 3],
        /// The device.
        device: String,
    },
    /// An image that cannot be made or copied.
    #[error("{0}")]
    Image(ImageProblem),
    /// A feature that the device or its driver does not support.
    #[error("{what} need {needs}, which {device} does not have")]
    Unsupported {
        /// The requested feature.
        what: &'static str,
        /// The requirement of the feature.
        needs: &'static str,
        /// The device.
        device: String,
    },
    /// An action that the driver was not asked for, because it cannot do it.
    #[error("{action} failed on {device}: {reason}")]
    Rejected {
        /// The reason why it was not asked.
        reason: String,
        /// The action.
        action: String,
        /// The device.
        device: String,
    },
    /// The driver lacks a function.
    #[error("{action} failed on {device}: the driver has no {function}, which needs {needs}")]
    MissingFunction {
        /// The function.
        function: &'static str,
        /// The version or the extension that has it.
        needs: &'static str,
        /// The action.
        action: String,
        /// The device.
        device: String,
    },
    /// The driver refused a call.
    #[error("{call} failed with {name} ({code}) while {action} on {device}{}", way_back(*code))]
    Driver {
        /// The call.
        call: &'static str,
        /// The error code that it returned.
        code: i32,
        /// The name of that code in the specification of OpenCL or CUDA.
        name: &'static str,
        /// The action.
        action: String,
        /// The device.
        device: String,
    },
}

/// Returns the remedy for an error that ends a CUDA context.
fn way_back(code: i32) -> &'static str {
    if Code::Cuda(code).ends_context() {
        "; the CUDA context of this process is lost with everything in it: start the program again"
    } else {
        ""
    }
}

/// Returns the name of a file in messages.
fn file(path: Option<&Path>) -> String {
    match path {
        Some(path) => path.display().to_string(),
        None => "this SYCLBIN file".to_owned(),
    }
}

/// One indented line for each item, after a colon.
fn list(items: &[impl Display]) -> String {
    if items.is_empty() {
        return " none".to_owned();
    }
    let lines = items.iter().map(|item| format!("\n  {item}"));
    format!(":{}", lines.collect::<String>())
}

/// Returns the files that are linked with each other: the loaded file, and all others.
fn linked(files: &[String]) -> String {
    match files {
        [] => "no files".to_owned(),
        [file, linked @ ..] => format!("{file} with {}", linked.join(" and ")),
    }
}

pub(super) fn join(items: &[impl AsRef<str>]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    items.join(", ")
}
