//! Failures: calls that a driver answered with an error, and what did not begin because of one.

use std::fmt;

use crate::backend::cuda::errors;

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The driver answered a call, such as `clCreateBuffer`, with an error.
    Driver { call: &'static str, code: Code },
    /// The driver was not asked.
    Rejected(Rejection),
}

/// What a call of a driver returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    OpenCl(i32),
    Cuda(i32),
}

/// Why a driver was not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, reason = "some are limits of CUDA")
)]
pub(crate) enum Rejection {
    /// A command is given things of two backends. Those above have seen to it that this does not happen.
    #[error("{0} takes nothing that belongs to another driver or context")]
    Foreign(&'static str),
    /// A place is not inside of memory.
    #[error("{0} takes nothing beyond the end of the memory")]
    OutOfBounds(&'static str),
    /// The address of a view is not aligned for its elements.
    #[error("the address of the memory is not aligned for its elements")]
    Unaligned,
    /// A range that cannot be divided as a GPU takes it.
    #[error(
        "the range has too many work-groups: CUDA takes at most 65535 of them along y and z; pad the range, or \
         give another work-group size"
    )]
    TooManyGroups,
    /// An offset that kernels cannot take.
    #[error("the offset of the range exceeds the 32 bits that code for CUDA takes")]
    OffsetTooLarge,
    /// The device has no samplers.
    #[error("the device has no samplers")]
    NoSamplers,
}

/// A program the driver does not build.
pub(crate) struct BuildError {
    pub(crate) failure: Failure,
    /// The driver's own words; may be empty.
    pub(crate) log: String,
    /// What to do about it, where that is known of the driver.
    pub(crate) advice: Option<&'static str>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            failure,
            log,
            advice,
        } = self;
        write!(f, "{failure}")?;
        if !log.is_empty() {
            f.write_str("; the driver's log:")?;
            for line in log.lines() {
                write!(f, "\n    {line}")?;
            }
        }
        match advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

/// Why the host has no view of memory.
pub(crate) enum NoView {
    /// A prepared launch or a recording has it.
    Held,
    /// It is the device's own.
    OutOfReach,
    Failed(Failure),
}

/// A copy that was not started, as far as the driver tells.
pub(crate) struct Unstarted {
    pub(crate) failure: Failure,
    /// Whether it may run all the same.
    pub(crate) may_run: bool,
}

impl Failure {
    /// `code` is what `call` of OpenCL returned.
    pub(crate) const fn opencl(call: &'static str, code: i32) -> Self {
        let code = Code::OpenCl(code);
        Self::Driver { call, code }
    }

    /// `code` is what `call` of CUDA returned.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "there are no calls"))]
    pub(in crate::backend) const fn cuda(call: &'static str, code: i32) -> Self {
        let code = Code::Cuda(code);
        Self::Driver { call, code }
    }

    /// What `call` answers that is given things of two backends.
    pub(in crate::backend) const fn foreign(call: &'static str) -> Self {
        Self::Rejected(Rejection::Foreign(call))
    }

    /// What the driver answered, if it was asked.
    pub(crate) fn code(self) -> Option<Code> {
        match self {
            Self::Driver { code, .. } => Some(code),
            Self::Rejected(_) => None,
        }
    }

    /// Whether it only says that something which was waited for failed.
    pub(crate) fn is_of_dependency(self) -> bool {
        use opencl3::error_codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST as DEPENDENCY;
        self.code() == Some(Code::OpenCl(DEPENDENCY))
    }
}

impl Code {
    /// As the driver returned it.
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::OpenCl(code) | Self::Cuda(code) => code,
        }
    }

    /// Its name, such as `CL_OUT_OF_RESOURCES`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenCl(code) => opencl3::error_codes::error_text(code),
            Self::Cuda(code) => errors::error_name(code),
        }
    }

    /// Whether it ends a context with all that is in it.
    pub(crate) fn ends_context(self) -> bool {
        match self {
            Self::OpenCl(_) => false,
            Self::Cuda(code) => errors::is_sticky(code),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver { call, code } => {
                write!(f, "{call} failed with {} ({})", code.name(), code.number())
            }
            Self::Rejected(rejection) => rejection.fmt(f),
        }
    }
}

impl From<Failure> for BuildError {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            log: String::new(),
            advice: None,
        }
    }
}

impl From<Failure> for Unstarted {
    fn from(failure: Failure) -> Self {
        let may_run = false;
        Self { failure, may_run }
    }
}
