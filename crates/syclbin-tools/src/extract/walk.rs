// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descends from the outermost container to the images.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::found::{Found, InputSlice, Open};
use super::object::{Role, Section, sections};
use super::registered::{Registered, registered};
use super::{DeviceImage, InSyclbin, OffloadKind, archive, bundle, modules};
use syclbin::__private::offload::{allowance, unpack_frame, unpack_within};
use syclbin::__private::raw::v2;
use syclbin::offload::{self, ImageKind};
use syclbin::{self as model, Content, Error, ErrorKind, cubin, read};

pub(super) fn images<'a>(
    bytes: &'a [u8],
    open: Option<&mut Open<'_>>,
) -> Result<Vec<DeviceImage<'a>>, Error> {
    let slice = InputSlice {
        bytes,
        ..InputSlice::default()
    };
    let mut found = Found {
        left: allowance(bytes.len()),
        open: open.map(|open| open as _),
        ..Found::default()
    };
    if container(&slice, &mut found)? {
        Ok(found.images)
    } else {
        Err(slice.fail("file", ErrorKind::no_images(bytes)))
    }
}

/// Reads the images of a file or archive member. Returns whether its format can contain images.
pub(super) fn container<'a>(
    slice: &InputSlice<'a>,
    found: &mut Found<'a, '_>,
) -> Result<bool, Error> {
    let bytes = slice.bytes;
    slice.check_depth()?;
    match Content::of(bytes) {
        _ if bytes.starts_with(archive::THIN_MAGIC) => found.thin_archive(slice)?,
        _ if bundle::is_text(bytes) => entries(slice, bundle::text(bytes), found)?,
        Content::Archive => {
            for member in slice.located(archive::members(bytes))? {
                let name = format!("archive member {}", member.name);
                container(&slice.part(member.bytes, &name), found)?;
            }
        }
        Content::CompressedBundle => {
            found.refuse_packed(slice)?;
            let unpacked = slice.located(bundle::unpack(bytes, &mut found.left))?;
            let part = slice.part(&unpacked, "compressed offload bundle");
            found.inside(slice, &part, true, container)?;
        }
        Content::ClangBundle => entries(slice, bundle::binary(bytes), found)?,
        Content::LlvmBitcode => {
            let binaries = slice.located(modules::in_bitcode(bytes))?;
            for (index, bytes) in binaries.iter().enumerate() {
                let part = slice.part(bytes, &format!("embedded object {index}"));
                found.inside(slice, &part, false, offload_binaries)?;
            }
            if binaries.is_empty() {
                image(slice, DeviceImage::default(), found)?;
            }
        }
        Content::OffloadBinary
        | Content::Syclbin
        | Content::SpirV
        | Content::Ptx
        | Content::CudaFatbin
        | Content::Elf {
            machine: cubin::MACHINE,
        } => image(slice, DeviceImage::default(), found)?,
        _ => match sections(bytes) {
            Some(sections) => object(slice, slice.located(sections)?, found)?,
            None => return Ok(false),
        },
    }
    Ok(true)
}

fn entries<'a>(
    slice: &InputSlice<'a>,
    entries: Result<Vec<bundle::Entry<'a>>, Error>,
    found: &mut Found<'a, '_>,
) -> Result<(), Error> {
    for entry in slice.located(entries)? {
        let name = format!("bundle entry {}", super::shown(entry.id.as_bytes()));
        let declared = bundle::declared(&entry.id);
        image(&slice.part(entry.bytes, &name), declared, found)?;
    }
    Ok(())
}

fn object<'a>(
    slice: &InputSlice<'a>,
    sections: Vec<Section<'a>>,
    found: &mut Found<'a, '_>,
) -> Result<(), Error> {
    let mut budget = slice.budget();
    let big_endian = slice.bytes.starts_with(b"\x7fELF") && slice.bytes.get(5) == Some(&2);
    // A size section describes the image section with the same identifier. If an identifier occurs several times, the
    // sections pair up in order.
    let mut sizes: BTreeMap<Vec<u8>, VecDeque<&[u8]>> = BTreeMap::new();
    let mut with_images = Vec::new();
    for section in &sections {
        slice.spend(&mut budget, section.data, &section.name)?;
        match &section.role {
            Role::Sizes(id) => sizes.entry(id.clone()).or_default().push_back(section.data),
            Role::Bundle(_) => with_images.push(section.data),
            Role::OffloadBinaries => {}
        }
    }
    let mut images_of_program = match with_images[..] {
        [] => Vec::new(),
        _ => registered(slice.bytes, &with_images).unwrap_or_default(),
    };
    for section in sections {
        let part = slice.part(section.data, &format!("section {}", section.name));
        match section.role {
            Role::OffloadBinaries => offload_binaries(&part, found)?,
            Role::Bundle(id) => {
                let id_text = String::from_utf8_lossy(&id);
                if registered_images(&part, &id_text, slice, &mut images_of_program, found)? {
                    continue;
                }
                let sizes = sizes.get_mut(&id).and_then(VecDeque::pop_front);
                let images = modules::bundled(&part, sizes, big_endian)?;
                for part in parts(&part, &images) {
                    image(&part, bundle::declared(&id_text), found)?;
                }
            }
            Role::Sizes(_) => {}
        }
    }
    Ok(())
}

/// Adds the images that the program registers from this section. Returns whether there are any.
fn registered_images<'a>(
    section: &InputSlice<'a>,
    id: &str,
    program: &InputSlice<'a>,
    registered: &mut Vec<Registered<'a>>,
    found: &mut Found<'a, '_>,
) -> Result<bool, Error> {
    let start = section.offset.saturating_sub(program.offset);
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let end = start.saturating_add(section.bytes.len());
    let [start, end] = [start, end].map(|at| registered.partition_point(|one| one.start < at));
    let of_section = registered.drain(start..end);
    let (bytes, images): (Vec<_>, Vec<_>) = of_section.map(|one| (one.bytes, one.image)).unzip();
    for (part, mut declared) in parts(section, &bytes).iter().zip(images) {
        declared.arch = bundle::declared(id).arch;
        if declared.triple.is_empty() {
            declared.triple = bundle::declared(id).triple;
        }
        image(part, declared, found)?;
    }
    Ok(!bytes.is_empty())
}

/// Splits a section into its images. If there are several, numbers them in their paths.
fn parts<'a>(section: &InputSlice<'a>, images: &[&'a [u8]]) -> Vec<InputSlice<'a>> {
    match images {
        [bytes] => Vec::from([InputSlice {
            bytes,
            ..section.clone()
        }]),
        _ => (images.iter().enumerate())
            .map(|(index, bytes)| section.part(bytes, &format!("image {index}")))
            .collect(),
    }
}

fn offload_binaries<'a>(slice: &InputSlice<'a>, found: &mut Found<'a, '_>) -> Result<(), Error> {
    let bytes = slice.located(unpack_within(slice.bytes, &mut found.left))?;
    if let Cow::Owned(unpacked) = bytes {
        found.refuse_packed(slice)?;
        return found.inside(slice, &slice.part(&unpacked, ""), true, offload_binaries);
    }
    let entries = slice.located(offload::read(slice.bytes))?;
    // SYCLBIN version 2 spans all entries.
    let version = |first: &offload::Entry<'_>| first.string(v2::key::FORMAT_VERSION).is_some();
    if entries.first().is_some_and(version) {
        return syclbin(slice, found);
    }
    for (index, entry) in entries.into_iter().enumerate() {
        let string = |key| entry.string(key).unwrap_or_default().to_string();
        let (triple, mut arch) = (string("triple"), string("arch"));
        // The driver writes `generic` if the code is not for a particular architecture.
        if arch == "generic" {
            arch.clear();
        }
        let declared = DeviceImage {
            offload_kind: OffloadKind::numbered(entry.offload_kind.0, &triple),
            triple: triple.into(),
            arch: arch.into(),
            image_kind: Some(entry.image_kind),
            strings: (entry.strings.into_iter())
                .filter(|(key, _)| key != "triple" && key != "arch")
                .collect(),
            ..DeviceImage::default()
        };
        // An entry with flag 1 has strings but no image.
        if entry.flags & 1 != 0 && entry.image.is_empty() {
            continue;
        }
        // Always matches: `offload::read` borrows the images.
        if let Cow::Borrowed(bytes) = entry.image {
            let part = slice.part(bytes, &format!("entry {index}"));
            image(&part, declared, found)?;
        }
    }
    Ok(())
}

/// Adds an image, or descends into it if it is a container.
fn image<'a>(
    slice: &InputSlice<'a>,
    declared: DeviceImage<'a>,
    found: &mut Found<'a, '_>,
) -> Result<(), Error> {
    slice.check_depth()?;
    let content = Content::of(slice.bytes);
    match content {
        Content::Syclbin => return syclbin(slice, found),
        Content::OffloadBinary => return offload_binaries(slice, found),
        Content::Zstd => {
            found.refuse_packed(slice)?;
            let unpacked = unpack_frame(slice.bytes, &mut found.left);
            let unpacked = unpacked.map_err(|kind| slice.fail("compressed image", kind))?;
            return found.inside(slice, &slice.part(&unpacked, ""), true, |part, found| {
                image(part, declared, found)
            });
        }
        Content::Unknown | Content::Empty if declared.image_kind == Some(ImageKind::SYCLBIN) => {
            let kind = ErrorKind::magic("a SYCLBIN file", slice.bytes);
            return Err(slice.fail("SYCLBIN file header", kind));
        }
        // Code compiled ahead of time without relocatable device code is a host object that contains the images in
        // sections. Other host code and native device code do not have such sections.
        _ => {
            if let Some(Ok(sections)) = sections(slice.bytes)
                && !sections.is_empty()
            {
                return object(slice, sections, found);
            }
        }
    }
    if !slice.bytes.is_empty() || declared.offload_kind != OffloadKind::Host {
        found.images.push(leaf(slice, declared));
    }
    Ok(())
}

fn leaf<'a>(slice: &InputSlice<'a>, declared: DeviceImage<'a>) -> DeviceImage<'a> {
    DeviceImage {
        origin: slice.path.clone(),
        offset: slice.offset,
        content: Content::of(slice.bytes),
        bytes: Cow::Borrowed(slice.bytes),
        ..declared
    }
}

fn syclbin<'a>(slice: &InputSlice<'a>, found: &mut Found<'a, '_>) -> Result<(), Error> {
    let file = Arc::new(slice.located(read::parse(slice.bytes))?);
    let mut budget = slice.budget();
    for (module, abstract_module) in file.modules.iter().enumerate() {
        for (index, image) in abstract_module.images.iter().enumerate() {
            let name = format!("SYCLBIN module {module}: image {index}");
            slice.spend(&mut budget, &image.bytes, &name)?;
            let (triple, arch) = match image.kind() {
                model::ImageKind::Ir { target, .. } => (target, ""),
                model::ImageKind::Native { arch, target } => (target, arch),
            };
            let declared = DeviceImage {
                offload_kind: OffloadKind::Sycl,
                triple: triple.to_string().into(),
                arch: arch.to_string().into(),
                syclbin: Some(InSyclbin {
                    file: Arc::clone(&file),
                    module,
                    image: index,
                }),
                ..DeviceImage::default()
            };
            // Always matches: `read::parse` borrows the images.
            if let Cow::Borrowed(bytes) = image.bytes {
                found.images.push(leaf(&slice.part(bytes, &name), declared));
            }
        }
    }
    Ok(())
}
