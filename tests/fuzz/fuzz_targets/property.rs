// SPDX-License-Identifier: MIT OR Apache-2.0
//! `syclbin_fuzz::property` on whatever libFuzzer comes up with.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| syclbin_fuzz::property(bytes));
syclbin_fuzz::mutate_text!();
