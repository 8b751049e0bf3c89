//! Saving: a loaded module as a file of state executable, with the native code of its device.

use syclbin::metadata::{IdRange, MiscProperties, ModuleMetadata};
use syclbin::property::{PropertySets, Value, key, set};
use syclbin::{AbstractModule, Container, Image, State, Syclbin};

use crate::backend::opencl::Program;
use crate::device::Facts;
use crate::error::{Error, ErrorKind, Result};
use crate::load::Part;
use crate::queue::Queue;

/// What the reference runtime says of native code that it got from a driver, and so do we: with
/// another target it would take specialization constants for a hidden argument.
const TARGET: &str = "spir64-unknown-unknown";

/// The properties of a module once it is built of itself and of `linked`, with the values
/// `constants`; `id_range` is the smallest of all of them.
pub(crate) fn properties(
    module: &AbstractModule<'_>,
    metadata: &ModuleMetadata,
    linked: &[&AbstractModule<'_>],
    constants: &[(String, Vec<u8>)],
    id_range: Option<IdRange>,
) -> PropertySets<'static> {
    let mut sets = module.metadata.clone().into_owned();
    if id_range != metadata.misc.id_range {
        let misc = MiscProperties {
            id_range,
            ..metadata.misc.clone()
        };
        misc.write(&mut sets);
    }
    // Everything has been found.
    sets.remove_set(set::IMPORTED_SYMBOLS);
    // The variables of all of them are in the program.
    for other in linked {
        for name in [set::DEVICE_GLOBALS, set::PROGRAM_METADATA, set::VARIABLES] {
            let Some(theirs) = other.metadata.set(name) else {
                continue;
            };
            for (name_in_set, value) in theirs.iter() {
                let about_a_kernel =
                    name == set::PROGRAM_METADATA && !name_in_set.ends_with(key::GLOBAL_ID_MAPPING);
                if !about_a_kernel && sets.get(name, name_in_set).is_none() {
                    sets.insert(name, name_in_set.to_owned(), value.clone());
                }
            }
        }
    }
    set_values(&mut sets, metadata, constants);
    sets
}

/// Records the values that are compiled in.
fn set_values(
    sets: &mut PropertySets<'static>,
    metadata: &ModuleMetadata,
    constants: &[(String, Vec<u8>)],
) {
    let mut specialization = metadata.specialization.clone();
    let held = specialization.set_values.take();
    let Some(mut values) = held.or_else(|| specialization.defaults.clone()) else {
        return;
    };
    // What is malformed has not come this far.
    let layout = specialization.layout().unwrap_or_default();
    let mut is_set = metadata.specialization.set_values.is_some();
    for (name, value) in constants {
        let place = layout.get(name).filter(|place| place.size == value.len());
        let bytes = place.and_then(|place| values.get_mut(place.start..place.start + place.size));
        if let Some(bytes) = bytes {
            bytes.copy_from_slice(value);
            is_set = true;
        }
    }
    if is_set {
        specialization.set_values = Some(values);
        specialization.write(sets);
    }
}

/// The file of a loaded module.
pub(crate) fn to_vec(
    queue: &Queue,
    global: &PropertySets<'static>,
    parts: &[Part],
) -> Result<Vec<u8>> {
    let facts = queue.device().facts();
    let mut file = Syclbin {
        global: global.clone(),
        ..Syclbin::default()
    };
    let state = Value::U32(State::Executable.number());
    file.global.insert(set::GLOBAL, key::STATE, state);
    for part in parts {
        let Ok(program) = &part.program else {
            continue;
        };
        let code = binary(program, queue, part)?;
        file.modules.push(AbstractModule {
            metadata: part.properties.clone(),
            images: vec![Image::native(&architecture(facts), TARGET, code)],
            ..AbstractModule::default()
        });
    }
    let bytes = syclbin::write::to_vec(&file, Container::default());
    bytes.map_err(|error| ErrorKind::Unwritable(error).into())
}

fn binary(program: &Program, queue: &Queue, part: &Part) -> Result<Vec<u8>> {
    program.binary().map_err(|failure| {
        let action = format!("reading the native code of module {}", part.choice.module);
        Error::driver(failure, action, queue.device())
    })
}

/// The architecture of the device, or else its name, which is for people.
fn architecture(facts: &Facts) -> String {
    match facts.architecture {
        Some(architecture) => architecture.to_string(),
        None => facts.name.clone(),
    }
}
