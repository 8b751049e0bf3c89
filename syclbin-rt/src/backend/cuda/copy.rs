// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that fill and copy memory (to and from the host, on the device, and between devices), and access to program
//! variables.

use std::ffi::CStr;
use std::sync::Arc;

use super::*;

/// The driver function that copies memory. With unified addressing, it infers from each address whether the memory is
/// on the host or the device.
pub(crate) const COPY: &str = "cuMemcpyAsync";
/// If a fill command fails later, the error names this function, whichever of the six fill functions was used.
pub(crate) const FILL: &str = "cuMemsetD32Async";

impl Copies for Queue {
    fn allocate(&self, kind: Option<UsmKind>, contents: Contents<'_>) -> Result<Arc<AnyMemory>> {
        let context = &self.stream.context;
        let memory = Memory::new(context, kind, contents)?;
        Ok(Arc::new(memory.into()))
    }

    fn transfer(&self, memory: &AnyMemory, offset: usize, host: HostSlice<'_>) -> Result<()> {
        let address = self.address(memory, offset, host.len())?;
        // SAFETY: the region is inside the memory.
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
        self.submit(FILL, after, |_, stream| {
            for step in steps {
                // SAFETY: the steps are inside the memory, which lives until the queues are empty.
                unsafe { set(&self.stream.context, &step, stream) }?;
            }
            Ok(())
        })
    }

    fn start_copy(&self, from: &Region, to: &Region, after: &WaitList<'_>) -> Result<AnyEvent> {
        let (source, target) = (self.address_of(from)?, self.address_of(to)?);
        // SAFETY: both regions are inside memory of this context, which lives until the queues are empty.
        unsafe { self.copy(target, source, from.bytes(), after) }
    }

    /// If the host memory is not pinned, the driver may copy it before this function returns.
    unsafe fn start_transfer(
        &self,
        region: &Region,
        host: HostBytes,
        after: &WaitList<'_>,
    ) -> Result<AnyEvent> {
        let (to, from) = ends(self.address_of(region)?, host);
        // SAFETY: the region is inside the memory; the caller guarantees the rest.
        unsafe { self.copy(to, from, region.bytes(), after) }
    }

    /// Returns whether both regions are in device memory: only then does the driver copy between devices.
    fn has_peer(&self, from: &Region, to: &Region) -> bool {
        [from, to].into_iter().all(|region| {
            let memory = region.memory.raw.cuda();
            memory.is_ok_and(|memory| matches!(memory.kind, None | Some(UsmKind::Device)))
        })
    }

    /// The driver copies directly if the devices can access each other's memory, and otherwise through its own pinned
    /// host memory.
    fn copy_to_peer(&self, from: &Region, other: &AnyQueue, to: &Region) -> Result<()> {
        let (other, size) = (other.cuda()?, from.bytes());
        let (source, target) = (self.address_of(from)?, other.address_of(to)?);
        let (here, there) = (&self.stream.context, &other.stream.context);
        // Fail if the target's context is lost.
        there.enter()?;
        self.enable_peer_access(there);
        let copied = self.submit("cuMemcpyPeerAsync", WaitList::NOTHING, |_, stream| {
            // SAFETY: both regions are `size` bytes long and inside memory of these contexts, which are alive. The
            // borrows outlive the copy, because this function waits for it.
            unsafe {
                call!(here => cuMemcpyPeerAsync(
                    target, there.handle.0, source, here.handle.0, size, stream
                ))
            }
        });
        // Wait even if the call failed: it may have enqueued the copy.
        let settled = self.stream.settle();
        copied.map(drop).and(settled)
    }
}

/// Returns the target and source of a copy between a device address and the host.
fn ends(address: CUdeviceptr, host: HostBytes) -> (CUdeviceptr, CUdeviceptr) {
    match host {
        HostBytes::To(to) => (to.expose_provenance() as u64, address),
        HostBytes::From(from) => (address, from.expose_provenance() as u64),
    }
}

impl Variables for Queue {
    fn point_variable(
        &self,
        program: &AnyProgram,
        name: &CStr,
        memory: &Arc<AnyMemory>,
    ) -> Result<()> {
        let address = self.address(memory, 0, 0)?;
        // Retain the memory first: the program must never contain a pointer to freed memory.
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
        let (address, size) = self.find_variable(program, name)?;
        if offset.checked_add(host.len()).is_none_or(|end| end > size) {
            return Err(invalid("cuModuleGetGlobal"));
        }
        // SAFETY: the bytes are inside the variable, which lives as long as the program.
        unsafe { self.transfer_now(address + offset as u64, host) }
    }

    fn variable_size(&self, program: &AnyProgram, name: &CStr) -> Result<usize> {
        self.find_variable(program, name).map(|(_, size)| size)
    }
}

impl Queue {
    /// Returns the address of the byte at `offset`. Fails unless the memory belongs to this context and contains `size`
    /// bytes starting there.
    fn address(&self, memory: &AnyMemory, offset: usize, size: usize) -> Result<CUdeviceptr> {
        memory.check(self.context_address(), offset, size)?;
        Ok(memory.raw.cuda()?.pointer + offset as u64)
    }

    /// Returns the address of a region, which must be inside memory of this context.
    pub(crate) fn address_of(&self, region: &Region) -> Result<CUdeviceptr> {
        self.address(&region.memory, region.offset, region.bytes())
    }

    fn find_variable(&self, program: &AnyProgram, name: &CStr) -> Result<(CUdeviceptr, usize)> {
        let program: Arc<Program> = downcast(program.clone())?;
        same_context(&self.stream.context, &program.context)?;
        program.variable(name)
    }

    /// Copies between an address and `host`, after all earlier commands, and waits until the copy has finished.
    ///
    /// # Safety
    ///
    /// The address must be valid for as many bytes as `host` until all commands on the queue have finished.
    unsafe fn transfer_now(&self, address: CUdeviceptr, host: HostSlice<'_>) -> Result<()> {
        let size = host.len();
        if size == 0 {
            return self.finish();
        }
        let (to, from) = ends(address, host.raw());
        let copied = self.submit("cuMemcpyAsync", WaitList::NOTHING, |_, stream| {
            // SAFETY: the caller guarantees that the address is valid. The host bytes outlive the copy, because this
            // function waits for it.
            unsafe { call!(self.stream.context => cuMemcpyAsync(to, from, size, stream)) }
        });
        // Wait even if the call failed: it may have enqueued the copy.
        let settled = self.stream.settle();
        copied.map(drop).and(settled)
    }

    /// Starts copying `size` bytes once all commands in `after` have finished.
    ///
    /// # Safety
    ///
    /// Both addresses must be valid for `size` bytes until the command has finished.
    unsafe fn copy(
        &self,
        to: CUdeviceptr,
        from: CUdeviceptr,
        size: usize,
        after: &WaitList<'_>,
    ) -> Result<AnyEvent> {
        self.submit(COPY, after, |_, stream| {
            if size == 0 {
                return Ok(());
            }
            // SAFETY: the caller guarantees this.
            unsafe { call!(self.stream.context => cuMemcpyAsync(to, from, size, stream)) }
        })
    }

    /// Lets this device access the other device's memory, if the hardware supports it, so that copies take the direct
    /// route. If the driver refuses, copies go through the host.
    fn enable_peer_access(&self, other: &Context) {
        let context = &self.stream.context;
        let (here, there, mut can) = (context.device.device, other.device.device, 0);
        // SAFETY: the driver reported both devices; the call writes one value through a valid pointer.
        let asked = unsafe { call!(context => cuDeviceCanAccessPeer(&raw mut can, here, there)) };
        if asked.is_ok() && can != 0 {
            // SAFETY: both contexts are alive.
            let _ = unsafe { call!(context => cuCtxEnablePeerAccess(other.handle.0, 0)) };
        }
    }
}

/// Enqueues the driver call of a step.
///
/// # Safety
///
/// The step must write only device memory that stays alive until the command has finished. The context must own the
/// stream.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a step's value fits into its elements"
)]
unsafe fn set(context: &Context, step: &Step, stream: CUstream) -> Result<()> {
    let (to, value, pitch) = (step.dst, step.value, step.pitch);
    let (short, byte) = (value as u16, value as u8);
    let (x, y) = (step.width, step.height);
    // SAFETY: the caller guarantees this.
    unsafe {
        match (step.elementSize, y) {
            (4, 1) => call!(context => cuMemsetD32Async(to, value, x, stream)),
            (2, 1) => call!(context => cuMemsetD16Async(to, short, x, stream)),
            (_, 1) => call!(context => cuMemsetD8Async(to, byte, x, stream)),
            (4, _) => call!(context => cuMemsetD2D32Async(to, pitch, value, x, y, stream)),
            (2, _) => call!(context => cuMemsetD2D16Async(to, pitch, short, x, y, stream)),
            (_, _) => call!(context => cuMemsetD2D8Async(to, pitch, byte, x, y, stream)),
        }
    }
}

/// A single driver call that writes copies of a word: either a row of contiguous words, or rows of one word.
type Step = CUDA_MEMSET_NODE_PARAMS;

/// Returns the steps that fill `size` bytes at `address` with copies of `pattern`. Returns `None` if the pattern is
/// empty or too long, or if its length does not divide `size`.
pub(crate) fn steps(
    address: u64,
    size: usize,
    pattern: &[u8],
) -> Option<impl Iterator<Item = Step>> {
    if !(1..=LARGEST_PATTERN).contains(&pattern.len()) || !size.is_multiple_of(pattern.len()) {
        return None;
    }
    let pattern = shortest(pattern);
    // The largest word size that divides both the pattern length and the address.
    let fits = |width: &usize| {
        pattern.len().is_multiple_of(*width) && address.is_multiple_of(*width as u64)
    };
    let bytes = [4, 2].into_iter().find(fits).unwrap_or(1);
    let pitch = pattern.len();
    let count = size / pitch;
    let (width, height) = if pitch == bytes {
        (count, 1)
    } else {
        (1, count)
    };
    let words = pattern.chunks_exact(bytes).enumerate();
    let steps = words.map(move |(index, word)| {
        let mut value = [0; 4];
        value[..bytes].copy_from_slice(word);
        Step {
            dst: address + (index * bytes) as u64,
            pitch,
            value: u32::from_le_bytes(value),
            elementSize: u32::try_from(bytes).unwrap_or(1),
            width,
            height,
        }
    });
    Some(steps.filter(move |_| count > 0))
}

/// Returns the shortest prefix of `pattern` that, repeated, yields the pattern.
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

    /// Simulates the steps and returns the resulting memory, which begins at `address`.
    fn filled(address: u64, size: usize, pattern: &[u8]) -> Vec<u8> {
        let mut memory = vec![0xEE; size];
        for step in steps(address, size, pattern).unwrap() {
            let bytes = step.elementSize as usize;
            assert!(step.dst.is_multiple_of(bytes as u64), "{bytes}");
            for (row, column) in
                (0..step.height).flat_map(|row| (0..step.width).map(move |column| (row, column)))
            {
                let first = usize::try_from(step.dst - address).unwrap();
                let at = first + row * step.pitch + column * bytes;
                memory[at..at + bytes].copy_from_slice(&step.value.to_le_bytes()[..bytes]);
            }
        }
        memory
    }

    #[test]
    fn every_pattern_fills_memory_at_every_address() {
        for len in 1..=LARGEST_PATTERN {
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
    fn empty_memory_is_filled_without_a_call() {
        for pattern in [&[7][..], &[1, 2, 3], &[1, 2, 3, 4]] {
            assert_eq!(steps(4096, 0, pattern).unwrap().count(), 0);
        }
    }

    #[test]
    fn invalid_fill_patterns_are_refused() {
        assert!(steps(4096, 8, &[]).is_none());
        assert!(steps(4096, 129, &[1; 129]).is_none());
        assert!(steps(4096, 8, &[1, 2, 3]).is_none());
    }
}
