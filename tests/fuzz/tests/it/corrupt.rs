// SPDX-License-Identifier: MIT OR Apache-2.0
//! Truncations and changed bytes of every test file. Each is read or gives an error that points into the file, and none
//! takes memory by a size that the file claims.
//!
//! By default, these tests try at least 64 places in each file, because this code is not optimized. `cargo xtask
//! corrupt` tries every place, and every value there.

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

/// Whether every place of a file is tried, and every value there.
fn is_full() -> bool {
    std::env::var_os("SYCLBIN_CORRUPT").is_some()
}

/// The places of a file with `len` bytes to try.
fn places(len: usize) -> impl Iterator<Item = usize> {
    // An odd step reaches all bytes of aligned fields.
    let step = if is_full() { 1 } else { (len / 64) | 1 };
    (0..len).step_by(step)
}

/// The values to try in place of the byte `original` at `at`.
fn values(original: u8, at: usize) -> BTreeSet<u8> {
    if is_full() {
        return (0..=255).filter(|value| *value != original).collect();
    }
    // Each bit, the ends, and the marks of the text form.
    let values: BTreeSet<u8> = (0..8)
        .map(|bit| original ^ 1 << bit)
        .chain([0, 0xff, b'\n', b'=', original.wrapping_add(1)])
        .filter(|value| *value != original)
        .collect();
    values
        .iter()
        .copied()
        .nth(at % values.len())
        .into_iter()
        .collect()
}

fn say(text: &str) {
    // Past the test harness, which keeps back what a passing test prints.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn truncations_are_read_or_an_error() {
    let cases = on_all(|path, bytes| {
        let mut cases = 0;
        // Files of upstream LLVM may be several OffloadBinaries, and end between two of them.
        let is_syclbin =
            read::File::parse(bytes).is_ok_and(|file| file.container() != Container::Images);
        for end in places(bytes.len()) {
            cases += 1;
            syclbin_fuzz::read(&bytes[..end]);
            // SYCLBIN says how long it is, and that it is shorter is always seen.
            let is_read = is_syclbin && read::parse(&bytes[..end]).is_ok();
            assert!(!is_read, "{} cut at {end} is read", path.display());
        }
        cases
    });
    say(&format!("{cases} truncations"));
}

#[test]
fn changed_bytes_are_read_or_an_error() {
    let cases = on_all(|_, bytes| {
        let file = read::parse(bytes);
        let modules = file.iter().flat_map(|file| &file.modules);
        let images = modules.flat_map(|module| &module.images);
        // The smoke test reads these.
        let known: BTreeSet<&[u8]> = images.map(|image| &*image.bytes).collect();
        let mut bytes = bytes.to_vec();
        let mut cases = 0;
        for at in places(bytes.len()) {
            let original = bytes[at];
            let values = values(original, at);
            assert!(!values.is_empty(), "no value to try at {at}");
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
