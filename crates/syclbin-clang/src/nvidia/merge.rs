// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adds a source's PTX to the modules that were compiled from the source for other devices.
//!
//! PTX is added to a module only if both contain the same kernels with the same arguments removed, and agree on device
//! requirements, symbols and specialization constants. The PTX follows the SPIR-V, because the reference runtime
//! (2026.2) treats the first IR image of each module as SPIR-V, and rejects the whole file if that image is PTX. The
//! runtime ignores later images and native code for other devices. PTX without SPIR-V is therefore stored as native
//! code.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::metadata::SpecializationConstants;
use syclbin::property::{Value, key, set};
use syclbin::{AbstractModule, Syclbin};

use crate::link::{add_missing, imports};
use crate::lower;

/// Adds the images of `ptx` to the matching modules of `spirv`, so that one module contains a kernel's code for every
/// device. A PTX module without a match stays separate.
pub(crate) fn merge(spirv: Syclbin<'static>, ptx: Syclbin<'static>) -> Syclbin<'static> {
    let mut whole = spirv;
    let before = whole.modules.len();
    for module in ptx.modules {
        let mut earlier = whole.modules[..before].iter_mut();
        match earlier.find(|companion| fit(companion, &module)) {
            Some(companion) => join(companion, module),
            None => whole.modules.push(module),
        }
    }
    whole
}

/// Property sets that describe the code's requirements. Modules match only if these sets are equal, except for aspects:
/// see [`has_aspects`]. Scratch memory is not compared, because it is a kernel argument only in SPIR-V.
const AGREE: [&str; 3] = [
    set::DEVICE_REQUIREMENTS,
    set::IMPORTED_SYMBOLS,
    set::DEVICE_GLOBALS,
];

fn fit(a: &AbstractModule<'_>, b: &AbstractModule<'_>) -> bool {
    let kernels: BTreeSet<&str> = a.kernel_names().collect();
    let same_kernels = kernels == b.kernel_names().collect();
    let mut kernels = kernels.into_iter();
    same_kernels
        && has_aspects(a, b)
        && has_exports(a, b)
        && has_constants(a, b)
        && kernels.all(|kernel| removed(a, kernel) == removed(b, kernel))
        && AGREE
            .iter()
            .all(|set| properties(a, set) == properties(b, set))
}

/// Returns the properties in a set, except for aspects.
fn properties<'m>(module: &'m AbstractModule<'_>, set: &str) -> BTreeMap<&'m str, &'m Value> {
    let all = module.metadata.entries(set);
    all.filter(|(key, _)| *key != key::ASPECTS).collect()
}

/// Returns whether the PTX requires every aspect that the SPIR-V requires, so that the merged requirements do not
/// exclude an NVIDIA GPU. The PTX may require more aspects, such as fp64, which its mathematical functions use and
/// which every NVIDIA GPU supports.
fn has_aspects(spirv: &AbstractModule<'_>, ptx: &AbstractModule<'_>) -> bool {
    let both = spirv.aspects().ok().zip(ptx.aspects().ok());
    both.is_some_and(|(of_spirv, of_ptx)| of_spirv.iter().all(|aspect| of_ptx.contains(aspect)))
}

/// Returns whether the PTX exports everything that the SPIR-V exports. It may export more: without optimization, it
/// also exports the functions that make up the kernels.
fn has_exports(spirv: &AbstractModule<'_>, ptx: &AbstractModule<'_>) -> bool {
    let of_ptx: BTreeSet<&str> = imports::exports(ptx).collect();
    imports::exports(spirv).all(|symbol| of_ptx.contains(symbol))
}

/// Returns whether the record of specialization constants for the SPIR-V also describes the PTX.
fn has_constants(spirv: &AbstractModule<'_>, ptx: &AbstractModule<'_>) -> bool {
    let constants = |module| SpecializationConstants::read(module).ok();
    let both = constants(&spirv.metadata).zip(constants(&ptx.metadata));
    both.is_some_and(|(of_spirv, of_ptx)| lower::serves(&of_spirv, &of_ptx))
}

/// Returns the indices of the kernel's removed arguments, or `None` if the mask is malformed.
fn removed(module: &AbstractModule<'_>, kernel: &str) -> Option<Vec<usize>> {
    let mask = module.eliminated_arguments(kernel).ok()?;
    let removed = mask.iter().enumerate().filter(|(_, removed)| **removed);
    Some(removed.map(|(index, _)| index).collect())
}

/// Property sets that the merged module takes from the SPIR-V module: exports, and sets that apply to both kinds of
/// code.
const OF_SPIRV: [&str; 4] = [
    set::EXPORTED_SYMBOLS,
    set::MISC_PROPERTIES,
    set::SPECIALIZATION_CONSTANTS,
    set::SPECIALIZATION_DEFAULTS,
];

/// Adds the images of `module` to `companion`, and the properties that `companion` lacks, except those in [`OF_SPIRV`].
fn join(companion: &mut AbstractModule<'static>, module: AbstractModule<'static>) {
    companion.images.extend(module.images);
    add_missing(&mut companion.metadata, &module.metadata, &OF_SPIRV);
}

#[cfg(test)]
mod tests {
    use super::*;
    use syclbin::{Image, IrType, State};

    fn file(ty: IrType, modules: &[&[&'static str]]) -> Syclbin<'static> {
        let mut file = Syclbin::new(State::Object);
        for kernels in modules {
            let mut module = AbstractModule::default();
            for kernel in *kernels {
                module.add_kernel_name(*kernel);
            }
            module.images.push(Image::ir(ty, "target", vec![1]));
            file.modules.push(module);
        }
        file
    }

    fn images(file: &Syclbin<'_>) -> Vec<usize> {
        file.modules
            .iter()
            .map(|module| module.images.len())
            .collect()
    }

    #[test]
    fn ptx_joins_modules_despite_kernel_order() {
        let spirv = file(IrType::SpirV, &[&["a"], &["b", "c"]]);
        let ptx = file(IrType::Ptx, &[&["c", "b"], &["a"]]);
        let whole = merge(spirv, ptx);
        assert_eq!(images(&whole), [2, 2]);
    }

    #[test]
    fn differing_ptx_gets_its_own_module() {
        let spirv = || file(IrType::SpirV, &[&["a"], &["b"]]);
        let whole = merge(spirv(), file(IrType::Ptx, &[&["a", "b"]]));
        assert_eq!(images(&whole), [1, 1, 1]);
        let mask = |bits: u8| Value::from(vec![bits]);
        let mut ptx = file(IrType::Ptx, &[&["a"], &["b"]]);
        let metadata = &mut ptx.modules[0].metadata;
        metadata.insert(set::KERNEL_PARAM_OPT, "a", mask(0b10));
        let metadata = &mut ptx.modules[1].metadata;
        // An all-zero mask removes nothing, like a missing mask.
        metadata.insert(set::KERNEL_PARAM_OPT, "b", mask(0));
        assert_eq!(images(&merge(spirv(), ptx)), [1, 2, 1]);
        let mut ptx = file(IrType::Ptx, &[&["a"]]);
        let metadata = &mut ptx.modules[0].metadata;
        metadata.insert(set::DEVICE_REQUIREMENTS, "reqd_sub_group_size", 32u32);
        assert_eq!(images(&merge(spirv(), ptx)), [1, 1, 1]);
        let mut ptx = file(IrType::Ptx, &[&["a"]]);
        let metadata = &mut ptx.modules[0].metadata;
        let constant = [0u32, 0, 4].map(u32::to_le_bytes).concat();
        metadata.insert(set::SPECIALIZATION_CONSTANTS, "c", constant);
        metadata.insert(set::SPECIALIZATION_DEFAULTS, "all", vec![0u8; 4]);
        assert_eq!(images(&merge(spirv(), ptx)), [1, 1, 1]);
    }

    #[test]
    fn ptx_without_an_export_gets_its_own_module() {
        let exporting = |ty, symbols: &[&'static str]| {
            let mut file = file(ty, &[&["a"]]);
            for symbol in symbols {
                let metadata = &mut file.modules[0].metadata;
                metadata.insert(set::EXPORTED_SYMBOLS, *symbol, 1u32);
            }
            file
        };
        let whole = |of_spirv: &[&'static str], of_ptx: &[&'static str]| {
            let [spirv, ptx] = [(IrType::SpirV, of_spirv), (IrType::Ptx, of_ptx)];
            images(&merge(exporting(spirv.0, spirv.1), exporting(ptx.0, ptx.1)))
        };
        assert_eq!(whole(&["f"], &["f", "g"]), [2]);
        assert_eq!(whole(&["f", "g"], &["f"]), [1, 1]);
    }

    #[test]
    fn extra_aspects_split_modules_only_for_spirv() {
        let with = |ty, aspects: &[u32]| {
            let mut file = file(ty, &[&["a"]]);
            let bytes: Vec<u8> = aspects.iter().flat_map(|one| one.to_le_bytes()).collect();
            let metadata = &mut file.modules[0].metadata;
            metadata.insert(set::DEVICE_REQUIREMENTS, key::ASPECTS, bytes);
            file
        };
        let whole = merge(with(IrType::SpirV, &[5]), with(IrType::Ptx, &[5, 6]));
        assert_eq!(images(&whole), [2]);
        let aspects = whole.modules[0].aspects().unwrap();
        assert_eq!(aspects.len(), 1, "devices without fp64 run the SPIR-V");
        let whole = merge(with(IrType::SpirV, &[5, 6]), with(IrType::Ptx, &[5]));
        assert_eq!(images(&whole), [1, 1]);
    }

    #[test]
    fn scratch_memory_argument_does_not_split_modules() {
        let mut spirv = file(IrType::SpirV, &[&["a"]]);
        let metadata = &mut spirv.modules[0].metadata;
        metadata.insert(set::IMPLICIT_LOCAL_ARG, "a", 2u32);
        let whole = merge(spirv, file(IrType::Ptx, &[&["a"]]));
        assert_eq!(images(&whole), [2]);
        let metadata = &whole.modules[0].metadata;
        assert!(metadata.get(set::IMPLICIT_LOCAL_ARG, "a").is_some());
    }

    #[test]
    fn separate_ptx_module_counts_as_native_code() {
        let ptx = || {
            let mut ptx = file(IrType::Ptx, &[&["b"]]);
            let text = b".version 7.0\n.target sm_80\n.address_size 64\n";
            ptx.modules[0].images[0].bytes = text.as_slice().into();
            ptx
        };
        let mut whole = merge(file(IrType::SpirV, &[&["a"]]), ptx());
        crate::nvidia::store_ptx_as_native(&mut whole);
        assert!(!whole.modules[0].images[0].native);
        let kind = whole.modules[1].images[0].kind();
        let (arch, target) = ("sm_80", "nvptx64-nvidia-cuda");
        assert_eq!(kind, syclbin::ImageKind::Native { arch, target });
        let mut alone = ptx();
        crate::nvidia::store_ptx_as_native(&mut alone);
        assert!(!alone.modules[0].images[0].native);
    }

    #[test]
    fn what_only_ptx_says_of_itself_is_kept() {
        let mut ptx = file(IrType::Ptx, &[&["a"]]);
        let metadata = &mut ptx.modules[0].metadata;
        metadata.insert(set::PROGRAM_METADATA, "g@global_id_mapping", "g");
        metadata.insert(set::MISC_PROPERTIES, "optLevel", 2u32);
        let whole = merge(file(IrType::SpirV, &[&["a"]]), ptx);
        let metadata = &whole.modules[0].metadata;
        assert!(
            metadata
                .get(set::PROGRAM_METADATA, "g@global_id_mapping")
                .is_some()
        );
        assert!(metadata.get(set::MISC_PROPERTIES, "optLevel").is_none());
    }
}
