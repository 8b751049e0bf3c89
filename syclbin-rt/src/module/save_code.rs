// SPDX-License-Identifier: MIT OR Apache-2.0
//! Saving code: a loaded module as a file of state input or object, with the code that it was loaded from.

use std::collections::BTreeSet;

use syclbin::metadata::ModuleMetadata;
use syclbin::property::{key, set};
use syclbin::{AbstractModule, Image, State, Syclbin, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::load::image;
use crate::load::unit::list_of_kernels;
use crate::module::save;

/// Returns the modules of `files` as a file of state input or object. The first is the loaded file, and `constants`
/// are the given values of specialization constants.
pub(crate) fn to_vec(
    files: Vec<Syclbin<'static>>,
    constants: &[(String, Vec<u8>)],
    state: State,
) -> Result<Vec<u8>> {
    let saved = whole(files, constants, state);
    let saved = saved.map_err(|reason| {
        let message = format_args!("cannot save the module in state {state}: {reason}");
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    save::to_vec(&saved)
}

fn whole<'a>(
    files: Vec<Syclbin<'a>>,
    constants: &[(String, Vec<u8>)],
    state: State,
) -> Result<Syclbin<'a>, String> {
    if !matches!(state, State::Input | State::Object) {
        return Err(
            "there is no such state; use `State::Input`, `State::Object` or `State::Executable`"
                .to_owned(),
        );
    }
    let all = || files.iter().flat_map(|file| &file.modules);
    let compiled_elsewhere: BTreeSet<String> = all()
        .filter(|module| module.images.iter().any(is_code))
        .flat_map(AbstractModule::kernel_names)
        .map(str::to_owned)
        .collect();
    let mut whole = Syclbin::default();
    if let Some(first) = files.first() {
        whole.global = first.global.clone();
    }
    let number = Value::U32(state.number());
    whole.global.insert(set::GLOBAL, key::STATE, number);
    for file in files {
        let keeps_native = state == State::Object && file.state() == Some(State::Object);
        for (number, mut module) in file.modules.into_iter().enumerate() {
            if module.images.iter().any(is_code) {
                // It is compiled from the code, and may have other values of constants.
                module.images.retain(is_code);
            } else if !module.images.is_empty() && !keeps_native {
                let mut kernels = module.kernel_names().peekable();
                let has_kernels = kernels.peek().is_some();
                if has_kernels && kernels.all(|name| compiled_elsewhere.contains(name)) {
                    continue;
                }
                return Err(format!(
                    "module {number} ({}) has native code only; save it in state executable",
                    list_of_kernels(module.kernel_names())
                ));
            }
            whole.modules.push(with_values(module, constants)?);
        }
    }
    Ok(whole)
}

/// Returns whether a driver compiles the image. Compilers may file PTX as native code.
fn is_code(image: &Image<'_>) -> bool {
    !image.native || image::is_ptx(image)
}

/// Records the given values of specialization constants.
fn with_values<'a>(
    module: AbstractModule<'a>,
    constants: &[(String, Vec<u8>)],
) -> Result<AbstractModule<'a>, String> {
    // A malformed module is not loaded, so it has no values.
    let Ok(metadata) = ModuleMetadata::read(&module.metadata) else {
        return Ok(module);
    };
    let held = metadata.specialization;
    let mut given = constants.iter().map(|(name, _)| name);
    let Some(name) = given.find(|name| held.constants.get(name).is_some()) else {
        return Ok(module);
    };
    if held.defaults.is_none() && held.set_values.is_none() {
        return Err(format!(
            "the file does not contain the default of specialization constant {name}, so its value cannot be recorded; \
             load it without a value for the constant"
        ));
    }
    let mut module = module.into_owned();
    save::set_values(&mut module.metadata, held, constants);
    Ok(module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syclbin::IrType;

    fn module(kernel: &str, images: &[Image<'static>]) -> AbstractModule<'static> {
        let mut module = AbstractModule::default();
        module.add_kernel_name(kernel.to_owned());
        module.images = images.to_vec();
        module
    }

    fn saved(
        from: State,
        modules: Vec<AbstractModule<'static>>,
        state: State,
    ) -> std::result::Result<Vec<usize>, String> {
        let mut file = Syclbin::new(from);
        file.modules = modules;
        let saved = whole(vec![file], &[], state).map_err(|error| error.to_string())?;
        assert_eq!(saved.state(), Some(state));
        Ok(saved
            .modules
            .iter()
            .map(|module| module.images.len())
            .collect())
    }

    #[test]
    fn only_code_is_saved_before_linking() {
        use State::{Executable, Input, Object};
        let spirv = || Image::ir(IrType::SpirV, "spir64-unknown-unknown", vec![1]);
        let native = || Image::native("", "spir64_x86_64-unknown-unknown", vec![2]);
        let ptx = b".version 6.3\n.target sm_75\n".to_vec();
        let ptx = || Image::native("sm_75", "nvptx64-nvidia-cuda", ptx.clone());
        let both = || module("k", &[spirv(), native(), ptx()]);
        let alone = || module("k", &[native()]);
        for state in [Input, Object] {
            assert_eq!(saved(Executable, vec![both()], state), Ok(vec![2]));
            // Another module has the code of its kernels.
            assert_eq!(saved(Executable, vec![alone(), both()], state), Ok(vec![2]));
            let refused = saved(Executable, vec![alone()], state).unwrap_err();
            assert_eq!(
                refused,
                "module 0 (k) has native code only; save it in state executable"
            );
        }
        assert_eq!(saved(Object, vec![alone()], Object), Ok(vec![1]));
        assert!(saved(Object, vec![alone()], Input).is_err());
        assert!(saved(Object, vec![both()], State::Other(7)).is_err());
    }
}
