// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads device code from DPC++'s fat objects, from static libraries of such objects, and from LLVM bitcode files.

use std::collections::BTreeSet;
use std::path::Path;

use syclbin::property::set;
use syclbin::{AbstractModule, Content, State};
use syclbin_tools::extract::{DeviceImage, OffloadKind, images_with, package};

use super::InputFile;
use super::imports;
use crate::command_line::states::check_join;
use crate::command_line::targets::NVIDIA;
use crate::{Result, lower, own};

/// Reads the objects that contain device code from the file at `path`. They will become part of a file in state
/// `whole`.
///
/// # Errors
///
/// Fails if the file contains no device code that can be linked. The error lists the device code that the file does
/// contain.
pub(crate) fn open(path: &Path, whole: State) -> Result<Vec<InputFile>> {
    let name = path.display().to_string();
    let bytes = syclbin_toolchain::file::read(path)
        .or_else(|error| own(format!("cannot read '{name}': {error}")))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut member = |member: &str| {
        let read = syclbin_toolchain::file::read(&folder.join(member));
        read.map_err(|error| error.to_string())
    };
    let images =
        images_with(&bytes, &mut member).or_else(|error| own(format!("'{name}': {error}")))?;
    let mut left_out = BTreeSet::new();
    let mut members: Vec<(Option<String>, Vec<DeviceImage<'_>>)> = Vec::new();
    for image in images {
        if image.offload_kind == OffloadKind::Host {
            continue;
        }
        if let Some(why) = objection(&image) {
            left_out.insert(why);
            continue;
        }
        let member = member_of(&image.origin);
        match members.last_mut() {
            Some((last, images)) if *last == member => images.push(image),
            _ => members.push((member, vec![image])),
        }
    }
    if members.is_empty() {
        return own(without_code(&name, &bytes, left_out));
    }
    let objects = members.into_iter().map(|(member, images)| {
        let is_member = member.is_some();
        let name = member.map_or_else(|| name.clone(), |member| format!("{name}({member})"));
        object(name, is_member, images, whole)
    });
    objects.collect()
}

/// Returns the reason why an image cannot be linked, if any.
fn objection(image: &DeviceImage<'_>) -> Option<String> {
    let target = if image.triple.is_empty() {
        "an unnamed target"
    } else {
        &image.triple
    };
    let is_for = |wanted: &str| image.triple.is_empty() || image.triple.starts_with(wanted);
    if image.syclbin.is_some() {
        return None;
    }
    if !matches!(image.offload_kind, OffloadKind::Sycl | OffloadKind::None) {
        return Some(format!("{} code for {target}", image.offload_kind));
    }
    let can_be_linked = match image.content {
        Content::SpirV | Content::LlvmBitcode => {
            is_for("spir64") && !image.triple.starts_with("spir64_")
        }
        Content::Ptx => is_for("nvptx64"),
        // A kernel cannot be launched if its name is unknown.
        Content::Elf { .. } => {
            (is_for("spir64_") || image.triple == NVIDIA) && image.kernel_names().is_some()
        }
        _ => false,
    };
    (!can_be_linked).then(|| format!("{} for {target}", image.content))
}

fn without_code(name: &str, bytes: &[u8], left_out: BTreeSet<String>) -> String {
    if !left_out.is_empty() {
        return format!(
            "'{name}' contains no device code that can be linked, only {}; recompile its sources with -fsycl for \
             spir64",
            Vec::from_iter(left_out).join(" and ")
        );
    }
    let what = if bytes.starts_with(b"!<") {
        format!("no member of '{name}' contains device code")
    } else {
        format!("'{name}' contains no device code")
    };
    format!(
        "{what}; recompile its sources with DPC++ and -fsycl, or remove the file from the inputs"
    )
}

/// Returns the name of the static library member that contains an image.
fn member_of(origin: &str) -> Option<String> {
    let member = origin.strip_prefix("archive member ")?;
    let (member, _) = member.split_once(": ").unwrap_or((member, ""));
    Some(member.to_owned())
}

/// Creates modules from the images of one object. Bitcode is stored, to be compiled later.
fn object(
    name: String,
    is_member: bool,
    images: Vec<DeviceImage<'_>>,
    whole: State,
) -> Result<InputFile> {
    let (bitcode, code): (Vec<_>, Vec<_>) = images
        .into_iter()
        .partition(|image| image.content == Content::LlvmBitcode);
    for image in &code {
        if let Some(place) = &image.syclbin {
            check_join(&name, place.file.state(), whole)?;
        }
    }
    let (file, notes) = package(code);
    let dropped = notes.iter().filter(|note| !note.packaged);
    if let Some(note) = dropped.min_by_key(|note| note.image) {
        return own(format!("'{name}': {note}"));
    }
    let mut file = file.into_owned();
    for module in &mut file.modules {
        lower::lower_module(module).or_else(|why| own(format!("'{name}': {why}")))?;
    }
    let bitcode = bitcode.into_iter().map(|image| image.bytes.into_owned());
    Ok(InputFile {
        is_member,
        bitcode: bitcode.collect(),
        ..InputFile::new(name, file)
    })
}

/// Returns the inputs to link. A member of a static library is omitted if it contains neither kernels nor virtual
/// functions, and defines no symbol that other inputs need.
pub(crate) fn select(parts: Vec<InputFile>) -> Result<Vec<InputFile>> {
    let mut taken = Vec::new();
    let mut symbols = Vec::new();
    for part in &parts {
        let modules = &part.file.modules;
        let mut imported = BTreeSet::new();
        let mut exported = BTreeSet::new();
        for module in modules {
            let imports = imports::named_with(&part.name, imports::of_module(module))?;
            imported.extend(imports);
            exported.extend(imports::exports(module).map(str::to_owned));
        }
        let is_root = |module: &AbstractModule<'_>| {
            module.kernel_names().next().is_some()
                || module.metadata.set(set::VIRTUAL_FUNCTIONS).is_some()
        };
        taken.push(!part.is_member || modules.iter().any(is_root));
        symbols.push((imported, exported));
    }
    loop {
        let of_taken = || symbols.iter().zip(&taken).filter(|(_, taken)| **taken);
        let defined: BTreeSet<&String> = of_taken().flat_map(|((_, all), _)| all).collect();
        let needed: BTreeSet<&String> = of_taken().flat_map(|((all, _), _)| all).collect();
        let is_needed = |symbol: &String| needed.contains(symbol) && !defined.contains(symbol);
        let mut all = symbols.iter().zip(&taken);
        let next = all.position(|((_, exported), taken)| !taken && exported.iter().any(is_needed));
        match next {
            Some(index) => taken[index] = true,
            None => break,
        }
    }
    let needed = parts.into_iter().zip(taken).filter(|(_, taken)| *taken);
    Ok(needed.map(|(part, _)| part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;
    use syclbin::Syclbin;
    use syclbin::property::Value;

    fn candidate(name: &str, is_member: bool, kernel: bool, symbols: [&[&str]; 2]) -> InputFile {
        let mut module = AbstractModule::default();
        if kernel {
            module.add_kernel_name(name.to_owned());
        }
        let sets = [set::IMPORTED_SYMBOLS, set::EXPORTED_SYMBOLS];
        for (set, symbols) in sets.into_iter().zip(symbols) {
            for symbol in symbols {
                let metadata = &mut module.metadata;
                metadata.insert(set, (*symbol).to_owned(), Value::U32(1));
            }
        }
        let mut file = Syclbin::new(State::Object);
        file.modules.push(module);
        InputFile {
            is_member,
            ..InputFile::new(name.to_owned(), file)
        }
    }

    #[test]
    fn members_join_if_needed_or_with_kernels() {
        let all = vec![
            candidate("unneeded", true, false, [&[], &["g"]]),
            candidate("second", true, false, [&[], &["h"]]),
            candidate("first", true, false, [&["h"], &["f"]]),
            candidate("duplicate", true, false, [&[], &["f"]]),
            candidate("main", false, true, [&["f"], &[]]),
            candidate("kernels", true, true, [&[], &[]]),
            candidate("object", false, false, [&[], &["i"]]),
        ];
        let parts = select(all).unwrap();
        let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["second", "first", "main", "kernels", "object"]);
    }

    fn said(name: &str, content: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        match open(&path, State::Executable) {
            Err(Failure::Own(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn objects_without_usable_device_code_are_refused() {
        let mixed = said("mixed.o", &test_files::read("extract/mixed.offload"));
        assert!(
            mixed.contains("no device code that can be linked"),
            "{mixed}"
        );
        assert!(mixed.contains("amdgcn-amd-amdhsa"), "{mixed}");
        let archive = said("lib.a", b"!<arch>\n");
        assert!(archive.contains("no member of"), "{archive}");
    }

    #[test]
    fn native_code_needs_the_names_of_its_kernels() {
        let elf = test_files::read("extract/mixed.offload");
        let mut image = images_with(&elf, &mut |_| Err(String::new()))
            .unwrap()
            .remove(0);
        image.offload_kind = OffloadKind::Sycl;
        image.content = Content::Elf { machine: 62 };
        image.triple = "spir64_x86_64-unknown-unknown".into();
        assert!(image.kernel_names().is_none());
        assert!(objection(&image).is_some());
    }

    #[test]
    fn images_of_an_object_become_modules() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.o");
        std::fs::write(&path, test_files::read("extract/old.o")).unwrap();
        let objects = open(&path, State::Executable).unwrap();
        assert_eq!(objects.len(), 1);
        assert!(!objects[0].is_member && !objects[0].file.modules.is_empty());
    }

    #[test]
    fn embedded_syclbin_gets_its_constants_lowered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.o");
        std::fs::write(&path, test_files::read("constants.object.syclbin")).unwrap();
        let objects = open(&path, State::Executable).unwrap();
        let module = &objects[0].file.modules[0];
        let constants = module.metadata.set(set::SPECIALIZATION_CONSTANTS);
        assert_eq!(
            constants.map(|constants| constants.names().count()),
            Some(3)
        );
        assert_eq!(imports::of_module(module), Ok(BTreeSet::new()));
    }

    #[test]
    fn code_and_target_must_fit_together() {
        let bytes = test_files::read("extract/mixed.offload");
        let images = images_with(&bytes, &mut |_| Err(String::new())).unwrap();
        let is_linked = |content: Content, triple: &str| {
            let mut image = images[0].clone();
            image.offload_kind = OffloadKind::Sycl;
            (image.content, image.triple) = (content, triple.to_owned().into());
            objection(&image).is_none()
        };
        assert!(is_linked(Content::SpirV, "spir64-unknown-unknown"));
        assert!(is_linked(Content::SpirV, ""));
        assert!(!is_linked(Content::SpirV, "spir64_gen-unknown-unknown"));
        assert!(is_linked(Content::Ptx, NVIDIA) && is_linked(Content::Ptx, ""));
        assert!(!is_linked(Content::Ptx, "spir64-unknown-unknown"));
    }
}
