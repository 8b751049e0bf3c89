// SPDX-License-Identifier: MIT OR Apache-2.0
//! What users write for launches that come often: prepared ones, and recordings.

use syclbin_rt::{Prepared, Recording, Result as Made};

use crate::contestant::{Arguments, Contestant};
use crate::stub::{Memory, kernels, range, told};

/// How many launches a recording has.
const RECORDED: u32 = 100;

pub(crate) struct PreparedStub {
    memory: Memory,
    two: Prepared,
    four: Prepared,
    ten: Prepared,
}

impl Contestant for PreparedStub {
    fn new() -> Result<Self, String> {
        let made = || -> Made<Self> {
            let mut memory = Memory::new()?;
            let kernels = kernels::Module::load(&memory.queue)?;
            let Memory { out, inputs, .. } = &mut memory;
            let [a, b, c] = inputs;
            let two = kernels.take_2(out, 1).prepare(range())?;
            let four = kernels.take_4(out, a, 1, 2.0).prepare(range())?;
            let ten = kernels.take_10(out, a, b, c, 1, 2.0, 3, 4.0, 5, 6.0);
            let ten = ten.prepare(range())?;
            Ok(Self {
                memory,
                two,
                four,
                ten,
            })
        };
        made().map_err(told)
    }

    fn device(&self) -> String {
        self.memory.device()
    }

    fn launch(&mut self, arguments: Arguments) -> Result<(), String> {
        // SAFETY: each kernel uses one element of each buffer.
        let launched = unsafe {
            match arguments {
                Arguments::Two => self.two.launch(),
                Arguments::Four => self.four.launch(),
                Arguments::Ten => self.ten.launch(),
            }
        };
        launched.map(drop).map_err(told)
    }

    fn finish(&mut self) -> Result<(), String> {
        self.memory.finish()
    }
}

/// Recordings.
pub(crate) struct Recorded {
    memory: Memory,
    two: Recording,
    four: Recording,
    ten: Recording,
}

impl Contestant for Recorded {
    fn new() -> Result<Self, String> {
        let made = || -> Made<Self> {
            let mut memory = Memory::new()?;
            let kernels = kernels::Module::load(&memory.queue)?;
            let Memory { queue, out, inputs } = &mut memory;
            let [a, b, c] = inputs;
            let mut recorders = [queue.record(), queue.record(), queue.record()];
            let [two, four, ten] = &mut recorders;
            for _ in 0..RECORDED {
                // SAFETY: each kernel uses one element of each buffer.
                unsafe {
                    kernels.take_2(out, 1).record(two, range())?;
                    kernels.take_4(out, a, 1, 2.0).record(four, range())?;
                    let launch = kernels.take_10(out, a, b, c, 1, 2.0, 3, 4.0, 5, 6.0);
                    launch.record(ten, range())?;
                }
            }
            let [two, four, ten] = recorders;
            Ok(Self {
                memory,
                two: two.finish()?,
                four: four.finish()?,
                ten: ten.finish()?,
            })
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
        let recording = match arguments {
            Arguments::Two => &self.two,
            Arguments::Four => &self.four,
            Arguments::Ten => &self.ten,
        };
        for _ in 0..count.div_ceil(RECORDED) {
            recording.replay().map_err(told)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.memory.finish()
    }
}
