//! Failures: calls that a driver answered with an error.

/// Whether an error ends a context of CUDA with all that is in it.
pub(crate) fn ends_context(code: i32) -> bool {
    #[cfg(feature = "cuda")]
    return super::cuda::is_sticky(code);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = code;
        false
    }
}

/// A call the driver answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The function, such as `clCreateBuffer`.
    pub(crate) call: &'static str,
    /// What it returned. Errors of OpenCL are negative, those of CUDA are positive.
    pub(crate) code: i32,
}

impl Failure {
    /// Whether it only says that something which was waited for failed.
    pub(crate) fn is_of_dependency(self) -> bool {
        self.code == opencl3::error_codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    }

    /// The code by name, such as `CL_OUT_OF_RESOURCES`.
    pub(crate) fn name(self) -> &'static str {
        #[cfg(feature = "cuda")]
        if self.code > 0 {
            return super::cuda::error_name(self.code);
        }
        opencl3::error_codes::error_text(self.code)
    }
}
