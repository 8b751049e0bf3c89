// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfers: copies that own the memory of the host until they have ended.

use syclbin_rt::{Event, QueueOptions, Result};

use crate::common;

const N: usize = 1 << 20;

#[test]
fn elements_go_there_and_come_back_later() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let data: Vec<u32> = (0..).take(N).collect();
    let mut buffer = queue.zeroed::<u32>(N)?;
    let up = queue.write_later(&mut buffer, data.clone())?;
    let down = queue.download_later(&buffer)?;
    assert_eq!(format!("{down:?}"), "Transfer(reading a buffer)");
    assert_eq!(down.wait()?, data);
    // Both were put into one queue.
    assert!(up.is_complete()?);
    let reused = up.wait()?;
    assert_eq!(reused, data);
    let at = reused.as_ptr();
    let again = queue.read_later(&buffer, reused)?.wait()?;
    assert_eq!(again, data);
    assert_eq!(again.as_ptr(), at, "no other memory is taken");
    Ok(())
}

#[test]
fn out_of_order_copies_follow_their_events() -> Result<()> {
    let Some(queue) = common::queue_with(QueueOptions::new().out_of_order())? else {
        return Ok(());
    };
    let mut buffer = queue.zeroed::<u32>(N)?;
    for round in 1..20 {
        let up = queue.write_later(&mut buffer, vec![round; N])?;
        let down = queue.after(&[up.event()]).download_later(&buffer)?;
        let next = queue
            .after(&[down.event()])
            .write_later(&mut buffer, vec![0; N])?;
        Event::wait_all(&[up.event(), next.event()])?;
        assert_eq!(down.wait()?, vec![round; N]);
        assert_eq!(queue.download(&buffer)?, vec![0; N]);
    }
    Ok(())
}

#[test]
fn transfers_may_be_dropped_and_forgotten_anytime() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    for round in 0..50u8 {
        let mut buffer = queue.upload(&vec![round; N])?;
        let down = queue.download_later(&buffer)?;
        let up = queue.write_later(&mut buffer, vec![round + 1; N])?;
        let forgotten = queue.download_later(&buffer)?;
        drop(buffer);
        match round % 3 {
            0 => drop(up),
            1 => assert_eq!(up.wait()?, vec![round + 1; N]),
            _ => std::mem::forget(up),
        }
        assert_eq!(down.wait()?, vec![round; N]);
        if round % 10 == 0 {
            std::mem::forget(forgotten);
        }
    }
    queue.wait()
}

#[test]
fn a_transfer_outlives_all_handles_of_its_queue() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let buffer = queue.upload(&vec![7u8; N])?;
    let down = queue.download_later(&buffer)?;
    drop((buffer, queue));
    let thread = std::thread::spawn(|| down.wait());
    assert_eq!(thread.join().expect("no panic")?, vec![7; N]);
    Ok(())
}

#[test]
fn transfers_of_no_elements_end_too() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut empty = queue.upload::<f32>(&[])?;
    let up = queue.write_later(&mut empty, Vec::new())?;
    let down = queue.after(&[up.event()]).download_later(&empty)?;
    assert_eq!((up.wait()?, down.wait()?), (vec![], vec![]));
    Ok(())
}

#[test]
fn a_transfer_of_another_length_names_both() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut buffer = queue.upload(&[1u32, 2, 3])?;
    let message = "the buffer has 3 elements, but the slice has 2; the lengths must be equal";
    let refused = queue.write_later(&mut buffer, vec![0, 0]);
    assert_eq!(refused.unwrap_err().to_string(), message);
    let refused = queue.read_later(&buffer, vec![0, 0]);
    assert_eq!(refused.unwrap_err().to_string(), message);
    assert_eq!(queue.download(&buffer)?, [1, 2, 3]);
    Ok(())
}
