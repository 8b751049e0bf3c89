//! The compiler library `libsycl-jit.so`: this module finds it, checks its version, and calls it.
//!
//! The interface is not published. This module describes it by measurements on the pinned version, so it rejects
//! any other file before a function of that file runs. Beside [`crate::library::device_library`], this is the only
//! module with unsafe code on the workspace's build side. Calls that pass the library's output to a driver are
//! therefore here too.
#![allow(unsafe_code)]

pub(crate) mod device_library;
pub(crate) mod headers;

use std::ffi::{CStr, CString, c_char};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use syclbin::property::Value;
use syclbin_toolchain::{COMPILER_LIBRARY, Component, HOME_VARIABLE, Home, INSTALL_COMMAND};

use crate::{Result, own};

/// The DPC++ version of the library.
pub(crate) const VERSION: &str = "2026.2.0";

/// The size and the hash identify this version, since the library has neither a build ID nor a version function.
/// The hash covers its head with the symbol and relocation tables, which differ between any two builds.
const SIZE: u64 = 250_467_448;
const HEAD: u64 = 64 * 1024;
const HEAD_SHA256: &str = "247a5963e83a2e34699151b49162339fadad6dceabe1215d0fa18bbb2b8a48a0";

/// A file inside the library, at its position in the pinned version.
pub(crate) struct PinnedFile {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) sha256: &'static str,
}

impl PinnedFile {
    /// Returns its content.
    pub(crate) fn read(&self, library: &Path) -> Result<Vec<u8>> {
        check(library, SIZE, HEAD_SHA256)?;
        let read = || {
            let mut file = File::open(library)?;
            file.seek(SeekFrom::Start(self.offset))?;
            let mut content = Vec::new();
            file.take(self.size).read_to_end(&mut content)?;
            std::io::Result::Ok(content)
        };
        let content = read()
            .or_else(|error| own(format!("{} cannot be read: {error}", library.display())))?;
        if hexadecimal(&Sha256::digest(&content)) == self.sha256 {
            return Ok(content);
        }
        own(format!(
            "{} is damaged; run `{INSTALL_COMMAND} --force`",
            library.display()
        ))
    }
}

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
    /// Clang's errors, or the library's.
    Failed(String),
}

/// Returns the library that belongs to this program: the library of the same installation, or else of the newest
/// installation.
pub(crate) fn find() -> Result<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|program| {
        let folder = program.parent()?.parent()?;
        Some(folder.join(COMPILER_LIBRARY))
    });
    if let Some(beside) = beside.filter(|path| path.is_file()) {
        return Ok(beside);
    }
    let explicit = std::env::var_os(HOME_VARIABLE);
    let installed = match Home::locate(explicit.as_deref()) {
        Ok(home) => home.newest(Component::Compiler),
        Err(error) => return own(error.to_string()),
    };
    match installed {
        Some(installed) => Ok(installed.folder.join(COMPILER_LIBRARY)),
        None => own(format!(
            "the compiler library is not installed; run `{INSTALL_COMMAND}`"
        )),
    }
}

/// Rejects every file except the library version that this module was written for.
fn check(path: &Path, size: u64, head_sha256: &str) -> Result<()> {
    let read = || {
        let file = File::open(path)?;
        let found = file.metadata()?.len();
        let mut head = Vec::new();
        file.take(HEAD).read_to_end(&mut head)?;
        std::io::Result::Ok((found, head))
    };
    let (found, head) = match read() {
        Ok(read) => read,
        Err(error) => return own(format!("{} cannot be read: {error}", path.display())),
    };
    let digest = hexadecimal(&Sha256::digest(&head));
    if (found, digest.as_str()) == (size, head_sha256) {
        return Ok(());
    }
    own(format!(
        "{} is not the compiler library of DPC++ {VERSION} (it has {found} bytes, and {size} are expected), \
         so it is not called; run `{INSTALL_COMMAND} --force`",
        path.display()
    ))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The data structures of the interface. The library owns every pointer in a result.
mod raw {
    use std::ffi::{c_char, c_void};

    /// A setting of the library: a C++ object of a class with virtual functions. It must not move, because the
    /// library keeps the pointer. The library calls the second function when it no longer needs the object.
    #[repr(C)]
    pub(super) struct Setting {
        pub(super) functions: &'static [extern "C" fn(*mut c_void); 2],
        pub(super) name: u32,
        pub(super) text: *const c_char,
        pub(super) length: usize,
    }

    /// The GPU of the backend.
    pub(super) const SETTING_CPU: u32 = 1;
    /// The features of this GPU.
    pub(super) const SETTING_FEATURES: u32 = 2;

    /// The destructors of a setting that lives as long as the process do nothing.
    pub(super) extern "C" fn destroy_nothing(_: *mut c_void) {}

    /// Moves the pointer out of its variable.
    pub(super) type AddSetting = unsafe extern "C" fn(*mut *const Setting);

    const _: () = assert!(size_of::<Setting>() == 32);

    #[repr(C)]
    pub(super) struct SourceFile {
        pub(super) path: *const c_char,
        pub(super) contents: *const c_char,
    }

    /// A pointer and a count.
    #[repr(C)]
    pub(super) struct View<T> {
        pub(super) first: *const T,
        pub(super) count: usize,
    }

    /// Output formats.
    pub(super) const FORMAT_SPIRV: u32 = 2;
    pub(super) const FORMAT_PTX: u32 = 3;
    /// The error code of success.
    pub(super) const SUCCESS: u32 = 0;

    #[repr(C)]
    pub(super) struct CompileResult {
        pub(super) error: u32,
        pub(super) images: View<Image>,
        pub(super) _options: *const c_char,
        pub(super) _saved_ir: View<u8>,
        pub(super) log: *const c_char,
    }

    #[repr(C)]
    pub(super) struct Image {
        pub(super) _format: u32,
        pub(super) _address_bits: u64,
        pub(super) code: View<u8>,
        pub(super) _symbols: View<*const c_char>,
        pub(super) property_sets: View<PropertySet>,
    }

    #[repr(C)]
    pub(super) struct PropertySet {
        pub(super) name: *const c_char,
        pub(super) values: View<PropertyValue>,
    }

    #[repr(C)]
    pub(super) struct PropertyValue {
        pub(super) name: *const c_char,
        pub(super) is_integer: bool,
        pub(super) integer: u32,
        pub(super) bytes: View<u8>,
    }

    pub(super) type CompileSycl = unsafe extern "C" fn(
        source: SourceFile,
        include_files: View<SourceFile>,
        arguments: View<*const c_char>,
        cached_ir: View<u8>,
        save_ir: bool,
        format: u32,
    ) -> CompileResult;

    const _: () = assert!(size_of::<CompileResult>() == 56);
    const _: () = assert!(size_of::<PropertyValue>() == 32);
}

/// Compiles `source` to `code` with the library at `library`.
///
/// `name` is the name of the source in diagnostics, and the base path of its `#include "..."`.
pub(crate) fn compile(
    library: &Path,
    name: &str,
    source: Vec<u8>,
    arguments: &[String],
    code: &Code,
) -> Result<Outcome> {
    check(library, SIZE, HEAD_SHA256)?;
    let c_string = |what: &str, bytes: Vec<u8>| {
        CString::new(bytes).or_else(|_| own(format!("{what} has a zero byte")))
    };
    let path = c_string("the name of the source", name.as_bytes().to_vec())?;
    let contents = c_string(name, source)?;
    let arguments = arguments
        .iter()
        .map(|argument| c_string(argument, argument.as_bytes().to_vec()))
        .collect::<Result<Vec<_>>>()?;
    let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();

    // SAFETY: the file is the pinned library (`check`), whose initializers are LLVM's own and may
    // run in any process.
    let loaded = match unsafe { libloading::Library::new(library) } {
        Ok(loaded) => loaded,
        Err(error) => {
            return own(format!(
                "{} cannot be loaded: {error}; run `{INSTALL_COMMAND} --force`",
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
    // SAFETY: every pointer is to a string or array that outlives the call, with its true count;
    // an empty view is never followed.
    let result = unsafe {
        compile(
            raw::SourceFile {
                path: path.as_ptr(),
                contents: contents.as_ptr(),
            },
            empty(),
            raw::View {
                first: pointers.as_ptr(),
                count: pointers.len(),
            },
            empty(),
            false,
            format,
        )
    };
    // SAFETY: the log is the library's and stays until it is unloaded, which is after this copy.
    let log = unsafe { text(result.log) };
    if result.error != raw::SUCCESS {
        return Ok(Outcome::Failed(log)); // there are no images then
    }
    // SAFETY: as for the log; after a success the images are whole.
    let images = unsafe { copy_images(&result.images) };
    Ok(Outcome::Compiled(images, log))
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

fn empty<T>() -> raw::View<T> {
    raw::View {
        first: std::ptr::null(),
        count: 0,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[test]
    fn another_library_is_refused_before_it_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libsycl-jit.so");
        std::fs::write(&path, "something else").unwrap();
        let refused = compile(&path, "k.cpp", Vec::new(), &[], &Code::SpirV);
        let Err(Failure::Own(text)) = refused else {
            panic!("it was called");
        };
        assert!(
            text.contains("is not the compiler library of DPC++"),
            "{text}"
        );
        assert!(text.contains("toolchain install --force"), "{text}");
    }

    #[test]
    fn a_file_of_the_right_size_and_another_head_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libsycl-jit.so");
        std::fs::write(&path, "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(check(&path, 3, abc), Ok(()));
        assert!(check(&path, 3, HEAD_SHA256).is_err());
        assert!(check(&path, 4, abc).is_err());
    }
}
