//! Failures: calls that a driver answered with an error, and what did not begin because of one.

use std::fmt;

/// Whether an error ends a context of CUDA with all that is in it.
pub(crate) fn ends_context(code: i32) -> bool {
    crate::backend::cuda::errors::is_sticky(code)
}

/// A call the driver answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The function, such as `clCreateBuffer`.
    pub(crate) call: &'static str,
    /// What it returned. Errors of OpenCL are negative, those of CUDA are positive.
    pub(crate) code: i32,
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
        let Failure { call, code } = *failure;
        write!(f, "{call} failed with {} ({code})", failure.name())?;
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
    /// What a command answers that is given things of two backends: `CL_INVALID_CONTEXT`, whichever they
    /// are. Those above have seen to it that this does not happen.
    pub(crate) const fn foreign(call: &'static str) -> Self {
        let code = opencl3::error_codes::CL_INVALID_CONTEXT;
        Self { call, code }
    }

    /// Whether it only says that something which was waited for failed.
    pub(crate) fn is_of_dependency(self) -> bool {
        self.code == opencl3::error_codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    }

    /// The code by name, such as `CL_OUT_OF_RESOURCES`.
    pub(crate) fn name(self) -> &'static str {
        if self.code > 0 {
            return crate::backend::cuda::errors::error_name(self.code);
        }
        opencl3::error_codes::error_text(self.code)
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
