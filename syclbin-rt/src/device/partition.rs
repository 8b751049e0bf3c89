//! Partitions: ways to divide a device.

/// How to divide a device. Used with [`Device::partition`](crate::Device::partition).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partition<'p> {
    /// Parts of so many compute units each. Units that are left over are in no part.
    Equally(u32),
    /// A part of so many compute units for each number.
    Counts(&'p [u32]),
    /// One part, of the compute units with these numbers, counted from 0
    /// (`cl_intel_device_partition_by_names`).
    Units(&'p [u32]),
    /// Parts whose compute units share this.
    Affinity(Affinity),
}

/// What compute units can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Affinity {
    /// Memory that is near to them (a NUMA node).
    Numa,
    /// A cache of level 4.
    L4Cache,
    /// A cache of level 3.
    L3Cache,
    /// A cache of level 2.
    L2Cache,
    /// A cache of level 1.
    L1Cache,
    /// The first of these, in this order, by which the device can be divided. Of a GPU these are its
    /// tiles.
    Next,
}

/// What a driver says of how its device can be divided.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Abilities {
    pub(crate) max_parts: u32,
    pub(crate) equally: bool,
    pub(crate) counts: bool,
    pub(crate) units: bool,
    pub(crate) affinities: Vec<Affinity>,
}

/// Whose part a device is.
#[derive(Clone, Copy)]
pub(crate) struct Part<D> {
    pub(crate) parent: D,
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
