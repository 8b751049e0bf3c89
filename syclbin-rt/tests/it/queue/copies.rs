// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues and buffers: copies there and back, and what is refused.

use syclbin_rt::Result;

use crate::common;

#[test]
fn bytes_come_back_as_they_went() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let data: Vec<u64> = (0..10_000).map(|i| i * 0x0123_4567_89ab).collect();
    let mut buffer = queue.upload(&data)?;
    assert_eq!((buffer.len(), buffer.is_empty()), (10_000, false));
    assert_eq!(&buffer.device(), queue.device());
    assert_eq!(queue.download(&buffer)?, data);

    let reversed: Vec<u64> = data.iter().rev().copied().collect();
    queue.write(&mut buffer, &reversed)?;
    let mut back = vec![0; data.len()];
    queue.read(&buffer, &mut back)?;
    assert_eq!(back, reversed);
    queue.wait()
}

#[test]
fn a_zeroed_buffer_is_zero() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    // An odd length of an odd size.
    let buffer = queue.zeroed::<[u8; 3]>(12_345)?;
    assert_eq!(queue.download(&buffer)?, vec![[0; 3]; 12_345]);
    Ok(())
}

#[test]
fn buffers_without_elements_work() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut empty = queue.upload::<f32>(&[])?;
    assert!(empty.is_empty());
    assert!(queue.download(&empty)?.is_empty());
    queue.write(&mut empty, &[])?;
    queue.read(&empty, &mut [])?;
    assert_eq!(queue.zeroed::<f64>(0)?.len(), 0);
    Ok(())
}

#[test]
fn copy_of_wrong_length_names_both_lengths() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut buffer = queue.upload(&[1u32, 2, 3])?;
    let message = "the buffer has 3 elements, but the slice has 2; the lengths must be equal";
    assert_eq!(
        queue.write(&mut buffer, &[0, 0]).unwrap_err().to_string(),
        message
    );
    assert_eq!(
        queue.read(&buffer, &mut [0, 0]).unwrap_err().to_string(),
        message
    );
    assert_eq!(queue.download(&buffer)?, [1, 2, 3]);
    Ok(())
}

#[test]
fn a_buffer_beyond_memory_is_an_error() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let message = queue.zeroed::<u64>(usize::MAX / 4).unwrap_err().to_string();
    assert!(message.contains("exceeds the address space"), "{message}");
    // More than any machine has, less than the address space.
    let message = queue.zeroed::<u8>(1 << 60).unwrap_err().to_string();
    assert!(common::says_allocation_failed(&message), "{message}");
    assert_eq!(queue.download(&queue.upload(&[7u8])?)?, [7]);
    Ok(())
}

#[test]
fn upload_is_visible_to_every_queue() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let other = queue.device().queue()?;
    // Often, because a write that does not wait for its end is seen late only now and then.
    for i in 0..1000i16 {
        let buffer = queue.upload(&[i, -i])?;
        assert_eq!(other.download(&buffer)?, [i, -i]);
        let mut buffer = queue.zeroed::<i16>(2)?;
        assert_eq!(other.download(&buffer)?, [0, 0]);
        queue.write(&mut buffer, &[i, -i])?;
        assert_eq!(other.download(&buffer)?, [i, -i]);
    }
    Ok(())
}
