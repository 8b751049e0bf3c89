// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors: each names the kernel, the argument and the device at fault, and the way out.

pub(crate) mod image_problem;
pub(crate) mod kind;
pub(crate) mod launch_problem;

use std::fmt;
use std::sync::Arc;

use crate::backend::failure::Failure;
pub use crate::error::kind::ErrorKind;
use crate::error::launch_problem::LaunchProblem;

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
///
/// It is one pointer wide and cheap to clone. Generated code stores an error for each kernel that does not run
/// on a device, and returns a copy at each launch.
#[derive(Clone)]
pub struct Error(Arc<ErrorKind>);

impl Error {
    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Creates the error of a driver's failure in `action` on `device`.
    pub(crate) fn driver(
        failure: Failure,
        action: impl Into<String>,
        device: &impl fmt::Display,
    ) -> Self {
        let (action, device) = (action.into(), device.to_string());
        match failure {
            Failure::Driver { call, code } => ErrorKind::Driver {
                call,
                code: code.number(),
                name: code.name(),
                action,
                device,
            },
            Failure::Rejected(rejection) => ErrorKind::Rejected {
                reason: rejection.to_string(),
                action,
                device,
            },
            Failure::Missing { function, needs } => ErrorKind::MissingFunction {
                function,
                needs,
                action,
                device,
            },
        }
        .into()
    }

    pub(crate) fn launch(kernel: &str, problem: LaunchProblem) -> Self {
        let kernel = kernel.to_owned();
        ErrorKind::Launch { kernel, problem }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Arc::new(kind))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Error {
    /// Writes the message: `unwrap` and a `main` that returns the error print nothing else.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer_and_crosses_threads() {
        fn is_shareable<T: Clone + Send + Sync + std::error::Error + 'static>() {}
        is_shareable::<Error>();
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    }

    #[test]
    fn missing_device_error_names_places_and_command() {
        let tried = vec!["libOpenCL.so.1: not found".to_owned()];
        let error = Error::from(ErrorKind::NoDevice { tried });
        assert_eq!(
            error.to_string(),
            "no device found that runs SYCLBIN kernels; `cargo syclbin toolchain install` installs \
             one that runs on the CPU:\n  libOpenCL.so.1: not found"
        );
    }

    #[test]
    fn unsupported_feature_is_named_with_the_device() {
        let error = Error::from(ErrorKind::Unsupported {
            what: "samplers",
            needs: "images (CL_DEVICE_IMAGE_SUPPORT)",
            device: "A (OpenCL, GPU)".to_owned(),
        });
        assert_eq!(
            error.to_string(),
            "samplers need images (CL_DEVICE_IMAGE_SUPPORT), which A (OpenCL, GPU) does not have"
        );
    }

    #[test]
    fn a_damaged_file_is_the_source() {
        let damaged = syclbin::read::parse(b"no file").unwrap_err();
        let error = Error::from(ErrorKind::File(damaged.clone()));
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.to_string(), damaged.to_string());
    }
}
