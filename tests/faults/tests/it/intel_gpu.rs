// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests that only Intel's GPUs get, recorded on a device that says it is one.

use crate::child;

#[test]
fn large_buffers_ask_for_unlimited_size() {
    let Some(driver) = child::driver() else {
        return;
    };
    let folder = tempfile::TempDir::new().expect("a folder");
    let record = folder.path().join("record");
    child::run_as(&driver, &["calls"], "", Some(&record));
    let record = std::fs::read_to_string(&record).expect("the record");
    let mut allocations = 0;
    let mut builds = 0;
    for line in record.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [call, size, asked @ ("limited" | "unlimited")] = words[..] {
            let size: u64 = size.parse().expect("a size");
            let expected = if size > faults::GPU_LIMIT {
                "unlimited"
            } else {
                "limited"
            };
            assert_eq!(asked, expected, "{call} of {size} bytes");
            allocations += 1;
        } else {
            // Builds from saved native code have no options.
            let option = "-cl-intel-greater-than-4GB-buffer-required";
            builds += usize::from(words.contains(&option));
        }
    }
    let has = |call: &str, asked: &str| {
        let mut lines = record.lines();
        lines.any(|line| line.starts_with(call) && line.ends_with(asked))
    };
    for call in ["clCreateBuffer ", "clDeviceMemAllocINTEL "] {
        assert!(has(call, " unlimited"), "{record}");
    }
    assert!(has("clCreateBuffer ", " limited"), "{record}");
    assert!(allocations > 0 && builds > 0, "{record}");
}
