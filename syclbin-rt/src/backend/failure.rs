// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures: driver calls that returned an error, and operations that were rejected before any call.

use std::fmt;

use opencl3::error_codes::{
    CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY,
};

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::guard::StrayAccess;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a backend operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// A driver call, such as `clCreateBuffer`, returned an error.
    #[error("{call} failed with {} ({})", .code.name(), .code.number())]
    Driver { call: &'static str, code: Code },
    #[error("{0}")]
    Rejected(Rejection),
    /// The driver lacks a function. `needs` names the version, extension or driver that provides it.
    #[error("the driver does not provide {function}, which requires {needs}")]
    Missing {
        function: &'static str,
        needs: &'static str,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    OpenCl(i32),
    Cuda(i32),
}

/// Why an operation was rejected before any driver call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rejection {
    /// A command mixes objects of two drivers or contexts, or an adopted handle belongs to a different one.
    #[error("an object belongs to another driver or context; use objects of one device")]
    Foreign,
    #[error(
        "the stream is CU_STREAM_PER_THREAD, which is a different stream in every thread; pass a stream that \
         cuStreamCreate returned"
    )]
    PerThreadStream,
    #[error("a region extends beyond the end of its memory")]
    OutOfBounds,
    /// The command needs unified shared memory but got a memory object, or the reverse.
    #[error("the command does not support this kind of memory")]
    Unsuitable,
    #[error("the memory address is not aligned for the element type")]
    Unaligned,
    #[error(
        "the range has too many work-groups: CUDA supports at most 65535 along y and z; pad the range, or choose \
         another work-group size"
    )]
    TooManyGroups,
    #[error(
        "the range offset does not fit into the 32 bits that CUDA code uses; choose an offset below 2^32"
    )]
    OffsetTooLarge,
    #[error("the code does not define this variable, or defines it with a smaller size")]
    NoVariable,
    #[error(
        "rusticl before Mesa 26 cannot compile {0} and would abort the process; avoid this feature, update Mesa, or \
         choose another device with SYCLBIN_DEVICE"
    )]
    EndsProcess(&'static str),
    #[error(
        "not enough memory for a guarded buffer, or 16384 guarded buffers already exist; use fewer buffers, or unset \
         SYCLBIN_GUARD"
    )]
    NoGuardedMemory,
    /// The kernel accessed memory outside a guarded buffer. Unlike all other variants, this is detected only after the
    /// launch.
    #[error("{0}")]
    Strayed(&'static StrayAccess),
}

#[derive(Debug)]
pub(crate) struct BuildError {
    pub(crate) failure: Failure,
    /// The driver's build log; may be empty.
    pub(crate) log: String,
    /// Advice for the user, if the driver is known to fail in this way.
    pub(crate) advice: Option<&'static str>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)?;
        if !self.log.is_empty() {
            f.write_str("; the driver's log:")?;
            for line in self.log.lines() {
                write!(f, "\n    {line}")?;
            }
        }
        self.advice.map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

/// Why device memory cannot be mapped into host memory.
pub(crate) enum NoView {
    /// A prepared launch or a recording uses the memory.
    InUse,
    OutOfReach,
    /// The host cannot allocate a copy of this many bytes.
    OutOfMemory(usize),
    Failed(Failure),
}

impl Failure {
    pub(crate) const FOREIGN: Self = Self::Rejected(Rejection::Foreign);
    pub(crate) const UNSUITABLE: Self = Self::Rejected(Rejection::Unsuitable);

    pub(crate) const fn opencl(call: &'static str, code: i32) -> Self {
        let code = Code::OpenCl(code);
        Self::Driver { call, code }
    }

    pub(crate) const fn cuda(call: &'static str, code: i32) -> Self {
        let code = Code::Cuda(code);
        Self::Driver { call, code }
    }

    /// Creates the failure for a `function` that the driver lacks.
    pub(crate) const fn missing(function: &'static str, needs: &'static str) -> Self {
        Self::Missing { function, needs }
    }

    /// Attributes a driver's error to `call`, which enqueued the failed command, because a later call may have reported
    /// the error.
    pub(crate) fn of_call(self, call: &'static str) -> Self {
        match self {
            Self::Driver { code, .. } => Self::Driver { call, code },
            other => other,
        }
    }

    pub(crate) fn code(self) -> Option<Code> {
        match self {
            Self::Driver { code, .. } => Some(code),
            Self::Rejected(_) | Self::Missing { .. } => None,
        }
    }

    /// Returns whether the command failed only because a dependency failed.
    pub(crate) fn is_of_dependency(self) -> bool {
        use opencl3::error_codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST as DEPENDENCY;
        self.code() == Some(Code::OpenCl(DEPENDENCY))
    }
}

impl Code {
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::OpenCl(code) | Self::Cuda(code) => code,
        }
    }

    /// Returns the code's name, such as `CL_OUT_OF_RESOURCES`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenCl(code) => opencl3::error_codes::error_text(code),
            #[cfg(feature = "cuda")]
            Self::Cuda(code) => cuda::error_name(code),
            #[cfg(not(feature = "cuda"))]
            Self::Cuda(_) => "an unknown error",
        }
    }

    /// Returns whether the call failed for lack of memory. OpenCL reports a buffer above the device's limit as an invalid
    /// size.
    pub(crate) fn is_out_of_memory(self) -> bool {
        match self {
            Self::OpenCl(code) => matches!(
                code,
                CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_HOST_MEMORY | CL_INVALID_BUFFER_SIZE
            ),
            #[cfg(feature = "cuda")]
            Self::Cuda(code) => code == cuda::OUT_OF_MEMORY,
            #[cfg(not(feature = "cuda"))]
            Self::Cuda(_) => false,
        }
    }

    /// Returns whether the error destroys the whole context.
    pub(crate) fn ends_context(self) -> bool {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(code) => cuda::is_sticky(code),
            _ => false,
        }
    }
}

impl std::error::Error for BuildError {}

impl From<Failure> for BuildError {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            log: String::new(),
            advice: None,
        }
    }
}

impl From<Failure> for NoView {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
