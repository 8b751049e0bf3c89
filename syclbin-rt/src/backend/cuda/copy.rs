// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that fill memory and copy it: to the host, from it, on the device, and to other devices. Also the variables
//! of programs.

use std::ffi::CStr;
use std::sync::Arc;

use super::*;

/// The driver function that copies memory. Where addresses are unified, it determines from them whether memory
/// is on the host or the device.
pub(crate) const COPY: &str = "cuMemcpyAsync";
/// The name of the functions that fill memory: the most frequent of six functions.
pub(crate) const FILL: &str = "cuMemsetD32Async";
/// The driver function that finds a variable.
const FIND: &str = "cuModuleGetGlobal";

impl Copies for Queue {
    fn has_addresses(&self) -> bool {
        true
    }

    fn allocate(&self, kind: Option<UsmKind>, size: usize) -> Result<AnyMemory> {
        Memory::new(&self.stream.context, kind, size).map(AnyMemory::from)
    }

    fn transfer(&self, memory: &AnyMemory, offset: usize, host: HostSlice<'_>) -> Result<()> {
        let address = self.address(memory, offset, host.len())?;
        // SAFETY: the region is inside of the memory.
        unsafe { self.transfer_now(address, host) }
    }

    fn start_fill(
        &self,
        region: &Region,
        pattern: &[u8],
        after: &WaitList<'_>,
    ) -> Result<AnyEvent> {
        let steps = steps(self.address_of(region)?, region.bytes(), pattern);
        let steps = steps.ok_or(invalid(FILL))?;
        let event = self.submit(FILL, after, |functions, stream| {
            for step in steps {
                // SAFETY: the steps are inside of the memory, which lives until the queues are empty.
                unsafe { set(&self.stream.context, functions, &step, stream) }?;
            }
            Ok(())
        });
        event.map(AnyEvent::from)
    }

    fn start_copy(&self, from: &Region, to: &Region, after: &WaitList<'_>) -> Result<AnyEvent> {
        let (source, target) = (self.address_of(from)?, self.address_of(to)?);
        // SAFETY: both regions are inside of memory of this context, which lives until the queues
        // are empty.
        unsafe { self.copy(target, source, from.bytes(), after) }
    }

    /// Where the host's memory is not pinned the driver may copy before this returns.
    unsafe fn start_transfer(
        &self,
        region: &Region,
        host: HostBytes,
        after: &WaitList<'_>,
    ) -> Result<AnyEvent, Unstarted> {
        let address = self.address_of(region)?;
        let (to, from) = ends(address, host);
        // SAFETY: the region is inside of the memory; the rest is as the caller says.
        Ok(unsafe { self.copy(to, from, region.bytes(), after) }?)
    }

    /// The driver copies between devices where both regions are in memory of a device.
    fn has_peer(&self, from: &Region, to: &Region) -> bool {
        [from, to].into_iter().all(|region| {
            let memory = region.memory.raw().cuda();
            memory.is_ok_and(|memory| matches!(memory.kind, None | Some(UsmKind::Device)))
        })
    }

    /// The driver finds the way: directly where the devices reach each other, else through pinned memory of the host
    /// that belongs to the driver.
    fn copy_to_peer(&self, from: &Region, other: &AnyQueue, to: &Region) -> Result<()> {
        let (other, size) = (other.cuda()?, from.bytes());
        let (source, target) = (self.address_of(from)?, other.address_of(to)?);
        let (here, there) = (&self.stream.context, &other.stream.context);
        // A lost context has no memory to copy to.
        there.enter()?;
        self.enable_peer_access(there)?;
        let copied = self.submit_without_event(WaitList::NOTHING, |_, stream| {
            // SAFETY: the regions have `size` bytes inside memory of these contexts, which are alive. Their borrows
            // outlast the copy, because it is waited for.
            unsafe {
                call!(here => cuMemcpyPeerAsync(
                    target, there.handle, source, here.handle, size, stream
                ))
            }
        });
        // Also if the call failed: it may have queued the copy.
        let settled = self.stream.settle();
        copied.and(settled)
    }
}

/// Returns the target and the source of a copy between a device address and the host.
fn ends(address: CUdeviceptr, host: HostBytes) -> (CUdeviceptr, CUdeviceptr) {
    match host {
        HostBytes::To(to) => (to.expose_provenance() as u64, address),
        HostBytes::From(from) => (address, from.expose_provenance() as u64),
    }
}

impl Variables for Queue {
    fn names_variables_as_code(&self) -> bool {
        true
    }

    fn point_variable(
        &self,
        program: &AnyProgram,
        name: &CStr,
        memory: &Arc<AnyMemory>,
    ) -> Result<()> {
        let address = self.address(memory, 0, 0)?;
        // Kept first: a pointer to memory that is gone must never be in the program.
        downcast::<Program>(program.clone())?.keep(memory);
        self.transfer_variable(program, name, 0, HostSlice::From(&address.to_ne_bytes()))
    }

    fn transfer_variable(
        &self,
        program: &AnyProgram,
        name: &CStr,
        offset: usize,
        host: HostSlice<'_>,
    ) -> Result<()> {
        let address = self.variable(program, name, offset, host.len())?;
        // SAFETY: the variable has that many bytes, and lives as long as the program.
        unsafe { self.transfer_now(address, host) }
    }

    fn variable_size(&self, program: &AnyProgram, name: &CStr) -> Result<usize> {
        self.find_variable(program, name).map(|(_, size)| size)
    }
}

impl Queue {
    /// Returns the address of byte `offset` of the memory, if it is of this context and has `size` bytes from there.
    fn address(&self, memory: &AnyMemory, offset: usize, size: usize) -> Result<CUdeviceptr> {
        memory.check(self.context_address(), offset, size)?;
        Ok(memory.raw().cuda()?.pointer + offset as u64)
    }

    /// Returns the address of a region that is inside memory of this context.
    pub(crate) fn address_of(&self, region: &Region) -> Result<CUdeviceptr> {
        self.address(&region.memory, region.offset, region.bytes())
    }

    /// Returns the address of byte `offset` of the variable, if `size` bytes begin there.
    fn variable(
        &self,
        program: &AnyProgram,
        name: &CStr,
        offset: usize,
        size: usize,
    ) -> Result<CUdeviceptr> {
        let (address, bytes) = self.find_variable(program, name)?;
        match offset.checked_add(size) {
            Some(end) if end <= bytes => Ok(address + offset as u64),
            _ => Err(invalid(FIND)),
        }
    }

    /// Returns the address and the size of the variable.
    fn find_variable(&self, program: &AnyProgram, name: &CStr) -> Result<(CUdeviceptr, usize)> {
        let program: Arc<Program> = downcast(program.clone())?;
        if !Arc::ptr_eq(&self.stream.context, &program.context) {
            return Err(Failure::FOREIGN);
        }
        program.variable(name)
    }

    /// Copies between an address and `host`, after all earlier commands, and waits for that.
    ///
    /// # Safety
    ///
    /// The address is good for as many bytes until everything in the queue has finished.
    unsafe fn transfer_now(&self, address: CUdeviceptr, host: HostSlice<'_>) -> Result<()> {
        let size = host.len();
        if size == 0 {
            return self.finish();
        }
        let (to, from) = ends(address, host.raw());
        let copied = self.submit_without_event(WaitList::NOTHING, |_, stream| {
            // SAFETY: as the caller says; the bytes of the host outlive the copy, which is waited for.
            unsafe { call!(self.stream.context => cuMemcpyAsync(to, from, size, stream)) }
        });
        // Also if the call failed: it may have queued the copy.
        let settled = self.stream.settle();
        copied.and(settled)
    }

    /// Starts to copy `size` bytes when all of `after` has finished.
    ///
    /// # Safety
    ///
    /// Both addresses are good for `size` bytes until the command has finished.
    unsafe fn copy(
        &self,
        to: CUdeviceptr,
        from: CUdeviceptr,
        size: usize,
        after: &WaitList<'_>,
    ) -> Result<AnyEvent> {
        let event = self.submit(COPY, after, |_, stream| {
            if size == 0 {
                return Ok(());
            }
            // SAFETY: as the caller says.
            unsafe { call!(self.stream.context => cuMemcpyAsync(to, from, size, stream)) }
        });
        event.map(AnyEvent::from)
    }

    /// Lets this device access memory of the device of `other` where the hardware can. Copies take the direct way then.
    /// A driver that refuses still copies, through the host.
    fn enable_peer_access(&self, other: &Context) -> Result<()> {
        let context = &self.stream.context;
        let functions = context.enter()?;
        let mut can = 0;
        // SAFETY: both are devices of the driver; one number is written.
        let code = unsafe {
            let can_access = functions.cuDeviceCanAccessPeer.pass();
            can_access(&raw mut can, context.device.device, other.device.device)
        };
        if code == 0 && can != 0 {
            // SAFETY: both contexts are alive, and this queue's is current.
            let _ = unsafe { (functions.cuCtxEnablePeerAccess.pass())(other.handle, 0) };
        }
        Ok(())
    }
}

/// # Safety
///
/// What the step writes is memory of the device until the command has finished. The context is
/// current, and the stream is one of it.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the value of a step has as many bytes as its width says"
)]
unsafe fn set(
    context: &Context,
    functions: &Functions,
    step: &Step,
    stream: CUstream,
) -> Result<()> {
    let Step {
        address,
        pitch,
        width,
        value,
        count,
    } = *step;
    // SAFETY: as the caller says.
    unsafe {
        macro_rules! set {
            ($name:ident, $($argument:expr),*) => {
                context.check(stringify!($name), (functions.$name.pass())(address, $($argument),*, stream))
            };
        }
        match (width, pitch == width) {
            (4, true) => set!(cuMemsetD32Async, value, count),
            (2, true) => set!(cuMemsetD16Async, value as u16, count),
            (_, true) => set!(cuMemsetD8Async, value as u8, count),
            (4, false) => set!(cuMemsetD2D32Async, pitch, value, 1, count),
            (2, false) => set!(cuMemsetD2D16Async, pitch, value as u16, 1, count),
            (_, false) => set!(cuMemsetD2D8Async, pitch, value as u8, 1, count),
        }
    }
}

/// The largest pattern, in bytes: the same as in other backends.
const LARGEST: usize = 128;

/// A call that fills with copies of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) address: u64,
    /// The distance between two words in bytes. The words are contiguous if it equals the width.
    pub(crate) pitch: usize,
    /// The size of the word in bytes: 1, 2 or 4.
    pub(crate) width: usize,
    pub(crate) value: u32,
    /// The number of words.
    pub(crate) count: usize,
}

/// Returns the steps that fill `size` bytes at `address` with copies of `pattern`. `None` if the pattern is
/// empty or too long, or its length does not divide the size.
pub(crate) fn steps(
    address: u64,
    size: usize,
    pattern: &[u8],
) -> Option<impl Iterator<Item = Step>> {
    if pattern.is_empty() || pattern.len() > LARGEST || !size.is_multiple_of(pattern.len()) {
        return None;
    }
    let pattern = shortest(pattern);
    // The widest words of which the pattern is made, and that lie where such words may lie.
    let fits = |width: &usize| {
        pattern.len().is_multiple_of(*width) && address.is_multiple_of(*width as u64)
    };
    let width = [4, 2].into_iter().find(fits).unwrap_or(1);
    let pitch = pattern.len();
    let words = pattern.chunks_exact(width).enumerate();
    let steps = words.map(move |(index, word)| {
        let mut bytes = [0; 4];
        bytes[..width].copy_from_slice(word);
        Step {
            address: address + (index * width) as u64,
            pitch,
            width,
            value: u32::from_le_bytes(bytes),
            count: size / pitch,
        }
    });
    Some(steps.filter(|step| step.count > 0))
}

/// Returns the shortest beginning of `pattern` whose repetition is the same.
fn shortest(pattern: &[u8]) -> &[u8] {
    let repeats = |len: &usize| {
        let (first, rest) = pattern.split_at(*len);
        pattern.len().is_multiple_of(*len) && rest.chunks(*len).all(|part| part == first)
    };
    let len = (1..pattern.len()).find(repeats);
    &pattern[..len.unwrap_or(pattern.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What memory that began at `address` holds after the steps.
    fn filled(address: u64, size: usize, pattern: &[u8]) -> Vec<u8> {
        let mut memory = vec![0xEE; size];
        for step in steps(address, size, pattern).unwrap() {
            assert!(step.address.is_multiple_of(step.width as u64), "{step:?}");
            for number in 0..step.count {
                let at = usize::try_from(step.address - address).unwrap() + number * step.pitch;
                memory[at..at + step.width]
                    .copy_from_slice(&step.value.to_le_bytes()[..step.width]);
            }
        }
        memory
    }

    #[test]
    fn every_pattern_fills_memory_at_every_address() {
        for len in 1..=LARGEST {
            let bytes = 0..u8::try_from(len).unwrap();
            let pattern: Vec<u8> = bytes.map(|byte| byte.wrapping_mul(37) ^ 0x5A).collect();
            for address in 4096..4104 {
                let memory = filled(address, len * 3, &pattern);
                assert_eq!(memory, pattern.repeat(3), "{len} bytes at {address}");
            }
        }
        assert_eq!(filled(4096, 0, &[1, 2]), Vec::<u8>::new());
    }

    #[test]
    fn repeated_patterns_are_filled_in_one_call() {
        let calls = |address, pattern: &[u8]| steps(address, 64, pattern).unwrap().count();
        assert_eq!(calls(4096, &[0; 64]), 1);
        assert_eq!(calls(4096, &[1, 2, 3, 4, 1, 2, 3, 4]), 1);
        assert_eq!(calls(4096, &[1, 2, 3, 4]), 1);
        assert_eq!(calls(4098, &[1, 2, 3, 4]), 2);
        assert_eq!(calls(4097, &[1, 2, 3, 4]), 4);
        assert_eq!(calls(4096, &[1, 2, 3, 4, 5, 6, 7, 8]), 2);
    }

    #[test]
    fn invalid_fill_patterns_are_refused() {
        assert!(steps(4096, 8, &[]).is_none());
        assert!(steps(4096, 129, &[1; 129]).is_none());
        assert!(steps(4096, 8, &[1, 2, 3]).is_none());
    }
}
