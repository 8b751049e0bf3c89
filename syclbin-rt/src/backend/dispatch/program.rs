//! Programs: code that a driver has built for one device.

use std::sync::{Arc, Weak};

use crate::backend::dispatch::context::Context;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::{BuildError, Failure};
use crate::backend::source::Source;
use crate::backend::{cuda, opencl};

either! {
    /// A built program. A clone is the same one.
    #[derive(Clone)]
    Program: Arc<opencl::Program>, Arc<cuda::Program>
}

either! {
    /// A program as long as somebody else has it.
    WeakProgram: Weak<opencl::Program>, Weak<cuda::Program>
}

impl Program {
    /// Builds modules of SPIR-V or PTX: one by itself, several linked to each other.
    ///
    /// They have no unresolved imports but from each other, and no two of them define one symbol.
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

    /// Builds native code that an earlier process got from [`Program::binary`]; none if this process would
    /// have made other code.
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

    /// The same program, which does not keep it alive.
    pub(crate) fn downgrade(&self) -> WeakProgram {
        each!(Self, self, program => Arc::downgrade(program).into())
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        both!(Self self, Self other; one, other => Arc::ptr_eq(one, other), else false)
    }

    /// The native code that the driver has made.
    pub(crate) fn binary(&self) -> Result<Vec<u8>, Failure> {
        each!(Self, self, program => program.binary())
    }

    /// The symbols of its kernels.
    pub(crate) fn kernel_names(&self) -> Result<Vec<String>, Failure> {
        each!(Self, self, program => program.kernel_names())
    }
}

impl WeakProgram {
    /// Whether somebody has the program.
    pub(crate) fn is_alive(&self) -> bool {
        each!(Self, self, program => program.strong_count() > 0)
    }

    /// The program, if somebody has it.
    pub(crate) fn upgrade(&self) -> Option<Program> {
        each!(Self, self, program => program.upgrade().map(Program::from))
    }
}
