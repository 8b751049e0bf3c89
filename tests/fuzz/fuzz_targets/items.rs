// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs `syclbin_fuzz::items` on inputs from libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| syclbin_fuzz::items(bytes));
syclbin_fuzz::mutate_text!();
