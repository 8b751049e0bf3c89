// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: code that a driver has built for a device.

use std::sync::{Arc, Weak};

use crate::backend::dispatch::context::Context;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::{BuildError, Failure};
use crate::backend::source::Source;
use crate::backend::{cuda, opencl};

either! {
    /// A built program. A clone is the same program.
    #[derive(Clone)]
    Program: Arc<opencl::Program>, Arc<cuda::Program>
}

either! {
    /// A program as long as another owner holds it.
    WeakProgram: Weak<opencl::Program>, Weak<cuda::Program>
}

impl Program {
    /// Builds modules of SPIR-V or PTX. Several modules are linked to each other.
    ///
    /// They only import from each other, and no two of them define the same symbol.
    pub(crate) fn build(context: &Context, sources: &[Source<'_>]) -> Result<Self, BuildError> {
        Ok(match context {
            Context::OpenCl(context) => Arc::new(opencl::Program::build(context, sources)?).into(),
            Context::Cuda(context) => Arc::new(cuda::Program::build(context, sources)?).into(),
        })
    }

    /// Builds native code of a file.
    pub(crate) fn from_file(context: &Context, source: &Source<'_>) -> Result<Self, BuildError> {
        Ok(match context {
            Context::OpenCl(context) => {
                Arc::new(opencl::Program::from_file(context, source)?).into()
            }
            Context::Cuda(context) => Arc::new(cuda::Program::from_file(context, source)?).into(),
        })
    }

    /// Builds native code that an earlier process got from [`Program::binary`]. Returns `None` if this process
    /// would have made other code.
    pub(crate) fn from_cache(context: &Context, code: &[u8]) -> Result<Option<Self>, BuildError> {
        Ok(match context {
            Context::OpenCl(context) => {
                let program = opencl::Program::from_cache(context, code)?;
                program.map(|program| Arc::new(program).into())
            }
            Context::Cuda(context) => {
                let program = cuda::Program::from_cache(context, code)?;
                program.map(|program| Arc::new(program).into())
            }
        })
    }

    /// Returns a reference to the program that does not keep it alive.
    pub(crate) fn downgrade(&self) -> WeakProgram {
        each!(Self, self, program => Arc::downgrade(program).into())
    }

    /// Returns whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        both!(Self self, Self other; one, other => Arc::ptr_eq(one, other), else false)
    }

    /// Returns whether it has another owner.
    pub(crate) fn is_shared(&self) -> bool {
        each!(Self, self, program => Arc::strong_count(program) > 1)
    }

    /// Returns the native code that the driver has made.
    pub(crate) fn binary(&self) -> Result<Vec<u8>, Failure> {
        each!(Self, self, program => program.binary())
    }

    /// Returns the symbols of its kernels.
    pub(crate) fn kernel_names(&self) -> Result<Vec<String>, Failure> {
        each!(Self, self, program => program.kernel_names())
    }
}

impl WeakProgram {
    /// Returns whether the program has an owner.
    pub(crate) fn is_alive(&self) -> bool {
        each!(Self, self, program => program.strong_count() > 0)
    }

    /// Returns the program, if it has an owner.
    pub(crate) fn upgrade(&self) -> Option<Program> {
        each!(Self, self, program => program.upgrade().map(Program::from))
    }
}
