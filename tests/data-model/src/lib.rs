// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a kernel with types whose sizes differ between systems. `cargo xtask platforms` also runs it under Wine, once
//! with code compiled on Linux, and once with code compiled under Wine (the file in `DATA_MODEL_FILE`).
#![cfg(test)]
#![allow(unsafe_code, reason = "launching without a contract is unsafe")]

use kernels::Sizes;
use syclbin_rt::{Device, Result};

syclbin_rt::include_syclbin! {
    mod kernels = "data_model";
}

/// Values that need all bytes of their types.
const LONG: i64 = 0x0123_4567_89ab_cdef;
const WIDE: i32 = 0x0010_ffff;

fn sizes(factor: u8) -> Sizes {
    Sizes {
        before: 3,
        l: -LONG * i64::from(factor),
        w: WIDE * i32::from(factor),
        ul: LONG as u64 * u64::from(factor),
        between: 4,
        s: (LONG as u64 + 1) * u64::from(factor),
        ..Sizes::default()
    }
}

#[test]
fn sizes_are_those_of_the_compiled_code() -> Result<()> {
    let device = match Device::best() {
        Ok(device) => device,
        Err(error) => {
            let required =
                std::env::var_os("SYCLBIN_REQUIRE_DEVICE").is_some_and(|value| value == "1");
            assert!(!required, "SYCLBIN_REQUIRE_DEVICE=1, but {error}");
            eprintln!("skipped: {error}");
            return Ok(());
        }
    };
    assert_eq!((size_of::<Sizes>(), align_of::<Sizes>()), (48, 8));
    let queue = device.queue()?;
    let kernels = match std::env::var_os("DATA_MODEL_FILE") {
        // SAFETY: the file was compiled from the same source.
        Some(file) => unsafe { kernels::Module::builder(&queue).load_file(file)? },
        None => kernels::Module::load(&queue)?,
    };
    let by_pointer = queue.upload(&[sizes(1)])?;
    let mut numbers = queue.zeroed::<i64>(4)?;
    let mut structs = queue.zeroed::<Sizes>(2)?;
    let launch = kernels.twice(
        -LONG,
        LONG as u64,
        LONG as u64 + 1,
        WIDE,
        sizes(1),
        &by_pointer,
        &mut numbers,
        &mut structs,
    );
    // SAFETY: the kernel reads one struct, and writes two and four numbers.
    unsafe { launch.launch(1)? };
    let twice = [-2 * LONG, 2 * LONG, 2 * (LONG + 1), 2 * i64::from(WIDE)];
    assert_eq!(queue.download(&numbers)?, twice);
    assert_eq!(queue.download(&structs)?, [sizes(2); 2]);
    Ok(())
}
