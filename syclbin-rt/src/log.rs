// SPDX-License-Identifier: MIT OR Apache-2.0
//! Log messages, by the crate `log` and its feature: choices of devices and images, and the code that drivers
//! compile. Launches and copies log nothing. Without the feature, messages are not even formatted.
//!
//! | level | content |
//! |---|---|
//! | warn | a driver's warnings when it compiles; cache entries that cannot be used; a better device that a file has no code for |
//! | info | the device in use, with the reason; the compiled code, and how long that took |
//! | debug | searched places; images that were chosen or skipped, with the reason; programs that existed already; linked modules |

use std::fmt;

/// The target of all messages.
#[cfg(feature = "log")]
const TARGET: &str = "syclbin_rt";

/// Logs a problem that does not stop the program.
pub(crate) fn warn(message: fmt::Arguments<'_>) {
    #[cfg(feature = "log")]
    ::log::warn!(target: TARGET, "{message}");
    #[cfg(not(feature = "log"))]
    let _ = message;
}

/// Logs information for users of a program.
pub(crate) fn info(message: fmt::Arguments<'_>) {
    #[cfg(feature = "log")]
    ::log::info!(target: TARGET, "{message}");
    #[cfg(not(feature = "log"))]
    let _ = message;
}

/// Logs information for authors of a program.
pub(crate) fn debug(message: fmt::Arguments<'_>) {
    #[cfg(feature = "log")]
    ::log::debug!(target: TARGET, "{message}");
    #[cfg(not(feature = "log"))]
    let _ = message;
}

/// Returns whether a logger listens to warnings, before they are requested from the driver.
pub(crate) fn hears_warnings() -> bool {
    #[cfg(feature = "log")]
    return ::log::log_enabled!(target: TARGET, ::log::Level::Warn);
    #[cfg(not(feature = "log"))]
    false
}
