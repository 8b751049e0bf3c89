// SPDX-License-Identifier: MIT OR Apache-2.0
//! Render nodes of Linux' `xe` driver, as a library for `LD_PRELOAD`: Intel's GPU driver then takes its hardware path on a
//! machine without an Intel GPU.
//!
//! `SIMULATED_XE=e20b,64a0` makes an Arc B580 of the first node and a Lunar Lake of the second (`product`). Memory
//! objects are memory of the process. A thread carries out submissions, one after another, as far as the command streamer
//! and the copy engine do the work (`streamer`): fences, timestamps, copies and fills. **No kernel executes**, so what a
//! kernel would write is not there. Semaphores count as signalled, so the order of engines is not tested.
//!
//! The requests are those of `<drm/xe_drm.h>` (`node`), the commands those of Intel's public programmer's manuals.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(
    unsafe_code,
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    reason = "it takes the place of functions of the C library and of a kernel, and follows the pointers that programs give them"
)]

mod memory;
mod node;
mod product;
mod streamer;

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use std::sync::Mutex;
use std::time::Duration;

use node::Nodes;

static NODES: Mutex<Nodes> = Mutex::new(Nodes::new());

fn with<T>(work: impl FnOnce(&mut Nodes) -> T) -> T {
    work(
        &mut NODES
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    )
}

/// Sets `errno`, and returns what a failed call returns.
fn failed(error: c_int) -> c_int {
    unsafe { *libc::__errno_location() = error };
    -1
}

/// `open`. The third argument is there for some flags only, and is then passed as any other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    let name = unsafe { CStr::from_ptr(path) }.to_str().unwrap_or_default();
    let number = name.strip_prefix("/dev/dri/renderD");
    let index = number.and_then(|number| number.parse::<usize>().ok()?.checked_sub(128));
    match index {
        Some(index) => match with(|nodes| nodes.open(index)) {
            Some(descriptor) => descriptor,
            None => failed(libc::ENOENT),
        },
        None => unsafe {
            libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) as c_int
        },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    unsafe { open(path, flags, mode) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    with(|nodes| nodes.close(descriptor));
    unsafe { libc::syscall(libc::SYS_close, descriptor) as c_int }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(
    descriptor: c_int,
    request: c_ulong,
    argument: *mut c_void,
) -> c_int {
    let number = (request & 0xff) as u32;
    loop {
        match with(|nodes| unsafe { nodes.request(descriptor, number, argument) }) {
            Some(Ok(())) => return 0,
            Some(Err(node::AGAIN)) => std::thread::sleep(Duration::from_micros(20)),
            Some(Err(error)) => return failed(error),
            None => {
                return unsafe {
                    libc::syscall(libc::SYS_ioctl, descriptor, request, argument) as c_int
                };
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> *mut c_void {
    let (descriptor, offset) =
        with(|nodes| nodes.object_at(descriptor, offset)).unwrap_or((descriptor, offset));
    let mapped: c_long = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            address,
            length,
            protection,
            flags,
            descriptor,
            offset,
        )
    };
    mapped as *mut c_void
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> *mut c_void {
    unsafe { mmap(address, length, protection, flags, descriptor, offset) }
}
