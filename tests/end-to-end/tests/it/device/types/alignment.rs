// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alignment: a safe launch gets only addresses that C++ allows for the type.

use syclbin_rt::{Aspect, DeviceArray, ErrorKind, Queue};

use crate::common::{queue, say_skipped};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    pub(crate) mod aligned = "aligned";
    // SAFETY: each work-item reads and writes its own element.
    unsafe extern "SYCL" {
        safe fn aligned_void where from.len() >= 16 * range.items(), to.len() >= 16 * range.items();
        safe fn aligned_wide where wide.len() >= range.items(), lines.len() >= range.items();
        safe fn aligned_pages where pages.len() >= range.items();
    }
}

mod stated {
    syclbin_rt::include_syclbin! {
        #[allow(unsafe_code, reason = "a contract")]
        pub(crate) mod aligned = "aligned";
        only { aligned_void }
        // SAFETY: as above.
        unsafe extern "SYCL" {
            safe fn aligned_void where from.len() >= 16 * range.items(), to.len() >= 16 * range.items(),
                from.align() >= 16, to.align() >= 16;
        }
    }
}

/// A queue of a device whose memory has addresses.
fn queue_with_arrays() -> Option<Queue> {
    let queue = queue()?;
    if queue.device().has(Aspect::USM_DEVICE_ALLOCATIONS) {
        return Some(queue);
    }
    say_skipped("the device has no unified shared memory");
    None
}

/// The alignment that is missing, and what there is.
#[track_caller]
fn unaligned<T: std::fmt::Debug>(result: syclbin_rt::Result<T>) -> (u64, u64) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
    let text = error.to_string();
    let number = |before: &str, after: &str| -> Option<u64> {
        let (_, rest) = text.split_once(before)?;
        rest.split_once(after)?.0.parse().ok()
    };
    let wanted = number("the kernel requires ", ";").expect("the required alignment");
    let known = number("is aligned to ", " byte").expect("the known alignment");
    (wanted, known)
}

#[test]
fn an_odd_address_is_refused_behind_void() {
    let Some(queue) = queue_with_arrays() else {
        return;
    };
    let kernels = aligned::Module::load(&queue).unwrap();
    let from = DeviceArray::upload(&queue, &[1.0f32; 64]).unwrap();
    let mut to = DeviceArray::<u8>::zeroed(&queue, 512).unwrap();
    kernels.aligned_void(&from, &mut *to).launch(4).unwrap();
    let (wanted, known) = {
        let mut odd = to.slice_mut(1..).unwrap();
        unaligned(kernels.aligned_void(&from, &mut odd).launch(4))
    };
    assert!(wanted >= 64 && known == 1, "{wanted} {known}");
    let mut part = to.slice_mut(16..).unwrap();
    assert_eq!(
        unaligned(kernels.aligned_void(&from, &mut part).launch(4)).1,
        16
    );
    let mut part = to.slice_mut(256..).unwrap();
    kernels.aligned_void(&from, &mut part).launch(4).unwrap();
    // A part of no elements has no address that anything reads.
    let mut none = to.slice_mut(3..3).unwrap();
    let error = kernels
        .aligned_void(&from, &mut none)
        .launch(1)
        .unwrap_err();
    assert!(error.to_string().contains("to.len()"), "{error}");
}

#[test]
fn the_error_says_what_to_pass() {
    let Some(queue) = queue_with_arrays() else {
        return;
    };
    let kernels = aligned::Module::load(&queue).unwrap();
    let from = DeviceArray::<f32>::zeroed(&queue, 64).unwrap();
    let mut to = DeviceArray::<u8>::zeroed(&queue, 256).unwrap();
    let mut odd = to.slice_mut(2..).unwrap();
    let error = kernels.aligned_void(&from, &mut odd).launch(4).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(
        "kernel aligned_void: argument 1 (to) is aligned to 2 bytes, but the kernel requires "
    ));
    assert!(text.contains(
        "pass the whole buffer or array, or a part that starts at a multiple of this alignment; if a smaller"
    ));
}

#[test]
fn a_contract_may_ask_for_less_alignment() {
    let Some(queue) = queue_with_arrays() else {
        return;
    };
    let kernels = stated::aligned::Module::load(&queue).unwrap();
    let from = DeviceArray::upload(&queue, &[3.0f32; 8]).unwrap();
    let mut to = DeviceArray::<f32>::zeroed(&queue, 12).unwrap();
    let mut part = to.slice_mut(4..).unwrap();
    kernels.aligned_void(&from, &mut part).launch(2).unwrap();
    assert_eq!(queue.download(&to).unwrap()[4..], [6.0; 8]);
    let mut part = to.slice_mut(1..9).unwrap();
    let error = kernels
        .aligned_void(&from, &mut part)
        .launch(2)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`to.align() >= 16`: to.align() is 4"),
        "{error}"
    );
}

#[test]
fn structs_are_aligned_as_in_cpp() {
    assert_eq!(align_of::<aligned::Wide>(), 128);
    assert_eq!(align_of::<aligned::Page>(), 4096);
    assert_eq!(align_of::<aligned::Line>(), 64);
    let Some(queue) = queue() else { return };
    let kernels = aligned::Module::load(&queue).unwrap();
    let mut wide = queue.zeroed(4).unwrap();
    let mut lines = queue.zeroed(4).unwrap();
    kernels
        .aligned_wide(&mut wide, &mut lines)
        .launch(4)
        .unwrap();
    let wide = queue.download(&wide).unwrap();
    assert!(wide.iter().all(|wide| wide.x == 1.0));
    assert!(
        queue
            .download(&lines)
            .unwrap()
            .iter()
            .all(|line| line.y == 7)
    );
}

#[test]
fn an_array_has_the_alignment_of_its_type() {
    let Some(queue) = queue_with_arrays() else {
        return;
    };
    let kernels = aligned::Module::load(&queue).unwrap();
    for _ in 0..8 {
        let mut pages = DeviceArray::<aligned::Page>::zeroed(&queue, 3).unwrap();
        assert_eq!(pages.pointer().address() % 4096, 0);
        kernels.aligned_pages(&mut pages).launch(3).unwrap();
        let pages = queue.download(&pages).unwrap();
        assert!(pages.iter().all(|page| page.x[1023] == 0));
    }
}

#[test]
fn a_buffer_without_the_alignment_is_refused() {
    let Some(queue) = queue() else { return };
    let kernels = aligned::Module::load(&queue).unwrap();
    let mut pages = queue.zeroed::<aligned::Page>(2).unwrap();
    // A driver that tells where buffers are may have put it at such an address.
    if let Err(error) = kernels.aligned_pages(&mut pages).launch(2) {
        let text = error.to_string();
        assert!(
            text.contains("but the kernel requires 4096; use a DeviceArray"),
            "{text}"
        );
    }
    if queue.device().to_string().contains("OpenCL") {
        assert_eq!(
            unaligned(kernels.aligned_pages(&mut pages).launch(2)).0,
            4096
        );
    }
}
