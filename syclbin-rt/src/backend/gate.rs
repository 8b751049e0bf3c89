// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gate, which stops driver calls when the process exits. Every driver call passes through it.
//!
//! Drivers destroy their global state inside `exit()`, while other threads still run. A call that is running then, or
//! starts later, would use destroyed objects. Therefore the tables of driver functions hold [`Gated`] functions, which
//! can only be called through [`Gated::pass`]. An `atexit` handler, which runs before the driver's destructors, closes
//! the gate. It waits for the running calls; a thread that reaches the closed gate sleeps until the process ends.
//!
//! Passing the gate costs a few instructions, none of them atomic read-modify-writes. Each thread counts its own calls
//! in a [`Slot`]. The handler synchronizes with the threads through `membarrier`, a system call that makes every
//! running thread execute a memory barrier. Where `membarrier` is unavailable, each call executes its own barrier.
//!
//! A thread creates a [`CallGuard`] before it takes any lock that it holds during calls. So no thread sleeps at the
//! closed gate while it holds a lock.
//!
//! On Windows, `std::process::exit` ends the other threads before any handler runs, so the gate closes only if `main`
//! returns.
//!
//! One gap remains. Drivers register destructors during the first compilation. If the process exits at that moment, it
//! can crash in two cases: a thread other than the main thread calls `exit()`, or the main thread has never used this
//! crate.

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering, compiler_fence, fence};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The maximum time that `exit()` waits for running calls. A limit is necessary, because a call may wait for a kernel
/// that never ends.
const LONGEST: Duration = Duration::from_secs(5);

/// The gate is open, and the handler can make other threads execute a barrier.
const OPEN: u8 = 0;
/// The gate is open, and each guard executes a barrier.
const FENCED: u8 = 1;
/// The process is exiting.
const CLOSED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(FENCED);

/// The address of the exiting thread's slot.
static EXITING: AtomicUsize = AtomicUsize::new(0);

/// Marks the slot of a thread whose thread-local values are already being dropped. The thread's last call releases
/// the slot.
const ENDING: usize = 1 << (usize::BITS - 1);

/// The stages at which a driver registers destructors for its global state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Loaded,
    Listed,
    FirstContext,
    FirstProgram,
    FirstCompiled,
}

/// Counts one thread's nested driver calls. Only that thread writes the counter. Padded to avoid false sharing.
#[repr(align(128))]
struct Slot(AtomicUsize);

struct Slots {
    all: Vec<&'static Slot>,
    free: Vec<&'static Slot>,
}

static SLOTS: Mutex<Slots> = Mutex::new(Slots {
    all: Vec::new(),
    free: Vec::new(),
});

thread_local! {
    // `SLOT` is separate from its releaser, because accessing a thread-local without a destructor costs a single load.
    static SLOT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    static GIVES_BACK: SlotReleaser = const { SlotReleaser };
}

/// Releases a thread's slot when the thread ends.
///
/// With glibc, `exit()` drops the main thread's value before it runs any handler, and the drop closes the gate. So
/// the gate closes in time even if another thread is inside a driver call that is still registering destructors.
/// Other C libraries differ: see [`system::drops_in_exit`].
struct SlotReleaser;

impl Drop for SlotReleaser {
    fn drop(&mut self) {
        if system::drops_in_exit() {
            return close();
        }
        if let Some(slot) = SLOT.get() {
            slot.release();
        }
    }
}

fn slots() -> std::sync::MutexGuard<'static, Slots> {
    SLOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A driver function that can only be called through the gate.
#[derive(Clone, Copy)]
pub(crate) struct Gated<F>(F);

/// While a guard lives, `exit()` waits for this thread's driver calls.
///
/// A thread creates a guard before it takes a lock that it holds during driver calls. A thread that sleeps at the gate
/// must not hold a lock, because the exiting thread may need that lock to drop its objects. Calls within a guard never
/// block at the gate.
#[must_use = "the guard ends when it is dropped"]
pub(crate) struct CallGuard {
    slot: &'static Slot,
    /// Makes the type `!Send`, because the slot belongs to the current thread.
    not_send: PhantomData<*const ()>,
}

/// A driver function for a single call, and the guard that lets the call pass the gate. Both are dropped at the end of
/// the statement that makes the call.
pub(crate) struct GuardedCall<F> {
    function: F,
    _guard: CallGuard,
}

impl<F: Copy> Gated<F> {
    #[cfg(test)]
    pub(crate) const fn new(function: F) -> Self {
        Self(function)
    }

    /// Returns the gated function at `address`.
    ///
    /// # Safety
    ///
    /// `address` must point to a function of type `F`, and `F` must be a function pointer.
    pub(crate) unsafe fn at(address: NonNull<c_void>) -> Self {
        const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>()) };
        // SAFETY: the caller guarantees the type; the assertion checks that `F` has the size of a pointer.
        Self(unsafe { std::mem::transmute_copy(&address) })
    }

    /// Passes the gate, and returns the function for an immediate call. Never returns if the process is exiting.
    #[inline(always)]
    pub(crate) fn pass(self) -> GuardedCall<F> {
        let function = self.0;
        let _guard = CallGuard::new();
        GuardedCall { function, _guard }
    }

    /// Returns the function, for a thread that has already passed the gate.
    #[inline(always)]
    pub(crate) fn within<'p>(&'p self, _guard: &'p CallGuard) -> &'p F {
        &self.0
    }
}

impl CallGuard {
    /// Passes the gate. Never returns if the process is exiting.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let slot = match SLOT.get() {
            Some(slot) => slot,
            None => Slot::take(),
        };
        let calls = slot.0.load(Ordering::Relaxed);
        slot.0.store(calls + 1, Ordering::Relaxed);
        // The fence stops the compiler from reordering; the handler's `membarrier` stops the processor.
        compiler_fence(Ordering::SeqCst);
        if STATE.load(Ordering::Relaxed) != OPEN {
            slot.stop_if_closed();
        }
        let not_send = PhantomData;
        Self { slot, not_send }
    }
}

impl<F> Deref for GuardedCall<F> {
    type Target = F;

    #[inline(always)]
    fn deref(&self) -> &F {
        &self.function
    }
}

impl Drop for CallGuard {
    #[inline(always)]
    fn drop(&mut self) {
        self.slot.leave();
    }
}

impl Slot {
    /// Assigns a slot to this thread.
    #[cold]
    fn take() -> &'static Self {
        let lasting = GIVES_BACK.try_with(|_| ()).is_ok();
        let mut slots = slots();
        let slot = slots.free.pop().unwrap_or_else(|| {
            let slot: &'static Self = Box::leak(Box::new(Self(AtomicUsize::new(0))));
            slots.all.push(slot);
            slot
        });
        if !lasting {
            slot.0.store(ENDING, Ordering::Relaxed);
        }
        SLOT.set(Some(slot));
        slot
    }

    #[inline(always)]
    fn leave(&'static self) {
        let calls = self.0.load(Ordering::Relaxed) - 1;
        // Release: the effects of the call happen before the handler observes that the call has ended.
        self.0.store(calls, Ordering::Release);
        if calls == ENDING {
            self.release();
        }
    }

    /// Lets another thread use the slot. The exiting thread keeps its slot, because a thread with that slot passes the
    /// closed gate.
    #[cold]
    fn release(&'static self) {
        if !self.is_exiting() {
            self.0.store(0, Ordering::Relaxed);
            SLOT.set(None);
            slots().free.push(self);
        }
    }

    fn is_exiting(&self) -> bool {
        EXITING.load(Ordering::Relaxed) == std::ptr::from_ref(self).addr()
    }

    fn calls(&self) -> usize {
        self.0.load(Ordering::Acquire) & !ENDING
    }

    #[cold]
    fn stop_if_closed(&'static self) {
        fence(Ordering::SeqCst);
        // The exiting thread may make calls from another library's exit handler, and must not wait for itself.
        if STATE.load(Ordering::SeqCst) != CLOSED || self.is_exiting() {
            return;
        }
        if self.calls() > 1 {
            return; // the handler waits for the enclosing call
        }
        self.leave();
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
}

/// Makes `exit()` close the gate before it runs any destructor registered so far.
///
/// Handlers run in the reverse order of registration. Drivers register destructors at each [`Stage`], so call this
/// after each stage. `driver` is any address that identifies the driver; only the first call for a driver and stage
/// registers a handler.
pub(crate) fn close_at_exit<T>(driver: *const T, stage: Stage) {
    static REGISTERED: Mutex<Vec<(usize, Stage)>> = Mutex::new(Vec::new());
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = (driver.addr(), stage);
    if registered.contains(&entry) {
        return;
    }
    registered.push(entry);
    unsafe extern "C" {
        fn atexit(handler: extern "C" fn()) -> std::ffi::c_int;
    }
    if STATE.load(Ordering::Relaxed) == FENCED && system::prepare_barriers() {
        let _ = STATE.compare_exchange(FENCED, OPEN, Ordering::SeqCst, Ordering::SeqCst);
    }
    // SAFETY: `atexit` is a function of the C standard library, and `close` may run at any time. Registration fails
    // only when memory runs out; an earlier handler then closes the gate.
    unsafe { atexit(close) };
}

/// Returns whether the process is exiting, so that all threads but one sleep at the gate.
pub(crate) fn is_closed() -> bool {
    STATE.load(Ordering::SeqCst) == CLOSED
}

static BEFORE_CLOSING: OnceLock<fn()> = OnceLock::new();

/// Makes `exit()` call `act` while drivers still accept calls. Only the first registered action runs.
pub(crate) fn before_closing(act: fn()) {
    let _ = BEFORE_CLOSING.set(act);
}

/// Closes the gate and waits for the running calls.
pub(crate) extern "C" fn close() {
    static ACTED: Once = Once::new();
    if let Some(act) = BEFORE_CLOSING.get() {
        // Unwinding out of an `extern "C"` function aborts. The panic has already printed its message.
        ACTED.call_once(|| drop(std::panic::catch_unwind(act)));
    }
    let own = SLOT.get().unwrap_or_else(Slot::take);
    EXITING.store(std::ptr::from_ref(own).addr(), Ordering::Relaxed);
    match STATE.swap(CLOSED, Ordering::SeqCst) {
        CLOSED => return, // an earlier handler has already waited
        OPEN => system::execute_barriers(),
        _ => {}
    }
    fence(Ordering::SeqCst);
    let begun = Instant::now();
    let slots = slots().all.clone();
    for slot in slots {
        while !std::ptr::eq(slot, own) && slot.calls() > 0 && begun.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::time::Duration;

    use rustix::process::getpid;
    use rustix::thread::{MembarrierCommand, gettid, membarrier};

    /// Returns whether this thread drops its thread-local values only in `exit()`. With glibc, the main thread
    /// does. With musl, the main thread drops them only in `pthread_exit()`, after which other threads may continue to
    /// run.
    pub(crate) fn drops_in_exit() -> bool {
        cfg!(target_env = "gnu") && gettid() == getpid()
    }

    /// Registers the process for barriers on all of its threads, and returns whether the system supports them.
    pub(crate) fn prepare_barriers() -> bool {
        membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
    }

    pub(crate) fn execute_barriers() {
        if membarrier(MembarrierCommand::PrivateExpedited).is_err() {
            // Unexpected after a successful registration. A processor's stores become visible within nanoseconds, so
            // waiting for a millisecond is enough.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(crate) fn drops_in_exit() -> bool {
        false
    }

    pub(crate) fn prepare_barriers() -> bool {
        false
    }

    pub(crate) fn execute_barriers() {}
}

/// The environment variable that is set in child processes of tests.
#[cfg(test)]
pub(crate) const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";

/// Runs a test again in a child process, panics unless it passes there, and returns `true`. In the child, returns `false`.
#[cfg(test)]
pub(crate) fn runs_in_child(module: &str, test: &str) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return false;
    }
    crate::common::assert_passes(crate::common::child(module, test).env(CHILD, "1"));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_while_they_run() {
        let function = Gated::new(|| SLOT.get().unwrap().calls());
        let inside = (function.pass())();
        assert_eq!(inside, 1);
        let nested = Gated::new(|| (function.pass())());
        assert_eq!((nested.pass())(), 2);
        assert_eq!(SLOT.get().unwrap().calls(), 0);
        assert!(!is_closed());
    }

    #[test]
    fn slots_of_ended_threads_are_reused() {
        let function = Gated::new(|| std::ptr::from_ref(SLOT.get().unwrap()).addr());
        let mut seen = std::collections::HashSet::new();
        for _ in 0..100 {
            seen.insert(
                std::thread::spawn(move || (function.pass())())
                    .join()
                    .unwrap(),
            );
        }
        assert!(seen.len() < 50, "{} slots for 100 threads", seen.len());
    }

    #[test]
    fn calls_from_dropped_thread_locals_leave_no_slot() {
        struct Calls(std::sync::mpsc::Sender<usize>);
        impl Drop for Calls {
            fn drop(&mut self) {
                let function = Gated::new(|| {
                    let slot = SLOT.get().unwrap();
                    (std::ptr::from_ref(slot).addr(), slot.calls())
                });
                let (slot, calls) = (function.pass())();
                assert_eq!(calls, 1);
                // Without native thread-locals (windows-gnu), the slot may be released after this value.
                assert!(cfg!(windows) || SLOT.get().is_none());
                self.0.send(slot).unwrap();
            }
        }
        thread_local! {
            static LATE: Cell<Option<Calls>> = const { Cell::new(None) };
        }
        let (sender, seen) = std::sync::mpsc::channel();
        for _ in 0..100 {
            let sender = sender.clone();
            let ended = std::thread::spawn(|| {
                // Initialized first, so dropped last.
                LATE.set(Some(Calls(sender)));
                (Gated::new(|| ()).pass())();
            });
            ended.join().unwrap();
        }
        drop(sender);
        let seen: Vec<usize> = seen.iter().collect();
        assert_eq!(seen.len(), 100);
        let slots = std::collections::HashSet::<usize>::from_iter(seen);
        assert!(slots.len() < 50, "{} slots for 100 threads", slots.len());
    }

    // Runs in child processes, because a gate never reopens.
    #[test]
    fn exit_waits_for_running_calls() {
        let children = [
            ("backend::gate::tests::a_child_closes_its_gate", 1),
            ("backend::gate::tests::a_child_exits_during_calls", 10),
            ("module::loaded::tests::a_child_exits_during_builds", 10),
            ("module::loaded::tests::a_child_builds_while_it_exits", 1),
        ];
        for (name, times) in children {
            for _ in 0..times {
                let mut child = std::process::Command::new(std::env::current_exe().unwrap());
                let output = child.args([name, "--exact"]).env(CHILD, "1").output();
                let output = output.unwrap();
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(
                    output.status.success() && said.contains("1 passed"),
                    "{said}"
                );
            }
        }
    }

    #[test]
    fn a_child_closes_its_gate() {
        use std::sync::atomic::AtomicBool;

        static ENDED: AtomicBool = AtomicBool::new(false);

        if std::env::var_os(CHILD).is_none() {
            return; // only the child process runs the test
        }
        let (inside, entered) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _outer = CallGuard::new();
            inside.send(()).unwrap();
            while STATE.load(Ordering::SeqCst) != CLOSED {
                std::thread::yield_now();
            }
            drop(CallGuard::new());
            ENDED.store(true, Ordering::SeqCst);
        });
        entered.recv().unwrap();
        close();
        assert!(ENDED.load(Ordering::SeqCst));
        assert!(is_closed());
    }

    /// `cargo xtask miri` runs this in many schedules. Miri reports a call that races with the exit.
    #[test]
    fn a_child_exits_during_calls() {
        /// The state that a driver destroys in `exit()`.
        struct DriverState(std::cell::UnsafeCell<usize>);
        // SAFETY: this is what the test checks.
        unsafe impl Sync for DriverState {}
        static DRIVER: DriverState = DriverState(std::cell::UnsafeCell::new(1));

        if std::env::var_os(CHILD).is_none() {
            return; // only the child process runs the test
        }
        if !cfg!(miri) {
            // Lets the handler use `membarrier`, which Miri does not support.
            close_at_exit(DRIVER.0.get(), Stage::Loaded);
            #[cfg(target_os = "linux")]
            if STATE.load(Ordering::SeqCst) == OPEN {
                // Calls execute no barrier of their own, so the system must let the handler do that.
                use rustix::thread::{MembarrierCommand, membarrier};
                membarrier(MembarrierCommand::PrivateExpedited).unwrap();
            }
        }
        let (sender, called) = std::sync::mpsc::channel();
        for _ in 0..3 {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let call = Gated::new(|| {
                    std::thread::yield_now();
                    // SAFETY: the gate keeps calls and the exit apart.
                    unsafe { DRIVER.0.get().read() }
                });
                loop {
                    if (call.pass())() != 1 {
                        std::process::abort();
                    }
                    let _ = sender.send(());
                }
            });
        }
        for _ in 0..4 {
            called.recv().unwrap();
        }
        close();
        // SAFETY: no call is running, and none will.
        unsafe { DRIVER.0.get().write(2) };
        std::thread::sleep(Duration::from_micros(100));
        drop(CallGuard::new()); // the exiting thread may still make calls
    }
}
