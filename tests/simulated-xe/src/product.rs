// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPUs, and what they say of themselves.

/// A GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    /// Its PCI device.
    pub(crate) id: u16,
    revision: u8,
    /// The version of its graphics: major, minor, revision.
    version: [u16; 3],
    slices: u32,
    /// In each slice.
    cores: u32,
    /// In each core.
    units: u32,
    /// Bytes of the memory of a tile. An integrated GPU has none.
    memory: u64,
    /// The bits of an address.
    address_bits: u64,
}

const GIB: u64 = 1 << 30;

/// Arc B580, Lunar Lake, Max 1550, Arc A770, Meteor Lake, Panther Lake.
const PRODUCTS: [Product; 6] = [
    product(0xe20b, 0, [20, 1, 4], [5, 4, 8], 12 * GIB, 48),
    product(0x64a0, 4, [20, 4, 4], [2, 4, 8], 0, 48),
    product(0x0bd5, 0x2f, [12, 60, 7], [8, 8, 8], 64 * GIB, 57),
    product(0x56a0, 8, [12, 55, 8], [8, 4, 16], 16 * GIB, 48),
    product(0x7d55, 4, [12, 71, 4], [2, 4, 16], 0, 48),
    product(0xb080, 4, [30, 0, 4], [3, 4, 8], 0, 48),
];

const fn product(
    id: u16,
    revision: u8,
    version: [u16; 3],
    [slices, cores, units]: [u32; 3],
    memory: u64,
    address_bits: u64,
) -> Product {
    Product {
        id,
        revision,
        version,
        slices,
        cores,
        units,
        memory,
        address_bits,
    }
}

/// The memory that an integrated GPU uses, and that others reach.
const SYSTEM_MEMORY: u64 = 16 * GIB;

/// Bytes of the reply to a query, in the order of the header's members.
#[derive(Default)]
struct Reply(Vec<u8>);

macro_rules! append {
    ($($name:ident $type:ty),*) => {$(
        fn $name(&mut self, values: &[$type]) -> &mut Self {
            self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            self
        }
    )*};
}

impl Reply {
    append!(u16 u16, u32 u32, u64 u64);
}

impl Product {
    /// The GPU with this PCI device.
    pub(crate) fn find(id: &str) -> Option<Self> {
        let id = u16::from_str_radix(id.trim(), 16).ok()?;
        PRODUCTS.into_iter().find(|product| product.id == id)
    }

    /// Whether timestamps have 64 bits.
    pub(crate) fn has_wide_timestamps(&self) -> bool {
        self.version[0] >= 20
    }

    /// The largest memory object.
    pub(crate) fn largest(&self) -> u64 {
        self.memory.max(SYSTEM_MEMORY)
    }

    /// The reply to a query, by the number that the header gives it.
    pub(crate) fn reply(&self, query: u32) -> Option<Vec<u8>> {
        let mut reply = Reply::default();
        match query {
            0 => self.engines(&mut reply),
            1 => self.memory_regions(&mut reply),
            2 => self.configuration(&mut reply),
            3 => self.graphics(&mut reply),
            4 => self.hardware(&mut reply),
            5 => self.topology(&mut reply),
            _ => return None,
        }
        Some(reply.0)
    }

    /// Max 1550 has two tiles, each with all units and memory of the table.
    fn tiles(&self) -> u16 {
        if self.is_max() { 2 } else { 1 }
    }

    fn is_max(&self) -> bool {
        self.version[1] == 60
    }

    fn engines(&self, reply: &mut Reply) {
        const RENDER: u16 = 0;
        const COPY: u16 = 1;
        const COMPUTE: u16 = 4;
        // Max 1550 does not render, and splits large copies among nine engines.
        let engines: Vec<(u16, u16)> = if self.is_max() {
            (0..9)
                .map(|instance| (COPY, instance))
                .chain([(COMPUTE, 0)])
                .collect()
        } else {
            vec![(RENDER, 0), (COPY, 0), (COMPUTE, 0)]
        };
        reply.u32(&[engines.len() as u32 * u32::from(self.tiles()), 0]);
        for tile in 0..self.tiles() {
            for (class, instance) in &engines {
                reply.u16(&[*class, *instance, tile, 0]).u64(&[0; 3]);
            }
        }
    }

    fn memory_regions(&self, reply: &mut Reply) {
        let is_discrete = self.memory > 0;
        let own = if is_discrete { self.tiles() } else { 0 };
        reply.u32(&[1 + u32::from(own), 0]);
        reply
            .u16(&[0, 0])
            .u32(&[4096])
            .u64(&[SYSTEM_MEMORY, 0, 0, 0])
            .u64(&[0; 6]);
        for region in 1..=own {
            let memory = [self.memory, 0, self.memory, 0];
            reply
                .u16(&[1, region])
                .u32(&[65536])
                .u64(&memory)
                .u64(&[0; 6]);
        }
    }

    fn configuration(&self, reply: &mut Reply) {
        let is_discrete = self.memory > 0;
        let device = u64::from(self.id) | u64::from(self.revision) << 16;
        let alignment = if is_discrete { 65536 } else { 4096 };
        let flags = u64::from(is_discrete);
        reply
            .u32(&[5, 0])
            .u64(&[device, flags, alignment, self.address_bits, 2]);
    }

    fn graphics(&self, reply: &mut Reply) {
        let [major, minor, revision] = self.version;
        reply.u32(&[u32::from(self.tiles()), 0]);
        for tile in 0..self.tiles() {
            let near = if self.memory > 0 { 2 << tile } else { 1 };
            reply
                .u16(&[0, tile, tile, 0, 0, 0])
                .u32(&[19_200_000])
                .u64(&[near, 1]);
            reply.u16(&[major, minor, revision, 0]).u64(&[0; 7]);
        }
    }

    /// Key, length and value: slices, cores, units in each, threads of a unit, render and compute engines, kB of a bank of
    /// the cache, kB of local memory.
    fn hardware(&self, reply: &mut Reply) {
        let cores = self.slices * self.cores;
        let values = [
            (1, self.slices),
            (2, cores),
            (3, self.units),
            (15, 8),
            (23, 1),
            (24, 1),
            (64, 512),
            (65, 128),
        ];
        for (key, value) in values {
            reply.u32(&[key, 1, value]);
        }
    }

    /// Masks of the cores for graphics and for compute, and of the units in each.
    fn topology(&self, reply: &mut Reply) {
        let cores = self.slices * self.cores;
        let units = if self.has_wide_timestamps() { 5 } else { 4 };
        for tile in 0..self.tiles() {
            for (kind, count) in [(1, cores), (2, cores), (units, self.units)] {
                reply
                    .u16(&[tile, kind])
                    .u32(&[8])
                    .u64(&[u64::MAX >> (64 - count)]);
            }
        }
    }
}
