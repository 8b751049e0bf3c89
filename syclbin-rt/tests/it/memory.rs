// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of buffers, copies, fills and views of the host.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin_rt::{
    Arg, Aspect, DeviceArray, DeviceSlice, Error, ErrorKind, Event, HostArray, Kernel, Launch,
    Queue, Result, SharedArray,
};

use crate::common;

/// The queue of a test, which ends if no device is found.
macro_rules! queue {
    () => {
        match common::queue() {
            Some(queue) => queue,
            None => return Ok(()),
        }
    };
}

fn iota(queue: &Queue) -> Result<Kernel> {
    common::kernel(
        queue,
        "vector_ops.object.syclbin",
        "_ZN18__sycl_kernel_fill4iotaEfPfi",
    )
}

/// Fills `out` with `start` and the numbers after it.
fn count_up(iota: &Result<Kernel>, start: f32, out: &mut DeviceSlice<f32>) -> Result<Event> {
    let count = i32::try_from(out.len()).expect("few elements");
    let args = [Arg::scalar(start), Arg::write(out), Arg::scalar(count)];
    // SAFETY: the kernel writes as many elements as there are.
    unsafe { Launch::new(iota, &["start", "out", "count"], args).launch(1) }
}

fn problem(error: &syclbin_rt::Error) -> String {
    assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
    error.to_string()
}

/// The sizes include both sides of the limit up to which a buffer is created together with its contents.
#[test]
fn new_buffers_of_all_sizes_have_their_contents() -> Result<()> {
    let queue = queue!();
    for len in [0, 1, 4095, 4096, 4097, 1 << 20] {
        let data: Vec<u8> = (0..len).map(|n: u32| n.to_le_bytes()[0] | 1).collect();
        let mut zeroed = queue.zeroed::<u8>(data.len())?;
        assert!(queue.download(&zeroed)?.iter().all(|byte| *byte == 0));
        queue.write(&mut zeroed, &data)?;
        assert!(queue.download(&zeroed)? == data, "{len}");
        // The write must not change the shared zeros from which new buffers are created.
        assert!(
            queue
                .download(&queue.zeroed::<u8>(data.len())?)?
                .iter()
                .all(|byte| *byte == 0)
        );
        assert!(queue.download(&queue.upload(&data)?)? == data, "{len}");
    }
    Ok(())
}

#[test]
fn slice_is_copied_like_a_whole_buffer() -> Result<()> {
    let queue = queue!();
    let mut buffer = queue.upload(&[0, 1, 2, 3, 4, 5, 6, 7])?;
    assert_eq!(queue.download(&buffer.slice(2..5)?)?, [2, 3, 4]);
    assert_eq!(queue.download(&buffer.slice(..=1)?.slice(1..)?)?, [1]);
    queue.write(&mut buffer.slice_mut(6..)?, &[60, 70])?;
    let mut two = [0; 2];
    queue.read(&buffer.slice(5..7)?, &mut two)?;
    assert_eq!(two, [5, 60]);
    assert!(buffer.slice(8..)?.is_empty());
    assert!(queue.download(&buffer.slice(3..3)?)?.is_empty());
    Ok(())
}

#[test]
fn slice_out_of_range_names_the_length() -> Result<()> {
    let queue = queue!();
    let mut buffer = queue.zeroed::<u8>(4)?;
    let error = buffer.slice(2..5).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the range 2..5 is invalid for a slice of 4 elements"
    );
    #[allow(clippy::reversed_empty_ranges, reason = "that is the mistake")]
    let reversed = 3..2;
    assert!(buffer.slice(reversed).is_err());
    assert!(buffer.slice(..=usize::MAX).is_err());
    assert!(buffer.slice_mut(5..).is_err());
    assert!(buffer.split_at_mut(5).is_err());
    Ok(())
}

#[test]
fn kernel_writes_a_slice_and_nothing_else() -> Result<()> {
    let queue = queue!();
    let iota = iota(&queue);
    let mut buffer = queue.zeroed::<f32>(256)?;
    let (mut head, mut tail) = buffer.split_at_mut(128)?;
    count_up(&iota, 5.0, &mut tail.slice_mut(..2)?)?;
    count_up(&iota, 1.0, &mut head.slice_mut(..3)?)?;
    let all = queue.download(&buffer)?;
    assert_eq!(all[..4], [1.0, 2.0, 3.0, 0.0]);
    assert_eq!(all[127..131], [0.0, 5.0, 6.0, 0.0]);
    Ok(())
}

#[test]
fn misaligned_slice_is_refused_with_both_numbers() -> Result<()> {
    let queue = queue!();
    let iota = iota(&queue);
    let mut buffer = queue.zeroed::<f32>(8)?;
    let launched = count_up(&iota, 1.0, &mut buffer.slice_mut(1..4)?);
    match launched {
        Err(error) => {
            let message = problem(&error);
            assert!(message.contains("(out) starts at byte 4"), "{message}");
        }
        // The device lets a part begin anywhere.
        Ok(_) => assert_eq!(queue.download(&buffer)?[..3], [0.0, 1.0, 2.0]),
    }
    // Nothing of it is used.
    count_up(&iota, 1.0, &mut buffer.slice_mut(1..1)?)?;
    Ok(())
}

#[test]
fn slices_are_copied_within_and_between_buffers() -> Result<()> {
    let queue = queue!();
    let from = queue.upload(&[1u16, 2, 3, 4])?;
    let mut to = queue.zeroed::<u16>(6)?;
    queue
        .copy(&from.slice(1..)?, &mut to.slice_mut(2..5)?)?
        .wait()?;
    assert_eq!(queue.download(&to)?, [0, 0, 2, 3, 4, 0]);
    let (front, mut back) = to.split_at_mut(3)?;
    queue.copy(&front, &mut back)?;
    assert_eq!(queue.download(&to)?, [0, 0, 2, 0, 0, 2]);
    let error = queue.copy(&from, &mut to).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot copy 4 elements into a slice of 6: lengths differ"
    );
    queue
        .copy(&from.slice(..0)?, &mut to.slice_mut(..0)?)?
        .wait()?;
    Ok(())
}

#[test]
fn a_fill_takes_elements_of_every_size() -> Result<()> {
    let queue = queue!();
    let mut buffer = queue.zeroed::<u32>(5)?;
    queue
        .fill(&mut buffer.slice_mut(1..4)?, 0xdead_beef)?
        .wait()?;
    assert_eq!(
        queue.download(&buffer)?,
        [0, 0xdead_beef, 0xdead_beef, 0xdead_beef, 0]
    );
    // Devices have no pattern of 12 bytes.
    let mut triples = queue.zeroed::<[f32; 3]>(3)?;
    queue
        .fill(&mut triples.slice_mut(1..)?, [1.0, 2.0, 3.0])?
        .wait()?;
    assert_eq!(
        queue.download(&triples)?,
        [[0.0; 3], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    );
    // They have one of a single byte, which this is.
    queue.fill(&mut triples, [0.0; 3])?;
    assert_eq!(queue.download(&triples)?, [[0.0; 3]; 3]);
    queue.fill(&mut buffer.slice_mut(..0)?, 1)?.wait()?;
    Ok(())
}

#[test]
fn out_of_order_transfers_follow_their_events() -> Result<()> {
    let queue = queue!();
    let options = syclbin_rt::QueueOptions::new().out_of_order();
    let Ok(queue) = queue.device().queue_with(options) else {
        common::say_skipped("the device has no out-of-order queues");
        return Ok(());
    };
    let mut a = queue.zeroed::<u32>(1 << 20)?;
    let mut b = queue.zeroed::<u32>(1 << 20)?;
    for round in 1..20 {
        let filled = queue.fill(&mut a, round)?;
        let copied = queue.after(&[&filled]).copy(&a, &mut b)?;
        let emptied = queue.after(&[&copied]).fill(&mut a, 0)?;
        emptied.wait()?;
        assert!(queue.download(&b)?.iter().all(|element| *element == round));
    }
    Ok(())
}

#[test]
fn the_host_reads_and_writes_what_it_maps() -> Result<()> {
    let queue = queue!();
    let iota = iota(&queue);
    let mut buffer = queue.zeroed::<f32>(100)?;
    count_up(&iota, 1.0, &mut buffer)?;
    assert_eq!(queue.map(&buffer)?[..3], [1.0, 2.0, 3.0]);
    {
        let mut view = queue.map_mut(&mut buffer)?;
        assert_eq!(view.len(), 100);
        view[1] = -1.0;
        view.unmap()?;
    }
    {
        let mut part = buffer.slice_mut(3..5)?;
        queue.map_mut(&mut part)?.copy_from_slice(&[7.0, 8.0]);
    }
    let other = queue.device().queue()?;
    assert_eq!(
        other.download(&buffer)?[..6],
        [1.0, -1.0, 3.0, 7.0, 8.0, 6.0]
    );
    assert!(queue.map(&buffer.slice(100..)?)?.is_empty());
    Ok(())
}

#[test]
fn mapping_waits_for_other_queues() -> Result<()> {
    let queue = queue!();
    let other = queue.device().queue()?;
    let mut buffer = queue.zeroed::<u64>(1 << 21)?;
    for round in 1..10 {
        other.fill(&mut buffer, round)?;
        let view = queue.map(&buffer)?;
        assert!(view.iter().all(|element| *element == round), "{round}");
    }
    Ok(())
}

#[test]
fn forgotten_view_keeps_commands_from_the_memory() -> Result<()> {
    let queue = queue!();
    let iota = iota(&queue);
    let mut buffer = queue.zeroed::<f32>(4)?;
    // A view that ends does not.
    drop(queue.map(&buffer)?);
    drop(queue.map_mut(&mut buffer)?);
    count_up(&iota, 1.0, &mut buffer)?;
    std::mem::forget(queue.map(&buffer)?);
    let error = count_up(&iota, 1.0, &mut buffer).unwrap_err();
    assert!(problem(&error).contains("(out) is mapped"), "{error}");
    let held = |error: Error| {
        assert!(
            error.to_string().contains("this memory is mapped"),
            "{error}"
        );
        error.kind() == ErrorKind::MemoryInUse
    };
    assert!(held(queue.fill(&mut buffer, 0.0).unwrap_err()));
    assert!(held(queue.record().fill(&mut buffer, 0.0).unwrap_err()));
    assert!(held(
        queue.write_later(&mut buffer, vec![0.0; 4]).unwrap_err()
    ));
    assert!(held(queue.map_mut(&mut buffer).unwrap_err()));
    // The view is not writable, so the memory may be read.
    assert_eq!(queue.map(&buffer)?[..2], [1.0, 2.0]);
    assert_eq!(queue.download(&buffer)?[..2], [1.0, 2.0]);
    Ok(())
}

#[test]
fn view_of_one_part_keeps_commands_from_another() -> Result<()> {
    let queue = queue!();
    let mut buffer = queue.zeroed::<u32>(4)?;
    let mut other = queue.zeroed::<u32>(2)?;
    let (mut left, mut right) = buffer.split_at_mut(2)?;
    let held =
        |result: Result<()>| result.is_err_and(|error| error.kind() == ErrorKind::MemoryInUse);
    let view = queue.map_mut(&mut left)?;
    assert!(held(queue.map(&right).map(drop)));
    assert!(held(queue.read(&right, &mut [0; 2])));
    assert!(held(queue.write(&mut right, &[0; 2])));
    assert!(held(queue.copy(&right, &mut other).map(drop)));
    assert!(held(queue.copy(&other, &mut right).map(drop)));
    assert!(held(queue.copy_to(&right, &queue, &mut other)));
    assert!(held(queue.copy_to(&other, &queue, &mut right)));
    assert!(held(queue.record().copy(&right, &mut other)));
    assert!(held(queue.record().copy(&other, &mut right)));
    assert!(held(queue.download_later(&right).map(drop)));
    drop(view);
    let view = queue.map(&left)?;
    assert_eq!(queue.download(&right)?.len(), view.len());
    queue.copy(&right, &mut other)?.wait()?;
    assert!(held(queue.write(&mut right, &[0; 2])));
    drop(view);
    queue.write(&mut right, &[0; 2])
}

#[test]
fn arrays_of_all_kinds_are_slices_too() -> Result<()> {
    let queue = queue!();
    let iota = iota(&queue);
    let (Ok(mut device), Ok(mut host), Ok(mut shared)) = (
        DeviceArray::<f32>::zeroed(&queue, 9),
        HostArray::<f32>::zeroed(&queue, 9),
        SharedArray::<f32>::upload(&queue, &[9.0; 9]),
    ) else {
        common::say_skipped("the device has not all kinds of unified shared memory");
        return Ok(());
    };
    assert_eq!(queue.download(&shared)?, [9.0; 9]);
    // A part of an array begins anywhere.
    count_up(&iota, 1.0, &mut device.slice_mut(1..4)?)?;
    count_up(&iota, 2.0, &mut host.slice_mut(1..4)?)?;
    count_up(&iota, 3.0, &mut shared.slice_mut(1..4)?)?;
    assert_eq!(queue.map(&host)?[..5], [0.0, 2.0, 3.0, 4.0, 0.0]);
    assert_eq!(queue.map(&shared)?[..5], [9.0, 3.0, 4.0, 5.0, 9.0]);
    queue.map_mut(&mut shared)?[8] = 0.5;
    queue.copy(&shared, &mut host)?;
    queue.copy(&host.slice(8..)?, &mut device.slice_mut(..1)?)?;
    assert_eq!(queue.download(&device)?[..4], [0.5, 1.0, 2.0, 3.0]);
    queue.fill(&mut host, 4.0)?;
    assert_eq!(queue.download(&host)?, [4.0; 9]);
    // Between an array and a buffer.
    let mut buffer = queue.zeroed::<f32>(9)?;
    queue.copy(&device, &mut buffer)?.wait()?;
    assert_eq!(queue.download(&buffer)?[..4], [0.5, 1.0, 2.0, 3.0]);
    queue.copy(&buffer.slice(1..4)?, &mut host.slice_mut(6..)?)?;
    assert_eq!(queue.download(&host)?[5..], [4.0, 1.0, 2.0, 3.0]);
    Ok(())
}

#[test]
fn arrays_of_all_kinds_hold_what_is_copied() -> Result<()> {
    let queue = queue!();
    let (Ok(mut device), Ok(mut host), Ok(mut shared)) = (
        DeviceArray::upload(&queue, &[1u32, 2, 3, 4, 5]),
        HostArray::<u32>::zeroed(&queue, 5),
        SharedArray::<u32>::zeroed(&queue, 5),
    ) else {
        common::say_skipped("the device has not all kinds of unified shared memory");
        return Ok(());
    };
    assert_eq!(queue.download(&device)?, [1, 2, 3, 4, 5]);
    queue.copy(&device, &mut host)?.wait()?;
    assert_eq!(*queue.map(&host)?, [1, 2, 3, 4, 5]);
    queue.map_mut(&mut host)?[4] = 6;
    queue.copy(&host.slice(1..)?, &mut shared.slice_mut(..4)?)?;
    queue.write(&mut shared.slice_mut(4..)?, &[7])?;
    assert_eq!(*queue.map(&shared)?, [2, 3, 4, 6, 7]);
    queue.copy(&shared, &mut device)?;
    assert_eq!(queue.download(&device)?, [2, 3, 4, 6, 7]);
    let error = queue.map(&device).unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("cannot access"),
        "{error}"
    );
    assert_ne!(device.pointer(), host.pointer());
    Ok(())
}

/// A type with the alignment that all memory has.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

#[test]
fn refused_array_has_no_more_bytes_than_elements() -> Result<()> {
    let queue = queue!();
    if !queue.device().has(Aspect::USM_DEVICE_ALLOCATIONS) {
        common::say_skipped("usm_device_allocations");
        return Ok(());
    }
    let refused = DeviceArray::<Line>::zeroed(&queue, 1 << 44);
    let message = refused.map(drop).unwrap_err().to_string();
    let expected = format!("allocating {} bytes for device arrays", 1u64 << 50);
    assert!(message.contains(&expected), "{message}");
    Ok(())
}

#[test]
fn array_may_be_dropped_during_use() -> Result<()> {
    let queue = queue!();
    let other = queue.device().queue()?;
    for _ in 0..20 {
        let Ok(mut array) = SharedArray::<u64>::zeroed(&queue, 1 << 18) else {
            common::say_skipped("the device has no shared arrays");
            return Ok(());
        };
        let copy = SharedArray::<u64>::zeroed(&queue, 1 << 18)?;
        other.fill(&mut array, 3)?;
        other.copy(&copy, &mut array)?;
    }
    other.wait()
}

#[test]
fn oversized_allocation_fails_and_queue_continues() -> Result<()> {
    let queue = queue!();
    let error = queue.zeroed::<u8>(1 << 62).unwrap_err();
    assert!(error.kind() == ErrorKind::OutOfMemory, "{error}");
    if let Err(error) = SharedArray::<u64>::zeroed(&queue, 1 << 59) {
        let kind = error.kind();
        assert!(
            matches!(kind, ErrorKind::OutOfMemory | ErrorKind::Unsupported),
            "{error}"
        );
    }
    assert_eq!(queue.download(&queue.upload(&[1u8])?)?, [1]);
    Ok(())
}

/// An element with a stricter alignment than drivers give to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(512))]
struct Page([u8; 512]);

// SAFETY: an array of bytes has neither padding nor invalid values, and its length is a multiple of the alignment.
unsafe impl syclbin_rt::bytemuck::Zeroable for Page {}
// SAFETY: as above.
unsafe impl syclbin_rt::bytemuck::Pod for Page {}

#[test]
fn arrays_are_aligned_for_their_elements() -> Result<()> {
    let queue = queue!();
    let pages = [Page([1; 512]), Page([2; 512])];
    // Of several arrays, some would be misaligned by chance.
    let mut arrays = Vec::new();
    for _ in 0..4 {
        let array = match DeviceArray::upload(&queue, &pages) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                common::say_skipped(&error.to_string());
                return Ok(());
            }
            array => array?,
        };
        assert_eq!(array.pointer().address() % 512, 0);
        assert_eq!(queue.download(&array)?, pages);
        arrays.push(array);
    }
    Ok(())
}

#[test]
fn memory_describes_its_elements_and_device() -> Result<()> {
    let queue = queue!();
    let device = queue.device();
    let mut buffer = queue.zeroed::<f32>(5)?;
    assert_eq!(
        format!("{buffer:?}"),
        format!("Buffer(5 x f32 on {device})")
    );
    let part = format!("{:?}", buffer.slice(1..)?);
    assert_eq!(part, format!("SliceRef(4 x f32 on {device})"));
    let part = format!("{:?}", buffer.slice_mut(..2)?);
    assert_eq!(part, format!("SliceMut(2 x f32 on {device})"));
    Ok(())
}
