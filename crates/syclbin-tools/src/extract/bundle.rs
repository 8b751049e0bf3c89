// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes clang's offload bundles (`__CLANG_OFFLOAD_BUNDLE__`) in binary, text and compressed form, and
//! parses the identifiers of their entries (clang's documentation, "Clang Offload Bundler").

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{DeviceImage, OffloadKind};
use syclbin::__private::content::{BUNDLE_MAGIC, COMPRESSED_BUNDLE_MAGIC};
use syclbin::__private::raw::{Budget, Fields, slice};
use syclbin::offload::{self, Compression};
use syclbin::{Error, ErrorKind};

const START: &[u8] = b" __CLANG_OFFLOAD_BUNDLE____START__ ";
const END: &[u8] = b" __CLANG_OFFLOAD_BUNDLE____END__ ";
/// Comment markers in C++, LLVM assembly and other assembly languages.
const COMMENTS: [&[u8]; 3] = [b"//", b";", b"#"];
const RECORD: &str = "offload bundle";

pub(super) struct Entry<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) bytes: &'a [u8],
}

/// Returns the entries of a binary bundle. The magic is followed by the number of entries, then the offset, size
/// and identifier of each entry. All numbers are 64-bit.
pub(super) fn binary(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    let count = Fields::<8>::new(bytes, RECORD, BUNDLE_MAGIC.len())?.u64();
    let mut images = Budget::new("bundled bytes", bytes.len() as u64);
    let mut found = Vec::new();
    let mut at = BUNDLE_MAGIC.len() + 8;
    for _ in 0..count {
        let mut fields = Fields::<24>::new(bytes, RECORD, at)?;
        let (offset, size, id_size) = (fields.u64(), fields.u64(), fields.u64());
        let record = || String::from(RECORD);
        let place = at as u64;
        let id = slice(bytes, (place + 24, id_size), "file", record, place)?;
        at += 24 + id.len();
        let id = String::from_utf8_lossy(id);
        images.spend(size, record, place)?;
        let bytes = slice(bytes, (offset, size), "file", record, place)?;
        found.push(Entry { id, bytes });
    }
    Ok(found)
}

/// Decompresses the bundle `bytes`, and subtracts the decompressed size from `left`.
///
/// The magic is followed by the version, the compression method, the file size (since version 2), the size of the
/// bundle and a hash. Both sizes are 32-bit numbers, or 64-bit since version 3. Like LLVM, this function does not check
/// the hash.
pub(super) fn unpack(bytes: &[u8], left: &mut u64) -> Result<Vec<u8>, Error> {
    const RECORD: &str = "compressed offload bundle";
    let fail = |at, kind| Error::new(RECORD, at, kind);
    let mut fields = Fields::<8>::new(bytes, RECORD, 0)?;
    let _magic = fields.u32();
    let (version, method) = (fields.u16(), fields.u16());
    let (file_size, size, header_size) = match version {
        1 => {
            let mut fields = Fields::<12>::new(bytes, RECORD, 8)?;
            (bytes.len() as u64, fields.u32().into(), 20)
        }
        2 => {
            let mut fields = Fields::<16>::new(bytes, RECORD, 8)?;
            (fields.u32().into(), fields.u32().into(), 24)
        }
        3 => {
            let mut fields = Fields::<24>::new(bytes, RECORD, 8)?;
            (fields.u64(), fields.u64(), 32)
        }
        found => {
            let (found, supported) = (found.into(), "1, 2 and 3");
            return Err(fail(4, ErrorKind::Version { found, supported }));
        }
    };
    let known = |known: &Compression| number(*known) == method;
    let Some(method) = Compression::ALL.into_iter().find(known) else {
        let problem =
            format!("compression method {method} is not supported; only 0 (zlib) and 1 (zstd) are");
        return Err(fail(6, ErrorKind::Compressed(problem.into())));
    };
    let file = slice(bytes, (0, file_size), "file", || RECORD.into(), 8)?;
    let Some(packed) = file.get(header_size..) else {
        return Err(fail(8, ErrorKind::Bundle("it is smaller than its header")));
    };
    syclbin::__private::offload::claim(left, size).map_err(|kind| fail(8, kind))?;
    let bundle = method.unpack(packed, size).map_err(|kind| fail(0, kind))?;
    if !bundle.starts_with(BUNDLE_MAGIC) && !is_text(&bundle) {
        let kind = ErrorKind::Bundle("it does not unpack to an offload bundle");
        return Err(fail(0, kind));
    }
    Ok(bundle)
}

/// Returns an offload bundle of `entries` in the format of `clang-offload-bundler`. A compressed bundle uses format
/// version 2. The identifier of each entry consists of its kind and its strings `triple` and `arch`.
///
/// # Errors
///
/// Returns an error if an entry lacks a kind or triple or contains other strings (a bundle cannot store them), or if a
/// compressed bundle would reach 4 GiB.
pub fn bundle(
    entries: &[offload::Entry<'_>],
    compression: Option<Compression>,
) -> Result<Vec<u8>, Error> {
    let ids: Vec<String> = entries.iter().map(id).collect::<Result<_, _>>()?;
    let header = ids.iter().map(|id| 24 + id.len()).sum::<usize>();
    let mut offset = BUNDLE_MAGIC.len() + 8 + header;
    let mut bundle = BUNDLE_MAGIC.to_vec();
    bundle.extend((entries.len() as u64).to_le_bytes());
    for (entry, id) in entries.iter().zip(&ids) {
        for number in [offset, entry.image.len(), id.len()] {
            bundle.extend((number as u64).to_le_bytes());
        }
        bundle.extend(id.as_bytes());
        offset += entry.image.len();
    }
    for entry in entries {
        bundle.extend_from_slice(&entry.image);
    }
    match compression {
        Some(method) => compressed(&bundle, method),
        None => Ok(bundle),
    }
}

/// Returns the number of a compression method in a bundle's header.
fn number(method: Compression) -> u16 {
    u16::from(method != Compression::Zlib)
}

fn compressed(bundle: &[u8], method: Compression) -> Result<Vec<u8>, Error> {
    const HEADER: usize = 24;
    let packed = method.pack(bundle);
    // No reader checks this FNV-1a hash, but tools may use it as a cache key for decompressed bundles.
    let hash = bundle.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let size = |size: usize| {
        let kind = ErrorKind::Bundle("a compressed bundle must be smaller than 4 GiB");
        u32::try_from(size).map_err(|_| Error::new(RECORD, 8, kind))
    };
    let mut file = COMPRESSED_BUNDLE_MAGIC.to_vec();
    file.extend(2u16.to_le_bytes());
    file.extend(number(method).to_le_bytes());
    file.extend(size(HEADER + packed.len())?.to_le_bytes());
    file.extend(size(bundle.len())?.to_le_bytes());
    file.extend(hash.to_le_bytes());
    file.extend(packed);
    Ok(file)
}

fn id(entry: &offload::Entry<'_>) -> Result<String, Error> {
    let fail = |problem: Cow<'static, str>| Error::new(RECORD, 0, ErrorKind::Record(problem));
    let kind = entry.offload_kind.name().filter(|name| *name != "none");
    let no_kind = || fail("a bundle entry needs a kind: sycl, openmp, cuda or hip".into());
    let kind = kind.ok_or_else(no_kind)?;
    let (mut triple, mut arch) = (String::new(), String::new());
    for (key, value) in &entry.strings {
        let place = match &**key {
            "triple" => &mut triple,
            "arch" => &mut arch,
            other => {
                let problem = format!("a bundle cannot store the key `{other}`; remove it");
                return Err(fail(problem.into()));
            }
        };
        *place = String::from_utf8_lossy(value).into_owned();
    }
    if triple.is_empty() {
        return Err(fail("a bundle entry needs a triple".into()));
    }
    for _ in triple.split('-').count()..4 {
        triple.push_str("-unknown");
    }
    Ok(format!("{kind}-{triple}-{arch}"))
}

/// Returns whether `bytes` is a text bundle, in which the first non-blank line starts an entry.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let first = bytes.trim_ascii_start();
    marker(&first[..first.len().min(64)], START).is_some()
}

/// Returns the entries of a text bundle. The line feed before an end marker is not part of the entry.
pub(super) fn text(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    let fail = |at: usize, problem| Error::new(RECORD, at as u64, ErrorKind::Bundle(problem));
    let mut found = Vec::new();
    let mut open: Option<(&[u8], usize, usize)> = None;
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let next = at + line.len();
        if let Some(id) = marker(line, START) {
            if open.is_some() {
                return Err(fail(at, "an entry starts inside another"));
            }
            open = Some((id, at, next));
        } else if let Some(id) = marker(line, END) {
            match open.take() {
                Some((started, _, start)) if started == id => {
                    // If the end marker immediately follows the start marker, `start` is greater than `at - 1`: the
                    // entry is empty.
                    let bytes = bytes.get(start..at - 1).unwrap_or_default();
                    let id = String::from_utf8_lossy(id);
                    found.push(Entry { id, bytes });
                }
                Some(_) => return Err(fail(at, "an entry ends with a different name")),
                None => return Err(fail(at, "an entry ends without having started")),
            }
        }
        at = next;
    }
    match open {
        Some((_, at, _)) => Err(fail(at, "unterminated entry")),
        None => Ok(found),
    }
}

/// Returns the identifier after `mark`, if `line` is a comment that starts with `mark`.
fn marker<'a>(line: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let mut comments = COMMENTS.iter();
    let id = comments.find_map(|comment| line.strip_prefix(*comment)?.strip_prefix(mark))?;
    Some(id.trim_ascii_end())
}

/// Returns an image with the offload kind, target triple and architecture that its identifier records.
///
/// The identifier has the form `kind-triple` or `kind-triple-target`. Current tools write four-part triples, whose last
/// part is often empty or `unknown`. Older tools wrote three parts, so a fourth part that looks like an architecture is
/// treated as one.
pub(super) fn declared<'a>(id: &str) -> DeviceImage<'a> {
    const ARCHITECTURES: [&str; 3] = ["gfx", "sm_", "compute_"];
    let (kind, rest) = id.split_once('-').unwrap_or((id, ""));
    let mut parts = rest.splitn(4, '-');
    let mut triple: Vec<_> = parts.by_ref().take(3).collect();
    let fourth = parts.next().unwrap_or_default();
    let architecture = if ARCHITECTURES.iter().any(|name| fourth.starts_with(name)) {
        fourth
    } else {
        let (environment, target) = fourth.split_once('-').unwrap_or((fourth, ""));
        if !matches!(environment, "" | "unknown") {
            triple.push(environment);
        }
        target
    };
    DeviceImage {
        offload_kind: OffloadKind::named(kind),
        triple: triple.join("-").into(),
        arch: architecture.to_string().into(),
        ..DeviceImage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_of_all_tool_versions_are_parsed() {
        for (id, kind, triple, architecture) in [
            ("sycl-spir64", OffloadKind::Sycl, "spir64", ""),
            (
                "sycl-spir64_gen-unknown-unknown",
                OffloadKind::Sycl,
                "spir64_gen-unknown-unknown",
                "",
            ),
            (
                "host-x86_64-unknown-linux-gnu-",
                OffloadKind::Host,
                "x86_64-unknown-linux-gnu",
                "",
            ),
            (
                "hip-amdgcn-amd-amdhsa-gfx90a:sramecc+:xnack-",
                OffloadKind::Hip,
                "amdgcn-amd-amdhsa",
                "gfx90a:sramecc+:xnack-",
            ),
            (
                "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
                OffloadKind::Hip,
                "amdgcn-amd-amdhsa",
                "gfx90a:xnack-",
            ),
            (
                "openmp-nvptx64-nvidia-cuda-unknown-sm_75",
                OffloadKind::OpenMp,
                "nvptx64-nvidia-cuda",
                "sm_75",
            ),
            (
                "sycl-nvptx64-nvidia-cuda-sm_75",
                OffloadKind::Sycl,
                "nvptx64-nvidia-cuda",
                "sm_75",
            ),
        ] {
            let image = declared(id);
            let found = (image.offload_kind, &*image.triple, &*image.arch);
            assert_eq!(found, (kind, triple, architecture), "{id}");
        }
    }

    fn lines(lines: &[&str]) -> String {
        let marked = |line: &&str| match line.split_once(' ') {
            Some((mark, id)) => format!("# __CLANG_OFFLOAD_BUNDLE____{mark}__ {id}\n"),
            None => format!("{line}\n"),
        };
        lines.iter().map(marked).collect()
    }

    #[test]
    fn unpaired_markers_in_text_are_errors() {
        for (marks, problem) in [
            (
                &["", "START a", "x"][..],
                "unterminated entry (at offset 0x1)",
            ),
            (
                &["START a", "START b"],
                "an entry starts inside another (at offset 0x26)",
            ),
            (
                &["START a", "END b"],
                "an entry ends with a different name (at offset 0x26)",
            ),
            (
                &["x", "END a"],
                "an entry ends without having started (at offset 0x2)",
            ),
        ] {
            let error = text(lines(marks).as_bytes()).err();
            let error = error.map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(
                error,
                format!("offload bundle: the offload bundle is malformed: {problem}")
            );
        }
    }

    #[test]
    fn text_entries_may_be_empty() {
        let file = lines(&[
            "START a", "END a", "x", "START b", "", "END b", "START c", "1", "2", "END c",
        ]);
        let found = text(file.as_bytes()).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|entry| (&*entry.id, entry.bytes))
            .collect();
        assert_eq!(found, [("a", &b""[..]), ("b", b""), ("c", b"1\n2")]);
    }

    #[test]
    fn compressed_bundles_have_sizes_and_hash() {
        let entry = offload::Entry {
            offload_kind: offload::OffloadKind::SYCL,
            strings: [("triple".into(), b"spir64".into())].into(),
            image: b"code".into(),
            ..offload::Entry::default()
        };
        let entries = [entry];
        let plain = bundle(&entries, None).unwrap();
        let id = b"sycl-spir64-unknown-unknown-unknown-";
        let numbers = [1u64, 92, 4, 36].map(u64::to_le_bytes);
        let expected = [BUNDLE_MAGIC, numbers.as_flattened(), id, b"code"].concat();
        assert_eq!(plain, expected);
        for (number, method) in [(0, Compression::Zlib), (1, Compression::Zstd)] {
            let packed = bundle(&entries, Some(method)).unwrap();
            let size = u8::try_from(packed.len()).unwrap();
            assert_eq!(
                packed[..12],
                [b"CCOB", &[2, 0, number, 0, size, 0, 0, 0][..]].concat()
            );
            assert_eq!(packed[12..16], [96, 0, 0, 0]);
            // FNV-1a of the bundle.
            assert_eq!(packed[16..24], 0x345a_a5cc_0827_f7fb_u64.to_le_bytes());
        }
    }
}
