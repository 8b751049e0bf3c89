// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs compilations in parallel, one per token.

use std::time::Duration;

use crate::compile::tokens::Tokens;
use crate::compiler::{Compiler, Job, Running};
use crate::error::Result;

pub(crate) struct Task {
    pub(crate) job: Job,
    /// The index of an earlier task. If that task fails, this task is skipped or stopped.
    pub(crate) only_with: Option<usize>,
}

/// The outcome of a task: its diagnostics, or the error. `None` if the task was skipped.
pub(crate) type JobResult = Option<Result<String>>;

/// The maximum pause between two polls: a hundredth of the time that a short compile takes.
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

/// Runs the tasks in parallel. A failed task affects only the tasks that depend on it (`only_with`).
pub(crate) fn run(compiler: &Compiler, tasks: &[Task], tokens: &mut Tokens) -> Vec<JobResult> {
    let limit = crate::compiler::limit();
    let mut outcomes: Vec<JobResult> = tasks.iter().map(|_| None).collect();
    let mut waiting: std::collections::VecDeque<usize> = (0..tasks.len()).collect();
    let mut running: Vec<(usize, Running)> = Vec::new();
    let mut pause = Duration::from_micros(200);
    loop {
        let is_for_nothing = |index: usize, outcomes: &[JobResult]| {
            let needed = tasks[index].only_with.map(|needed| &outcomes[needed]);
            needed.is_some_and(|needed| matches!(needed, Some(Err(_))))
        };
        let before = running.len();
        running.retain_mut(|(index, running)| {
            // Dropping a `Running` stops its process.
            if is_for_nothing(*index, &outcomes) {
                return false;
            }
            outcomes[*index] = running.poll(limit);
            outcomes[*index].is_none()
        });
        // The first job uses the script's own token.
        tokens.keep(running.len().saturating_sub(1));
        waiting.retain(|index| !is_for_nothing(*index, &outcomes));
        while !waiting.is_empty() && (running.is_empty() || tokens.take()) {
            let Some(index) = waiting.pop_front() else {
                break;
            };
            match compiler.start(&tasks[index].job) {
                Ok(started) => running.push((index, started)),
                Err(error) => outcomes[index] = Some(Err(error)),
            }
        }
        if running.is_empty() && waiting.is_empty() {
            tokens.keep(0);
            return outcomes;
        }
        pause = if running.len() == before {
            (pause * 2).min(LONGEST_PAUSE)
        } else {
            Duration::from_micros(200)
        };
        std::thread::sleep(pause);
    }
}
