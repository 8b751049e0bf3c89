// SPDX-License-Identifier: MIT OR Apache-2.0
//! Has the linker export the one function that `syclbin-clang` (`src/library/device_library.rs`) puts before the C
//! library's. An executable exports nothing by itself.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        let export = "-Wl,--export-dynamic-symbol=open64";
        println!("cargo::rustc-link-arg-bin=syclbin-clang={export}");
    }
}
