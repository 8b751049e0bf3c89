// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host time per launch: contestants in processes of their own, in turns.

use crate::contestant::{ALL, Arguments, CHANGING, RAW, STUB};
use crate::figures::Rounds;
use crate::process::{CONTESTANT, Process, Reference, Taken};
use crate::report::{NANOSECONDS, Report};
use crate::world::World;

/// How often all start anew. A process is fast or slow for as long as it lives: the CPU device's
/// threads share processors with it or not.
const SITTINGS: usize = 12;
/// How often each is asked in a sitting, and how many launches it then does before it waits for them.
const ROUNDS: usize = 5;
const BATCH: u32 = 200;
/// Batches of a round; the fastest counts, so that a process has woken up.
const BATCHES: usize = 5;

/// One that takes part, with what it did so far for each number of arguments.
struct Row {
    name: &'static str,
    start: Start,
    process: Process,
    rows: [Figures; Arguments::ALL.len()],
}

type Start = Box<dyn Fn() -> Result<Process, String>>;

#[derive(Default)]
struct Figures {
    queued: Rounds,
    finished: Rounds,
    /// Over raw in the same round.
    ratio: Rounds,
    finished_ratio: Rounds,
}

/// What the reference runtime takes part with: the name, the mode of its program, what it does.
const REFERENCES: [(&str, &str, &str); 2] = [
    (
        "reference",
        "submit",
        "libsycl: queue.submit with set_args and parallel_for, device pointers; its event is dropped",
    ),
    (
        "reference, nd_launch",
        "launch",
        "libsycl: nd_launch of the enqueue functions, which make no event",
    ),
];

pub(crate) fn bench(
    world: &World,
    reference: Result<&Reference, &str>,
    report: &mut Report,
) -> Result<(), String> {
    let mut rows: Vec<Row> = Vec::new();
    let mut join = |name, what, start: Start| {
        let raw = rows.first().map(|row| row.process.device.clone());
        match start() {
            Ok(process) if raw.as_ref().is_some_and(|raw| *raw != process.device) => {
                report.leave_out(format!("{name}: it runs on {}", process.device));
            }
            Ok(process) => {
                println!("{name}: {what}");
                rows.push(Row {
                    name,
                    start,
                    process,
                    rows: Default::default(),
                });
            }
            Err(reason) => report.leave_out(format!("{name}: {reason}")),
        }
    };
    for entry in &ALL {
        let world = world.clone();
        let start = move || Process::start(&mut world.child(&[CONTESTANT, entry.name])?);
        join(entry.name, entry.what, Box::new(start));
    }
    for (name, way, what) in REFERENCES {
        let (reference, kernels) = (reference.cloned(), world.kernels.clone());
        let reference = reference.map_err(str::to_owned);
        let start = move || {
            let mut command = reference.clone()?.command();
            Process::start(command.args(["launch", way]).arg(&kernels))
        };
        join(name, what, Box::new(start));
    }
    for sitting in 0..world.rounds(SITTINGS) {
        if sitting > 0 {
            for row in &mut rows {
                row.process = (row.start)()?;
            }
        }
        take_turns(&mut rows)?;
    }
    report.table("until the launch is in the queue");
    for (column, row, figures) in cells(&rows) {
        let ratio = Some(figures.ratio.median());
        report.add(row, &column, NANOSECONDS, &figures.queued, ratio);
    }
    report.table("until the launch has ended");
    for (column, row, figures) in cells(&rows) {
        let (column, ratio) = (column + ", ended", figures.finished_ratio.median());
        report.add(row, &column, NANOSECONDS, &figures.finished, Some(ratio));
    }
    goals(&rows, report);
    Ok(())
}

fn take_turns(rows: &mut [Row]) -> Result<(), String> {
    for round in 0..ROUNDS {
        for (index, arguments) in Arguments::ALL.into_iter().enumerate() {
            let mut taken: Vec<Option<Taken>> = rows.iter().map(|_| None).collect();
            let mut order: Vec<usize> = (0..rows.len()).collect();
            // No row is always behind the same one.
            let middle = round % order.len().max(1);
            order.rotate_left(middle);
            if round % 2 == 1 {
                order.reverse();
            }
            for turn in order {
                // The reference has no kernels with more.
                if arguments.count() <= 10 || !rows[turn].name.starts_with(REFERENCES[0].0) {
                    taken[turn] = Some(best(&mut rows[turn].process, arguments)?);
                }
            }
            let raw = rows.iter().position(|row| row.name == RAW);
            let raw = raw.and_then(|raw| taken[raw]).unwrap_or(Taken::UNKNOWN);
            for (row, taken) in rows.iter_mut().zip(taken) {
                let taken = taken.unwrap_or(Taken::UNKNOWN);
                let figures = &mut row.rows[index];
                figures.queued.add(taken.queued);
                figures.finished.add(taken.finished);
                figures.ratio.add(taken.queued / raw.queued);
                figures.finished_ratio.add(taken.finished / raw.finished);
            }
        }
    }
    Ok(())
}

/// The fastest of some batches, each figure by itself.
fn best(process: &mut Process, arguments: Arguments) -> Result<Taken, String> {
    let mut best: Option<Taken> = None;
    for _ in 0..BATCHES {
        let taken = process.launch(arguments, BATCH)?;
        best = Some(best.map_or(taken, |best| Taken {
            queued: best.queued.min(taken.queued),
            finished: best.finished.min(taken.finished),
        }));
    }
    best.ok_or_else(|| "no batch".to_owned())
}

/// The figures of all rows, by the number of arguments.
fn cells(rows: &[Row]) -> impl Iterator<Item = (String, &str, &Figures)> {
    let columns = Arguments::ALL.into_iter().enumerate();
    columns.flat_map(move |(index, arguments)| {
        let column = format!("{} arguments", arguments.count());
        rows.iter()
            .map(move |row| (column.clone(), row.name, &row.rows[index]))
    })
}

fn goals(rows: &[Row], report: &mut Report) {
    let ratio = |name: &str, index: usize| {
        let row = rows.iter().find(|row| row.name == name);
        row.map_or(f64::NAN, |row| row.rows[index].ratio.median())
    };
    for (index, arguments) in Arguments::ALL.into_iter().enumerate() {
        let count = arguments.count();
        // The more arguments repeat, the more a stub leaves out.
        let repeating = if count < 10 { 1.0 } else { 0.9 };
        for (name, most) in [
            (STUB, repeating),
            (CHANGING, 1.02),
            ("prepared", 1.0),
            ("recorded", 1.0),
        ] {
            let what = format!("{name} over {RAW}, {count} arguments");
            report.goal(&what, ratio(name, index), most);
        }
        report.goal(
            &format!("{STUB} over reference, {count} arguments"),
            ratio(STUB, index) / ratio(REFERENCES[0].0, index),
            1.0,
        );
    }
}
