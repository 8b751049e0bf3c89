// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the reference runtime writes, read by `syclbin`.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::property::{key, set};
use syclbin::signature::{KernelSignature, kernels};
use syclbin::{AbstractModule, Container, Image, PropertySets, State, Syclbin, Value};
use syclbin_rt::{Arg, Device, Launch, Module};
use syclbin_tools::verify::{Severity, verify};

use crate::Result;
use crate::kernels::{parse, restated, write};

const ELF: &[u8] = b"\x7fELF";

/// That `content` is `ours` as a bundle that was not built: the same code, names, properties and
/// signatures.
pub(crate) fn is_code(content: &[u8], ours: &Syclbin<'_>) -> Result<()> {
    let theirs = parse(content)?;
    equal("state", &ours.state(), &theirs.state())?;
    let mut findings = verify(content).into_iter();
    if let Some(fault) = findings.find(|finding| finding.severity != Severity::Note) {
        return Err(format!("verified: {fault}"));
    }
    for (names, ours, theirs) in pairs(ours, &theirs)? {
        let [ours, theirs] = [ours, theirs].map(|module| module.images.as_slice());
        let ([ours], [theirs]) = (ours, theirs) else {
            return Err(format!("{names:?}: expected one image each"));
        };
        if theirs.spirv().is_none() || ours.bytes != theirs.bytes {
            return Err(format!("{names:?}: its image is not the SPIR-V we wrote"));
        }
    }
    let signatures = (signatures(ours)?, signatures(&theirs)?);
    equal("signatures", &signatures.0, &signatures.1)?;
    is_written_alike(content, &theirs)
}

/// That `content` is `ours` as a bundle that was built for the device: the same names and
/// properties, and native code.
pub(crate) fn is_built(content: &[u8], ours: &Syclbin<'_>) -> Result<()> {
    let theirs = parse(content)?;
    equal("state", &Some(State::Executable), &theirs.state())?;
    for (names, _, theirs) in pairs(ours, &theirs)? {
        if theirs.images.is_empty() {
            return Err(format!("{names:?}: it has no image"));
        }
        for image in &theirs.images {
            if !image.native || !image.bytes.starts_with(ELF) {
                return Err(format!("{names:?}: not ELF code: {:?}", image.kind()));
            }
        }
    }
    is_written_alike(content, &theirs)
}

/// That `content` is `ours` as a bundle that was built after its specialization constants got other
/// values: these are written, too.
pub(crate) fn is_specialized(content: &[u8], ours: &Syclbin<'_>) -> Result<()> {
    let mut theirs = parse(content)?;
    for module in &mut theirs.modules {
        let sets = &mut module.metadata;
        let size = |set| {
            sets.get(set, key::ALL)
                .and_then(Value::as_bytes)
                .map(<[u8]>::len)
        };
        let [defaults, values] =
            [set::SPECIALIZATION_DEFAULTS, set::SPECIALIZATION_SET_VALUES].map(size);
        // Only as many: libsycl 2026.2.0 keeps the order of the constants, and writes the values in
        // another one.
        if values.is_none() || values != defaults {
            return Err(format!(
                "{values:?} bytes of values, {defaults:?} of defaults"
            ));
        }
        sets.remove_set(set::SPECIALIZATION_SET_VALUES);
    }
    is_built(&write(&theirs, Container::OffloadBinary2)?, ours)
}

/// That `content` is `ours` as a bundle that was linked: the same names. Of all else, libsycl
/// 2026.2.0 may write nothing, not even code.
pub(crate) fn is_linked(content: &[u8], ours: &Syclbin<'_>) -> Result<()> {
    let theirs = parse(content)?;
    equal("state", &Some(State::Executable), &theirs.state())?;
    let names = |file: &Syclbin<'_>| -> BTreeSet<String> {
        file.kernel_names().map(str::to_owned).collect()
    };
    equal("kernels", &names(ours), &names(&theirs))?;
    is_written_alike(content, &theirs)
}

/// `ours` with the native images of `content` beside its own, module by module.
pub(crate) fn with_native<'a>(mut ours: Syclbin<'a>, content: &'a [u8]) -> Result<Syclbin<'a>> {
    let theirs = parse(content)?;
    let mut native: BTreeMap<_, _> = theirs
        .modules
        .into_iter()
        .map(|module| (names(&module), module.images))
        .collect();
    for module in &mut ours.modules {
        let names = names(module);
        let images = native.remove(&names);
        let images = images.ok_or_else(|| format!("no native image has the kernels {names:?}"))?;
        module.images.extend(images);
    }
    Ok(ours)
}

/// That this project's own runtime runs `saxpy` from the SPIR-V in `content`.
pub(crate) fn runs_here(content: &[u8]) -> Result<()> {
    let file = restated(parse(content)?, State::Executable);
    let bytes = write(&file, Container::default())?;
    let y = saxpy(&bytes).map_err(|error| error.to_string())?;
    let expected: Vec<f32> = (0..100u8).map(|i| 2.0 * f32::from(i) + 1.0).collect();
    equal("y", &expected, &y)
}

/// What this project's own runtime saves of a file in `state` once it has built it for the CPU device.
#[allow(unsafe_code, reason = "the code was compiled for this")]
pub(crate) fn saved_here(file: &[u8], state: State) -> Result<Vec<u8>> {
    let saved = || {
        let queue = Device::select("cpu")?.queue()?;
        // SAFETY: a compiler made the file.
        unsafe { Module::load(&queue, file)? }.to_syclbin_in(state)
    };
    saved().map_err(|error| error.to_string())
}

/// A saved file, with images for another device behind its own.
pub(crate) fn for_other_devices_too(saved: &[u8]) -> Result<Vec<u8>> {
    let ours = parse(saved)?;
    let mut theirs = ours.clone();
    for module in &mut theirs.modules {
        module.images = vec![Image::native("pvc", "spir64_gen-unknown-unknown", vec![1])];
    }
    let merged = syclbin::merge(ours, [theirs]).map_err(|error| error.to_string())?;
    write(&merged, Container::default())
}

fn saxpy(file: &[u8]) -> syclbin_rt::Result<Vec<f32>> {
    let queue = Device::select("cpu")?.queue()?;
    let x: Vec<f32> = (0..100u8).map(f32::from).collect();
    let x = queue.upload(&x)?;
    let mut y = queue.upload(&[1.0f32; 100])?;
    let arguments = [
        Arg::scalar(2.0f32),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(100u32),
    ];
    launch(&queue, file, arguments)?;
    queue.download(&y)
}

#[expect(unsafe_code, reason = "loading and launching are unsafe to call")]
fn launch(
    queue: &syclbin_rt::Queue,
    file: &[u8],
    arguments: [Arg<'_>; 4],
) -> syclbin_rt::Result<()> {
    // SAFETY: a compiler made the code in the file.
    let module = unsafe { Module::load(queue, file)? };
    let saxpy = module.kernel("saxpy");
    let launch = Launch::new(&saxpy, &["a", "x", "y", "n"], arguments);
    // SAFETY: the types are those of the kernel, and both buffers hold `n` elements.
    unsafe { launch.launch(100)? }.wait()
}

/// That what we write of `file` is what the runtime wrote, to the last byte.
fn is_written_alike(content: &[u8], file: &Syclbin<'_>) -> Result<()> {
    let ours = write(file, Container::OffloadBinary2)?;
    match ours.iter().zip(content).position(|(a, b)| a != b) {
        None if ours.len() == content.len() => Ok(()),
        None => Err(format!(
            "we write {} bytes, it {}",
            ours.len(),
            content.len()
        )),
        Some(place) => Err(format!("written again, byte {place} differs")),
    }
}

/// The names of its kernels, a module of ours, the same of theirs.
type Pair<'m> = (Vec<String>, &'m AbstractModule<'m>, &'m AbstractModule<'m>);

/// The modules of both files, which must have the same kernels and properties. The runtime keeps no
/// order of modules, kernels or properties.
fn pairs<'m>(ours: &'m Syclbin<'m>, theirs: &'m Syclbin<'m>) -> Result<Vec<Pair<'m>>> {
    let [ours, mut theirs] = [ours, theirs].map(|file| -> BTreeMap<_, _> {
        let modules = file.modules.iter();
        modules.map(|module| (names(module), module)).collect()
    });
    let kernels = [&ours, &theirs].map(|modules| modules.keys().cloned().collect::<Vec<_>>());
    equal("kernels", &kernels[0], &kernels[1])?;
    let pairs = ours.into_iter().filter_map(|(names, ours)| {
        let theirs = theirs.remove(&names)?;
        Some((names, ours, theirs))
    });
    pairs
        .map(|(names, ours, theirs)| {
            let [expected, found] = [ours, theirs].map(|module| properties(&module.metadata));
            equal(&format!("{names:?}: properties"), &expected, &found)?;
            Ok((names, ours, theirs))
        })
        .collect()
}

fn names(module: &AbstractModule<'_>) -> Vec<String> {
    let mut names: Vec<_> = module.kernel_names().map(str::to_owned).collect();
    names.sort();
    names
}

/// The properties under their set and key.
fn properties(sets: &PropertySets<'_>) -> BTreeMap<(String, String), Value> {
    let mut properties = BTreeMap::new();
    for (name, set) in sets.iter() {
        for (key, value) in set.iter() {
            properties.insert((name.to_owned(), key.to_owned()), value.clone());
        }
    }
    properties
}

fn signatures(file: &Syclbin<'_>) -> Result<Vec<KernelSignature>> {
    // Structs are numbered as modules come, and the runtime keeps no order of those.
    let mut file = file.clone();
    file.modules.sort_by_key(names);
    let mut signatures = kernels(&file).map_err(|error| error.to_string())?.kernels;
    signatures.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    Ok(signatures)
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<()> {
    if expected == found {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected:?}, found {found:?}"))
    }
}
