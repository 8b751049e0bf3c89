// SPDX-License-Identifier: MIT OR Apache-2.0
//! No size that a file claims becomes memory: what reading takes is bounded by the file.
//!
//! In a binary of its own: the allocator counts for the whole process.
#![allow(clippy::unwrap_used)] // a test may

use peak_alloc::PeakAlloc;
use syclbin::{Container, read, write};
use syclbin_tools::extract;
use syclbin_tools::verify::verify;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The most memory that `work` had at once.
fn peak(work: impl FnOnce()) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    work();
    MEMORY.peak_usage().saturating_sub(before)
}

/// Compressed bundles that would unpack to 4 GiB, and how much memory they may take.
fn bombs() -> Vec<(&'static str, Vec<u8>, usize)> {
    const MIB: usize = 1 << 20;
    // Blocks that repeat one byte 128 Ki times, 4 bytes each. The window has a mebibyte.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x50];
    for block in 0..32_768u32 {
        let header = u32::from(block == 32_767) | 1 << 1 | (128 << 10) << 3;
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    let bundle = |size: u64| {
        let total = (32 + frame.len()) as u64;
        let mut bytes = b"CCOB\x03\0\x01\0".to_vec();
        bytes.extend([total, size, 0].map(u64::to_le_bytes).concat());
        bytes.extend(&frame);
        bytes
    };
    vec![
        ("4 GiB claimed", bundle(4 << 30), MIB),
        // The decoder has a window beside the result, and both grow by doubling.
        ("8 MiB claimed", bundle(8 << 20), 32 * MIB),
    ]
}

// One test: others in this process would count as well.
#[test]
fn reading_allocates_in_proportion_to_file_size() {
    let bytes = test_files::read("work_group.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let mut cases = 0;
    for container in Container::ALL {
        let good = write::to_vec(&file, container).unwrap();
        // What reading the good file takes, and then as much as the file has bytes.
        let allowed = good.len() + peak(|| drop(read::parse(&good)));
        let allowed_findings = good.len() + 2 * peak(|| drop(verify(&good)));
        // All that is not code: headers and strings come first.
        for at in 0..good.len().min(1600) - 8 {
            for claim in [u64::MAX, 1 << 40, 0xffff_ffff, 0x0100_0000, 0x7fff] {
                let mut bytes = good.clone();
                bytes[at..at + 8].copy_from_slice(&claim.to_le_bytes());
                let taken = peak(|| drop(read::parse(&bytes)));
                assert!(
                    taken <= allowed,
                    "{container:?} {at:#x} {claim:#x}: {taken}"
                );
                let taken = peak(|| drop(verify(&bytes)));
                assert!(
                    taken <= allowed_findings,
                    "{container:?} {at:#x} {claim:#x}: {taken}"
                );
                cases += 1;
            }
        }
    }
    eprintln!("{cases} claims");
    for (what, bytes, allowed) in bombs() {
        let taken = peak(|| assert!(extract::images(&bytes).is_err(), "{what}"));
        assert!(taken <= allowed, "{what}: {taken}");
    }
}
