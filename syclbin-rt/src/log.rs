// SPDX-License-Identifier: MIT OR Apache-2.0
//! Log messages (feature `log`): which devices and images were chosen, and which code drivers compiled. Launches and
//! copies log nothing. Without the feature, messages are not even formatted.
//!
//! | level | content |
//! |---|---|
//! | warn | compiler warnings from drivers; unusable cache entries; a relative `SYCLBIN_CACHE`; a preferred device that cannot run all kernels of a file |
//! | info | the chosen device, with the reason; compilations, with their durations |
//! | debug | searched locations; chosen and skipped images, with the reason; reused programs; linked modules |

use std::fmt;

#[cfg(feature = "log")]
const TARGET: &str = "syclbin_rt";

macro_rules! levels {
    ($($(#[$meta:meta])* $name:ident)*) => {
        $(
            $(#[$meta])*
            pub(crate) fn $name(message: impl fmt::Display) {
                #[cfg(feature = "log")]
                ::log::$name!(target: TARGET, "{message}");
                #[cfg(not(feature = "log"))]
                let _ = message;
            }
        )*
    };
}

levels! {
    /// Logs a problem that does not stop the program.
    warn
    /// Logs information for users of a program.
    info
    /// Logs information for authors of a program.
    debug
}

/// Returns whether warnings are logged, so that callers can avoid requesting them from the driver.
pub(crate) fn warnings_enabled() -> bool {
    #[cfg(feature = "log")]
    return ::log::log_enabled!(target: TARGET, ::log::Level::Warn);
    #[cfg(not(feature = "log"))]
    false
}
