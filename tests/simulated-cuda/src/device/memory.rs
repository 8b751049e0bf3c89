// SPDX-License-Identifier: MIT OR Apache-2.0
//! All memory that the driver knows. What is on a device has addresses that the host cannot touch:
//! its bytes are somewhere else, at a distance that nobody is told.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::call::{Code, Outcome};
use crate::run::{Range, View};
use crate::settings::Settings;

/// What an allocation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Device,
    /// On a device, and freed in a stream.
    Pooled,
    /// A variable of a module.
    Variable,
    Managed,
    Host,
    /// Memory of the program that was made known.
    Registered,
}

/// An allocation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allocation {
    pub(crate) begin: u64,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    pub(crate) device: i32,
    /// The context that it belongs to.
    pub(crate) context: u64,
}

/// How much address space there is: more than any test needs, so that an address of freed memory
/// is not soon one of other memory.
const SPAN: u64 = 1 << 38;
/// Between two allocations, so that what is read behind one is not in the next.
const GAP: u64 = 512;
/// What an allocation is filled with at first, so that what is not written is noticed.
const GARBAGE: u8 = 0xa5;
const MOST_GARBAGE: u64 = 1 << 20;
const PAGE: u64 = 4096;

pub(crate) struct Memory {
    /// Where addresses of devices begin, and where their bytes are.
    addresses: u64,
    content: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    allocations: BTreeMap<u64, Allocation>,
    /// Where to look for room, from the first address on.
    next: u64,
    used: [u64; 2],
    view: Option<Arc<View>>,
}

impl Memory {
    /// The memory of this process; nothing if the system has no address space for it.
    pub(crate) fn get() -> Outcome<&'static Self> {
        static MEMORY: OnceLock<Option<Memory>> = OnceLock::new();
        MEMORY
            .get_or_init(Self::new)
            .as_ref()
            .ok_or(Code::CUDA_ERROR_OPERATING_SYSTEM)
    }

    fn new() -> Option<Self> {
        let map = |protection| {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: the system chooses where; nothing else is there.
            let address =
                unsafe { mmap_anonymous(std::ptr::null_mut(), SPAN as usize, protection, flags) };
            address
                .ok()
                .map(|address| address.expose_provenance() as u64)
        };
        Some(Self {
            addresses: map(ProtFlags::empty())?,
            content: map(ProtFlags::READ | ProtFlags::WRITE)?,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an address is one of a device.
    fn is_device(&self, address: u64) -> bool {
        address.wrapping_sub(self.addresses) < SPAN
    }

    /// Bytes that a device still has.
    pub(crate) fn free_bytes(&self, device: i32) -> u64 {
        let used = self.state().used[usize::from(device == 1)];
        Settings::get().memory.saturating_sub(used)
    }

    /// Memory on a device.
    pub(crate) fn on_device(
        &self,
        kind: Kind,
        device: i32,
        context: u64,
        size: u64,
        align: u64,
    ) -> Outcome<u64> {
        if size == 0 {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let mut state = self.state();
        let used = &mut state.used[usize::from(device == 1)];
        let after = used
            .checked_add(size)
            .filter(|&used| used <= Settings::get().memory);
        *used = after.ok_or(Code::CUDA_ERROR_OUT_OF_MEMORY)?;
        let begin = match self.room(&state, size, align.max(256)) {
            Some(begin) => begin,
            None => {
                state.used[usize::from(device == 1)] -= size;
                return Err(Code::CUDA_ERROR_OUT_OF_MEMORY);
            }
        };
        state.next = begin - self.addresses + size + GAP;
        state.insert(Allocation {
            begin,
            size,
            kind,
            device,
            context,
        });
        drop(state);
        let place = self.place(begin);
        // SAFETY: this room is nobody else's, and the bytes of all addresses can be written to.
        unsafe { place.write_bytes(GARBAGE, size.min(MOST_GARBAGE) as usize) };
        Ok(begin)
    }

    fn room(&self, state: &State, size: u64, align: u64) -> Option<u64> {
        let fits = |from: u64| {
            let begin = (self.addresses + from).next_multiple_of(align);
            let end = begin.checked_add(size)?.checked_add(GAP)?;
            if end > self.addresses + SPAN {
                return None;
            }
            let before = state.allocations.range(..end).next_back();
            let taken = before.is_some_and(|(_, other)| {
                other.begin + other.size + GAP > begin && self.is_device(other.begin)
            });
            (!taken).then_some(begin)
        };
        fits(state.next).or_else(|| {
            let ends = state.allocations.values();
            let ends = ends.filter(|other| self.is_device(other.begin));
            let ends = ends.map(|other| other.begin - self.addresses + other.size + GAP);
            std::iter::once(0).chain(ends).find_map(fits)
        })
    }

    /// Memory that the host can touch as well.
    pub(crate) fn on_host(&self, kind: Kind, device: i32, context: u64, size: u64) -> Outcome<u64> {
        if size == 0 {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let layout = layout(size).ok_or(Code::CUDA_ERROR_OUT_OF_MEMORY)?;
        // SAFETY: the size is not zero.
        let place = unsafe { std::alloc::alloc(layout) };
        if place.is_null() {
            return Err(Code::CUDA_ERROR_OUT_OF_MEMORY);
        }
        // SAFETY: it was allocated with so many bytes.
        unsafe { place.write_bytes(GARBAGE, size.min(MOST_GARBAGE) as usize) };
        let begin = place.expose_provenance() as u64;
        self.state().insert(Allocation {
            begin,
            size,
            kind,
            device,
            context,
        });
        Ok(begin)
    }

    /// Makes memory of the program known.
    pub(crate) fn register(&self, device: i32, context: u64, begin: u64, size: u64) -> Outcome<()> {
        if begin == 0 || size == 0 || self.is_device(begin) {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        if self.find(begin).is_some() {
            return Err(Code::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        }
        self.state().insert(Allocation {
            begin,
            size,
            kind: Kind::Registered,
            device,
            context,
        });
        Ok(())
    }

    /// Frees an allocation of one of these kinds that begins there.
    pub(crate) fn free(&self, begin: u64, kinds: &[Kind]) -> Outcome<()> {
        let mut state = self.state();
        let found = state.allocations.get(&begin);
        let found = found.filter(|allocation| kinds.contains(&allocation.kind));
        let allocation = *found.ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        state.allocations.remove(&begin);
        state.view = None;
        self.release(&mut state, allocation);
        Ok(())
    }

    /// Frees all that belongs to a context.
    pub(crate) fn free_context(&self, context: u64) {
        let mut state = self.state();
        let of = |allocation: &&Allocation| allocation.context == context;
        let all: Vec<_> = state.allocations.values().filter(of).copied().collect();
        for allocation in all {
            state.allocations.remove(&allocation.begin);
            self.release(&mut state, allocation);
        }
        state.view = None;
    }

    fn release(&self, state: &mut State, allocation: Allocation) {
        let Allocation { begin, size, .. } = allocation;
        match allocation.kind {
            Kind::Device | Kind::Pooled | Kind::Variable => {
                state.used[usize::from(allocation.device == 1)] -= size;
                // Whole pages go back to the system.
                let first = begin.next_multiple_of(PAGE);
                let last = (begin + size) / PAGE * PAGE;
                if first < last {
                    let advice = rustix::mm::Advice::LinuxDontNeed;
                    let place = self.place(first).cast();
                    // SAFETY: no other allocation is in these pages; later they are zero.
                    let _ = unsafe { rustix::mm::madvise(place, (last - first) as usize, advice) };
                }
            }
            Kind::Managed | Kind::Host => {
                let place = std::ptr::with_exposed_provenance_mut::<u8>(begin as usize);
                if let Some(layout) = layout(size) {
                    // SAFETY: `on_host` allocated it so, and nobody finds it any more.
                    unsafe { std::alloc::dealloc(place, layout) };
                }
            }
            Kind::Registered => {}
        }
    }

    /// The allocation that an address is in.
    pub(crate) fn find(&self, address: u64) -> Option<Allocation> {
        let state = self.state();
        let (_, allocation) = state.allocations.range(..=address).next_back()?;
        let inside = address - allocation.begin < allocation.size;
        inside.then_some(*allocation)
    }

    /// Where the bytes of a range are: of an allocation, or of the host if those may be meant.
    pub(crate) fn bytes(&self, address: u64, size: u64, or_host: bool) -> Outcome<*mut u8> {
        let wrong = Code::CUDA_ERROR_INVALID_VALUE;
        if let Some(allocation) = self.find(address) {
            let left = allocation.size - (address - allocation.begin);
            return if size <= left {
                Ok(self.place(address))
            } else {
                Err(wrong)
            };
        }
        if size == 0 {
            return Ok(std::ptr::dangling_mut());
        }
        if !or_host || address == 0 || self.is_device(address) {
            return Err(wrong);
        }
        Ok(self.place(address))
    }

    fn place(&self, address: u64) -> *mut u8 {
        let place = if self.is_device(address) {
            address - self.addresses + self.content
        } else {
            address
        };
        std::ptr::with_exposed_provenance_mut(place as usize)
    }

    /// What a kernel sees.
    pub(crate) fn view(&self) -> Arc<View> {
        let mut state = self.state();
        if let Some(view) = &state.view {
            return Arc::clone(view);
        }
        let ranges = { state.allocations.values() }
            .map(|allocation| Range {
                begin: allocation.begin,
                size: allocation.size,
                shift: (self.place(allocation.begin).addr() as u64).wrapping_sub(allocation.begin),
            })
            .collect();
        let view = Arc::new(View { ranges });
        state.view = Some(Arc::clone(&view));
        view
    }
}

impl State {
    fn insert(&mut self, allocation: Allocation) {
        self.allocations.insert(allocation.begin, allocation);
        self.view = None;
    }
}

fn layout(size: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(size).ok()?, 4096).ok()
}
