// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler library `libsycl-jit.so`: this module finds it, checks its version, and calls it.
//!
//! The interface is not published. This module describes it by measurements on the pinned version, so it rejects
//! any other file before a function of that file runs. Beside [`crate::library::device_library`], this is the only
//! module with unsafe code on the workspace's build side. Calls that pass the library's output to a driver are
//! therefore here too.
#![allow(unsafe_code)]

pub(crate) mod device_library;
pub(crate) mod headers;
mod pinned;
mod raw;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use syclbin::property::Value;
use syclbin_toolchain::INSTALL_COMMAND;

use crate::{Result, own};
use pinned::{HEAD_SHA256, SIZE, check};
pub(crate) use pinned::{PinnedFile, VERSION, find, installed};

/// The kind of code that the library makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    SpirV,
    /// Code for NVIDIA GPUs.
    Ptx {
        /// The oldest GPU that it runs on, such as `sm_80`.
        gpu: String,
        /// The features that it may use, such as `+ptx70`.
        features: String,
    },
}

/// The code to compile.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// C++, with the errors and warnings of clang.
    Text(Vec<u8>),
    /// LLVM bitcode that DPC++ compiled from C++ for the device, and did not link yet.
    Bitcode(Vec<u8>),
}

/// The library compiles the text if it cannot read the bitcode.
const UNREADABLE: &str = "#error SYCLBIN_UNREADABLE_BITCODE\n";

/// A device image that the library returned.
pub(crate) struct DeviceImage {
    pub(crate) code: Vec<u8>,
    /// Property sets, in the library's order.
    pub(crate) properties: Vec<(String, Vec<(String, Value)>)>,
}

/// The result of a compilation.
pub(crate) enum Outcome {
    /// The images, and clang's warnings.
    Compiled(Vec<DeviceImage>, String),
    /// The bitcode of the source, before it is linked.
    Bitcode(Vec<u8>),
    /// Clang's errors, or the library's.
    Failed(String),
}

/// Compiles `source` to `code` with the library at `library`. With `only_bitcode`, returns the bitcode of the source.
///
/// `name` is the name of the source in diagnostics, and the base path of its `#include "..."`.
pub(crate) fn compile(
    library: &Path,
    name: &str,
    source: &Source,
    arguments: &[String],
    code: &Code,
    only_bitcode: bool,
) -> Result<Outcome> {
    check(library, SIZE, HEAD_SHA256)?;
    let c_string = |what: &str, bytes: Vec<u8>| {
        CString::new(bytes).or_else(|_| own(format!("{what} contains a NUL byte")))
    };
    let path = c_string("the name of the source", name.as_bytes().to_vec())?;
    let (text_of_source, bitcode) = match source {
        Source::Text(text) => (text.clone(), &[][..]),
        Source::Bitcode(code) => (UNREADABLE.into(), &code[..]),
    };
    let contents = c_string(name, text_of_source)?;
    let arguments = arguments
        .iter()
        .map(|argument| c_string(argument, argument.as_bytes().to_vec()))
        .collect::<Result<Vec<_>>>()?;
    let given = [
        (headers::BFLOAT16_PATH, headers::BFLOAT16),
        (headers::ASSERT_PATH, headers::ASSERT),
    ];
    let given = given
        .into_iter()
        .map(|(path, text)| {
            let header = |text: &str| c_string("a header", text.into());
            Ok((header(path)?, header(text)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let included: Vec<raw::SourceFile> = (given.iter())
        .map(|(path, contents)| raw::SourceFile {
            path: path.as_ptr(),
            contents: contents.as_ptr(),
        })
        .collect();
    let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();

    // SAFETY: the file is the pinned library (`check`), whose initializers are LLVM's own and may
    // run in any process.
    let loaded = match unsafe { libloading::Library::new(library) } {
        Ok(loaded) => loaded,
        Err(error) => {
            return own(format!(
                "cannot load {}: {error}; run `{INSTALL_COMMAND} --force`",
                library.display()
            ));
        }
    };
    // SAFETY: in the pinned version the symbol is a function of this type.
    let compile = match unsafe { loaded.get::<raw::CompileSycl>(b"compileSYCL\0") } {
        Ok(compile) => compile,
        Err(error) => return own(format!("{}: {error}", library.display())),
    };
    let format = match code {
        Code::SpirV => raw::FORMAT_SPIRV,
        Code::Ptx { gpu, features } => {
            set(&loaded, library, raw::SETTING_CPU, gpu)?;
            set(&loaded, library, raw::SETTING_FEATURES, features)?;
            raw::FORMAT_PTX
        }
    };
    // SAFETY: the function is there as long as the process.
    unsafe { raw::atexit(explain_exit) };
    IS_INSIDE.store(true, Ordering::Relaxed);
    // SAFETY: every pointer is to a string or array that outlives the call, with its true count;
    // an empty view is never followed.
    let result = unsafe {
        compile(
            raw::SourceFile {
                path: path.as_ptr(),
                contents: contents.as_ptr(),
            },
            raw::View {
                first: included.as_ptr(),
                count: included.len(),
            },
            raw::View {
                first: pointers.as_ptr(),
                count: pointers.len(),
            },
            raw::View {
                first: bitcode.as_ptr(),
                count: bitcode.len(),
            },
            only_bitcode,
            format,
        )
    };
    IS_INSIDE.store(false, Ordering::Relaxed);
    // SAFETY: the log is the library's and stays until it is unloaded, which is after this copy.
    let log = unsafe { text(result.log) };
    if result.error != raw::SUCCESS {
        if log.contains(UNREADABLE.trim_start_matches("#error ").trim_end()) {
            return own(format!(
                "'{name}': DPC++ {VERSION} cannot read the LLVM bitcode; compile it again with that version or with \
                 -fsycl-device-obj=spirv"
            ));
        }
        return Ok(Outcome::Failed(log)); // there are no images then
    }
    if only_bitcode {
        // SAFETY: as for the log.
        let code = unsafe { slice(&result.saved_ir) };
        return Ok(Outcome::Bitcode(code.to_vec()));
    }
    // SAFETY: as for the log; after a success the images are whole.
    let images = unsafe { copy_images(&result.images) };
    Ok(Outcome::Compiled(images, log))
}

/// Whether the compiler library is at work.
static IS_INSIDE: AtomicBool = AtomicBool::new(false);

/// The library ends the process, with a message of its own, where SPIR-V needs an extension that it does not write.
extern "C" fn explain_exit() {
    if IS_INSIDE.load(Ordering::Relaxed) {
        eprintln!(
            "syclbin-clang: error: the compiler library does not translate a feature of this source, as it says above; use a \
             DPC++ clang++ (SYCLBIN_CLANG)"
        );
    }
}

/// Changes a setting of the library for this thread.
fn set(loaded: &libloading::Library, library: &Path, name: u32, text: &str) -> Result<()> {
    // SAFETY: in the pinned version the symbol is a function of this type.
    let add = match unsafe { loaded.get::<raw::AddSetting>(b"addToJITConfiguration\0") } {
        Ok(add) => add,
        Err(error) => return own(format!("{}: {error}", library.display())),
    };
    let text: &'static str = text.to_owned().leak();
    let setting: &'static raw::Setting = Box::leak(Box::new(raw::Setting {
        functions: &[raw::destroy_nothing; 2],
        name,
        text: text.as_ptr().cast(),
        length: text.len(),
    }));
    let mut moved: *const raw::Setting = setting;
    // SAFETY: the object and its text live as long as the process, so they outlive the last use. They have the
    // pinned version's own layout, and the library only reads them.
    unsafe { add(&raw mut moved) };
    Ok(())
}

/// # Safety
///
/// `view` is empty, or holds `count` initialized elements that stay while the slice is used.
unsafe fn slice<T>(view: &raw::View<T>) -> &[T] {
    if view.first.is_null() || view.count == 0 {
        return &[];
    }
    // SAFETY: the caller's duty, and not null.
    unsafe { std::slice::from_raw_parts(view.first, view.count) }
}

/// # Safety
///
/// `string` is null or a C string.
unsafe fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: the caller's duty, and not null.
    let string = unsafe { CStr::from_ptr(string) };
    string.to_string_lossy().into_owned()
}

/// # Safety
///
/// `images` is a view that the library returned.
unsafe fn copy_images(images: &raw::View<raw::Image>) -> Vec<DeviceImage> {
    let copy_value = |value: &raw::PropertyValue| {
        // SAFETY: the views and strings of a returned image are whole.
        let (name, bytes) = unsafe { (text(value.name), slice(&value.bytes)) };
        let value = if value.is_integer {
            Value::U32(value.integer)
        } else {
            byte_array(bytes)
        };
        (name, value)
    };
    let copy_set = |set: &raw::PropertySet| {
        // SAFETY: as above.
        let (name, values) = unsafe { (text(set.name), slice(&set.values)) };
        (name, values.iter().map(copy_value).collect())
    };
    let copy_image = |image: &raw::Image| {
        // SAFETY: as above.
        let (code, sets) = unsafe { (slice(&image.code), slice(&image.property_sets)) };
        DeviceImage {
            code: code.to_vec(),
            properties: sets.iter().map(copy_set).collect(),
        }
    };
    // SAFETY: the caller's duty.
    unsafe { slice(images) }.iter().map(copy_image).collect()
}

/// Converts a byte array. The library's byte arrays begin with their bit count, as in the text form.
fn byte_array(bytes: &[u8]) -> Value {
    match bytes.split_first_chunk::<8>() {
        Some((count, data)) => Value::Bytes {
            bits: u64::from_le_bytes(*count).min(data.len() as u64 * 8),
            data: data.to_vec(),
        },
        None => Value::from(Vec::new()),
    }
}

/// Compiles a SPIR-V module to native code on the CPU device. Call it only in a process that does nothing else.
pub(crate) fn build_for_cpu(code: &[u8], options: &str) -> syclbin_rt::Result<Vec<u8>> {
    let device = syclbin_rt::__private::native_cpu()?;
    // SAFETY: the library made the module, or another compiler whose file the user asks to link. As with every input
    // of a linker, the user vouches that it is a module. If it is not, the driver can corrupt only this process,
    // which holds no secret. The process that waits for it takes only a file and an exit status.
    unsafe { syclbin_rt::__private::build_native(&device, code, options) }
}
