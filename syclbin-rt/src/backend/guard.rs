// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guarded buffers, which detect out-of-bounds accesses by kernels. `SYCLBIN_GUARD` enables them, and also the check
//! in `backend/order`.
//!
//! A guarded buffer lies between two zones of inaccessible pages. When a kernel on a CPU device touches a zone, a
//! signal handler records the address and makes the page accessible, so that the kernel can run to completion. The
//! launch then fails, and its error describes the access. One side of the buffer borders directly on a zone; the other
//! side may be up to a page away from its zone.

use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use crate::backend::{Failure, Rejection, Result};

const VARIABLE: &str = "SYCLBIN_GUARD";

/// What guarded launches detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Accesses before the start of a buffer, which borders directly on an inaccessible page.
    Start,
    /// Accesses beyond the end of a buffer, which borders directly on an inaccessible page.
    End,
    /// Like `Start`, and results that depend on the order of work-groups.
    Races,
}

/// A kernel's access outside a guarded buffer, or a byte inside it that depends on the order of work-groups.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StrayAccess {
    /// The host addresses of the buffer's bytes.
    pub(crate) buffer: Range<usize>,
    /// The accessed byte, relative to the buffer's first byte.
    pub(crate) byte: isize,
    /// `None` if it is unknown whether the kernel read or wrote.
    pub(crate) is_write: Option<bool>,
}

impl StrayAccess {
    pub(crate) fn depends_on_order(&self) -> bool {
        self.byte.cast_unsigned() < self.buffer.len()
    }

    fn failure(self) -> Failure {
        // A failure is `Copy`, so it cannot own the details. They are leaked, but only for a faulty kernel.
        Failure::Rejected(Rejection::Strayed(Box::leak(Box::new(self))))
    }

    pub(crate) fn verb(&self) -> &'static str {
        match self.is_write {
            _ if self.depends_on_order() => "writes a value that depends on work-group order to",
            Some(true) => "writes",
            Some(false) => "reads",
            None => "accesses",
        }
    }
}

impl fmt::Display for StrayAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, byte, size) = (self.verb(), self.byte, self.buffer.len());
        write!(
            f,
            "the kernel {verb} byte {byte} of a buffer that is {size} bytes long"
        )
    }
}

/// Returns the mode that the environment variable requests.
///
/// # Errors
///
/// Returns an error message if the value is invalid.
pub(crate) fn requested() -> Result<Option<Mode>, &'static str> {
    static REQUESTED: LazyLock<Result<Option<Mode>, String>> = LazyLock::new(|| {
        let value = std::env::var_os(VARIABLE).unwrap_or_default();
        mode(&value.to_string_lossy())
    });
    REQUESTED.as_ref().copied().map_err(String::as_str)
}

fn mode(value: &str) -> Result<Option<Mode>, String> {
    match value {
        "" | "0" => Ok(None),
        "1" | "end" => Ok(Some(Mode::End)),
        "start" => Ok(Some(Mode::Start)),
        "races" => Ok(Some(Mode::Races)),
        _ => Err(format!(
            "{VARIABLE} is {value:?}; expected `end` (or 1), `start`, `races`, or 0"
        )),
    }
}

#[cfg(target_os = "linux")]
pub(crate) use pages::{Pages, buffer_at, watch};

#[cfg(target_os = "linux")]
mod pages {
    use std::ffi::{c_int, c_void};
    use std::ops::Range;
    use std::ptr::{NonNull, null_mut, with_exposed_provenance_mut};
    use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::sync::{Mutex, OnceLock, PoisonError};

    use super::{Mode, StrayAccess};
    use crate::backend::{Failure, Rejection, Result};

    /// The size of a zone in bytes, a multiple of every page size.
    const ZONE: usize = 16 << 20;

    /// The mappings that the signal handler searches. The handler must not take a lock, so the table has a fixed size.
    static MAPPINGS: [Mapping; 1 << 14] = [const { Mapping::unused() }; 1 << 14];

    struct Mapping {
        /// The address of the first zone, or 0 while the handler must ignore the entry.
        start: AtomicUsize,
        /// The size in bytes, including both zones, or 0 if the entry is unused.
        len: AtomicUsize,
        /// The address of the buffer.
        buffer: AtomicUsize,
        /// The size of the buffer in bytes.
        size: AtomicUsize,
        /// Whether the handler has made any page of the zones accessible.
        is_open: AtomicBool,
    }

    impl Mapping {
        const fn unused() -> Self {
            Self {
                start: AtomicUsize::new(0),
                len: AtomicUsize::new(0),
                buffer: AtomicUsize::new(0),
                size: AtomicUsize::new(0),
                is_open: AtomicBool::new(false),
            }
        }

        /// Returns the addresses of the buffer.
        fn buffer(&self) -> Range<usize> {
            let start = self.buffer.load(Acquire);
            start..start.wrapping_add(self.size.load(Acquire))
        }

        /// Returns whether the address is in one of the zones.
        fn guards(&self, address: usize) -> bool {
            let start = self.start.load(Acquire);
            let len = self.len.load(Acquire);
            let offset = address.wrapping_sub(start);
            start != 0 && offset < len && (offset < ZONE || offset >= len - ZONE)
        }

        /// Makes both zones inaccessible, and discards what kernels wrote to them.
        fn close(&self) {
            let (start, len) = (self.start.load(Acquire), self.len.load(Acquire));
            if start == 0 {
                return; // the buffer was dropped meanwhile
            }
            for zone in [start, start.wrapping_add(len).wrapping_sub(ZONE)] {
                let zone = with_exposed_provenance_mut(zone);
                // SAFETY: the zone belongs to a live mapping, and no data is stored in it. If a call fails, a later
                // access may go unnoticed.
                unsafe {
                    libc::mprotect(zone, ZONE, libc::PROT_NONE);
                    libc::madvise(zone, ZONE, libc::MADV_DONTNEED);
                }
            }
        }
    }

    /// The lowest address of all buffers so far.
    static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
    /// No mapping has a higher address.
    const HIGHEST: usize = 1 << (usize::BITS / 4 * 3);

    /// Returns the addresses of the guarded buffer that contains `address`.
    pub(crate) fn buffer_at(address: u64) -> Option<Range<usize>> {
        let range = LOWEST.load(Relaxed)..HIGHEST;
        let address = usize::try_from(address)
            .ok()
            .filter(|at| range.contains(at))?;
        let is_used = |mapping: &&Mapping| mapping.start.load(Acquire) != 0;
        let mut buffers = MAPPINGS.iter().filter(is_used).map(Mapping::buffer);
        buffers.find(|buffer| buffer.contains(&address))
    }

    /// The index plus 1 of the mapping that the launch's first stray access hit, or 0 if there was none.
    static STRAYED: AtomicUsize = AtomicUsize::new(0);
    /// The address of that access.
    static ADDRESS: AtomicUsize = AtomicUsize::new(0);
    /// The processor's error code for that access, or [`UNKNOWN`].
    static CODE: AtomicUsize = AtomicUsize::new(UNKNOWN);
    const UNKNOWN: usize = usize::MAX;

    /// Held during a launch, and while pages are unmapped.
    static LAUNCHES: Mutex<()> = Mutex::new(());
    /// Whether a launch is running. If not, host code caused the fault, so the handler does not open any page.
    static WATCHING: AtomicBool = AtomicBool::new(false);

    /// Ends watching on drop, even if a panic unwinds.
    struct Watch;

    impl Drop for Watch {
        fn drop(&mut self) {
            WATCHING.store(false, Release);
        }
    }

    /// The pages of a guarded buffer, unmapped on drop.
    pub(crate) struct Pages(&'static Mapping);

    impl Pages {
        /// Maps a zeroed buffer of `size` bytes, of which the side that `mode` determines borders on an inaccessible page.
        ///
        /// With [`Mode::End`], the buffer ends at a page boundary, so its address is only as aligned as its size.
        pub(crate) fn new(size: usize, mode: Mode) -> Result<Self> {
            install_handler();
            let page = page_size();
            let too_large = Failure::Rejected(Rejection::NoGuardedMemory);
            let data = size.checked_next_multiple_of(page).ok_or(too_large)?;
            let len = data.checked_add(2 * ZONE).ok_or(too_large)?;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: a new anonymous mapping aliases nothing.
            let start = unsafe { libc::mmap(null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
            let start = NonNull::new(start).filter(|start| start.as_ptr() != libc::MAP_FAILED);
            let start = start.ok_or(too_large)?.as_ptr();
            let gap = if mode == Mode::End { data - size } else { 0 };
            let first = start.wrapping_byte_add(ZONE);
            // SAFETY: the data lies inside the new mapping, which nothing else uses yet.
            let opened = unsafe { libc::mprotect(first, data, libc::PROT_READ | libc::PROT_WRITE) };
            let address = start.expose_provenance();
            let free = |mapping: &&Mapping| {
                let taken = mapping.len.compare_exchange(0, len, AcqRel, Relaxed);
                taken.is_ok()
            };
            let mut unused = MAPPINGS.iter().filter(|_| opened == 0);
            let Some(mapping) = unused.find(free) else {
                // SAFETY: the mapping is owned, and nothing uses it.
                unsafe { libc::munmap(start, len) };
                return Err(too_large);
            };
            mapping.buffer.store(address + ZONE + gap, Relaxed);
            mapping.size.store(size, Relaxed);
            LOWEST.fetch_min(address, Relaxed);
            mapping.start.store(address, Release);
            Ok(Self(mapping))
        }

        /// Returns the address of the first byte of the buffer.
        pub(crate) fn buffer(&self) -> *mut c_void {
            with_exposed_provenance_mut(self.0.buffer.load(Relaxed))
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // Wait for a running launch to end: it may still close the zones of this mapping.
            let _alone = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner);
            let start = self.0.start.swap(0, AcqRel);
            self.0.is_open.store(false, Relaxed);
            let len = self.0.len.swap(0, AcqRel);
            // SAFETY: the mapping is owned. The owner of the buffer has waited for all commands that use it.
            unsafe { libc::munmap(with_exposed_provenance_mut(start), len) };
        }
    }

    /// Calls `launch`, which must enqueue a kernel and wait for it. It may return a byte that depends on the order of
    /// work-groups. Guarded launches run one at a time, so that each stray access can be attributed to one of them.
    ///
    /// # Errors
    ///
    /// Returns the failure of `launch`, or [`Rejection::Strayed`] if the kernel accessed memory outside its buffers or
    /// `launch` returned a byte.
    #[cold]
    #[inline(never)]
    pub(crate) fn watch(launch: impl FnOnce() -> Result<Option<StrayAccess>>) -> Result<()> {
        let _alone = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner);
        STRAYED.store(0, Relaxed);
        WATCHING.store(true, Release);
        let watch = Watch;
        let race = launch()?;
        drop(watch);
        let strayed = STRAYED.load(Acquire);
        let Some(mapping) = MAPPINGS.get(strayed.wrapping_sub(1)) else {
            return race.map_or(Ok(()), |access| Err(access.failure()));
        };
        let (buffer, code) = (mapping.buffer(), CODE.load(Relaxed));
        let offset = ADDRESS.load(Relaxed).wrapping_sub(buffer.start);
        let access = StrayAccess {
            buffer,
            byte: offset.cast_signed(),
            is_write: (code != UNKNOWN).then_some(code & 2 != 0),
        };
        for mapping in &MAPPINGS {
            if mapping.is_open.swap(false, AcqRel) {
                mapping.close();
            }
        }
        Err(access.failure())
    }

    fn page_size() -> usize {
        // SAFETY: the call has no preconditions.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(bytes).unwrap_or(ZONE)
    }

    /// Makes the page at `address` accessible if a launch is running and the page belongs to a zone. Returns whether
    /// the page is now accessible. Runs inside the signal handler, so it uses only atomics and system calls.
    fn open(address: usize, code: usize) -> bool {
        if !WATCHING.load(Acquire) {
            return false;
        }
        let mut mappings = MAPPINGS.iter().enumerate();
        let Some((index, mapping)) = mappings.find(|(_, mapping)| mapping.guards(address)) else {
            return false;
        };
        mapping.is_open.store(true, Release);
        let first = with_exposed_provenance_mut(address - address % page_size());
        // SAFETY: the page belongs to a live mapping of this module.
        if unsafe { libc::mprotect(first, page_size(), libc::PROT_READ | libc::PROT_WRITE) } != 0 {
            return false;
        }
        let first_access = STRAYED.compare_exchange(0, index + 1, AcqRel, Relaxed);
        if first_access.is_ok() {
            ADDRESS.store(address, Relaxed);
            CODE.store(code, Relaxed);
        }
        true
    }

    /// The SIGSEGV handler that was installed before this module's handler.
    static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

    fn default_action() -> libc::sigaction {
        // SAFETY: all-zero bytes are the default action.
        unsafe { std::mem::zeroed() }
    }

    fn install_handler() {
        PREVIOUS.get_or_init(|| {
            let (mut action, mut previous) = (default_action(), default_action());
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: the calls write only to these structs.
            unsafe {
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut previous);
            }
            previous
        });
    }

    /// The `si_code` of an access that page protection forbids (`SEGV_ACCERR`).
    const ACCESS_ERROR: c_int = 2;
    /// The bit of the processor's error code that marks an instruction fetch.
    const FETCH: usize = 0x10;

    /// Handles SIGSEGV, and passes it to the previous handler unless the access is in a zone.
    extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the operating system passes a valid struct.
        let (address, cause) = unsafe { ((*info).si_addr().addr(), (*info).si_code) };
        let code = error_code(context);
        let is_access = cause == ACCESS_ERROR && (code == UNKNOWN || code & FETCH == 0);
        if is_access && open(address, code) {
            return;
        }
        let previous = PREVIOUS.get();
        let handler = previous.map_or(libc::SIG_DFL, |previous| previous.sa_sigaction);
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            // Restore the default action. After this handler returns, the instruction faults again, which ends the
            // process.
            let action = default_action();
            // SAFETY: the call only reads the action.
            unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, null_mut()) };
        } else if previous.is_some_and(|previous| previous.sa_flags & libc::SA_SIGINFO != 0) {
            type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            // SAFETY: with this flag, the handler has three parameters.
            let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
            handler(signal, info, context);
        } else {
            // SAFETY: without the flag, the handler has one parameter.
            let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler) };
            handler(signal);
        }
    }

    /// Returns the processor's error code, whose second bit is set for a write.
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn error_code(context: *mut c_void) -> usize {
        let context: *const libc::ucontext_t = context.cast_const().cast();
        // SAFETY: the operating system passes this struct to handlers installed with `SA_SIGINFO`.
        let registers = unsafe { &(*context).uc_mcontext.gregs };
        let code = registers.get(libc::REG_ERR.cast_unsigned() as usize);
        code.and_then(|code| usize::try_from(*code).ok())
            .unwrap_or(UNKNOWN)
    }

    #[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
    fn error_code(_context: *mut c_void) -> usize {
        UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn dropped_buffers_are_found_no_more() {
        for mode in [Mode::Start, Mode::End] {
            let pages = Pages::new(100, mode).unwrap();
            let start = pages.buffer().addr();
            let found = |byte: usize| buffer_at((start + byte) as u64);
            assert_eq!(found(0), Some(start..start + 100));
            assert_eq!(found(99), Some(start..start + 100));
            assert_eq!(found(100), None);
            drop(pages);
            assert_eq!(found(0), None);
        }
    }

    #[test]
    fn mode_is_read_from_the_variable() {
        assert_eq!(mode(""), Ok(None));
        assert_eq!(mode("0"), Ok(None));
        assert_eq!(mode("1"), Ok(Some(Mode::End)));
        assert_eq!(mode("start"), Ok(Some(Mode::Start)));
        assert_eq!(mode("races"), Ok(Some(Mode::Races)));
        assert_eq!(
            mode("yes").unwrap_err(),
            "SYCLBIN_GUARD is \"yes\"; expected `end` (or 1), `start`, `races`, or 0"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn accesses_beside_a_buffer_are_recorded() {
        for (mode, byte) in [(Mode::End, 12), (Mode::Start, -1)] {
            let pages = Pages::new(12, mode).unwrap();
            let buffer: *mut u8 = pages.buffer().cast();
            let addresses = buffer.addr()..buffer.addr() + 12;
            let found = |address: usize| buffer_at(address as u64);
            assert_eq!(found(addresses.start), Some(addresses.clone()));
            assert_eq!(found(addresses.end), None);
            let touch = || {
                // SAFETY: the handler makes the page accessible, and nothing else uses it.
                unsafe { buffer.offset(byte).write_volatile(7) };
                Ok(None)
            };
            for _ in 0..2 {
                let failure = watch(touch).unwrap_err();
                let knows_writes = cfg!(all(target_arch = "x86_64", target_env = "gnu"));
                let verb = if knows_writes { "writes" } else { "accesses" };
                let expected =
                    format!("the kernel {verb} byte {byte} of a buffer that is 12 bytes long");
                assert_eq!(failure.to_string(), expected);
            }
            let inside = || {
                // SAFETY: the byte is inside the buffer.
                unsafe { buffer.add(11).write_volatile(7) };
                Ok(None)
            };
            assert_eq!(watch(inside), Ok(()));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn other_faults_reach_the_earlier_handler() {
        use std::ffi::{c_int, c_void};

        const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";
        extern "C" fn earlier(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
            // SAFETY: the operating system passes a valid struct.
            let address = unsafe { (*info).si_addr().addr() };
            // SAFETY: the call has no preconditions.
            unsafe { libc::_exit(c_int::from(address == 77)) }
        }
        if std::env::var_os(CHILD).is_some() {
            // SAFETY: the handler has the parameters that the flag promises. The write ends the process.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = earlier as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO;
                libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
                let _pages = Pages::new(12, Mode::End).unwrap();
                std::ptr::without_provenance_mut::<u8>(77).write_volatile(7);
            }
        }
        let this = "other_faults_reach_the_earlier_handler";
        let mut child = crate::common::child(module_path!(), this);
        let status = child.env(CHILD, "1").status().unwrap();
        assert_eq!(status.code(), Some(1));
    }

    /// Returns whether this is the child process of the test.
    #[cfg(target_os = "linux")]
    fn is_child() -> bool {
        std::env::var_os(crate::backend::gate::CHILD).is_some()
    }

    /// Runs a test in a child process, and returns the signal that ended it.
    #[cfg(target_os = "linux")]
    fn signal_of_child(test: &str) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt;

        let mut child = crate::common::child(module_path!(), test);
        let child = child.env(crate::backend::gate::CHILD, "1");
        child.status().unwrap().signal()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn zones_are_closed_to_the_host() {
        if is_child() {
            let pages = Pages::new(12, Mode::End).unwrap();
            let end = pages.buffer().wrapping_byte_add(12).cast::<u8>();
            assert_eq!(watch(|| Ok(None)), Ok(()));
            // SAFETY: the write ends the process.
            unsafe { end.write_volatile(7) };
            return;
        }
        let signal = signal_of_child("zones_are_closed_to_the_host");
        assert_eq!(signal, Some(libc::SIGSEGV));
    }

    // Elsewhere, the handler does not know what the processor wanted.
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    #[test]
    fn call_into_a_zone_ends_the_process() {
        if is_child() {
            let pages = Pages::new(12, Mode::End).unwrap();
            let end = pages.buffer().wrapping_byte_add(12);
            let _ = watch(|| {
                // SAFETY: the call ends the process, at the latest by the alarm.
                unsafe {
                    libc::alarm(20);
                    std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn()>(end)();
                }
                Ok(None)
            });
            return;
        }
        let signal = signal_of_child("call_into_a_zone_ends_the_process");
        assert_eq!(signal, Some(libc::SIGSEGV));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ignored_signal_stays_ignored() {
        if is_child() {
            // SAFETY: the signal is ignored, and no instruction causes it.
            unsafe {
                libc::signal(libc::SIGSEGV, libc::SIG_IGN);
                let _pages = Pages::new(12, Mode::End).unwrap();
                libc::raise(libc::SIGSEGV);
            }
            return;
        }
        assert_eq!(signal_of_child("ignored_signal_stays_ignored"), None);
    }
}
