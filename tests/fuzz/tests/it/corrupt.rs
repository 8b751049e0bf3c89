// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every truncation and every change of a byte of every test file. Each is read or gives
//! an error that points into the file, and none takes memory by a size that the file claims.
//!
//! Eight values a byte are tried, and with `SYCLBIN_CORRUPT=full` all of them (`cargo xtask corrupt
//! --full`).

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

fn say(text: &str) {
    // Past the test harness, which keeps back what a passing test prints.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn every_truncation_is_read_or_an_error() {
    let cases = on_all(|path, bytes| {
        let is_syclbin = read::parse(bytes).is_ok();
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
        for at in 0..bytes.len() {
            let original = bytes[at];
            let values: BTreeSet<u8> = if full {
                (0..=255).collect()
            } else {
                // Each bit, the ends, and the marks of the text form.
                (0..8)
                    .map(|bit| original ^ 1 << bit)
                    .chain([0, 0xff, b'\n', b'=', original.wrapping_add(1)])
                    .collect()
            };
            let mut changed = 0;
            for value in values.into_iter().filter(|value| *value != original) {
                bytes[at] = value;
                syclbin_fuzz::read_unless(&bytes, |image| known.contains(image));
                syclbin_fuzz::round_trip(&bytes);
                changed += 1;
            }
            assert!(changed >= 8, "{changed} values at {at}");
            bytes[at] = original;
            cases += changed;
        }
        cases
    });
    say(&format!("{cases} changed bytes"));
}
