// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that images match their metadata and the state of the file.

use alloc::format;

use super::sets::{Located, Module, Sets};
use super::{Findings, Severity, kernels, shown};
use syclbin::__private::spirv;
use syclbin::Content;
use syclbin::property::{Value, key, set};
use syclbin::read::{File, Image, Owner};
use syclbin::{self as model, ImageKind, IrType, State};

pub(super) fn check(file: &File<'_>, sets: &Sets<'_>, findings: &mut Findings) {
    let state = check_state(file, sets, findings);
    for module in &sets.modules {
        if module.images.is_empty() {
            let offset = module.module.offset;
            findings.add(Severity::Warning, offset, module.owner, "it has no image");
        }
        for (image, described) in &module.images {
            check_image(image, &described.says, state, findings);
        }
        check_choice(module, state, findings);
    }
}

fn check_state(file: &File<'_>, sets: &Sets<'_>, findings: &mut Findings) -> Option<State> {
    let Located { offset, says } = &sets.file;
    let state = says.state();
    match state {
        None => {
            let reason = "it has no state; the reference runtime rejects it";
            findings.add(Severity::Error, *offset, Owner::File, reason);
        }
        Some(State::Other(number)) => {
            let reason =
                format!("invalid state {number}; expected 0 (input), 1 (object) or 2 (executable)");
            findings.add(Severity::Error, *offset, Owner::File, reason);
        }
        // Other notations for the number are understood only by this crate.
        Some(_)
            if says
                .global
                .get(set::GLOBAL, key::STATE)
                .and_then(Value::as_u32)
                .is_none() =>
        {
            let reason = "its state is not a number of type 1; the reference runtime rejects it";
            findings.add(Severity::Error, *offset, Owner::File, reason);
        }
        Some(_) => {}
    }
    if file.module_count() == 0 {
        let reason = "it has no abstract module";
        findings.add(Severity::Warning, file.offset(), Owner::File, reason);
    }
    state
}

fn check_image(
    image: &Image<'_>,
    says: &model::Image<'_>,
    state: Option<State>,
    findings: &mut Findings,
) {
    let content = Content::of(image.bytes());
    let owner = image.owner();
    let mut add = |severity, reason| findings.add(severity, image.offset(), owner, reason);
    if content == Content::Empty {
        return add(Severity::Error, "it is empty".into());
    }
    match says.kind() {
        ImageKind::Ir { ty, target } => {
            if says.metadata.get(set::IR_MODULE, key::TYPE).is_none() {
                add(
                    Severity::Warning,
                    "it has no type; SPIR-V is assumed".into(),
                );
            }
            let expected = match ty {
                IrType::SpirV => Some((Content::SpirV, "SPIR-V")),
                IrType::Ptx => Some((Content::Ptx, "PTX")),
                IrType::AmdGcn | IrType::Other(_) => None,
            };
            match expected {
                Some((expected, _)) if expected == content => {}
                Some((Content::SpirV, _)) if !spirv::is_target(target) => add(
                    Severity::Warning,
                    format!(
                        "it is stored as SPIR-V but contains {content} for {}, which the reference runtime would read \
                         as SPIR-V; specify an architecture when compiling",
                        shown(target)
                    ),
                ),
                Some((_, name)) => add(
                    Severity::Error,
                    format!("its type is {name}, but it contains {content}"),
                ),
                None => add(
                    Severity::Warning,
                    format!(
                        "its type {} is not supported by any known runtime",
                        ty.number()
                    ),
                ),
            }
            if ty == IrType::Ptx && content == Content::Ptx {
                kernels::check_ptx(image.bytes(), target, &mut |offset, severity, reason| {
                    let at = image.offset().saturating_add(offset);
                    findings.add(severity, at, owner, reason);
                });
            }
            if content == Content::SpirV
                && let Err(error) = spirv::Module::parse(image.bytes())
            {
                let offset = image.offset().saturating_add(error.offset());
                findings.add(Severity::Error, offset, owner, format!("{}", error.kind()));
            }
        }
        ImageKind::Native { arch, target } => {
            if target.is_empty() {
                let reason = "it has no target; the reference runtime rejects it";
                add(Severity::Warning, reason.into());
            }
            if arch.is_empty() {
                add(Severity::Note, "it has no architecture".into());
            }
            if let Some(expected) = not_native(content, target) {
                add(
                    Severity::Error,
                    format!(
                        "its target {} requires {expected}, but it contains {content}",
                        shown(target)
                    ),
                );
            }
            if state == Some(State::Input) {
                let reason = "the state is input, in which no runtime accepts native code";
                add(Severity::Warning, reason.into());
            }
            kernels::check_native(image.bytes(), arch, &mut |offset, severity, reason| {
                let at = image.offset().saturating_add(offset);
                findings.add(severity, at, owner, reason);
            });
        }
    }
}

/// Returns the expected format of a target's native images, if `content` differs.
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

/// Checks that the rules by which runtimes choose an image work for this module.
fn check_choice(module: &Module<'_>, state: Option<State>, findings: &mut Findings) {
    let native = module.images.iter().filter(|(image, _)| image.is_native());
    let native = native.count();
    let ir = module.images.len() - native;
    let offset = module.module.offset;
    if state == Some(State::Input) && ir == 0 && native > 0 {
        let reason = "the state is input, but it contains only native code, which no runtime loads in that state";
        findings.add(Severity::Error, offset, module.owner, reason);
    }
    let is_ptx = |says: &model::Image<'_>| {
        matches!(
            says.kind(),
            ImageKind::Ir {
                ty: IrType::Ptx,
                ..
            }
        )
    };
    let images = module.images.iter().filter(|(image, _)| !image.is_native());
    let mut alike = 0;
    for (place, (image, described)) in images.enumerate() {
        match (is_ptx(&described.says), place) {
            // For NVIDIA's GPUs, behind what the reference runtime takes.
            (true, 1..) => {}
            (true, 0) => {
                let reason = "the reference runtime treats the first IR module as SPIR-V, and therefore rejects the \
                    whole file; put SPIR-V before it, or store it as native code with its architecture";
                findings.add(Severity::Warning, image.offset(), image.owner(), reason);
            }
            (false, _) => alike += 1,
        }
    }
    if alike > 1 {
        let reason = format!("it has {ir} IR modules; the reference runtime uses only the first");
        findings.add(Severity::Warning, offset, module.owner, reason);
    }
}
