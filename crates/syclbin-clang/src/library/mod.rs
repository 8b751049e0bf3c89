// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the compiler library `libsycl-jit.so` (on Windows `sycl-jit.dll`), checks its version, and calls it.
//!
//! The interface is not published. It was reverse-engineered from the pinned version, so any other file is rejected
//! before any function in it runs. Apart from [`crate::library::device_library`], this is the only module with unsafe
//! code on the workspace's build side. Calls that pass the library's output to a driver are therefore here too.
#![allow(unsafe_code)]

pub(crate) mod device_library;
mod pinned;
mod raw;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use syclbin::Content;
use syclbin::property::{PropertySets, Value};
use syclbin_build::headers::ASSERT;
use syclbin_toolchain::INSTALL_COMMAND;

use crate::nvidia::gpu::NvidiaGpu;
use crate::{Failure, Result, own};
use pinned::{HEAD_SHA256, SIZE, check};
pub(crate) use pinned::{VERSION, embedded, find, installed};

/// The virtual directory of the library's built-in headers.
pub(crate) const BUILT_IN_DIRECTORY: &str = if cfg!(windows) {
    "c:/sycl-jit-toolchain/"
} else {
    "/sycl-jit-toolchain/"
};

/// The header in [`BUILT_IN_DIRECTORY`] that is included before every source if SPIR-V is compiled to native code. The
/// library receives the header's content together with the source.
pub(crate) const BFLOAT16_PATH: &str = "syclbin-clang/bfloat16.hpp";
/// The content of the header at [`BFLOAT16_PATH`]: conversions for `bfloat16`.
const BFLOAT16: &str = include_str!("bfloat16.hpp");

/// The header in [`BUILT_IN_DIRECTORY`] that handles failed asserts and is included before every source. The library
/// receives the header's content, [`ASSERT`], together with the source.
pub(crate) const ASSERT_PATH: &str = "syclbin-clang/assert.hpp";

/// Returns the arguments that include a header in [`BUILT_IN_DIRECTORY`] before a source.
pub(crate) fn include_arguments(header: &str) -> [String; 4] {
    let path = format!("{BUILT_IN_DIRECTORY}{header}");
    // `-Xclang` passes `-include` to the frontend, because the driver cannot find the library's in-memory files.
    ["-Xclang", "-include", "-Xclang", &path].map(str::to_owned)
}

/// The options for Windows. They select Linux's types, so that `long` is 64 bits wide wherever a kernel is compiled,
/// and configure the installed libc++ and musl. Their headers come from Zig, which defines these macros on its command
/// line instead of in the headers.
const FOR_WINDOWS: [&str; 16] = [
    "--target=x86_64-unknown-linux-musl",
    "-stdlib=libc++",
    "-D_LIBCPP_ABI_VERSION=1",
    "-D_LIBCPP_ABI_NAMESPACE=__1",
    "-D_LIBCPP_HAS_MUSL_LIBC=1",
    "-D_LIBCPP_HAS_THREADS=1",
    "-D_LIBCPP_HAS_MONOTONIC_CLOCK=1",
    "-D_LIBCPP_HAS_TERMINAL=1",
    "-D_LIBCPP_HAS_LOCALIZATION=1",
    "-D_LIBCPP_HAS_WIDE_CHARACTERS=1",
    "-D_LIBCPP_HAS_UNICODE=1",
    "-D_LIBCPP_HAS_FILESYSTEM=1",
    "-D_LIBCPP_HAS_RANDOM_DEVICE=1",
    "-D_LIBCPP_PSTL_BACKEND_SERIAL",
    "-D_LIBCPP_HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE",
    "-D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE",
];

/// Returns the arguments that add the installed headers after all of the user's directories, or none if the headers are
/// not installed. `-isystem` marks them as system headers, so that clang does not warn about them. On Windows, also
/// returns the arguments that select the C and C++ headers of the installation, because Windows has no system headers
/// for a Linux target.
fn header_arguments(library: &Path) -> Vec<String> {
    let root = library.parent().and_then(Path::parent);
    let folder = root.map(|root| root.join("include"));
    let mut arguments = match folder.as_deref().and_then(Path::to_str) {
        Some(folder) if Path::new(folder).is_dir() => vec!["-isystem".into(), folder.into()],
        _ => Vec::new(),
    };
    if let Some(root) = root.filter(|_| cfg!(windows)) {
        arguments.extend(FOR_WINDOWS.map(str::to_owned));
        arguments.push(format!("--sysroot={}", root.display()));
    }
    arguments
}

/// The library falls back to compiling this text if it cannot read the bitcode.
const UNREADABLE: &str = "#error SYCLBIN_UNREADABLE_BITCODE\n";

/// The code of an image, and its properties.
pub(crate) type DeviceImage = (Vec<u8>, PropertySets<'static>);

/// The output of the library.
pub(crate) struct Output {
    pub(crate) images: Vec<DeviceImage>,
    /// The unlinked bitcode of the source, if only the bitcode was requested.
    pub(crate) bitcode: Vec<u8>,
    /// Clang's warnings.
    pub(crate) log: String,
}

/// Compiles `source` with the library at `library`, to PTX for `gpu`, or to SPIR-V if `gpu` is `None`. If
/// `only_bitcode` is set, stops at the bitcode.
///
/// The source is C++, or unlinked LLVM bitcode that DPC++ compiled from C++ for the device. `name` identifies the
/// source in diagnostics, and is the base path for its `#include "..."` directives. Errors from clang or from the
/// library become [`Failure::Diagnostics`].
pub(crate) fn compile(
    library: &Path,
    name: &str,
    source: Vec<u8>,
    mut arguments: Vec<String>,
    gpu: Option<NvidiaGpu>,
    only_bitcode: bool,
) -> Result<Output> {
    check(library, SIZE, HEAD_SHA256)?;
    let c_string = |what: &str, bytes: Vec<u8>| {
        CString::new(bytes).or_else(|_| own(format!("{what} contains a NUL byte")))
    };
    let path = c_string("the source name", name.as_bytes().to_vec())?;
    let (text_of_source, bitcode) = match Content::of(&source) {
        Content::LlvmBitcode => (UNREADABLE.into(), source),
        _ => (source, Vec::new()),
    };
    let contents = c_string(name, text_of_source)?;
    arguments.extend(header_arguments(library));
    let arguments = arguments.into_iter();
    let arguments = arguments.map(|argument| c_string(&argument, argument.clone().into()));
    let arguments = arguments.collect::<Result<Vec<_>>>()?;
    let header = |(path, text): (&str, &str)| {
        let path = format!("{BUILT_IN_DIRECTORY}{path}");
        Ok((
            c_string("a header", path.into())?,
            c_string("a header", text.into())?,
        ))
    };
    let headers = [(BFLOAT16_PATH, BFLOAT16), (ASSERT_PATH, ASSERT)].map(header);
    let headers = headers.into_iter().collect::<Result<Vec<_>>>()?;
    let file = |path: &CString, contents: &CString| raw::SourceFile {
        path: path.as_ptr(),
        contents: contents.as_ptr(),
    };
    let included = headers.iter().map(|(path, text)| file(path, text));
    let included: Vec<_> = included.collect();
    let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    // SAFETY: the file is the pinned library (`check`). Its initializers are LLVM's, which may run in any process.
    let loaded = unsafe { libloading::Library::new(library) }.or_else(|error| {
        own(format!(
            "cannot load {}: {error}; run `{INSTALL_COMMAND} --force`",
            library.display()
        ))
    })?;
    // SAFETY: in the pinned version, this symbol is a function of this type.
    let compile = unsafe { loaded.get::<raw::CompileSycl>(b"compileSYCL\0") }
        .or_else(|error| own(format!("{}: {error}", library.display())))?;
    let format = match gpu {
        None => raw::FORMAT_SPIRV,
        Some(gpu) => {
            set(&loaded, library, raw::SETTING_CPU, gpu.name())?;
            set(&loaded, library, raw::SETTING_FEATURES, &gpu.ptx_feature())?;
            raw::FORMAT_PTX
        }
    };
    // SAFETY: `explain_exit` exists until the process ends.
    unsafe { raw::atexit(explain_exit) };
    IS_INSIDE.store(true, Ordering::Relaxed);
    // SAFETY: every pointer refers to a string or array that outlives the call, and every count is the length of its
    // array. An empty view is never dereferenced.
    let result = unsafe {
        compile(
            file(&path, &contents),
            raw::View::of(&included),
            raw::View::of(&pointers),
            raw::View::of(&bitcode),
            only_bitcode,
            format,
        )
    };
    IS_INSIDE.store(false, Ordering::Relaxed);
    // SAFETY: the library owns the log, which stays valid until `loaded` is dropped at the end of this function.
    let log = unsafe { text(result.log) };
    if result.error != raw::SUCCESS {
        if log.contains(UNREADABLE.trim_start_matches("#error ").trim_end()) {
            return own(format!(
                "'{name}': DPC++ {VERSION} cannot read the LLVM bitcode; recompile its sources with that version, \
                 or with -fsycl-device-obj=spirv"
            ));
        }
        return Err(Failure::Diagnostics(log)); // after an error, there are no images
    }
    // SAFETY: as for the log. On success, the views of the images and the bitcode are valid.
    let (images, bitcode) = unsafe { (copy_images(&result.images), slice(&result.saved_ir)) };
    Ok(Output {
        images,
        bitcode: bitcode.to_vec(),
        log,
    })
}

/// Whether the compiler library is running.
static IS_INSIDE: AtomicBool = AtomicBool::new(false);

/// If SPIR-V needs an extension that the library does not support, the library prints a message and exits. This exit
/// handler adds the remedy.
extern "C" fn explain_exit() {
    if IS_INSIDE.load(Ordering::Relaxed) {
        eprintln!(
            "syclbin-clang: error: the compiler library cannot translate a feature of this source (see above); if the \
             message mentions a global variable, declare that variable constexpr, or compute its value in the kernel; \
             otherwise, set SYCLBIN_CLANG to a DPC++ clang++"
        );
    }
}

/// Changes a library setting for the current thread.
fn set(loaded: &libloading::Library, library: &Path, name: u32, text: &str) -> Result<()> {
    // SAFETY: in the pinned version, this symbol is a function of this type.
    let add = unsafe { loaded.get::<raw::AddSetting>(b"addToJITConfiguration\0") }
        .or_else(|error| own(format!("{}: {error}", library.display())))?;
    let text: &'static str = text.to_owned().leak();
    let setting: &'static raw::Setting = Box::leak(Box::new(raw::Setting {
        functions: &[raw::destroy_nothing; 2],
        name,
        text: text.as_ptr().cast(),
        length: text.len(),
    }));
    let mut moved: *const raw::Setting = setting;
    // SAFETY: the object and its text exist until the process ends, so they outlive the last use. They have the layout
    // of the pinned version, and the library only reads them.
    unsafe { add(&raw mut moved) };
    Ok(())
}

/// # Safety
///
/// `view` is empty, or it refers to `count` initialized elements that outlive the slice.
unsafe fn slice<T>(view: &raw::View<T>) -> &[T] {
    if view.first.is_null() || view.count == 0 {
        return &[];
    }
    // SAFETY: the view is not empty, so the caller's contract covers its elements.
    unsafe { std::slice::from_raw_parts(view.first, view.count) }
}

/// # Safety
///
/// `string` is null or a C string.
unsafe fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: `string` is not null, so by the caller's contract it is a C string.
    let string = unsafe { CStr::from_ptr(string) };
    string.to_string_lossy().into_owned()
}

/// # Safety
///
/// `images` is a view that the library returned.
unsafe fn copy_images(images: &raw::View<raw::Image>) -> Vec<DeviceImage> {
    let copy_image = |image: &raw::Image| {
        // SAFETY: the views and strings in a returned image are valid.
        let (code, sets) = unsafe { (slice(&image.code), slice(&image.property_sets)) };
        let mut metadata = PropertySets::default();
        for set in sets {
            // SAFETY: as above.
            let (name, values) = unsafe { (text(set.name), slice(&set.values)) };
            metadata.insert_set(name.clone());
            for value in values {
                // SAFETY: as above.
                let (key, bytes) = unsafe { (text(value.name), slice(&value.bytes)) };
                let value = if value.is_integer {
                    Value::U32(value.integer)
                } else {
                    byte_array(bytes)
                };
                metadata.insert(name.clone(), key, value);
            }
        }
        (code.to_vec(), metadata)
    };
    // SAFETY: the caller's contract covers `images`.
    unsafe { slice(images) }.iter().map(copy_image).collect()
}

/// Converts a byte array. The library stores the bit count before the bytes, as in the text form of a property.
fn byte_array(bytes: &[u8]) -> Value {
    match bytes.split_first_chunk::<8>() {
        Some((count, data)) => Value::Bytes {
            bits: u64::from_le_bytes(*count).min(data.len() as u64 * 8),
            data: data.to_vec(),
        },
        None => Value::from(Vec::new()),
    }
}

/// Compiles a SPIR-V module to native code on the CPU device. Call this only in a process that does nothing else.
pub(crate) fn build_for_cpu(code: &[u8], options: &str) -> syclbin_rt::Result<Vec<u8>> {
    let device = syclbin_rt::__private::native_cpu()?;
    // SAFETY: the module comes from the library, or from another compiler whose file the user asks to link. As with
    // every linker input, the user vouches that it is a valid module. If it is not, the driver can corrupt only this
    // process, which holds no secrets. The parent process reads only a file and an exit status from it.
    unsafe { syclbin_rt::__private::build_native(&device, code, options) }
}
