// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host's time for a launch, beside `cuLaunchKernel` with a kernel of `nvcc`.

use syclbin_rt::{Arg, Launch, NdRange};

use crate::contest::{Clock, Contestant, medians};
use crate::directory::Code;
use crate::report::{Report, Row};
use crate::theirs::Theirs;
use crate::{Bench, Result, ours, words, work};

/// Launches that are replayed at once, as a CUDA graph.
const RECORDED: usize = 100;
const NAMES: &[&str; 4] = &["a", "x", "y", "n"];

pub(crate) fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let queue = &bench.queue;
    let kernel = ours::kernel(queue, &bench.directory.ours("saxpy", Code::Ptx))?;
    let x = queue.upload(&[1.0f32]).map_err(words)?;
    let mut y = queue.upload(&[1.0f32]).map_err(words)?;
    let range = NdRange::new(1).local(1);
    let count = bench.sizes.launches;

    let one = || {
        let args = [
            Arg::scalar(1.5f32),
            Arg::read(&x),
            Arg::write(&mut y),
            Arg::scalar(1u32),
        ];
        // SAFETY: the kernel checks its index against `n`, and both buffers have an element.
        let launched = unsafe { Launch::new(&kernel, NAMES, args).launch(range) };
        launched.map(drop).map_err(words)
    };
    contest(bench, report, "one by one", one, count, 1)?;

    let args = [
        Arg::scalar(1.5f32),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(1u32),
    ];
    let prepared = Launch::new(&kernel, NAMES, args)
        .prepare(range)
        .map_err(words)?;
    // SAFETY: as above.
    let one = || unsafe { prepared.launch() }.map(drop).map_err(words);
    contest(bench, report, "prepared", one, count, 1)?;
    drop(prepared);

    let mut recorder = queue.record();
    for _ in 0..RECORDED {
        let args = [
            Arg::scalar(1.5f32),
            Arg::read(&x),
            Arg::write(&mut y),
            Arg::scalar(1u32),
        ];
        // SAFETY: as above.
        unsafe { Launch::new(&kernel, NAMES, args).record(&mut recorder, range) }.map_err(words)?;
    }
    let recording = recorder.finish().map_err(words)?;
    let all = || recording.replay().map(drop).map_err(words);
    contest(bench, report, "replay of 100", all, count / 10, RECORDED)
}

/// Has `ours` take turns with as many raw launches as it is worth.
fn contest(
    bench: &Bench,
    report: &mut Report,
    variant: &'static str,
    ours: impl FnMut() -> Result<()>,
    count: u32,
    worth: usize,
) -> Result<()> {
    let wait = || bench.queue.wait().map_err(words);
    let mut ours = (ours, wait);
    let problem = work::saxpy_problem(1);
    let theirs = match &bench.baseline {
        Ok(baseline) => Some(Theirs::new(bench.raw, &baseline.kernels, &problem)?),
        Err(_) => None,
    };
    let mut theirs = theirs.map(|mut theirs| {
        let launch = move || (0..worth).try_for_each(|_| theirs.launch());
        (launch, || bench.raw.wait())
    });
    let mut contestants: Vec<&mut dyn Contestant> = vec![&mut ours];
    if let Some(theirs) = &mut theirs {
        contestants.push(theirs);
    }
    // A replay is one call, so the host's time for it says little: until all is done it counts.
    let clock = if worth == 1 {
        Clock::Queued
    } else {
        Clock::Done
    };
    let times = medians(&mut contestants, count.max(1), clock, bench.sizes)?;
    report.add(Row {
        benchmark: "launch",
        variant,
        size: "1 element".to_owned(),
        unit: "µs",
        amount: None,
        ours: times[0],
        baseline: times.get(1).copied(),
        goal: (variant == "one by one").then_some(0.95),
    });
    Ok(())
}
