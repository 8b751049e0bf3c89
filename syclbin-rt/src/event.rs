//! Events: the state of a launched kernel.

use std::fmt;

use crate::backend::opencl;
use crate::error::{Error, Result};
use crate::kernel::Kernel;

/// A launched kernel, to wait for.
///
/// Dropping it does not wait: the kernel runs on. Reading a buffer on the same queue waits by
/// itself, so most programs need no event.
pub struct Event {
    kernel: Kernel,
    raw: opencl::Event,
}

impl Event {
    pub(crate) fn new(kernel: &Kernel, raw: opencl::Event) -> Self {
        let kernel = kernel.clone();
        Self { kernel, raw }
    }

    /// Waits until the kernel has finished.
    ///
    /// # Errors
    ///
    /// When the kernel failed on the device.
    pub fn wait(&self) -> Result<()> {
        self.raw.wait().map_err(|failure| self.failed(failure))
    }

    /// Whether the kernel has finished.
    ///
    /// # Errors
    ///
    /// When the kernel failed on the device.
    pub fn is_complete(&self) -> Result<bool> {
        let complete = self.raw.is_complete();
        complete.map_err(|failure| self.failed(failure))
    }

    fn failed(&self, failure: opencl::Failure) -> Error {
        let action = format!("running kernel {}", self.kernel.symbol());
        Error::driver(failure, action, self.kernel.queue().device())
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.kernel.symbol())
    }
}
