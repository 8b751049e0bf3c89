// SPDX-License-Identifier: MIT OR Apache-2.0
//! What users write for launches that come often: prepared ones, and recordings.

use syclbin_rt::{Prepared, Recording, Result as Made};

use crate::contestant::{Arguments, Contestant};
use crate::stub::{Buffers, Memory, Values, kernels, range, told, with_launch};

/// How many launches a recording has.
const RECORDED: u32 = 100;

pub(crate) struct PreparedStub {
    memory: Memory,
    /// In the order of [`Arguments::ALL`].
    prepared: Vec<Prepared>,
}

impl Contestant for PreparedStub {
    fn new() -> Result<Self, String> {
        let made = || -> Made<Self> {
            let mut memory = Memory::new()?;
            let kernels = kernels::Module::load(&memory.queue)?;
            let mut prepared = Vec::new();
            for arguments in Arguments::ALL {
                let made = with_launch!(
                    kernels,
                    &mut memory.buffers[0],
                    arguments,
                    Values::ONCE,
                    |launch| launch.prepare(range())?
                );
                prepared.push(made);
            }
            Ok(Self { memory, prepared })
        };
        made().map_err(told)
    }

    fn device(&self) -> String {
        self.memory.device()
    }

    fn launch(&mut self, arguments: Arguments) -> Result<(), String> {
        // SAFETY: each kernel uses one element of each buffer.
        let launched = unsafe { self.prepared[arguments as usize].launch() };
        launched.map(drop).map_err(told)
    }

    fn finish(&mut self) -> Result<(), String> {
        self.memory.finish()
    }
}

/// Recordings.
pub(crate) struct Recorded {
    memory: Memory,
    /// In the order of [`Arguments::ALL`].
    recordings: Vec<Recording>,
}

impl Contestant for Recorded {
    fn new() -> Result<Self, String> {
        let made = || -> Made<Self> {
            let mut memory = Memory::new()?;
            let kernels = kernels::Module::load(&memory.queue)?;
            let mut recordings = Vec::new();
            for arguments in Arguments::ALL {
                let mut recorder = memory.queue.record();
                for _ in 0..RECORDED {
                    let buffers = &mut memory.buffers[0];
                    // SAFETY: each kernel uses one element of each buffer.
                    with_launch!(kernels, buffers, arguments, Values::ONCE, |launch| unsafe {
                        launch.record(&mut recorder, range())?;
                    });
                }
                recordings.push(recorder.finish()?);
            }
            Ok(Self { memory, recordings })
        };
        made().map_err(told)
    }

    fn device(&self) -> String {
        self.memory.device()
    }

    fn launch(&mut self, arguments: Arguments) -> Result<(), String> {
        self.batch(arguments, 1)
    }

    /// So many launches, rounded up to whole recordings.
    fn batch(&mut self, arguments: Arguments, count: u32) -> Result<(), String> {
        let recording = &self.recordings[arguments as usize];
        for _ in 0..count.div_ceil(RECORDED) {
            recording.replay().map_err(told)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.memory.finish()
    }
}
