// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread reads and writes: special registers, and memory of every kind.

use super::Fault;
use super::thread::Surroundings;
use crate::code::{Access, LOCAL_WINDOW, PARAMETER_WINDOW, Reach, SHARED_WINDOW, WINDOW};
use crate::ptx::Special;

/// What a special register holds.
pub(super) fn special_value(
    special: Special,
    id: [u32; 3],
    number: u32,
    around: &Surroundings<'_>,
    shared: usize,
) -> u64 {
    let shape = &around.shape;
    let lane = number % 32;
    u64::from(match special {
        Special::Tid(axis) => id[usize::from(axis)],
        Special::Ntid(axis) => shape.block[usize::from(axis)],
        Special::Ctaid(axis) => shape.at[usize::from(axis)],
        Special::Nctaid(axis) => shape.grid[usize::from(axis)],
        Special::LaneId => lane,
        Special::WarpId => number / 32,
        Special::WarpCount => shape.threads().div_ceil(32),
        Special::LaneMask(0) => 1 << lane,
        Special::LaneMask(1) => (1 << lane) - 1,
        Special::LaneMask(2) => u32::MAX >> (31 - lane),
        Special::LaneMask(3) => !(u32::MAX >> (31 - lane)),
        Special::LaneMask(_) => !((1 << lane) - 1),
        Special::SharedBytes(true) => u32::try_from(around.dynamic_shared).unwrap_or(u32::MAX),
        Special::SharedBytes(false) => u32::try_from(shared).unwrap_or(u32::MAX),
        Special::Workspace(true) => (around.workspace >> 32) as u32,
        Special::Workspace(false) => around.workspace as u32,
        Special::Constant(value) => value,
        Special::Clock | Special::Nanoseconds => {
            let passed = around.began.elapsed().as_nanos();
            return u64::try_from(passed).unwrap_or(u64::MAX);
        }
    })
}

/// Where the bytes of an access are.
#[inline]
pub(super) fn locate(
    access: &Access,
    base: u64,
    local_base: usize,
    around: &Surroundings<'_>,
    shared: &mut [u8],
    local: &mut [u8],
    writes: bool,
) -> Result<*mut u8, Fault> {
    let size = u64::from(access.width);
    let address = match access.reach {
        Reach::Frame => (local_base as u64).wrapping_add_signed(access.offset),
        _ => base.wrapping_add_signed(access.offset),
    };
    // Allocations, shared memory and frames begin at multiples of 16.
    if address & (u64::from(access.align) - 1) != 0 {
        return Err(Fault::Alignment);
    }
    let (reach, address) = match access.reach {
        Reach::Generic => match address {
            a if a >= PARAMETER_WINDOW + WINDOW => (Reach::Global, a),
            a if a >= PARAMETER_WINDOW => (Reach::Parameter, a - PARAMETER_WINDOW),
            a if a >= LOCAL_WINDOW => (Reach::Local, a - LOCAL_WINDOW),
            a if a >= SHARED_WINDOW => (Reach::Shared, a - SHARED_WINDOW),
            _ => return Err(Fault::Address),
        },
        Reach::Frame => (Reach::Local, address),
        reach => (reach, address),
    };
    let inside = |length: usize| {
        let end = address.checked_add(size)?;
        (end <= length as u64).then_some(address as usize)
    };
    match reach {
        Reach::Global | Reach::Generic => around.view.locate(address, size, &access.hint),
        Reach::Shared => {
            let at = inside(shared.len()).ok_or(Fault::Address)?;
            Ok(shared[at..].as_mut_ptr())
        }
        Reach::Local | Reach::Frame => {
            let at = inside(local.len()).ok_or(Fault::Address)?;
            Ok(local[at..].as_mut_ptr())
        }
        Reach::Parameter => {
            let at = inside(around.parameters.len()).ok_or(Fault::Address)?;
            if writes {
                return Err(Fault::Address);
            }
            Ok(around.parameters[at..].as_ptr().cast_mut())
        }
    }
}

/// Reads so many bytes.
#[inline]
pub(super) fn load(place: *mut u8, width: u8, signed: bool) -> u64 {
    // SAFETY: `locate` found so many bytes there, in an allocation or a buffer that lives until the
    // launch has ended. The host may write there at the same time only against the rules of the
    // driver's API; volatile, because a kernel may wait for what the host writes.
    unsafe {
        match (width, signed) {
            (1, false) => u64::from(place.read_volatile()),
            (1, true) => place.cast::<i8>().read_volatile() as u64,
            (2, false) => u64::from(place.cast::<u16>().read_volatile()),
            (2, true) => place.cast::<i16>().read_volatile() as u64,
            (4, false) => u64::from(place.cast::<u32>().read_volatile()),
            (4, true) => place.cast::<i32>().read_volatile() as u64,
            _ => place.cast::<u64>().read_volatile(),
        }
    }
}

/// Writes so many bytes.
#[inline]
pub(super) fn store(place: *mut u8, width: u8, value: u64) {
    // SAFETY: as for `load`; `locate` was asked for a place to write to.
    unsafe {
        match width {
            1 => place.write_volatile(value as u8),
            2 => place.cast::<u16>().write_volatile(value as u16),
            4 => place.cast::<u32>().write_volatile(value as u32),
            _ => place.cast::<u64>().write_volatile(value),
        }
    }
}
