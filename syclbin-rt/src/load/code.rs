// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks whether a device accepts an image's SPIR-V or PTX code, and reads the code's symbols and parameters.
//!
//! All decisions depend only on the file and the device's facts. An image must pass these checks before it reaches a
//! driver, because some drivers crash the process on unsupported code.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZero;

use syclbin::__private::spirv::portable::{self, DriverSupport};
use syclbin::__private::spirv::{self, KernelUses, ParameterType};
use syclbin::metadata::Target;
use syclbin::ptx::{self, Kind, Passed, Space};
use syclbin::{Image, ImageKind, IrType};

use crate::backend::{Facts, PtxFacts, Slot};

pub(crate) enum Code {
    SpirV(Box<spirv::Module>),
    Ptx(ptx::Module),
}

impl Code {
    pub(crate) fn kernels(&self) -> Vec<&str> {
        match self {
            Self::SpirV(module) => module.kernels().collect(),
            Self::Ptx(module) => module.kernels.iter().map(|kernel| &*kernel.name).collect(),
        }
    }

    pub(crate) fn imports(&self) -> Vec<&str> {
        match self {
            Self::SpirV(module) => module.imports().collect(),
            Self::Ptx(module) => module.imports.iter().map(String::as_str).collect(),
        }
    }

    pub(crate) fn exports(&self) -> Vec<&str> {
        match self {
            Self::SpirV(module) => module.exports().collect(),
            Self::Ptx(module) => module.exports.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the exported symbols that other modules may define as well.
    pub(crate) fn weak_exports(&self) -> Vec<&str> {
        match self {
            Self::SpirV(module) => module.weak_exports().collect(),
            Self::Ptx(module) => module.weak_exports.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the parameter types of a kernel, excluding parameters that the compiler removed.
    pub(crate) fn takes(&self, kernel: &str) -> Option<Vec<KnownType>> {
        match self {
            Self::SpirV(module) => {
                let parameters = module.parameters(kernel)?.into_iter();
                let types = parameters.map(|parameter| KnownType::of_spirv(module, parameter.ty));
                Some(types.collect())
            }
            Self::Ptx(module) => {
                let kernel = module.kernel(kernel)?;
                let shared = kernel.uses_dynamic_shared_memory;
                let parameters = kernel.parameters.iter();
                let types = parameters.map(|parameter| KnownType::of_ptx(parameter.ty, shared));
                Some(types.collect())
            }
        }
    }

    /// Returns the offsets and sizes of a kernel's parameters, if the language specifies them.
    pub(crate) fn slots(&self, kernel: &str) -> Option<Vec<Slot>> {
        let Self::Ptx(module) = self else {
            return None;
        };
        let slots = module.kernel(kernel)?.parameters.iter().map(|parameter| {
            let place = parameter.layout?;
            Some(Slot {
                offset: usize::try_from(place.offset).ok()?,
                size: usize::try_from(place.size).ok()?,
            })
        });
        slots.collect()
    }
}

/// The type of a kernel's parameter, as far as the code specifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownType {
    /// A number of this many bytes, if the code specifies the size.
    Number(Option<NonZero<u32>>),
    /// A struct of this many bytes, if the code specifies the size.
    Struct(Option<NonZero<u32>>),
    Buffer,
    LocalMemory,
    Sampler,
    /// An image with this many dimensions, and whether the kernel writes it.
    Image(u8, bool),
    /// A type that the code does not specify, so only the driver can check the argument's size.
    Unknown,
    /// Like `Unknown`, but possibly work-group memory, because CUDA passes the address of such memory as a number.
    Anything,
}

impl KnownType {
    pub(crate) fn of_spirv(module: &spirv::Module, parameter: ParameterType) -> Self {
        let bytes = || NonZero::new(u32::try_from(module.value_size(parameter)?).ok()?);
        match parameter {
            ParameterType::Bool | ParameterType::Int { .. } | ParameterType::Float { .. } => {
                Self::Number(bytes())
            }
            ParameterType::ByValue { .. } => Self::Struct(bytes()),
            ParameterType::GlobalPointer { .. } => Self::Buffer,
            ParameterType::LocalPointer { .. } => Self::LocalMemory,
            ParameterType::Sampler => Self::Sampler,
            ParameterType::Image {
                dimensions,
                written,
            } => Self::Image(dimensions, written),
            ParameterType::Other => Self::Unknown,
        }
    }

    /// Returns the type of a PTX parameter. A 64-bit integer may be an address. With `shared`, a 32-bit integer may be
    /// an address in work-group memory.
    pub(crate) fn of_ptx(parameter: Passed, shared: bool) -> Self {
        match parameter {
            Passed::Number { kind, bits } => match bits {
                64 if kind != Kind::Float => Self::Anything,
                32 if kind != Kind::Float && shared => Self::Anything,
                _ => Self::Number(NonZero::new(bits / 8)),
            },
            Passed::Pointer { space, .. } => match space {
                None | Some(Space::Global) => Self::Buffer,
                Some(Space::Shared) => Self::LocalMemory,
                Some(_) => Self::Anything,
            },
            Passed::Bytes { size, .. } => {
                Self::Struct(u32::try_from(size).ok().and_then(NonZero::new))
            }
            Passed::Other => Self::Anything,
        }
    }
}

/// Reads the code of `image` if it is in the language that the device's driver compiles. Does not resolve imports.
///
/// # Errors
///
/// Returns the reason why the device does not accept the image.
pub(crate) fn code(image: &Image<'_>, facts: &Facts) -> Result<Code, String> {
    match facts.ptx {
        Some(takes) => read_ptx(image, takes).map(Code::Ptx),
        None => read_spirv(image, facts).map(Box::new).map(Code::SpirV),
    }
}

/// Reads `image` if it is SPIR-V, whether or not the device accepts it.
pub(crate) fn described(image: &Image<'_>) -> Option<Code> {
    let module = spirv::Module::parse(&image.bytes).ok()?;
    Some(Code::SpirV(Box::new(module)))
}

fn read_ptx(image: &Image<'_>, takes: PtxFacts) -> Result<ptx::Module, String> {
    match image.kind() {
        // Compilers label PTX as native code if no SPIR-V precedes it in the module.
        ImageKind::Native { .. } if !image.is_ptx() => {
            return Err("it is native code, which cannot be linked with other code".to_owned());
        }
        ImageKind::Ir { ty, .. } if ty != IrType::Ptx => {
            return Err(format!(
                "CUDA devices do not support {ty}; run `cargo syclbin toolchain install --component nvidia` so that \
                 builds also generate PTX"
            ));
        }
        _ => {}
    }
    let module = ptx::Module::parse(&image.bytes).map_err(|error| error.to_string())?;
    let (major, minor) = (takes.sm / 10, takes.sm % 10);
    if !module.target.ptx_runs_on(major, minor) {
        return Err(format!(
            "it is PTX for {}, but the device is sm_{}; recompile for this or an older architecture (--offload-arch)",
            module.target, takes.sm
        ));
    }
    let version = module.version;
    if (version.major, version.minor) > takes.ptx {
        let needs = match version.first_driver() {
            Some(first) => format!("CUDA {}.{} or newer", first / 1000, first % 1000 / 10),
            None => "a newer one".to_owned(),
        };
        return Err(format!(
            "it is PTX {version}, but the CUDA {}.{} driver supports PTX only up to {}.{}; update the driver to \
             {needs}, or compile for an older GPU, which uses an older PTX version",
            takes.driver / 1000,
            takes.driver % 1000 / 10,
            takes.ptx.0,
            takes.ptx.1
        ));
    }
    Ok(module)
}

/// Reads the SPIR-V of `image`. Does not resolve imports.
///
/// # Errors
///
/// Returns the reason why the device does not accept the image.
pub(crate) fn read_spirv(image: &Image<'_>, facts: &Facts) -> Result<spirv::Module, String> {
    let target = match image.kind() {
        ImageKind::Native { .. } => {
            return Err("it is native code, which OpenCL cannot link with other code".to_owned());
        }
        ImageKind::Ir { ty, .. } if ty != IrType::SpirV => {
            return Err(format!("OpenCL devices do not support {ty}"));
        }
        ImageKind::Ir { target, .. } => target,
    };
    check_fpga(target)?;
    // Compilers label every image without an architecture as SPIR-V, so both the target and the bytes are checked.
    if !spirv::is_target(target) {
        return Err(format!("the target {target} is not 64-bit SPIR-V"));
    }
    let bytes: &[u8] = &image.bytes;
    if !bytes.starts_with(&spirv::MAGIC_BYTES) {
        return Err("it is marked as SPIR-V, but contains something else".to_owned());
    }
    if !facts.takes_spirv {
        return Err("the device does not support SPIR-V".to_owned());
    }
    let module = spirv::Module::parse(bytes).map_err(|error| error.to_string())?;
    portable::check(bytes, &reader(facts)).map_err(|unfit| unfit.to_string())?;
    Ok(module)
}

/// Rejects code for FPGAs, which no supported driver accepts.
pub(crate) fn check_fpga(target: &str) -> Result<(), String> {
    if Target::of_triple(target).is_fpga() {
        return Err(format!(
            "it is an FPGA image ({target}), which syclbin-rt does not support; compile for spir64"
        ));
    }
    Ok(())
}

/// Rewrites the SPIR-V modules of one program into a form that the driver accepts. [`read_spirv`] must have accepted
/// them.
pub(crate) fn portable<'c>(
    codes: Vec<Cow<'c, [u8]>>,
    facts: &Facts,
) -> Result<Vec<Cow<'c, [u8]>>, String> {
    portable::rewrite_all(codes, &reader(facts)).map_err(|unfit| unfit.to_string())
}

/// Returns the kernels that the device cannot run or that its driver miscompiles, each with the reason.
///
/// # Errors
///
/// Fails if all kernels use images or samplers, and the device does not support images. Such a program must not reach
/// the driver, which may abort the process.
pub(crate) fn unfit_kernels(
    codes: &[Cow<'_, [u8]>],
    facts: &Facts,
) -> Result<BTreeMap<String, String>, String> {
    const NO_IMAGES: &str = "it takes an image or a sampler, but the device does not support images (CL_DEVICE_IMAGE_SUPPORT)";
    if facts.work_group_functions && !facts.misreads_packed && facts.images {
        return Ok(BTreeMap::new());
    }
    let parsed = |code: &Cow<'_, [u8]>| spirv::Module::parse(code).ok();
    let modules: Vec<_> = codes.iter().filter_map(parsed).collect();
    let all = KernelUses::of(&modules);
    if !facts.images && !all.is_empty() && all.values().all(|uses| uses.images) {
        return Err(NO_IMAGES.to_owned());
    }
    let unfit = all.into_iter().filter_map(|(kernel, uses)| {
        let reason = if uses.work_group_functions && !facts.work_group_functions {
            "it uses work-group functions, such as reduce_over_group, which the device does not support"
        } else if uses.unaligned_argument && facts.misreads_packed {
            "it takes a packed struct by value, which the driver misreads; pass it in a buffer"
        } else if uses.images && !facts.images {
            NO_IMAGES
        } else {
            return None;
        };
        Some((kernel, reason.to_owned()))
    });
    Ok(unfit.collect())
}

fn reader(facts: &Facts) -> DriverSupport<'_> {
    DriverSupport {
        versions: &facts.spirv_versions,
        extensions: &facts.extensions,
        one_version: facts.links_one_version,
        debug_info: facts.debug_info,
        work_group_limits: facts.work_group_limits,
        loses_negations: facts.loses_negations,
    }
}

pub(crate) fn describe(image: &Image<'_>) -> String {
    let (form, target) = match image.kind() {
        ImageKind::Ir { ty, target } => (ty.to_string(), target),
        ImageKind::Native { arch: "", target } => ("native".to_owned(), target),
        ImageKind::Native { arch, target } => (format!("native {arch}"), target),
    };
    if target.is_empty() {
        form
    } else {
        format!("{form}, {target}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::native;
    use syclbin::metadata::ModuleMetadata;
    use syclbin::property::PropertySets;

    fn able() -> Facts {
        Facts {
            takes_spirv: true,
            ..Facts::default()
        }
    }

    fn refusal(image: &Image<'_>) -> String {
        read_spirv(image, &able()).map(|_| ()).unwrap_err()
    }

    #[test]
    fn native_images_are_no_spirv() {
        let mut image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", Vec::new());
        image.native = true;
        assert!(refusal(&image).starts_with("it is native code"));
    }

    #[test]
    fn only_spirv_describes_kernels() {
        let file = test_files::read("vector_ops.object.syclbin");
        let file = syclbin::read::parse(&file).unwrap();
        let spirv = &file.modules[0].images[0];
        assert!(matches!(described(spirv), Some(Code::SpirV(_))));
        let ptx = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", b".version 6.3".to_vec());
        assert!(described(&ptx).is_none());
    }

    #[test]
    fn an_elf_filed_as_spirv_is_refused() {
        let elf = b"\x7fELF rest".to_vec();
        let image = Image::ir(IrType::SpirV, "spir64_x86_64-unknown-unknown", elf.clone());
        assert!(refusal(&image).contains("is not 64-bit SPIR-V"));
        let image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", elf);
        assert_eq!(
            refusal(&image),
            "it is marked as SPIR-V, but contains something else"
        );
    }

    #[test]
    fn ptx_fits_by_generation_and_version() {
        let text = |target: &str, version: &str| {
            format!(".version {version}\n.target {target}\n.address_size 64\n").into_bytes()
        };
        let on = |sm, image: &Image<'_>| {
            let facts = Facts {
                ptx: Some(PtxFacts {
                    sm,
                    ptx: (8, 4),
                    driver: 12040,
                }),
                ..Facts::default()
            };
            code(image, &facts).map(|_| ())
        };
        let ir =
            |target, version| Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", text(target, version));
        assert_eq!(on(90, &ir("sm_75", "6.3")), Ok(()));
        let native = Image::native("sm_75", "nvptx64-nvidia-cuda", text("sm_75", "6.3"));
        assert_eq!(on(90, &native), Ok(()));
        assert_eq!(
            on(75, &ir("sm_80", "7.0")).unwrap_err(),
            "it is PTX for sm_80, but the device is sm_75; recompile for this or an older architecture \
             (--offload-arch)"
        );
        assert_eq!(
            on(90, &ir("sm_90", "8.7")).unwrap_err(),
            "it is PTX 8.7, but the CUDA 12.4 driver supports PTX only up to 8.4; update the driver to CUDA 12.8 or \
             newer, or compile for an older GPU, which uses an older PTX version"
        );
        let spirv = Image::ir(IrType::SpirV, "spir64-unknown-unknown", Vec::new());
        let message = on(90, &spirv).unwrap_err();
        assert!(
            message.starts_with(
                "CUDA devices do not support SPIR-V; run `cargo syclbin toolchain install"
            ),
            "{message}"
        );
    }

    #[test]
    fn fpga_images_are_refused_by_name() {
        let target = "spir64_fpga-unknown-unknown";
        let aocx = b"\x7fELF aocx".to_vec();
        let expected = "it is an FPGA image (spir64_fpga-unknown-unknown), which syclbin-rt does not support; \
                        compile for spir64";
        assert_eq!(
            refusal(&Image::ir(IrType::SpirV, target, aocx.clone())),
            expected
        );
        let native = Image::native("intel_a10gx_pac:pac_a10", target, aocx);
        let metadata = ModuleMetadata::default();
        let sets = PropertySets::default();
        let result = native::check(&native, &metadata, &sets, &BTreeMap::new(), &able());
        assert_eq!(result.unwrap_err(), expected);
    }

    #[test]
    fn other_languages_and_targets_are_named() {
        let ptx = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", Vec::new());
        assert_eq!(refusal(&ptx), "OpenCL devices do not support PTX");
        assert_eq!(describe(&ptx), "PTX, nvptx64-nvidia-cuda");
        let short = Image::ir(IrType::SpirV, "spir-unknown-unknown", Vec::new());
        assert!(refusal(&short).contains("spir-unknown-unknown"));
    }

    #[test]
    fn ptx_for_newer_gpus_is_refused() {
        let takes = PtxFacts {
            sm: 86,
            ptx: (8, 4),
            driver: 12040,
        };
        let taken = |target: &str, version: &str| {
            let text =
                format!(".version {version}\n.target {target}\n.visible .entry k() {{ ret; }}");
            let image = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", text.into_bytes());
            read_ptx(&image, takes).map(|_| ())
        };
        for target in ["sm_75", "sm_80", "sm_86"] {
            assert_eq!(taken(target, "7.1"), Ok(()), "{target}");
        }
        for target in ["sm_87", "sm_89", "sm_90", "sm_90a"] {
            let refusal = taken(target, "8.0").unwrap_err();
            assert!(refusal.contains("the device is sm_86"), "{refusal}");
        }
        assert_eq!(taken("sm_80", "8.4"), Ok(()));
        let refusal = taken("sm_80", "8.5").unwrap_err();
        assert!(
            refusal.contains("update the driver to CUDA 12.5"),
            "{refusal}"
        );
    }

    #[test]
    fn ptx_gives_the_places_of_parameters() {
        let text =
            ".version 7.1\n.target sm_80\n.visible .entry k(.param .u32 a, .param .u64 b) { ret; }";
        let image = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", text.as_bytes());
        let takes = PtxFacts {
            sm: 80,
            ptx: (7, 1),
            driver: 11010,
        };
        let places = [(0, 4), (8, 8)].map(|(offset, size)| Slot { offset, size });
        let code = Code::Ptx(read_ptx(&image, takes).unwrap());
        assert_eq!(code.slots("k").unwrap(), places);
    }

    #[test]
    fn ptx_integers_may_be_addresses() {
        let number = |kind, bits, shared| KnownType::of_ptx(Passed::Number { kind, bits }, shared);
        let four_bytes = KnownType::Number(NonZero::new(4));
        for (kind, bits, shared, expected) in [
            (Kind::Unsigned, 64, false, KnownType::Anything),
            (Kind::Unsigned, 32, true, KnownType::Anything),
            (Kind::Unsigned, 32, false, four_bytes),
            (Kind::Float, 32, true, four_bytes),
        ] {
            let text = format!("{kind:?} {bits} {shared}");
            assert_eq!(number(kind, bits, shared), expected, "{text}");
        }
    }

    #[test]
    fn ptx_tells_weak_exports_from_others() {
        let text = b".version 6.3\n.target sm_75\n.address_size 64\n\
            .weak .func once() { ret; }\n.visible .func own() { ret; }\n\
            .visible .entry k() { call own; call once; ret; }";
        let code = Code::Ptx(ptx::Module::parse(text).unwrap());
        assert_eq!(code.kernels(), ["k"]);
        assert_eq!(code.exports(), ["once", "own"]);
        assert_eq!(code.weak_exports(), ["once"]);
        assert_eq!(code.imports(), [""; 0]);
    }

    /// Returns SPIR-V with these instructions, each with its opcode first.
    fn spirv(instructions: &[&[u32]]) -> Cow<'static, [u8]> {
        let mut words: Vec<u32> = vec![0x0723_0203, 0x0001_0400, 0, 20, 0];
        for instruction in instructions {
            let count = u32::try_from(instruction.len()).unwrap();
            words.push(count << 16 | instruction[0]);
            words.extend(&instruction[1..]);
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Returns SPIR-V with the kernels `sum`, which uses a work-group function, `packed`, which takes a packed struct
    /// by value, `image`, which takes an image, and `plain`.
    fn kernels() -> Cow<'static, [u8]> {
        let name = |text: &[u8; 4]| u32::from_le_bytes(*text);
        spirv(&[
            &[15, 6, 10, name(b"sum\0")],
            &[15, 6, 11, name(b"pack"), name(b"ed\0\0")],
            &[15, 6, 12, name(b"imag"), name(b"e\0\0\0")],
            &[15, 6, 13, name(b"plai"), name(b"n\0\0\0")],
            // The packed struct (2) consists of an 8-bit integer (1) and a 32-bit integer (6).
            &[71, 2, 10],
            &[71, 9, 38, 2],
            &[21, 1, 8, 0],
            &[21, 6, 32, 0],
            &[43, 6, 7, 2],
            &[30, 2, 1, 6],
            &[32, 4, 7, 2],
            &[25, 3, 6, 1, 0, 0, 0, 0, 0, 0],
            &[54, 1, 10, 0, 5],
            &[264, 1, 16, 7, 0, 17],
            &[56],
            &[54, 1, 11, 0, 5],
            &[55, 4, 9],
            &[56],
            &[54, 1, 12, 0, 5],
            &[55, 3, 8],
            &[56],
            &[54, 1, 13, 0, 5],
            &[56],
        ])
    }

    #[test]
    fn kernels_the_device_cannot_run_are_named() {
        let capable = Facts {
            work_group_functions: true,
            images: true,
            ..able()
        };
        let no_functions = Facts {
            work_group_functions: false,
            ..capable.clone()
        };
        let misreading = Facts {
            misreads_packed: true,
            ..capable.clone()
        };
        let no_images = Facts {
            images: false,
            ..capable.clone()
        };
        let incapable = Facts {
            misreads_packed: true,
            ..able()
        };
        for (facts, expected) in [
            (capable, &[][..]),
            (no_functions, &[("sum", "it uses work-group functions")]),
            (
                misreading.clone(),
                &[("packed", "it takes a packed struct")],
            ),
            (no_images.clone(), &[("image", "it takes an image")]),
            (
                incapable,
                &[
                    ("image", "it takes an image"),
                    ("packed", "it takes a packed struct"),
                    ("sum", "it uses work-group functions"),
                ],
            ),
        ] {
            let unfit = unfit_kernels(&[kernels()], &facts).unwrap();
            let names: Vec<&str> = unfit.keys().map(String::as_str).collect();
            let named: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, named);
            for (name, reason) in expected {
                assert!(unfit[*name].starts_with(reason), "{}", unfit[*name]);
            }
        }
        // A driver may end the process if all kernels use images.
        let name = u32::from_le_bytes(*b"k\0\0\0");
        let only_image = spirv(&[
            &[15, 6, 10, name],
            &[25, 2, 1, 1, 0, 0, 0, 0, 0, 0],
            &[54, 1, 10, 0, 5],
            &[55, 2, 9],
            &[56],
        ]);
        let only_image = std::slice::from_ref(&only_image);
        let refused = unfit_kernels(only_image, &no_images).unwrap_err();
        assert!(refused.starts_with("it takes an image"), "{refused}");
        assert_eq!(unfit_kernels(only_image, &misreading), Ok(BTreeMap::new()));
        assert_eq!(
            unfit_kernels(&[spirv(&[])], &no_images),
            Ok(BTreeMap::new())
        );
    }

    #[test]
    fn code_is_rewritten_for_the_drivers_version() {
        let facts = Facts {
            spirv_versions: vec![portable::Version { major: 1, minor: 2 }],
            ..able()
        };
        let later = kernels();
        assert_eq!(later[4..8], [0, 4, 1, 0]);
        let rewritten = portable(vec![later.clone()], &facts).unwrap();
        assert_eq!(rewritten[0][4..8], [0, 2, 1, 0]);
        assert_eq!(portable(vec![later.clone()], &able()).unwrap(), [later]);
    }
}
