//! Kernels: functions of a loaded module, and what the driver says of them.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use syclbin::signature::mangled::KERNEL_PREFIX;

use crate::backend::opencl::{self, Program};
use crate::error::{Error, ErrorKind, Result};
use crate::queue::Queue;

/// A kernel of a [`Module`](crate::Module), ready to be launched. A clone is the same kernel.
///
/// Threads may launch one kernel at the same time. OpenCL does not let two threads set arguments of
/// one kernel object at once, so they wait for each other while the launch is put into the queue.
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    symbol: String,
    eliminated: Vec<bool>,
    queue: Queue,
    raw: opencl::Kernel,
}

impl Kernel {
    pub(crate) fn new(
        queue: &Queue,
        program: &Arc<Program>,
        symbol: &str,
        eliminated: &[bool],
    ) -> Result<Self> {
        // A name with a NUL inside is no symbol of any program.
        let name = CString::new(symbol).map_err(|_| ErrorKind::NoKernel {
            name: symbol.to_owned(),
            available: program.kernel_names().unwrap_or_default(),
        })?;
        let raw = opencl::Kernel::new(program, &name).map_err(|failure| {
            Error::driver(failure, format!("making kernel {symbol}"), queue.device())
        })?;
        Ok(Self(Arc::new(Inner {
            symbol: symbol.to_owned(),
            eliminated: eliminated.to_vec(),
            queue: queue.clone(),
            raw,
        })))
    }

    /// Its symbol, such as `__sycl_kernel_saxpy`.
    #[must_use]
    pub fn symbol(&self) -> &str {
        &self.0.symbol
    }

    /// The queue it is launched on.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    /// Its name in messages: the symbol without the compiler's prefix.
    pub(crate) fn name(&self) -> &str {
        let symbol = self.symbol();
        symbol.strip_prefix(KERNEL_PREFIX).unwrap_or(symbol)
    }

    /// Whether the compiler removed argument `index`, which then must not be passed.
    pub(crate) fn is_eliminated(&self, index: usize) -> bool {
        self.0.eliminated.get(index).copied().unwrap_or(false)
    }

    /// How many arguments a caller gives, those that were removed included.
    pub(crate) fn takes(&self) -> usize {
        let removed = self.0.eliminated.iter().filter(|removed| **removed);
        self.0.raw.arguments() + removed.count()
    }

    pub(crate) fn raw(&self) -> &opencl::Kernel {
        &self.0.raw
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({} on {})", self.symbol(), self.queue().device())
    }
}
