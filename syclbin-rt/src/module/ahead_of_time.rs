// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles SPIR-V to native code for a device ahead of time, that is, before a program runs.
//!
//! Only `syclbin-clang` uses this module, to build for `-fsycl-targets=spir64_x86_64`.

use syclbin::__private::listed;
use syclbin::{Image, IrType};

use crate::backend::{BuildOptions, DeviceKind, Source};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::load::code;
use crate::module::unloadable;

/// Returns the CPU device that produces and runs native images for the target `spir64_x86_64`. This is Intel's CPU
/// device, because the target implies the format of Intel's driver.
///
/// # Errors
///
/// Fails if no such device is found; the error lists the available devices.
pub fn native_cpu() -> Result<Device> {
    let devices = Device::all()?;
    let found = devices.iter().find(|device| {
        device.kind() == DeviceKind::Cpu
            && device.takes_spirv()
            && device.platform().starts_with("Intel")
    });
    found.cloned().ok_or_else(|| {
        let message = format_args!(
            "found no Intel CPU device, which is needed to build native code for x86-64; run `{}` to install its \
             driver; available devices",
            syclbin_toolchain::INSTALL_COMMAND
        );
        let available = devices.iter().map(Device::described).collect();
        Error::listing(ErrorKind::NoDevice, message, available)
    })
}

/// Compiles a SPIR-V module for `device` with `clBuildProgram` options, and returns the code in the driver's format.
///
/// # Errors
///
/// Fails if `spirv` is not SPIR-V or has unresolved imports, or if the driver cannot build it. In the last case, the
/// error contains the driver's build log.
///
/// # Safety
///
/// The requirements of [`Module::load`](crate::Module::load) apply: the module must be compiler output. Other modules
/// can cause undefined behavior in some drivers. If the origin of the module is unknown, call this function in a
/// separate process.
#[allow(unsafe_code, reason = "loading code is unsafe")]
pub unsafe fn build_native(device: &Device, spirv: &[u8], options: &str) -> Result<Vec<u8>> {
    let refused = |reason: String| unloadable(device, vec![reason]);
    let image = Image::ir(IrType::SpirV, "", spirv);
    let code = code::read_spirv(&image, device.facts()).map_err(refused)?;
    let imports = listed(code.imports());
    if !imports.is_empty() {
        return Err(refused(format!("it uses undefined symbols: {imports}")));
    }
    let codes = code::portable(vec![spirv.into()], device.facts()).map_err(refused)?;
    let sources = codes.into_iter().map(|code| Source {
        code,
        constants: Vec::new(),
        options: BuildOptions {
            compile: options.to_owned(),
            ..BuildOptions::default()
        },
    });
    let sources: Vec<Source<'_>> = sources.collect();
    let program = device.context()?.build(&sources);
    let program = program.map_err(|error| refused(error.to_string()))?;
    let code = program.binary();
    code.map_err(device.failed("reading native code"))
}
