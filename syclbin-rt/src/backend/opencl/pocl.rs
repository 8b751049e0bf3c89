// SPDX-License-Identifier: MIT OR Apache-2.0
//! PoCL (6.0 and 7.1): commands that fail.
//!
//! Up to version 6 it calls no callback when a command fails, so a task that awaits the command would sleep for
//! ever. A thread here looks at such commands.
//!
//! A command that waits for an event that has already failed never ends (6.0), or runs (7.1). So such commands
//! are refused before the driver sees them. One gap remains: an event that fails in the same moment.

use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use opencl_sys::CL_COMPLETE;

use crate::backend::event::Completion;
use crate::backend::opencl::event::Event;
use crate::device::facts::Facts;

/// The time between two looks at the commands. It only delays the report of a failure: callbacks report success.
const INTERVAL: Duration = Duration::from_millis(10);

/// What the driver of a device does with commands that fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failing {
    /// Callbacks are not called.
    pub(crate) misses_callbacks: bool,
    /// A command does not notice that an event failed before.
    pub(crate) is_forgotten: bool,
}

/// Returns whether the device is one of PoCL.
pub(crate) fn is_pocl(facts: &Facts) -> bool {
    facts.platform == "Portable Computing Language"
}

impl Failing {
    pub(crate) fn of(facts: &Facts) -> Self {
        let is_forgotten = is_pocl(facts);
        let major = facts.driver_version.split('.').next().unwrap_or_default();
        let is_old = major.parse::<u32>().is_ok_and(|major| major < 7);
        Self {
            misses_callbacks: is_forgotten && is_old,
            is_forgotten,
        }
    }
}

struct Watched {
    pending: Mutex<Vec<(Event, Completion)>>,
    added: Condvar,
}

static WATCHED: Watched = Watched {
    pending: Mutex::new(Vec::new()),
    added: Condvar::new(),
};

/// Reports a failure of the command of `event`, which the driver may not report. Returns `false` if no thread can
/// be started.
pub(crate) fn watch(event: Event, completion: Completion) -> bool {
    static STARTED: OnceLock<bool> = OnceLock::new();
    let started = STARTED.get_or_init(|| {
        let thread = std::thread::Builder::new().name("syclbin-watch".to_owned());
        thread.spawn(|| WATCHED.look()).is_ok()
    });
    if *started {
        let mut pending = WATCHED
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pending.push((event, completion));
        drop(pending);
        WATCHED.added.notify_one();
    }
    *started
}

impl Watched {
    fn look(&self) {
        loop {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            while pending.is_empty() {
                pending = (self.added.wait(pending)).unwrap_or_else(PoisonError::into_inner);
            }
            // The driver is asked without the lock: a thread that polls never waits for it here.
            let mut looked_at = std::mem::take(&mut *pending);
            drop(pending);
            looked_at.retain(|(event, completion)| match event.status() {
                Ok(CL_COMPLETE) => false,
                Ok(status) if status > CL_COMPLETE => true,
                ended => {
                    completion.end(ended.and_then(|status| event.result(status)));
                    false
                }
            });
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.append(&mut looked_at);
            drop(pending);
            std::thread::sleep(INTERVAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_pocl_misses_callbacks() {
        let failing = |platform: &str, driver_version: &str| {
            let failing = Failing::of(&Facts {
                platform: platform.to_owned(),
                driver_version: driver_version.to_owned(),
                ..Facts::default()
            });
            (failing.misses_callbacks, failing.is_forgotten)
        };
        let pocl = "Portable Computing Language";
        assert_eq!(failing(pocl, "6.0+debian"), (true, true));
        assert_eq!(failing(pocl, "7.1+debian"), (false, true));
        assert_eq!(failing(pocl, "HEAD"), (false, true));
        assert_eq!(failing("Intel(R) OpenCL", "2026.2"), (false, false));
    }
}
