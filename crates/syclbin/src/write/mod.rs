// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encodes a [`Syclbin`] as bytes, in any container. The output is deterministic.

mod v1;
mod v2;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::content::Container;
use crate::model::Syclbin;
use crate::offload::encode::Outgoing;
use crate::offload::{ImageKind, OffloadKind, encode};
use crate::property::Inexpressible;

/// Writes `file` in the given container.
///
/// [`read::parse`](crate::read::parse) reads back an equal file, provided that IR images precede native images in
/// each module.
///
/// # Errors
///
/// Returns an error if the container cannot hold the contents of `file`.
///
/// ```
/// use syclbin::{Container, State, Syclbin, read, write};
///
/// let file = Syclbin::new(State::Object);
/// for container in Container::ALL {
///     let bytes = write::to_vec(&file, container)?;
///     assert_eq!(read::File::parse(&bytes)?.container(), container);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_vec(file: &Syclbin<'_>, container: Container) -> Result<Vec<u8>, Error> {
    if container == Container::Version2 {
        return v2::write(file);
    }
    if container == Container::Images {
        return Err(Error::Container {
            record: "file".into(),
            what: "SYCLBIN".into(),
            container,
        });
    }
    for (index, module) in file.modules.iter().enumerate() {
        let images = module.images.iter().map(|image| &image.strings);
        if let Some((key, _)) = images.chain([&module.strings]).flatten().next() {
            return Err(Error::Container {
                record: format!("abstract module {index}"),
                what: format!("the string `{key}`"),
                container,
            });
        }
    }
    let keeps_strings = container != Container::Bare;
    if !keeps_strings && let Some((key, _)) = file.strings.first() {
        return Err(Error::Container {
            record: "file".into(),
            what: format!("the string `{key}`"),
            container,
        });
    }
    if container != Container::OffloadBinary2 && !file.foreign.is_empty() {
        return Err(Error::Container {
            record: "file".into(),
            what: "a non-SYCLBIN entry".into(),
            container,
        });
    }

    let mut parts = v1::parts(file)?;
    if container == Container::OffloadBinary2 {
        // Pads like the reference runtime, although the runtime also loads files without this padding.
        let size: usize = parts.iter().map(|part| part.len()).sum();
        parts.push(vec_of_zeros(size.next_multiple_of(8) - size));
    }
    let entry = Outgoing {
        image_kind: ImageKind::SYCLBIN,
        offload_kind: OffloadKind::SYCL,
        flags: 0,
        strings: file
            .strings
            .iter()
            .map(|(key, value)| (key.as_ref(), Cow::Borrowed(value.as_ref())))
            .collect(),
        image: parts,
    };
    match container {
        Container::Bare => Ok(entry.image.concat()),
        Container::OffloadBinary1 => encode::version_1(&entry),
        _ => {
            let mut entries = Vec::from([entry]);
            entries.extend(file.foreign.iter().map(Outgoing::of));
            encode::version_2(&entries)
        }
    }
}

fn vec_of_zeros(count: usize) -> Cow<'static, [u8]> {
    Cow::Borrowed(&[0; 8][..count])
}

fn count(number: usize, what: &'static str) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| Error::Count(number, what))
}

/// Returns the text form of `sets`. `record` names the owner of the sets in errors.
fn text(
    sets: &crate::property::PropertySets<'_>,
    record: impl FnOnce() -> String,
) -> Result<String, Error> {
    sets.to_text().map_err(|source| Error::Property {
        record: record(),
        source,
    })
}

/// An error for content that the container cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A property that the text form cannot represent.
    #[error("{record}: {source}")]
    Property {
        /// The owner of the property, such as `abstract module 0`.
        record: String,
        /// The property and the reason.
        source: Inexpressible,
    },
    /// Strings or entries that only other containers can hold.
    #[error(
        "{record}: {what} cannot be stored in container {}; remove it, or use container {}",
        container.name(),
        Container::Version2.name()
    )]
    Container {
        /// The record that contains the string or entry.
        record: String,
        /// A description of the string or entry.
        what: String,
        /// The container that cannot hold the string or entry.
        container: Container,
    },
    /// Strings that readers of version 2 would confuse with SYCLBIN's own strings.
    #[error(
        "{record}: {what} has a special meaning in container v2; remove it, or use another container"
    )]
    Reserved {
        /// The record that contains the strings.
        record: String,
        /// A description of the strings.
        what: String,
    },
    /// A NUL inside a NUL-terminated string: a key, or a value in a version 1 OffloadBinary.
    #[error("the string `{0}` contains a NUL, which would truncate it")]
    Nul(String),
    /// More records than a 32-bit field can count. Contains the number and the kind of records.
    #[error("{0} {1} exceed the format's limit")]
    Count(usize, &'static str),
}
