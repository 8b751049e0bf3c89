// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of generated code: each is looked up once, when it is first used.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::backend::gate::CallGuard;
use crate::error::Result;
use crate::launch::kernel::Kernel;
use crate::module::Module;

/// A kernel of a generated module. A clone is the same kernel.
#[derive(Clone)]
pub struct StubKernel(Arc<Inner>);

struct Inner {
    module: Module,
    symbol: &'static str,
    kernel: OnceLock<Result<Kernel>>,
}

impl StubKernel {
    /// Creates the kernel with this symbol, without building it.
    #[must_use]
    pub fn new(module: &Module, symbol: &'static str) -> Self {
        Self(Arc::new(Inner {
            module: module.clone(),
            symbol,
            kernel: OnceLock::new(),
        }))
    }

    /// Returns the kernel, or the reason why it cannot run. The first call builds it.
    #[inline]
    pub fn get(&self) -> &Result<Kernel> {
        match self.0.kernel.get() {
            Some(kernel) => kernel,
            None => self.find(),
        }
    }

    #[cold]
    fn find(&self) -> &Result<Kernel> {
        // An exiting thread may need the same kernel.
        let _guard = CallGuard::new();
        let Inner {
            module,
            symbol,
            kernel,
        } = &*self.0;
        kernel.get_or_init(|| module.kernel(symbol))
    }
}

impl fmt::Debug for StubKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "StubKernel({} on {})",
            self.0.symbol,
            self.0.module.queue().device()
        )
    }
}
