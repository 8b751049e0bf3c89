//! What tests that launch kernels share.

use std::io::Write as _;

use syclbin_rt::{Device, Queue};

/// A queue, or `None` where there is no device; with SYCLBIN_REQUIRE_DEVICE=1 that is a failure.
pub(crate) fn queue() -> Option<Queue> {
    match Device::best().and_then(|device| device.queue()) {
        Ok(queue) => Some(queue),
        Err(error) if std::env::var("SYCLBIN_REQUIRE_DEVICE").as_deref() == Ok("1") => {
            panic!("SYCLBIN_REQUIRE_DEVICE=1, and {error}")
        }
        Err(error) => {
            // `println!` would be kept back, as the test passes.
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            None
        }
    }
}
