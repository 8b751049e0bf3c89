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

/// Returns by how much the process grew in the round that enlarged it least, and in all rounds except the one that
/// enlarged it most, in KiB. `sizes` are taken after each round. Returns `None` for fewer than two.
pub(crate) fn growth(sizes: &[Resident]) -> Option<[u64; 2]> {
    let rounds = sizes.windows(2);
    let growths = rounds.map(|pair| pair[1].now.saturating_sub(pair[0].now));
    let growths: Vec<u64> = growths.collect();
    let (least, most) = (growths.iter().min()?, growths.iter().max()?);
    Some([*least, growths.iter().sum::<u64>() - most])
}
