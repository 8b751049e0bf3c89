//! Calls random kernels by their stubs. `cargo xtask signatures` runs this with other seeds.

mod signatures;

use syclbin_rt::{Device, Queue};

/// A queue, or `None` where there is no device; with SYCLBIN_REQUIRE_DEVICE=1 that is a failure.
fn queue() -> Option<Queue> {
    match Device::best().and_then(|device| device.queue()) {
        Ok(queue) => Some(queue),
        Err(error) if std::env::var("SYCLBIN_REQUIRE_DEVICE").as_deref() == Ok("1") => {
            panic!("SYCLBIN_REQUIRE_DEVICE=1, and {error}")
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}
