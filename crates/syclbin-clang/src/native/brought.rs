// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decides whether the native images in the inputs are kept, replaced or rejected.

use std::collections::BTreeSet;

use syclbin::{AbstractModule, Image, ImageKind, State};
use syclbin_tools::__private::described;

use super::Backend;
use crate::command_line::targets::{Target, first_part};
use crate::link::{InputFile, imports};
use crate::{Result, own};

/// Removes the native images in `parts` that `backends` compile again. In an executable, also removes images for Intel
/// GPUs, because ocloc left them unlinked and this program cannot link them. Returns a warning for each GPU whose code
/// is removed without a replacement.
///
/// # Errors
///
/// Fails if a kernel exists only in an unlinked image.
pub(crate) fn discard_replaced(
    parts: &mut [InputFile],
    backends: &[Backend],
    state: State,
) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    for part in parts {
        let mut with_spirv = BTreeSet::new();
        // The kernels and functions that each backend can recompile.
        let mut compiled_anew = vec![BTreeSet::new(); backends.len()];
        for module in &part.file.modules {
            if module.images.iter().any(|image| image.spirv().is_some()) {
                with_spirv.extend(offered(module));
            }
            for (backend, anew) in backends.iter().zip(&mut compiled_anew) {
                // Damaged code is reported later, when the inputs are joined.
                if backend.input(module).is_some() && matches!(backend.objection(module), Ok(None))
                {
                    anew.extend(offered(module));
                }
            }
        }
        let mut lost = BTreeSet::new();
        let mut unlinked = None;
        part.file.modules.retain_mut(|module| {
            let of_module = offered(module);
            let anew = backends.iter().zip(&compiled_anew);
            let anew: Vec<_> = anew.filter(|(_, anew)| of_module.is_subset(anew)).collect();
            let has_spirv = of_module.is_subset(&with_spirv);
            let what = described(module);
            let before = module.images.len();
            module.images.retain(|image| {
                let ImageKind::Native { arch, target } = image.kind() else {
                    return true;
                };
                if anew.iter().any(|(backend, _)| backend.makes(image)) {
                    return false;
                }
                let is_for_gpu = first_part(target) == Target::Gpu(None).name();
                if state != State::Executable || !is_for_gpu {
                    return true;
                }
                if has_spirv {
                    lost.insert(arch.to_owned());
                } else {
                    unlinked.get_or_insert((what.clone(), arch.to_owned()));
                }
                false
            });
            before == 0 || !module.images.is_empty()
        });
        if let Some((what, arch)) = unlinked {
            return own(format!(
                "'{}': {what} contains no SPIR-V, only unlinked code for the GPU {arch}, which syclbin-clang cannot \
                 link; recompile the object with spir64 as an additional target",
                part.name
            ));
        }
        for arch in lost {
            warnings.push(format!(
                "'{}': its code for the GPU {arch} is omitted, because it is unlinked and syclbin-clang cannot link \
                 it; specify the GPU in -fsycl-targets to recompile the code from SPIR-V",
                part.name
            ));
        }
    }
    Ok(warnings)
}

/// Returns the kernels and functions that a module provides.
fn offered(module: &AbstractModule<'_>) -> BTreeSet<String> {
    let symbols = module.kernel_names().chain(imports::exports(module));
    symbols.map(str::to_owned).collect()
}

impl Backend {
    /// Returns whether `image` is for the same device as this backend. Processors are not compared, because a file
    /// contains code for only one processor.
    fn makes(&self, image: &Image<'_>) -> bool {
        let ImageKind::Native { arch, target } = image.kind() else {
            return false;
        };
        first_part(target) == self.target.name()
            && (matches!(self.target, Target::Cpu(_))
                || arch == self.arch
                || self.arch.split(',').any(|gpu| gpu == arch))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{CPU, PVC, backend, module, targets_of};
    use super::*;
    use crate::Failure;
    use syclbin::property::set;
    use syclbin::{IrType, Syclbin};

    /// Creates an object with a module for each element of `images`. All modules contain the kernel `k`.
    fn object(images: Vec<Vec<Image<'static>>>) -> [InputFile; 1] {
        let mut file = Syclbin::new(State::Object);
        for images in images {
            let mut module = module("k");
            module.images = images;
            file.modules.push(module);
        }
        [InputFile::new("o.syclbin".to_owned(), file)]
    }

    fn spirv() -> Image<'static> {
        // A header without instructions, so the module defines no functions.
        let words: [u32; 5] = [0x0723_0203, 0x0001_0400, 0, 1, 0];
        let code: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        Image::ir(IrType::SpirV, "spir64-unknown-unknown", code)
    }

    fn native(target: &Target, arch: &'static str) -> Image<'static> {
        Image::native(arch, &target.triple(), vec![1])
    }

    fn left(parts: &[InputFile]) -> Vec<Vec<&'static str>> {
        parts[0].file.modules.iter().map(targets_of).collect()
    }

    #[test]
    fn unlinked_gpu_code_stays_only_in_objects() {
        let both = || object(vec![vec![spirv()], vec![native(&PVC, "pvc")]]);
        let mut parts = both();
        assert_eq!(
            discard_replaced(&mut parts, &[], State::Object),
            Ok(Vec::new())
        );
        assert_eq!(left(&parts), [["spirv"], ["gpu"]]);

        let warnings = discard_replaced(&mut parts, &[], State::Executable).unwrap();
        assert_eq!(left(&parts), [["spirv"]]);
        assert!(
            warnings.len() == 1 && warnings[0].contains("GPU pvc"),
            "{warnings:?}"
        );

        for state in [State::Object, State::Executable] {
            let mut parts = both();
            let made = [backend(PVC, "pvc")];
            assert_eq!(discard_replaced(&mut parts, &made, state), Ok(Vec::new()));
            assert_eq!(left(&parts), [["spirv"]], "compiled again: {state:?}");
        }

        let mut alone = object(vec![vec![native(&PVC, "pvc")]]);
        let Err(Failure::Own(text)) = discard_replaced(&mut alone, &[], State::Executable) else {
            panic!("unlinked code was accepted");
        };
        assert!(
            text.contains("kernel k contains no SPIR-V, only unlinked code for the GPU pvc"),
            "{text}"
        );
    }

    #[test]
    fn requested_processor_replaces_older_cpu_code() {
        let made = [backend(CPU, "corei7")];
        for images in [
            vec![vec![spirv(), native(&CPU, "x86_64")]],
            vec![vec![spirv()], vec![native(&CPU, "x86_64")]],
        ] {
            let mut parts = object(images);
            assert_eq!(
                discard_replaced(&mut parts, &made, State::Executable),
                Ok(Vec::new())
            );
            assert_eq!(left(&parts), [["spirv"]]);
        }
        let keeps = |mut parts: [InputFile; 1], made: &[Backend]| {
            assert_eq!(
                discard_replaced(&mut parts, made, State::Executable),
                Ok(Vec::new())
            );
            left(&parts)
        };
        let both = || object(vec![vec![spirv(), native(&CPU, "x86_64")]]);
        let empty = object(vec![Vec::new()]);
        assert_eq!(keeps(empty, &made).len(), 1, "it never had an image");
        assert_eq!(
            keeps(both(), &[]),
            [["spirv", "cpu"]],
            "no native target is requested"
        );
        let alone = object(vec![vec![native(&CPU, "x86_64")]]);
        assert_eq!(
            keeps(alone, &made),
            [["cpu"]],
            "without SPIR-V, it cannot be compiled again"
        );
        let mut with_constants = both();
        with_constants[0].file.modules[0].metadata.insert(
            set::SPECIALIZATION_CONSTANTS,
            "c",
            vec![0u8; 12],
        );
        assert_eq!(
            keeps(with_constants, &made),
            [["spirv", "cpu"]],
            "constants prevent native code"
        );
    }

    #[test]
    fn other_gpus_and_kernels_are_kept() {
        let state = State::Object;
        let two = || object(vec![vec![spirv()], vec![native(&PVC, "pvc")]]);
        for (arch, is_replaced) in [("pvc", true), ("dg2,pvc", true), ("dg2", false)] {
            let mut parts = two();
            let made = [backend(PVC, arch)];
            assert_eq!(discard_replaced(&mut parts, &made, state), Ok(Vec::new()));
            let expected = if is_replaced { 1 } else { 2 };
            assert_eq!(left(&parts).len(), expected, "{arch}");
        }
        let mut parts = two();
        let made = [backend(CPU, "pvc")];
        assert_eq!(discard_replaced(&mut parts, &made, state), Ok(Vec::new()));
        assert_eq!(left(&parts), [["spirv"], ["gpu"]], "another kind of device");
        let mut parts = two();
        parts[0].file.modules[1].add_kernel_name("other");
        let made = [backend(PVC, "pvc")];
        assert_eq!(discard_replaced(&mut parts, &made, state), Ok(Vec::new()));
        assert_eq!(
            left(&parts),
            [["spirv"], ["gpu"]],
            "a kernel without SPIR-V"
        );
    }
}
