// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that images match their metadata and the file's state.

use alloc::format;
use alloc::vec::Vec;

use super::sets::{Contents, Module};
use super::{Findings, kernels, shown};
use syclbin::__private::spirv;
use syclbin::property::{Value, key, set};
use syclbin::read::{self, File, Owner};
use syclbin::{Content, Image, ImageKind, IrType, State};

pub(super) fn check(file: &File<'_>, contents: &Contents<'_>, findings: &mut Findings) {
    let state = check_state(file, contents, findings);
    for module in &contents.modules {
        if module.images.is_empty() {
            module.place(findings).warning("it has no image");
        }
        for (stored, image) in &module.images {
            check_image(stored, image, state, findings);
        }
        check_choice(module, state, findings);
    }
}

fn check_state(file: &File<'_>, contents: &Contents<'_>, findings: &mut Findings) -> Option<State> {
    let state = contents.file.state();
    let number = contents.file.global.get(set::GLOBAL, key::STATE);
    let number = number.and_then(Value::as_u32);
    let mut place = findings.at(contents.offset, Owner::File);
    match state {
        None => place.error("it has no state; the reference runtime rejects the file"),
        Some(State::Other(number)) => place.error(format!(
            "invalid state {number}; expected 0 (input), 1 (object) or 2 (executable)"
        )),
        // This crate also accepts other encodings of the number, but other readers do not.
        Some(_) if number.is_none() => {
            place.error("its state is not stored as a number (type 1); the reference runtime rejects the file");
        }
        Some(_) => {}
    }
    if file.module_count() == 0 {
        let mut place = findings.at(file.offset(), Owner::File);
        place.warning("it has no abstract module");
    }
    state
}

fn check_image(
    stored: &read::Image<'_>,
    image: &Image<'_>,
    state: Option<State>,
    findings: &mut Findings,
) {
    let content = Content::of(&image.bytes);
    let mut place = findings.at(stored.offset, stored.metadata.owner);
    if content == Content::Empty {
        return place.error("it is empty");
    }
    match image.kind() {
        ImageKind::Ir { ty, target } => {
            if image.metadata.get(set::IR_MODULE, key::TYPE).is_none() {
                place.warning("it has no type; SPIR-V is assumed");
            }
            let expected = match ty {
                IrType::SpirV => Some((Content::SpirV, "SPIR-V")),
                IrType::Ptx => Some((Content::Ptx, "PTX")),
                IrType::AmdGcn | IrType::Other(_) => None,
            };
            match expected {
                Some((expected, _)) if expected == content => {}
                Some((Content::SpirV, _)) if !spirv::is_target(target) => place.warning(format!(
                    "it is stored as SPIR-V but contains {content} for {}, which the reference runtime would read as \
                     SPIR-V; specify an architecture when compiling",
                    shown(target)
                )),
                Some((_, name)) => {
                    place.error(format!("its type is {name}, but it contains {content}"));
                }
                None => place.warning(format!(
                    "its type {} is not supported by any known runtime",
                    ty.number()
                )),
            }
            if ty == IrType::Ptx && content == Content::Ptx {
                if !target.is_empty() && !target.starts_with("nvptx") {
                    place.error(format!("it is PTX, but its target is {}", shown(target)));
                }
                kernels::check_ptx(&image.bytes, None, &mut place);
            }
            if content == Content::SpirV
                && let Err(error) = spirv::Module::parse(&image.bytes)
            {
                place.damage(&error);
            }
        }
        ImageKind::Native { arch, target } => {
            if target.is_empty() {
                place.warning("it has no target; the reference runtime rejects the image");
            }
            if arch.is_empty() {
                place.note("it has no architecture");
            }
            if let Some(expected) = not_native(content, target) {
                place.error(format!(
                    "its target {} requires {expected}, but it contains {content}",
                    shown(target)
                ));
            }
            if state == Some(State::Input) {
                let reason = "the state is input, and no runtime accepts native code in that state";
                place.warning(reason);
            }
            kernels::check_native(&image.bytes, arch, &mut place);
        }
    }
}

/// Returns the expected format of native images for `target` if `content` is not in that format.
fn not_native(content: Content, target: &str) -> Option<&'static str> {
    let machine = |number| matches!(content, Content::Elf { machine } if machine == number);
    let (fits, expected) = match target.split('-').next().unwrap_or_default() {
        "nvptx64" | "nvptx" => (
            machine(190) || matches!(content, Content::CudaFatbin | Content::Ptx),
            "a CUDA fat binary, ELF for CUDA or PTX",
        ),
        "amdgcn" => (
            machine(224) || matches!(content, Content::ClangBundle | Content::CompressedBundle),
            "an offload bundle or ELF for AMD GPUs",
        ),
        // Intel's offline GPU compiler also writes proprietary formats besides ELF and archives.
        "spir64_gen" => (
            !matches!(
                content,
                Content::SpirV | Content::Ptx | Content::LlvmBitcode
            ),
            "output of Intel's offline compiler",
        ),
        "spir64_x86_64" | "native_cpu" => (matches!(content, Content::Elf { .. }), "ELF"),
        _ => (true, ""),
    };
    (!fits).then_some(expected)
}

/// Checks that runtimes can choose an image of this module.
fn check_choice(module: &Module<'_>, state: Option<State>, findings: &mut Findings) {
    let ir = Vec::from_iter(module.images.iter().filter(|(_, image)| !image.native));
    if state == Some(State::Input) && ir.is_empty() && !module.images.is_empty() {
        let reason = "the state is input, but the module contains only native code, which no runtime loads in that \
            state";
        module.place(findings).error(reason);
    }
    if let Some((stored, _)) = ir.first().filter(|(_, image)| image.is_ptx()) {
        let reason = "the reference runtime treats the first IR module as SPIR-V, and therefore rejects the whole \
            file; put SPIR-V before this PTX, or store the PTX as native code with its architecture";
        let mut place = findings.at(stored.offset, stored.metadata.owner);
        place.warning(reason);
    }
    // PTX serves NVIDIA GPUs, so it does not compete with SPIR-V.
    let count = ir.iter().filter(|(_, image)| !image.is_ptx()).count();
    if count > 1 {
        let reason =
            format!("it has {count} IR modules; the reference runtime uses only the first");
        module.place(findings).warning(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_its_formats() {
        let elf = |machine| Content::Elf { machine };
        let cuda = [elf(190), Content::CudaFatbin, Content::Ptx];
        let amd = [elf(224), Content::ClangBundle, Content::CompressedBundle];
        let intel = [elf(205), Content::Archive, Content::Unknown];
        let ir = [Content::SpirV, Content::LlvmBitcode];
        for (target, formats) in [
            ("nvptx64-nvidia-cuda", &[&cuda[..]][..]),
            ("nvptx", &[&cuda]),
            ("amdgcn-amd-amdhsa", &[&amd]),
            (
                "spir64_gen",
                &[&[elf(190), Content::CudaFatbin], &amd, &intel],
            ),
            ("spir64_x86_64", &[&[elf(190), elf(205), elf(224)]]),
            ("native_cpu", &[&[elf(190), elf(205), elf(224)]]),
            ("other", &[&cuda, &amd, &intel, &ir]),
        ] {
            let formats = formats.concat();
            for content in [&cuda[..], &amd, &intel, &ir].concat() {
                let fits = not_native(content, target).is_none();
                assert_eq!(fits, formats.contains(&content), "{target}: {content}");
            }
        }
    }
}
