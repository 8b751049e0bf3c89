// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much memory this process has, as the system counts it.

/// Resident memory now and at most so far, in KiB. None where the system does not tell.
pub(crate) fn resident() -> Option<Resident> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    Some(Resident {
        now: kib("VmRSS:")?,
        most: kib("VmHWM:")?,
    })
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Resident {
    pub(crate) now: u64,
    pub(crate) most: u64,
}

/// By how much the process grew in the round that enlarged it least, in KiB, if `sizes` are taken after each round.
/// None for fewer than two.
pub(crate) fn least_growth(sizes: &[Resident]) -> Option<u64> {
    let rounds = sizes.windows(2);
    rounds
        .map(|pair| pair[1].now.saturating_sub(pair[0].now))
        .min()
}
