// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors, each of which names the kernel, argument or device at fault, and suggests a remedy.

use std::fmt::{self, Display};
use std::sync::Arc;

use syclbin::__private::{lines, listed};

pub(crate) use syclbin::__private::counted;
pub use syclbin::__private::failed_assert::FailedAssert;

use crate::backend::failure::{Failure, Rejection};

/// Why a command that conflicts with a host view is rejected.
pub(crate) const MAPPED: &str = "is mapped: the host still holds a view of it from Queue::map or Queue::map_mut, or \
    has leaked one with `mem::forget`; drop the view first (a view of a part maps the whole buffer)";

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate. Its message explains what failed, why, and what to do.
///
/// An error is one pointer wide and cheap to clone: generated code stores an error for each kernel that cannot run on
/// the device, and returns a clone at each launch.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    details: Details,
}

enum Details {
    None,
    Reasons(Vec<String>),
    Code(i32),
    Assert(FailedAssert),
    Source(Box<dyn std::error::Error + Send + Sync>),
}

/// The kind of an [`Error`], for programs that handle specific errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No device was found, no device matches the selector, or no device can run the file.
    NoDevice,
    /// The bytes are not a SYCLBIN file, or the file is damaged.
    InvalidFile,
    /// A file cannot be read or written.
    Io,
    /// The loaded file does not match the file that the stubs were generated from. [`Error::reasons`] lists the
    /// differences.
    StubMismatch,
    /// The file contains no kernel, device global or specialization constant with the requested name.
    NotFound,
    /// The device cannot run the code. [`Error::reasons`] contains the reason for each image, module or kernel that the
    /// device cannot run.
    Unavailable,
    /// The arguments or the range of a launch are invalid, or violate the kernel's contract. The kernel did not run.
    /// With `SYCLBIN_GUARD`, also returned if the kernel ran and accessed memory outside a buffer, or if its results
    /// depend on the order of its work-groups.
    Launch,
    /// A function other than a launch received an invalid argument, such as a size, a device, or a state.
    InvalidArgument,
    /// The memory cannot be mapped or exported, because a prepared launch, a recording or a host view uses it. Or it cannot
    /// be copied or filled, because of a host view.
    MemoryInUse,
    /// The host or the device does not have enough memory, or a requested size exceeds the address space.
    OutOfMemory,
    /// The device or its driver lacks a feature.
    Unsupported,
    /// An `assert` in a kernel failed. [`Error::failed_assert`] describes it.
    Assert,
    /// A driver call failed for a reason other than lack of memory, this crate rejected the call in advance, or the driver
    /// lacks a required function.
    Driver,
}

impl Error {
    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the items that the message lists: why each device, image, module or kernel was rejected, where drivers
    /// were searched, or how a file differs from the generated stubs. Empty for all other errors.
    #[must_use]
    pub fn reasons(&self) -> &[String] {
        match &self.0.details {
            Details::Reasons(reasons) => reasons,
            _ => &[],
        }
    }

    /// Returns the OpenCL or CUDA error code, if a driver call returned one.
    #[must_use]
    pub fn driver_code(&self) -> Option<i32> {
        match self.0.details {
            Details::Code(code) => Some(code),
            _ => None,
        }
    }

    /// Returns the assert that failed in a kernel, if the kind is [`ErrorKind::Assert`].
    #[must_use]
    pub fn failed_assert(&self) -> Option<&FailedAssert> {
        match &self.0.details {
            Details::Assert(failed) => Some(failed),
            _ => None,
        }
    }

    fn with_details(kind: ErrorKind, message: &impl Display, details: Details) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: message.to_string(),
            details,
        }))
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Display) -> Self {
        Self::with_details(kind, &message, Details::None)
    }

    /// Creates the error for an invalid argument.
    #[cold]
    pub(crate) fn invalid(message: impl Display) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Creates an error whose message lists `reasons`, one per line.
    pub(crate) fn listing(kind: ErrorKind, message: impl Display, reasons: Vec<String>) -> Self {
        Self::with_reasons(kind, format!("{message}{}", list(&reasons)), reasons)
    }

    /// Creates an error whose message already contains the `reasons`.
    pub(crate) fn with_reasons(
        kind: ErrorKind,
        message: impl Display,
        reasons: Vec<String>,
    ) -> Self {
        Self::with_details(kind, &message, Details::Reasons(reasons))
    }

    /// Creates an error with a source, which is appended to the message.
    pub(crate) fn caused_by(
        kind: ErrorKind,
        message: impl Display,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        let message = format!("{message}: {source}");
        Self::with_details(kind, &message, Details::Source(Box::new(source)))
    }

    /// Creates the error for bytes that are not a SYCLBIN file.
    pub(crate) fn file(source: syclbin::Error) -> Self {
        let message = "cannot read the SYCLBIN file";
        Self::caused_by(ErrorKind::InvalidFile, message, source)
    }

    #[cold]
    pub(crate) fn launch(kernel: &str, problem: impl Display) -> Self {
        let message = format_args!("kernel {kernel}: {problem}");
        Self::new(ErrorKind::Launch, message)
    }

    pub(crate) fn unsupported(what: &str, needs: &str, device: &impl Display) -> Self {
        let message = format_args!("{what} require {needs}, which {device} does not support");
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Creates the error for memory that a prepared launch or a recording uses.
    pub(crate) fn in_use() -> Self {
        let message = "a prepared launch or a recording uses this memory; drop that launch or \
            recording first, or download the data instead";
        Self::new(ErrorKind::MemoryInUse, message)
    }

    pub(crate) fn mapped() -> Self {
        Self::new(ErrorKind::MemoryInUse, format_args!("this memory {MAPPED}"))
    }

    pub(crate) fn assert(failed: FailedAssert, device: &impl Display) -> Self {
        let message = format!(
            "{}:{}: assert `{}` failed in `{}`, work-item {:?} (fastest-varying dimension first), on {device}",
            failed.file, failed.line, failed.condition, failed.function, failed.work_item
        );
        Self::with_details(ErrorKind::Assert, &message, Details::Assert(failed))
    }

    pub(crate) fn driver(failure: Failure, action: impl Display, device: &impl Display) -> Self {
        let kind = match failure {
            Failure::Rejected(Rejection::Strayed(_)) => ErrorKind::Launch,
            _ => ErrorKind::Driver,
        };
        let Failure::Driver { call, code } = failure else {
            return Self::new(kind, format_args!("{action} failed on {device}: {failure}"));
        };
        let (kind, remedy) = if code.ends_context() {
            let remedy = "; the CUDA context of this process and everything in it are lost: restart the program";
            (kind, remedy)
        } else if code.is_out_of_memory() {
            let remedy = "; free memory, or use smaller buffers";
            (ErrorKind::OutOfMemory, remedy)
        } else {
            (kind, "")
        };
        let (name, number) = (code.name(), code.number());
        let message =
            format!("{call} failed with {name} ({number}) while {action} on {device}{remedy}");
        Self::with_details(kind, &message, Details::Code(number))
    }
}

/// Formats a colon followed by one indented line per item, or " none" if there are no items. Abbreviates long lists.
pub(crate) fn list(items: &[impl Display]) -> String {
    if items.is_empty() {
        return " none".to_owned();
    }
    format!(":\n  {}", lines(items))
}

/// Formats the items, separated by commas, or "none" if there are no items. Abbreviates long lists.
pub(crate) fn join(items: impl IntoIterator<Item = impl Display>) -> String {
    match listed(items) {
        text if text.is_empty() => "none".to_owned(),
        text => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    /// Writes only the message, because `unwrap` and a failing `main` print the debug output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.details {
            Details::Source(source) => Some(&**source),
            _ => None,
        }
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
    fn reasons_are_listed_in_the_text() {
        let reasons = vec!["libOpenCL.so.1: not found".to_owned()];
        let error = Error::listing(ErrorKind::NoDevice, "no device found", reasons.clone());
        assert_eq!(error.reasons(), reasons);
        assert_eq!(
            error.to_string(),
            "no device found:\n  libOpenCL.so.1: not found"
        );
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn lost_context_is_reported_with_the_remedy() {
        let of = |failure| Error::driver(failure, "waiting", &"A (CUDA, GPU)").to_string();
        let [illegal_address, out_of_memory] = [700, 2];
        let lost = of(Failure::cuda("cuStreamSynchronize", illegal_address));
        assert!(lost.ends_with("are lost: restart the program"), "{lost}");
        let kept = of(Failure::opencl("clFinish", illegal_address));
        assert!(kept.ends_with("while waiting on A (CUDA, GPU)"), "{kept}");
        for full in [
            Failure::cuda("cuMemAlloc", out_of_memory),
            Failure::opencl("clCreateBuffer", -61),
            Failure::opencl("clCreateBuffer", -4),
        ] {
            let full = Error::driver(full, "waiting", &"A");
            assert_eq!(full.kind(), ErrorKind::OutOfMemory);
            assert!(
                full.to_string().ends_with("or use smaller buffers"),
                "{full}"
            );
        }
    }

    #[test]
    fn unsupported_feature_is_named_with_the_device() {
        let needs = "CL_DEVICE_IMAGE_SUPPORT";
        assert_eq!(
            Error::unsupported("samplers", needs, &"A (OpenCL, GPU)").to_string(),
            "samplers require CL_DEVICE_IMAGE_SUPPORT, which A (OpenCL, GPU) does not support"
        );
    }

    #[test]
    fn a_damaged_file_is_the_source() {
        let damaged = syclbin::read::parse(b"no file").unwrap_err();
        let error = Error::file(damaged.clone());
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.to_string(), damaged.to_string());
    }

    #[test]
    fn only_failed_driver_calls_have_a_code() {
        let failed = Error::driver(Failure::opencl("clFinish", -36), "waiting", &"A");
        assert_eq!(failed.driver_code(), Some(-36));
        let rejected = Error::driver(Failure::FOREIGN, "copying", &"A");
        assert_eq!(rejected.driver_code(), None);
    }
}
