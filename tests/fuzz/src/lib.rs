// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a fuzzer does to `syclbin`. Each function takes any bytes and panics when a promise of the
//! library is broken; reading them is allowed to fail, with an error that points into the input.
#![forbid(unsafe_code)]
#![allow(clippy::panic, clippy::missing_panics_doc)] // to panic is what these are for

pub mod structure;

use std::borrow::Cow;
use std::sync::LazyLock;

use syclbin::__private::spirv::Module;
use syclbin::__private::spirv::portable::lift::{Global, Layout, Lifted, lift};
use syclbin::__private::spirv::portable::{DriverSupport, Version, rewrite};
use syclbin::metadata::ModuleMetadata;
use syclbin::{
    Container, Error, PropertySets, Syclbin, cubin, offload, ptx, read, signature, write,
};
use syclbin_tools::__private::link::link_modules;
use syclbin_tools::extract::{self, DeviceImage};
use syclbin_tools::verify::{Severity, verify};

/// A function that takes any bytes.
pub type Target = fn(&[u8]);

/// The targets, by the names of their binaries.
pub const TARGETS: [(&str, Target); 8] = [
    ("read", read),
    ("round_trip", round_trip),
    ("property", property),
    ("link", link),
    ("expand", expand),
    ("items", items),
    ("lower", lower),
    ("inputs", inputs),
];

/// Runs everything that reads: the view, the model, the wrapper, signatures, verification.
pub fn read(bytes: &[u8]) {
    read_unless(bytes, |_| false);
}

/// Runs everything that reads, but reads no image alone that is known. Nothing new comes of the same bytes.
pub fn read_unless(bytes: &[u8], is_known: impl Fn(&[u8]) -> bool) {
    let parsed = read::parse(bytes);
    match &parsed {
        Ok(file) => {
            view(bytes, file);
            let _ = signature::kernels(file);
            for module in &file.modules {
                views(&module.metadata);
                let images = module.images.iter().map(|image| &*image.bytes);
                images.filter(|image| !is_known(image)).for_each(code);
            }
        }
        Err(error) => check(error, bytes),
    }
    if let Err(error) = offload::read(bytes) {
        check(&error, bytes);
    }
    match extract::images(bytes) {
        Ok(images) => {
            let claimed = |is_borrowed: bool| -> usize {
                let images = images.iter().map(|image| &image.bytes);
                let of_kind =
                    images.filter(|bytes| matches!(bytes, Cow::Borrowed(_)) == is_borrowed);
                of_kind.map(|bytes| bytes.len()).sum()
            };
            assert!(claimed(true) <= bytes.len(), "images share bytes");
            let allowed = (16 << 20) + 128 * bytes.len();
            assert!(
                claimed(false) <= allowed,
                "more was unpacked than is allowed"
            );
            let names = images.iter().filter_map(DeviceImage::kernel_names).count();
            let (file, notes) = extract::package(images);
            let packaged = file.modules.iter().map(|module| module.images.len());
            assert!(
                names <= packaged.sum::<usize>() + notes.len(),
                "an image was lost"
            );
            match write::to_vec(&file, Container::default()) {
                Ok(written) => assert!(read::parse(&written).is_ok_and(|again| again == file)),
                // What comes out of SYCLBIN keeps strings that only its own container can hold.
                Err(error) => assert!(matches!(error, write::Error::Container { .. }), "{error}"),
            }
        }
        Err(error) => check(&error, bytes),
    }
    code(bytes);
    let findings = verify(bytes);
    let size = bytes.len() as u64;
    assert!(findings.iter().all(|finding| finding.offset <= size));
    let error = findings.iter().find(|f| f.severity == Severity::Error);
    assert!(
        parsed.is_ok() || error.is_some(),
        "it cannot be read, and nothing was found"
    );
}

/// SPIR-V, rewritten for drivers that take less: what comes out is SPIR-V.
fn portable(bytes: &[u8]) {
    let versions = [Version::new(1, 0), Version::new(1, 3)];
    let reader = DriverSupport {
        versions: &versions,
        ..DriverSupport::default()
    };
    if let Ok(Some(rewritten)) = rewrite(bytes, &reader) {
        assert!(Module::parse(&rewritten).is_ok(), "rewriting breaks it");
    }
    let globals = [Global {
        id: "_Z5table",
        holds_value: false,
    }];
    if let Ok(Some(Lifted { modules, layout })) = lift(&[bytes], &globals) {
        assert!(
            modules.iter().all(|module| Module::parse(module).is_ok()),
            "lifting breaks it"
        );
        assert_eq!(Layout::of_text(&layout.to_text()), Some(layout));
    }
}

/// NVIDIA's code, if it is some: an error points into it, and entries share no bytes.
fn code(bytes: &[u8]) {
    portable(bytes);
    match ptx::Module::parse(bytes) {
        Ok(module) => {
            let names: usize = module.kernels.iter().map(|kernel| kernel.name.len()).sum();
            // A byte that is not text becomes three.
            assert!(names <= 3 * bytes.len(), "kernels share names");
        }
        Err(error) => check(&error, bytes),
    }
    if let Err(error) = cubin::target(bytes) {
        check(&error, bytes);
    }
    let kernels = syclbin_tools::native::kernels(bytes);
    let names: usize = kernels.iter().map(|kernel| kernel.symbol.len()).sum();
    assert!(names <= 3 * bytes.len(), "kernels share names");
    match cubin::entries(bytes) {
        Ok(entries) => {
            let mut claimed = 0;
            for entry in entries {
                match entry {
                    Ok(entry) => claimed += entry.bytes.len(),
                    Err(error) => check(&error, bytes),
                }
            }
            assert!(claimed <= bytes.len(), "entries share bytes");
        }
        Err(error) => check(&error, bytes),
    }
}

/// Writes what was read to every container that can hold it, and reads it again.
pub fn round_trip(bytes: &[u8]) {
    let Ok(file) = read::parse(bytes) else { return };
    for container in Container::ALL {
        match write::to_vec(&file, container) {
            Ok(written) => {
                let again = read::File::parse(&written).unwrap_or_else(|error| broken(&error));
                assert_eq!(again.container(), container);
                let again = again.to_model().unwrap_or_else(|error| broken(&error));
                assert!(again == file, "{container:?} changes it");
            }
            Err(
                write::Error::Container { .. }
                | write::Error::Reserved { .. }
                | write::Error::Nul(_),
            ) => {}
            Err(error) => panic!("{container:?} does not hold what was read: {error}"),
        }
    }
    assert!(file.clone().into_owned() == file);
}

/// Links the modules of a file. If the result can be written, reading it back returns the same file.
pub fn link(bytes: &[u8]) {
    let Ok(file) = read::parse(bytes) else { return };
    let mut file = file.into_owned();
    let before: usize = file.modules.iter().map(|module| module.images.len()).sum();
    let unlinked = link_modules(&mut file.modules);
    assert!(unlinked.len() <= file.modules.len());
    let images = file.modules.iter().map(|module| module.images.len());
    assert!(images.sum::<usize>() >= before, "an image was lost");
    for image in file.modules.iter().flat_map(|module| &module.images) {
        if let Some(spirv) = image.spirv() {
            // An error is fine: linking leaves damaged SPIR-V unchanged if no module imports from it.
            let _ = Module::parse(spirv);
        }
    }
    if let Ok(written) = write::to_vec(&file, Container::default()) {
        assert!(read::parse(&written).is_ok_and(|again| again == file));
    }
}

/// Generates code for a file. Success implies that the kernels can be listed; a failure explains itself.
pub fn expand(bytes: &[u8]) {
    let stubs = syclbin_expand::stubs(bytes);
    match syclbin_expand::source(bytes, "file", "") {
        Ok(_) => assert!(stubs.is_ok()),
        Err(reasons) => explained(&reasons),
    }
    if let Ok(launches) = syclbin_expand::launches(bytes) {
        assert!(launches.len() >= stubs.map_or(0, |stubs| stubs.len()));
    }
}

/// Generates code for a valid file, with arbitrary text as the macro's items: contracts, names and attributes.
pub fn items(bytes: &[u8]) {
    static FILE: LazyLock<Vec<u8>> =
        LazyLock::new(|| test_files::read("vector_ops.object.syclbin"));
    let Ok(items) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(reasons) = syclbin_expand::source(&FILE, "file", items) {
        explained(&reasons);
    }
}

/// Rewrites the code of each module as the compiler driver does. SPIR-V must stay valid, and text must stay text.
pub fn lower(bytes: &[u8]) {
    let Ok(file) = read::parse(bytes) else { return };
    for mut module in file.into_owned().modules {
        let before = module.clone();
        syclbin_clang::rewrite(&mut module);
        assert_eq!(module.images.len(), before.images.len());
        for (image, before) in module.images.iter().zip(&before.images) {
            if Module::parse(&before.bytes).is_ok() {
                let parsed = Module::parse(&image.bytes);
                assert!(parsed.is_ok(), "lowering breaks SPIR-V: {parsed:?}");
            }
            if std::str::from_utf8(&before.bytes).is_ok() {
                let is_text = std::str::from_utf8(&image.bytes).is_ok();
                assert!(is_text, "lowering breaks text");
            }
        }
        views(&module.metadata);
    }
}

/// Reads text as the other inputs of a build: Cargo.toml, a depfile, a manifest of the cache, and a source with
/// `__has_include`.
pub fn inputs(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // `toml_parser` 1.1.5 overflows the stack on a thousand unclosed inline tables. Cargo uses the same parser, so it
    // crashes before a build script can read such a Cargo.toml.
    let is_bounded = text.matches('{').count() < 100;
    if is_bounded && let Err((at, problem)) = syclbin_build::manifest::parse(text) {
        assert!(!problem.is_empty());
        assert!(at.is_none_or(|at| text.get(at).is_some()), "{problem}");
    }
    let mut paths = syclbin_build::depfile::prerequisites(text);
    // Makefiles have no escape for a backslash that the compilers agree on.
    paths.retain(|path| !path.as_os_str().as_encoded_bytes().contains(&b'\\'));
    let rule = syclbin_build::depfile::rule("target".as_ref(), paths.iter().map(AsRef::as_ref));
    let again = syclbin_build::depfile::prerequisites(&rule);
    assert_eq!(again, paths, "{rule}");
    // Cached names contain no carriage return, and decoding removes a final one.
    if !text.contains('\r')
        && let Some(written) = syclbin_build::cache::recode(text)
    {
        let again = syclbin_build::cache::recode(&written);
        assert_eq!(again.as_deref(), Some(written.as_str()));
    }
    let names = syclbin_build::cache::asked(text).unwrap_or_default();
    // A backslash can join the lines of a name.
    let joined = text.replace("\\\n", "").replace("\\\r\n", "");
    assert!(names.iter().all(|name| joined.contains(name.as_str())));
}

/// A failure has reasons, and the input is to blame for each.
fn explained(reasons: &[String]) {
    let is_good = |reason: &String| !reason.is_empty() && !reason.starts_with("internal error");
    assert!(
        !reasons.is_empty() && reasons.iter().all(is_good),
        "{reasons:?}"
    );
}

/// Applies `change` to one image or to the metadata of one module, and writes the file again. Sizes and offsets stay
/// valid, so a fuzzer gets past the container checks.
///
/// Returns `None` if `bytes` are not a file with modules, if the change makes the metadata invalid, if the result
/// cannot be written, or if it is longer than `most` bytes.
pub fn mutated(
    bytes: &[u8],
    seed: u32,
    most: usize,
    change: impl FnOnce(&mut Vec<u8>),
) -> Option<Vec<u8>> {
    let mut file = read::parse(bytes).ok()?.into_owned();
    let seed = seed as usize;
    let modules = file.modules.len();
    let module = file.modules.get_mut(seed.checked_rem(modules)?)?;
    let parts = module.images.len() + 1;
    match module.images.get_mut(seed / modules % parts) {
        Some(image) => {
            let mut part = image.bytes.to_vec();
            change(&mut part);
            image.bytes = part.into();
        }
        None => {
            let mut text = module.metadata.to_text().ok()?.into_bytes();
            change(&mut text);
            module.metadata = PropertySets::parse(&text).ok()?.into_owned();
        }
    }
    let container = Container::ALL[seed / modules / parts % Container::ALL.len()];
    let written = write::to_vec(&file, container).ok()?;
    (written.len() <= most).then_some(written)
}

/// Makes libFuzzer use [`mutated`] for two of three mutations: one changes bytes, and one keeps the structure.
#[macro_export]
macro_rules! mutate_contents {
    () => {
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            let change = |part: &mut Vec<u8>| {
                if seed % 3 == 0 {
                    return $crate::structure::change(part, seed / 3, max_size);
                }
                let len = part.len();
                part.resize(len + len / 8 + 16, 0);
                let longest = part.len();
                let len = libfuzzer_sys::fuzzer_mutate(part, len, longest);
                part.truncate(len);
            };
            let contents = (seed % 3 < 2)
                .then(|| $crate::mutated(&data[..size], seed / 3, max_size, change))
                .flatten();
            match contents {
                Some(changed) => {
                    data[..changed.len()].copy_from_slice(&changed);
                    changed.len()
                }
                None => libfuzzer_sys::fuzzer_mutate(data, size, max_size),
            }
        });
    };
}

/// Makes half of libFuzzer's mutations keep the line structure of a text.
#[macro_export]
macro_rules! mutate_text {
    () => {
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            if seed % 2 == 1 {
                return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
            }
            let mut text = data[..size].to_vec();
            $crate::structure::change(&mut text, seed / 2, max_size);
            data[..text.len()].copy_from_slice(&text);
            text.len()
        });
    };
}

/// What the views read, they write so that they read the same again.
fn views(sets: &PropertySets<'_>) {
    let Ok(read) = ModuleMetadata::read(sets) else {
        return;
    };
    let mut written = sets.clone();
    read.write(&mut written);
    match ModuleMetadata::read(&written) {
        Ok(again) => assert!(again == read, "writing changes what it means"),
        Err(error) => panic!("what was read once means nothing now: {error}"),
    }
}

/// Writes property sets that were read, and reads them again: the sets and the text stay the same.
pub fn property(bytes: &[u8]) {
    let sets = match PropertySets::parse(bytes) {
        Ok(sets) => sets,
        Err(error) => return check(&error, bytes),
    };
    for (name, set) in sets.iter() {
        assert!(sets.set(name) == Some(set));
        for (key, value) in set.iter() {
            assert_eq!(set.get(key), Some(value));
        }
    }
    let text = match sets.to_text() {
        Ok(text) => text,
        Err(error) => panic!("what was read cannot be written: {error}"),
    };
    let again = PropertySets::parse(text.as_bytes()).unwrap_or_else(|error| broken(&error));
    assert!(again == sets, "writing changes it");
    assert_eq!(again.to_text().as_deref(), Ok(text.as_str()));
    views(&sets);
}

/// The view of a file that can be read has the same in it.
fn view(bytes: &[u8], file: &Syclbin<'_>) {
    let view = read::File::parse(bytes).unwrap_or_else(|error| broken(&error));
    assert_eq!(view.module_count(), file.modules.len());
    for (module, expected) in view.modules().zip(&file.modules) {
        let module = module.unwrap_or_else(|error| broken(&error));
        let images = module.images().map(|image| {
            let image = image.unwrap_or_else(|error| broken(&error));
            let start = usize::try_from(image.offset).unwrap_or(usize::MAX);
            let at = bytes.get(start..).and_then(|b| b.get(..image.bytes.len()));
            assert_eq!(at, Some(image.bytes), "an image lies where it says");
            image.bytes
        });
        assert!(images.eq(expected.images.iter().map(|image| image.bytes.as_ref())));
    }
}

/// An error points into the input and names a record.
fn check(error: &Error, bytes: &[u8]) {
    assert!(error.offset() <= bytes.len() as u64, "{error}");
    assert!(!error.record().is_empty(), "{error}");
}

fn broken(error: &Error) -> ! {
    panic!("what was read once cannot be read again: {error}")
}
