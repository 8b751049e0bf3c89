// SPDX-License-Identifier: MIT OR Apache-2.0
//! Divides devices into parts, each of which is a device with a subset of the compute units.

use syclbin::__private::listed;

use crate::backend::facts::{Affinity, Facts, Partition};
use crate::device::Device;
use crate::error::{Error, Result, counted};

impl Device {
    /// Divides the device into parts, to leave some compute units to other programs or to run separate work on each
    /// part.
    ///
    /// A part is a device with its own queues and modules. Buffers of the whole device cannot be used on a part. Code
    /// that was compiled and cached for the whole device is reused for its parts.
    ///
    /// The same partition always returns the same parts. Like all devices, parts live as long as the process.
    ///
    /// ```no_run
    /// use syclbin_rt::{Device, Partition};
    ///
    /// // Use all but two compute units, and leave those to the rest of the program.
    /// let whole = Device::select("cpu")?;
    /// let parts = whole.partition(Partition::Counts(&[whole.compute_units().saturating_sub(2).max(1)]))?;
    /// let queue = parts[0].queue()?;
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if a part would have no compute units, if the device has too few compute units for these parts, if its
    /// driver does not support this kind of division or this many parts, or if the device is itself a part that is
    /// nested too deeply.
    pub fn partition(&self, how: Partition<'_>) -> Result<Vec<Self>> {
        let depth = std::iter::successors(self.parent(), Self::parent).count();
        let checked = match depth {
            ..DEEPEST => check(how, self.facts()),
            _ => Err(format!("parts can be nested at most {DEEPEST} deep")),
        };
        checked
            .map_err(|reason| Error::invalid(format_args!("{self} cannot be divided: {reason}")))?;
        let parts = self.driver_device().partition(how);
        let parts = parts.map_err(self.failed("creating parts"))?;
        Ok(parts.into_iter().map(Self::new).collect())
    }

    /// Returns the device that this part belongs to, or `None` for a whole device.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        Some(Self::new(self.driver_device().part()?.parent))
    }

    /// Returns part `number`, numbered from 0 as in selectors. The device is divided by [`Affinity::Next`] if
    /// supported, or else into the smallest parts that the driver allows.
    pub(crate) fn numbered_part(&self, number: usize) -> Result<Self> {
        let facts = self.facts();
        let how = if can(facts, Affinity::Next) {
            Partition::Affinity(Affinity::Next)
        } else {
            let parts = facts.partitions.max_parts.max(1);
            Partition::Equally(facts.compute_units.div_ceil(parts))
        };
        let parts = self.partition(how)?;
        let count = parts.len();
        parts.into_iter().nth(number).ok_or_else(|| {
            let parts = counted(count, "part");
            let message =
                format_args!("{self} has no part {number}; it has {parts}, numbered from 0");
            Error::invalid(message)
        })
    }
}

/// The maximum nesting depth of parts. Parts are never freed, so their number must stay limited.
const DEEPEST: usize = 8;

fn can(facts: &Facts, by: Affinity) -> bool {
    facts.partitions.affinities.contains(&by)
}

/// Checks whether a device can be divided as `how` requests.
///
/// # Errors
///
/// Returns the reason why the device cannot be divided in this way.
fn check(how: Partition<'_>, facts: &Facts) -> Result<(), String> {
    let has = &facts.partitions;
    let no_units = || "each part needs at least one compute unit".to_owned();
    let (able, parts, units) = match how {
        Partition::Equally(0) | Partition::Counts([]) => return Err(no_units()),
        Partition::Counts(counts) if counts.contains(&0) => return Err(no_units()),
        Partition::Equally(units) => (has.equally, 1, u64::from(units)),
        Partition::Counts(counts) => {
            let units = counts.iter().copied().map(u64::from).sum();
            (has.counts, counts.len(), units)
        }
        Partition::Affinity(by) => (can(facts, by), 0, 0),
    };
    if !able {
        let ways = [
            has.equally.then_some("equally"),
            has.counts.then_some("by counts"),
            (!has.affinities.is_empty()).then_some("by affinity"),
        ];
        return Err(match listed(ways.iter().flatten()) {
            ways if ways.is_empty() => "its driver does not support device partitioning".to_owned(),
            ways => format!("its driver can only divide it {ways}"),
        });
    }
    if units > u64::from(facts.compute_units) {
        let available = facts.compute_units;
        return Err(format!(
            "the parts require {units} compute units, but the device has {available}"
        ));
    }
    if parts > has.max_parts as usize {
        let max = has.max_parts;
        return Err(format!(
            "its driver supports at most {max} parts, not {parts}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::facts::Partitions;

    fn four() -> Facts {
        Facts {
            compute_units: 4,
            partitions: Partitions {
                max_parts: 2,
                equally: true,
                counts: true,
                ..Partitions::default()
            },
            ..Facts::default()
        }
    }

    #[test]
    fn impossible_partition_is_refused_with_both_numbers() {
        for (how, reason) in [
            (
                Partition::Equally(0),
                "each part needs at least one compute unit",
            ),
            (
                Partition::Counts(&[1, 0]),
                "each part needs at least one compute unit",
            ),
            (
                Partition::Counts(&[]),
                "each part needs at least one compute unit",
            ),
            (
                Partition::Equally(5),
                "the parts require 5 compute units, but the device has 4",
            ),
            (
                Partition::Counts(&[2, 3]),
                "the parts require 5 compute units, but the device has 4",
            ),
            (
                Partition::Counts(&[1, 1, 1]),
                "its driver supports at most 2 parts, not 3",
            ),
            (
                Partition::Affinity(Affinity::Numa),
                "its driver can only divide it equally, by counts",
            ),
        ] {
            assert_eq!(
                check(how, &four()).unwrap_err().to_string(),
                reason,
                "{how:?}"
            );
        }
        assert!(check(Partition::Counts(&[1, 3]), &four()).is_ok());
        let mut numa = four();
        numa.partitions.affinities.push(Affinity::Numa);
        assert!(check(Partition::Affinity(Affinity::Numa), &numa).is_ok());
        assert!(check(Partition::Affinity(Affinity::Next), &numa).is_err());
        let whole = Facts::default();
        let reason = check(Partition::Affinity(Affinity::Next), &whole).unwrap_err();
        assert_eq!(
            reason.to_string(),
            "its driver does not support device partitioning"
        );
    }
}
