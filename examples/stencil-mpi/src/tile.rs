// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cells of one rank on its device.

use std::mem::{swap, take};
use std::time::{Duration, Instant};

use syclbin_rt::{Buffer, Device, Event, Queue, QueueOptions, Result, Transfer};

use crate::grid::{Grid, Part};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "wave";

    // SAFETY: work-items beyond the tile do nothing, and the others write an element each.
    unsafe extern "SYCL" {
        safe fn edges where rows >= 2, columns >= 2, now.len() >= rows * columns,
            edges.len() >= 2 * rows + 2 * columns;
        safe fn interior where now.len() >= rows * columns, speed.len() >= rows * columns,
            next.len() >= rows * columns;
        safe fn border where rows >= 2, columns >= 2, now.len() >= rows * columns, speed.len() >= rows * columns,
            halo.len() >= 2 * rows + 2 * columns, next.len() >= rows * columns;
    }
}

/// A tile, with two queues: copies run while kernels do.
pub struct Tile {
    kernels: kernels::Module,
    work: Queue,
    copies: Queue,
    height: u32,
    width: u32,
    now: Buffer<f32>,
    /// The step before `now`, until a kernel writes the step after it.
    next: Buffer<f32>,
    speed: Buffer<f32>,
    edges: Buffer<f32>,
    halo: Buffer<f32>,
    /// Memory of the host for the next download and the next upload.
    edges_here: Vec<f32>,
    halo_here: Vec<f32>,
    last: Option<Step>,
    times: Times,
}

/// The commands of a step. They have ended when the edges of the next step are on the host.
struct Step {
    kernels: [Event; 3],
    upload: Transfer<f32>,
}

/// What took how long: the device for kernels and copies, and the host for messages.
#[derive(Clone, Copy, Default)]
pub struct Times {
    pub interior: Duration,
    /// The two kernels `edges` and `border`.
    pub border: Duration,
    pub copies: Duration,
    pub messages: Duration,
}

/// Returns the device of the rank with this number on its machine, and its index. Ranks take turns on the devices
/// that are like the best one. If `SYCLBIN_DEVICE` is set, all ranks use that device.
pub fn device(local_rank: usize) -> Result<(usize, Device)> {
    let best = kernels::Module::best_device()?;
    if std::env::var_os("SYCLBIN_DEVICE").is_some() {
        return Ok((0, best));
    }
    let mut devices = Device::all()?;
    devices.retain(|device| device.kind() == best.kind() && device.library() == best.library());
    let index = local_rank % devices.len().max(1);
    Ok((index, devices.into_iter().nth(index).unwrap_or(best)))
}

impl Tile {
    /// Uploads the start of `part`.
    pub fn new(device: &Device, grid: &Grid, part: &Part) -> Result<Self> {
        let work = device.queue_with(QueueOptions::new().profiling())?;
        let copies = device.queue_with(QueueOptions::new().profiling())?;
        let [now, before] = grid.start(part);
        let (height, width) = (part.rows.len(), part.columns.len());
        let around = 2 * (height + width);
        Ok(Self {
            kernels: kernels::Module::load(&work)?,
            height: u32::try_from(height).unwrap_or(u32::MAX),
            width: u32::try_from(width).unwrap_or(u32::MAX),
            now: work.upload(&now)?,
            next: work.upload(&before)?,
            speed: work.upload(&grid.speed(part))?,
            edges: work.zeroed(around)?,
            halo: work.zeroed(around)?,
            edges_here: vec![0.0; around],
            halo_here: vec![0.0; around],
            last: None,
            times: Times::default(),
            work,
            copies,
        })
    }

    /// Computes a step. `exchange` gets the edges, which it sends to the neighbours, and a copy of them, which it
    /// replaces with the edges of the neighbours. At the edge of the grid, the copy stays and reflects waves.
    ///
    /// The interior is computed meanwhile.
    pub fn step(&mut self, exchange: impl FnOnce(&[f32], &mut [f32])) -> Result<()> {
        let (height, width) = (self.height, self.width);
        let inside = [height - 2, width - 2].map(|len| len as usize);
        let around = 2 * (height as usize + width as usize);

        let edges = self
            .kernels
            .edges(&self.now, &mut self.edges, height, width)
            .launch(around)?;
        let interior = self
            .kernels
            .interior(&self.now, &self.speed, &mut self.next, height, width)
            .launch(inside)?;
        // A command that waits for another queue has that queue start. So the interior is in the queue already.
        let memory = take(&mut self.edges_here);
        let download = self
            .copies
            .after(&[&edges])
            .read_later(&self.edges, memory)?;
        self.times.copies += download.event().profile()?.execution();
        self.edges_here = download.wait()?;

        self.finish()?;
        let mut halo = take(&mut self.halo_here);
        halo.copy_from_slice(&self.edges_here);
        let start = Instant::now();
        exchange(&self.edges_here, &mut halo);
        self.times.messages += start.elapsed();

        let upload = self.copies.write_later(&mut self.halo, halo)?;
        let border = self
            .kernels
            .border(
                &self.now,
                &self.speed,
                &self.halo,
                &mut self.next,
                height,
                width,
            )
            .after(&[upload.event()])
            .launch(around - 4)?;
        swap(&mut self.now, &mut self.next);
        self.last = Some(Step {
            kernels: [edges, interior, border],
            upload,
        });
        Ok(())
    }

    /// Waits for the last step, and takes the memory of its halo back.
    fn finish(&mut self) -> Result<()> {
        if let Some(Step { kernels, upload }) = self.last.take() {
            let [edges, interior, border] = kernels;
            self.times.interior += interior.profile()?.execution();
            self.times.border += edges.profile()?.execution() + border.profile()?.execution();
            self.times.copies += upload.event().profile()?.execution();
            self.halo_here = upload.wait()?;
        }
        Ok(())
    }

    /// Waits for the last step, and returns the times of all steps.
    pub fn times(&mut self) -> Result<Times> {
        self.finish()?;
        Ok(self.times)
    }

    /// Returns the cells, row by row.
    pub fn cells(&self) -> Result<Vec<f32>> {
        self.work.download(&self.now)
    }
}
