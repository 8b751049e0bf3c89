// SPDX-License-Identifier: MIT OR Apache-2.0
//! The macro embeds the file that it read, whatever macros the program defines. It needs no prelude, unless kernels are
//! left out: the attribute that puts the reason into rustc's error is in the prelude.
#![deny(warnings)]
#![no_implicit_prelude]
#![allow(unused_macros)]

macro_rules! include_bytes {
    ($path:expr) => {
        b"another file"
    };
}
macro_rules! include_bytes_aligned {
    ($align:expr, $path:expr) => {
        b"another file"
    };
}
macro_rules! concat {
    ($($part:expr),*) => {
        "/another file"
    };
}
macro_rules! env {
    ($name:expr) => {
        "/another directory"
    };
}
macro_rules! assert {
    ($($any:tt)*) => {};
}
macro_rules! offset_of {
    ($($any:tt)*) => {
        0
    };
}

::syclbin_rt::include_syclbin! {
    pub mod kernels = "declared.syclbin";
    skip { lost }
    // SAFETY: these kernels are never launched.
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, y.len() >= n, range.dimensions() == 1;
        safe fn step where particles.len() >= world.count, range.dimensions() == 1;
    }
}

::syclbin_rt::include_syclbin! { pub mod constants = "constants.object.syclbin"; }
::syclbin_rt::include_syclbin! { pub mod structs = "odd_structs.syclbin"; skip { lost } }
::syclbin_rt::include_syclbin! { pub mod variables = "odd_variables.syclbin"; skip { load } }

/// Embeds a file where another macro is in scope.
pub fn local() -> &'static [u8] {
    macro_rules! include_bytes {
        ($path:expr) => {
            b"a third file"
        };
    }
    ::syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; skip { lost } }
    kernels::SYCLBIN
}

fn main() {
    const FILE: &str = ::std::concat!(::std::env!("CARGO_MANIFEST_DIR"), "/declared.syclbin");
    let read = ::std::fs::read(FILE).unwrap();
    ::std::assert!(kernels::SYCLBIN == read);
    ::std::assert!(local() == read);
}
