// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every truncation and every change of a byte of every test file. Each is read or gives
//! an error that points into the file, and none takes memory by a size that the file claims.
//!
//! Each byte of a small file gets at least eight other values. In a large file, some thousands of bytes get one. With
//! `SYCLBIN_CORRUPT=full`, each byte gets all values (`cargo xtask corrupt --full`).

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use syclbin::{Container, read, write};

use crate::files;

/// Each test file, and the smallest SYCLBIN file in every container, so that all of the records of
/// each container are tried.
fn inputs() -> Vec<(PathBuf, Vec<u8>)> {
    let mut inputs = files::files();
    let smallest = inputs
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|ext| ext == "syclbin"))
        .min_by_key(|(_, bytes)| bytes.len())
        .unwrap();
    let file = read::parse(&smallest.1).unwrap();
    let more = Container::ALL.map(|container| {
        let path = smallest.0.with_extension(container.name());
        (path, write::to_vec(&file, container).unwrap())
    });
    inputs.extend(more);
    inputs
}

/// Runs `work` on every file, on all cores.
fn on_all(work: impl Fn(&Path, &[u8]) -> usize + Sync) -> usize {
    let inputs = inputs();
    let (next, cases) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((path, bytes)) = inputs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    cases.fetch_add(work(path, bytes), Ordering::Relaxed);
                }
            });
        }
    });
    cases.into_inner()
}

/// Files of more bytes are large: they repeat the records of small files, and a change costs the time to read the file.
const LARGE: usize = 6 << 10;

/// The values to try in place of the byte `original` at `at` in a file of `len` bytes.
fn values(original: u8, at: usize, len: usize, full: bool) -> BTreeSet<u8> {
    if full {
        return (0..=255).filter(|value| *value != original).collect();
    }
    // Each bit, the ends, and the marks of the text form.
    let values: BTreeSet<u8> = (0..8)
        .map(|bit| original ^ 1 << bit)
        .chain([0, 0xff, b'\n', b'=', original.wrapping_add(1)])
        .filter(|value| *value != original)
        .collect();
    if len <= LARGE {
        return values;
    }
    let one = values.iter().copied().nth(at % values.len());
    one.into_iter().collect()
}

fn say(text: &str) {
    // Past the test harness, which keeps back what a passing test prints.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn every_truncation_is_read_or_an_error() {
    let cases = on_all(|path, bytes| {
        // Files of upstream LLVM may be several OffloadBinaries, and end between two of them.
        let is_syclbin =
            read::File::parse(bytes).is_ok_and(|file| file.container() != Container::Images);
        for end in 0..bytes.len() {
            syclbin_fuzz::read(&bytes[..end]);
            // SYCLBIN says how long it is, and that it is shorter is always seen.
            let is_read = is_syclbin && read::parse(&bytes[..end]).is_ok();
            assert!(!is_read, "{} cut at {end} is read", path.display());
        }
        bytes.len()
    });
    say(&format!("{cases} truncations"));
}

#[test]
fn every_changed_byte_is_read_or_an_error() {
    let full = std::env::var_os("SYCLBIN_CORRUPT").is_some_and(|value| value == "full");
    let cases = on_all(|_, bytes| {
        let file = read::parse(bytes);
        let modules = file.iter().flat_map(|file| &file.modules);
        let images = modules.flat_map(|module| &module.images);
        // The smoke test reads these.
        let known: BTreeSet<&[u8]> = images.map(|image| &*image.bytes).collect();
        let mut bytes = bytes.to_vec();
        let mut cases = 0;
        // An odd step reaches all bytes of aligned fields.
        let step = if full { 1 } else { (bytes.len() / LARGE) | 1 };
        for at in (0..bytes.len()).step_by(step) {
            let original = bytes[at];
            let values = values(original, at, bytes.len(), full);
            let least = if bytes.len() <= LARGE { 8 } else { 1 };
            assert!(values.len() >= least, "{values:?} at {at}");
            cases += values.len();
            for value in values {
                bytes[at] = value;
                syclbin_fuzz::read_unless(&bytes, |image| known.contains(image));
                syclbin_fuzz::round_trip(&bytes);
            }
            bytes[at] = original;
        }
        cases
    });
    say(&format!("{cases} changed bytes"));
}
