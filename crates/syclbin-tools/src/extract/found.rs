// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collects the images that a walk finds. Images that the input does not store verbatim are copied: decompressed
//! images, images in bitcode, and images in members of thin archives.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{DeviceImage, InSyclbin, archive, walk};
use syclbin::__private::raw::Budget;
use syclbin::property::PropertySets;
use syclbin::{Error, ErrorKind, Syclbin, offload};

/// A callback that reads a member of a thin archive.
pub(super) type Open<'r> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'r;

/// The images found so far, and the remaining limits of the walk.
#[derive(Default)]
pub(super) struct Found<'a, 'r> {
    pub(super) images: Vec<DeviceImage<'a>>,
    /// The number of bytes that may still be decompressed.
    pub(super) left: u64,
    /// Whether the walk is inside a compressed container.
    pub(super) packed: bool,
    /// Reads the members of thin archives, or `None` if they must not be read here.
    pub(super) open: Option<&'r mut Open<'r>>,
}

impl Found<'_, '_> {
    pub(super) fn thin_archive(&mut self, slice: &InputSlice<'_>) -> Result<(), Error> {
        let fail = |kind| slice.fail("archive", kind);
        // Nested thin archives are rejected, because they could refer to each other.
        let Some(open) = self.open.take().filter(|_| slice.depth == 0) else {
            return Err(fail(ErrorKind::Unsupported(
                "a thin archive contains only the names of its members; pass the objects, or recreate the archive \
                 without the option T",
            )));
        };
        let mut names = BTreeSet::new();
        for member in slice.located(archive::members(slice.bytes))? {
            let unusable = |problem: String| {
                let problem = format!("cannot read member {}: {problem}", member.name);
                fail(ErrorKind::Object(problem))
            };
            if !names.insert(member.name.clone()) {
                return Err(unusable("the archive lists it twice".into()));
            }
            let bytes = open(&member.name).map_err(unusable)?;
            if bytes.len() != member.size {
                let (size, said) = (bytes.len(), member.size);
                return Err(unusable(format!(
                    "it is {size} bytes long, but the archive records {said}; recreate the archive"
                )));
            }
            self.left = offload::allowance(bytes.len());
            let part = slice.part(&bytes, &format!("archive member {}", member.name));
            self.inside(slice, &part, false, walk::container)?;
        }
        Ok(())
    }

    /// Rejects a compressed container inside another compressed container. No tool writes such files.
    pub(super) fn refuse_packed(&self, slice: &InputSlice<'_>) -> Result<(), Error> {
        if !self.packed {
            return Ok(());
        }
        let problem =
            "it is compressed inside a compressed container; unpack the outer container first";
        Err(slice.fail("container", ErrorKind::Unsupported(problem)))
    }

    /// Reads the images of `part`, which was decoded from `slice` and is not part of the input. Images and errors
    /// get the offset of `slice`.
    pub(super) fn inside<'b, T>(
        &mut self,
        slice: &InputSlice<'_>,
        part: &InputSlice<'b>,
        packed: bool,
        read: impl FnOnce(&InputSlice<'b>, &mut Found<'b, '_>) -> Result<T, Error>,
    ) -> Result<(), Error> {
        let mut own = Found {
            left: self.left,
            packed: packed || self.packed,
            ..Found::default()
        };
        let done = read(part, &mut own);
        self.left = own.left;
        done.map_err(|error| {
            let record = error.record().to_string();
            Error::new(record, slice.offset, error.kind().clone())
        })?;
        self.images.extend(owned(own.images, slice.offset));
        Ok(())
    }
}

/// Converts the images to owned data, and sets the offset of each to `offset`.
fn owned<'b>(images: Vec<DeviceImage<'b>>, offset: u64) -> Vec<DeviceImage<'static>> {
    // Images from the same SYCLBIN file share one copy of it.
    let mut last: Option<(Arc<Syclbin<'b>>, Arc<Syclbin<'static>>)> = None;
    let mut file = move |file: Arc<Syclbin<'b>>| match &last {
        Some((from, to)) if Arc::ptr_eq(from, &file) => Arc::clone(to),
        _ => {
            let to = Arc::new(Syclbin::clone(&file).into_owned());
            last = Some((file, Arc::clone(&to)));
            to
        }
    };
    let owned = images.into_iter().map(|image| DeviceImage {
        offset,
        triple: image.triple.into_owned().into(),
        arch: image.arch.into_owned().into(),
        strings: offload::owned_strings(image.strings),
        properties: image.properties.map(PropertySets::into_owned),
        bytes: image.bytes.into_owned().into(),
        syclbin: image.syclbin.map(|place| InSyclbin {
            file: file(place.file),
            module: place.module,
            image: place.image,
        }),
        origin: image.origin,
        offload_kind: image.offload_kind,
        image_kind: image.image_kind,
        content: image.content,
    });
    owned.collect()
}

/// The maximum nesting depth. An archive of objects with OffloadBinaries that contain SYCLBIN has depth four.
const MAX_DEPTH: usize = 8;

/// The maximum length of a path, in bytes.
const PATH_LIMIT: usize = 512;

/// A slice of the input, at some depth of the walk.
#[derive(Clone, Default)]
pub(super) struct InputSlice<'a> {
    pub(super) bytes: &'a [u8],
    /// The offset in the input.
    pub(super) offset: u64,
    pub(super) path: String,
    pub(super) depth: usize,
}

impl InputSlice<'_> {
    /// Returns the slice for `bytes`, which is a part of this slice or was decoded from it.
    pub(super) fn part<'b>(&self, bytes: &'b [u8], name: &str) -> InputSlice<'b> {
        let mut path = match (self.path.as_str(), name) {
            ("", name) => name.into(),
            (path, "") => path.into(),
            (path, name) => format!("{path}: {name}"),
        };
        // A file may have a million parts, each with its own path, so limit the length.
        if path.len() > PATH_LIMIT {
            let mut ends = (0..PATH_LIMIT).rev();
            let end = ends.find(|end| path.is_char_boundary(*end));
            path.truncate(end.unwrap_or(0));
            path.push_str("...");
        }
        // Decoded bytes and empty parts may lie outside this slice. In that case, use the offset of this slice.
        let inside = (bytes.as_ptr() as usize).checked_sub(self.bytes.as_ptr() as usize);
        let inside = inside.filter(|at| *at <= self.bytes.len()).unwrap_or(0);
        InputSlice {
            bytes,
            offset: self.offset.saturating_add(inside as u64),
            path,
            depth: self.depth + 1,
        }
    }

    /// Adds this slice's offset and path to an error from a reader that received only this slice.
    pub(super) fn located<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| self.error(error))
    }

    fn error(&self, error: Error) -> Error {
        let separator = if self.path.is_empty() { "" } else { ": " };
        let record = format!("{}{separator}{}", self.path, error.record());
        error.within(record, self.offset)
    }

    pub(super) fn fail(&self, record: &'static str, kind: ErrorKind) -> Error {
        self.error(Error::new(record, 0, kind))
    }

    pub(super) fn check_depth(&self) -> Result<(), Error> {
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        let kind = ErrorKind::Unsupported("containers are nested more than 8 levels deep");
        Err(self.fail("container", kind))
    }

    pub(super) fn budget(&self) -> Budget {
        Budget::new("container bytes", self.bytes.len() as u64)
    }

    pub(super) fn spend(&self, budget: &mut Budget, part: &[u8], name: &str) -> Result<(), Error> {
        self.located(budget.spend(part.len() as u64, || name.into(), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_are_cut_between_characters() {
        let whole = InputSlice::default();
        for (name, expected) in [
            ("a".repeat(512), "a".repeat(512)),
            ("a".repeat(513), format!("{}...", "a".repeat(511))),
            ("\u{e9}".repeat(257), format!("{}...", "\u{e9}".repeat(255))),
        ] {
            let part = whole.part(b"", &name);
            assert_eq!((part.path, part.depth), (expected, 1));
        }
    }

    #[test]
    fn offsets_of_parts_are_within_their_slice() {
        let bytes = [0; 8];
        let slice = InputSlice {
            bytes: &bytes[..4],
            offset: 100,
            path: "a".into(),
            depth: 1,
        };
        for (part, offset) in [(&bytes[3..4], 103), (&bytes[4..4], 104), (&bytes[5..], 100)] {
            let part = slice.part(part, "b");
            let found = (part.offset, &*part.path, part.depth);
            assert_eq!(found, (offset, "a: b", 2));
        }
        assert_eq!(slice.part(&bytes, "").path, "a");
    }

    #[test]
    fn eight_containers_may_be_nested() {
        for (depth, expected) in [(8, true), (9, false)] {
            let slice = InputSlice {
                depth,
                ..InputSlice::default()
            };
            assert_eq!(slice.check_depth().is_ok(), expected);
        }
    }
}
