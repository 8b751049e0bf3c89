// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitions: ways to divide a device.

use crate::backend::Device as DriverDevice;

/// How to divide a device. Used with [`Device::partition`](crate::Device::partition).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partition<'p> {
    /// Parts of this many compute units each. Units that are left over are in no part.
    Equally(u32),
    /// For each number, a part of this many compute units.
    Counts(&'p [u32]),
    /// A single part of the compute units with these numbers, counted from 0
    /// (`cl_intel_device_partition_by_names`).
    Units(&'p [u32]),
    /// Parts whose compute units share this resource.
    Affinity(Affinity),
}

/// A resource that compute units can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Affinity {
    /// Memory near the compute units (a NUMA node).
    Numa,
    /// A cache of level 4.
    L4Cache,
    /// A cache of level 3.
    L3Cache,
    /// A cache of level 2.
    L2Cache,
    /// A cache of level 1.
    L1Cache,
    /// The first of these, in this order, by which the device can be divided. For a GPU these are its tiles.
    Next,
}

/// A driver's answers about the ways to divide its device.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Abilities {
    pub(crate) max_parts: u32,
    pub(crate) equally: bool,
    pub(crate) counts: bool,
    pub(crate) units: bool,
    pub(crate) affinities: Vec<Affinity>,
}

/// The device that a part belongs to, and the part's number.
#[derive(Clone, Copy)]
pub(crate) struct PartPosition {
    pub(crate) parent: DriverDevice,
    pub(crate) index: usize,
    pub(crate) of: usize,
}

impl Affinity {
    pub(crate) const ALL: [Self; 6] = [
        Self::Numa,
        Self::L4Cache,
        Self::L3Cache,
        Self::L2Cache,
        Self::L1Cache,
        Self::Next,
    ];
}
