// SPDX-License-Identifier: MIT OR Apache-2.0
//! One product on all devices at once: each computes some of the rows. A faster device gets more.

use std::ops::Range;
use std::time::{Duration, Instant};

use syclbin_rt::{Buffer, Device, Event, Partition, Queue, QueueOptions};

use crate::{SQUARE, Size, TURNS, kernels};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A device with what it needs for its rows.
struct Share {
    queue: Queue,
    module: kernels::Module,
    b: Buffer<f32>,
}

/// The product of several devices.
pub(crate) struct Split {
    pub(crate) c: Vec<f32>,
    /// The number of rows of each device, and the time of all together, with equal shares.
    pub(crate) equal: (Vec<usize>, Duration),
    /// The same with shares by measured speed.
    pub(crate) measured: (Vec<usize>, Duration),
}

/// Returns the devices that can run the kernel. One that is alone is divided in two.
pub(crate) fn devices() -> Result<Vec<Device>> {
    let mut all = Device::all()?;
    all.retain(|device| {
        let queue = device.queue();
        queue.is_ok_and(|queue| kernels::Module::load(&queue).is_ok())
    });
    if let [alone] = all.as_slice() {
        let half = alone.compute_units() / 2;
        if let Ok(parts) = alone.partition(Partition::Counts(&[half, half])) {
            return Ok(parts);
        }
    }
    Ok(all)
}

/// Multiplies on `devices`: first all have as many rows, then as many as they computed in the same time.
pub(crate) fn multiply(devices: &[Device], size: Size, a: &[f32], b: &[f32]) -> Result<Split> {
    let shares: Result<Vec<Share>> = devices.iter().map(|device| Share::new(device, b)).collect();
    let shares = shares?;
    let mut speeds = vec![1.0; shares.len()];
    let (equal, rows, _) = fastest(&shares, &mut speeds, size, a)?;
    let equal = (lengths(&rows), equal);
    let (time, rows, c) = fastest(&shares, &mut speeds, size, a)?;
    Ok(Split {
        c,
        equal,
        measured: (lengths(&rows), time),
    })
}

fn lengths(rows: &[Range<usize>]) -> Vec<usize> {
    rows.iter().map(ExactSizeIterator::len).collect()
}

/// Rows of each device by its speed, the fastest of some turns with them, and the product. Then `speeds` are those
/// that were measured.
fn fastest(
    shares: &[Share],
    speeds: &mut [f64],
    size: Size,
    a: &[f32],
) -> Result<(Duration, Vec<Range<usize>>, Vec<f32>)> {
    let rows = divide(size.m, speeds);
    let mut parts = Vec::new();
    for (share, rows) in shares.iter().zip(&rows) {
        // A buffer has at least one element.
        let len = rows.len().max(1);
        let first = rows.start.min(size.m - len);
        let a = &a[first * size.k..(first + len) * size.k];
        parts.push((
            share.queue.upload(a)?,
            share.queue.zeroed::<f32>(len * size.n)?,
        ));
    }
    let mut fastest = Duration::MAX;
    for _ in 0..TURNS {
        let start = Instant::now();
        let mut events = Vec::new();
        for ((share, rows), (a, c)) in shares.iter().zip(&rows).zip(&mut parts) {
            events.push(share.launch(a, c, rows.len(), size)?);
        }
        for event in events.iter().flatten() {
            event.wait()?;
        }
        let time = start.elapsed();
        if time < fastest {
            fastest = time;
            for ((speed, rows), event) in speeds.iter_mut().zip(&rows).zip(&events) {
                if let Some(event) = event {
                    *speed = rows.len() as f64 / event.profile()?.execution().as_secs_f64();
                }
            }
        }
    }
    let mut product = Vec::new();
    for ((share, rows), (_, c)) in shares.iter().zip(&rows).zip(&parts) {
        product.extend_from_slice(&share.queue.download(c)?[..rows.len() * size.n]);
    }
    Ok((fastest, rows, product))
}

impl Share {
    fn new(device: &Device, b: &[f32]) -> Result<Self> {
        let queue = device.queue_with(QueueOptions::new().profiling())?;
        Ok(Self {
            module: kernels::Module::load(&queue)?,
            b: queue.upload(b)?,
            queue,
        })
    }

    /// Starts `m` rows, if there are any.
    fn launch(
        &self,
        a: &Buffer<f32>,
        c: &mut Buffer<f32>,
        m: usize,
        Size { k, n, .. }: Size,
    ) -> Result<Option<Event>> {
        if m == 0 {
            return Ok(None);
        }
        let [m, n, k] = [u32::try_from(m)?, u32::try_from(n)?, u32::try_from(k)?];
        let range = crate::range(m as usize, n as usize);
        let launch = self.module.matmul(a, &self.b, c, m, n, k);
        Ok(Some(launch.launch(range)?))
    }
}

/// Divides `m` rows like `speeds`, in whole squares of the kernel but for the last rows.
fn divide(m: usize, speeds: &[f64]) -> Vec<Range<usize>> {
    let total: f64 = speeds.iter().sum();
    let mut sum = 0.0;
    let mut start = 0;
    let ranges = speeds.iter().enumerate().map(|(index, speed)| {
        sum += speed;
        let squares = (m as f64 * sum / total / SQUARE as f64).round();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most the number of rows"
        )]
        let end = (squares as usize * SQUARE).clamp(start, m);
        let is_last = index + 1 == speeds.len() || sum >= total;
        let end = if is_last { m } else { end };
        let rows = start..end;
        start = end;
        rows
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_divided_like_speeds() {
        assert_eq!(divide(1024, &[1.0, 1.0]), [0..512, 512..1024]);
        assert_eq!(divide(1000, &[3.0, 1.0]), [0..768, 768..1000]);
        assert_eq!(divide(100, &[1.0, 1.0, 1.0]), [0..64, 64..64, 64..100]);
        assert_eq!(divide(10, &[2.0, 0.0]), [0..10, 10..10]);
    }
}
