// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code: the facts that an image's code contains, in either language.

use syclbin::__private::spirv;
use syclbin::ptx;

use crate::backend::kernel::Slot;
use crate::launch::parameter_kinds::Takes;

/// The symbols and parameters of an image's code.
pub(crate) enum Code {
    SpirV(Box<spirv::Module>),
    Ptx(ptx::Module),
}

impl Code {
    /// Returns the symbols of its kernels.
    pub(crate) fn kernels(&self) -> Vec<&str> {
        match self {
            Self::SpirV(module) => module.kernels().collect(),
            Self::Ptx(module) => {
                let kernels = module.kernels.iter();
                kernels.map(|kernel| kernel.name.as_str()).collect()
            }
        }
    }

    /// Returns the symbols that it uses but does not define.
    pub(crate) fn imports(&self) -> Vec<&str> {
        match self {
            Self::SpirV(module) => module.imports().collect(),
            Self::Ptx(module) => module.imports.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the symbols that it defines for others.
    pub(crate) fn exports(&self) -> Vec<&str> {
        match self {
            Self::SpirV(module) => module.exports().collect(),
            Self::Ptx(module) => module.exports.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the exported symbols that other modules may also define.
    pub(crate) fn weak_exports(&self) -> Vec<&str> {
        match self {
            Self::SpirV(module) => module.weak_exports().collect(),
            Self::Ptx(module) => module.weak_exports.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the parameter types of a kernel, without the parameters that the compiler removed.
    pub(crate) fn takes(&self, kernel: &str) -> Option<Vec<Takes>> {
        match self {
            Self::SpirV(module) => {
                let parameters = module.parameters(kernel)?;
                Some(
                    parameters
                        .iter()
                        .map(|parameter| Takes::of_spirv(module, parameter.ty))
                        .collect(),
                )
            }
            Self::Ptx(module) => {
                let kernel = module.kernel(kernel)?;
                let shared = kernel.uses_dynamic_shared_memory;
                let parameters = kernel.parameters.iter();
                Some(
                    parameters
                        .map(|parameter| Takes::of_ptx(parameter.ty, shared))
                        .collect(),
                )
            }
        }
    }

    /// Returns the positions of a kernel's parameters, where the language contains them.
    pub(crate) fn slots(&self, kernel: &str) -> Option<Vec<Slot>> {
        match self {
            Self::SpirV(_) => None,
            Self::Ptx(module) => {
                let parameters = module.kernel(kernel)?.parameters.iter();
                let slots = parameters.map(|parameter| {
                    let place = parameter.layout?;
                    Some(Slot {
                        offset: usize::try_from(place.offset).ok()?,
                        size: usize::try_from(place.size).ok()?,
                    })
                });
                slots.collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
