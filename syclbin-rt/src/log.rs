//! What is said to a logger, by the crate `log` and its feature: choices of devices and images, and
//! what drivers compile. Nothing of a launch or a copy. Without the feature nothing is made of it.
//!
//! | level | what |
//! |---|---|
//! | warn | what a driver warns of when it compiles; what was kept on disk and cannot be used; a better device that a file has no code for |
//! | info | which device is used, and why; what was compiled, and how long that took |
//! | debug | places that were looked at; images that were chosen or passed over, and why; programs that were there already; what is linked |

use std::fmt;

/// The target of all messages.
#[cfg(feature = "log")]
const TARGET: &str = "syclbin_rt";

/// Something is not as it should be, and the program goes on.
pub(crate) fn warn(message: fmt::Arguments<'_>) {
    #[cfg(feature = "log")]
    ::log::warn!(target: TARGET, "{message}");
    #[cfg(not(feature = "log"))]
    let _ = message;
}

/// What users of a program may want to know.
pub(crate) fn info(message: fmt::Arguments<'_>) {
    #[cfg(feature = "log")]
    ::log::info!(target: TARGET, "{message}");
    #[cfg(not(feature = "log"))]
    let _ = message;
}

/// What its authors may want to know.
pub(crate) fn debug(message: fmt::Arguments<'_>) {
    #[cfg(feature = "log")]
    ::log::debug!(target: TARGET, "{message}");
    #[cfg(not(feature = "log"))]
    let _ = message;
}

/// Whether somebody listens to warnings, before they are asked for.
pub(crate) fn hears_warnings() -> bool {
    #[cfg(feature = "log")]
    return ::log::log_enabled!(target: TARGET, ::log::Level::Warn);
    #[cfg(not(feature = "log"))]
    false
}
