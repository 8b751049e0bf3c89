// SPDX-License-Identifier: MIT OR Apache-2.0
//! rusticl: queues that end with a failed command, and code that ends the process or is compiled wrongly.
//!
//! All commands of a queue after one that failed also fail with the same code, and so does clFinish, although
//! nothing runs any more (Mesa 25.0 and 26.2). Other queues of the context go on.
//!
//! Mesa 25.0 ends the process when its compiler cannot translate a kernel. Mesa 26.2 reports an error. So code of
//! the kinds known for that is refused before an older driver sees it.
//!
//! It reads the members of a struct that is passed by value at multiples of their size, so those of a packed struct
//! have wrong values (Mesa 25.0). The same struct in a buffer is read rightly.
//!
//! Its linker takes only modules of one version of SPIR-V (Mesa 25.0).

use syclbin::__private::spirv::Uses;

use crate::backend::failure::{Failure, Rejection};
use crate::backend::opencl::program::BINDLESS_IMAGES;
use crate::device::facts::Facts;

/// Capabilities that compilers for SYCL write and that the compiler of Mesa 25.0 does not have.
const UNKNOWN_CAPABILITIES: [(u32, &str); 15] = [
    (59, "named barriers"),
    (5570, "block reads of images (SubgroupImageBlockIOINTEL)"),
    (5582, "rounding modes (RoundToInfinityINTEL)"),
    (5583, "floating-point modes (FloatingPointModeINTEL)"),
    (5603, "function pointers (FunctionPointersINTEL)"),
    (5606, "assembly (AsmINTEL)"),
    (5617, "vector kernels (VectorComputeINTEL)"),
    (5817, "arrays of variable length (VariableLengthArrayINTEL)"),
    (
        5844,
        "integers of any width (ArbitraryPrecisionIntegersINTEL)",
    ),
    (6025, "bit instructions (BitInstructions)"),
    (6089, "long constants (LongCompositesINTEL)"),
    (6115, "conversions of bfloat16 (BFloat16ConversionINTEL)"),
    (6141, "split barriers (SplitBarrierINTEL)"),
    (
        6400,
        "arithmetic over uniform groups (GroupUniformArithmeticKHR)",
    ),
    (BINDLESS_IMAGES, "bindless images (BindlessImagesINTEL)"),
];

/// Returns whether a queue of the device takes no command after one that failed.
pub(crate) fn queues_stay_failed(facts: &Facts) -> bool {
    facts.platform == "rusticl"
}

/// Adds what no query tells.
pub(crate) fn add_facts(facts: &mut Facts) {
    let is_rusticl = facts.platform == "rusticl";
    facts.links_one_version = is_rusticl;
    facts.misreads_packed = is_rusticl;
}

/// Refuses the module in `words` if the driver of the device would end the process when it compiles the module.
pub(crate) fn refuse_abort(facts: &Facts, words: &[u32]) -> Result<(), Failure> {
    match aborts_on(facts, words) {
        Some(feature) => Err(Failure::Rejected(Rejection::EndsProcess(feature))),
        None => Ok(()),
    }
}

fn aborts_on(facts: &Facts, words: &[u32]) -> Option<&'static str> {
    let major = facts.driver_version.split('.').next().unwrap_or_default();
    let is_old = major.parse::<u32>().is_ok_and(|major| major < 26);
    if facts.platform != "rusticl" || !is_old {
        return None;
    }
    let uses = Uses::of(words);
    if uses.initialized_variable {
        return Some(
            "variables with an initial value in global memory, such as tables of constants",
        );
    }
    if uses.all_devices_scope {
        return Some("atomic operations or fences of memory_scope::system");
    }
    let mut unknown = UNKNOWN_CAPABILITIES.iter();
    unknown
        .find(|(capability, _)| uses.capabilities.contains(capability))
        .map(|(_, feature)| *feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_rusticl_aborts_on_missing_features() {
        let on = |platform: &str, driver_version: &str, instruction: &[u32]| {
            let facts = Facts {
                platform: platform.to_owned(),
                driver_version: driver_version.to_owned(),
                ..Facts::default()
            };
            let header = [0x0723_0203, 0x0001_0000, 0, 20, 0];
            aborts_on(&facts, &[&header, instruction].concat())
        };
        let table = [5 << 16 | 59, 1, 2, 5, 3];
        let old = "25.0.7-2+deb13u1";
        assert!(on("rusticl", old, &table).is_some_and(|feature| feature.contains("tables")));
        let long = on("rusticl", old, &[2 << 16 | 17, 5817]);
        assert!(long.is_some_and(|feature| feature.contains("VariableLengthArrayINTEL")));
        assert_eq!(on("rusticl", old, &[2 << 16 | 17, 6]), None);
        assert_eq!(on("rusticl", "26.2.6-1", &table), None);
        assert_eq!(on("Portable Computing Language", "6.0", &table), None);
    }
}
