// SPDX-License-Identifier: MIT OR Apache-2.0
//! What users write: the functions of `include_syclbin!`.

use syclbin_rt::{Buffer, Device, NdRange, Queue};

use crate::contestant::{Arguments, Contestant};

syclbin_rt::include_syclbin! {
    pub(crate) mod kernels = "benches/kernels/arguments.syclbin";
}

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod checked = "benches/kernels/arguments.syclbin";

    // SAFETY: the kernels read and write the first elements.
    unsafe extern "SYCL" {
        safe fn take_2 where out.len() >= 1, range.dimensions() == 1;
        safe fn take_4 where out.len() >= 1, a.len() >= 1, range.dimensions() == 1;
        safe fn take_10 where out.len() >= 1, a.len() >= 1, b.len() >= 1, c.len() >= 1, range.dimensions() == 1;
        safe fn take_40 where out.len() >= 1, a.len() >= 1, b.len() >= 1, c.len() >= 1, range.dimensions() == 1;
        safe fn take_77 where out.len() >= 1, a.len() >= 1, b.len() >= 1, c.len() >= 1, range.dimensions() == 1;
    }
}

/// Does something with a launch of one work-item with these arguments. Each number of them has a type of its own.
macro_rules! with_launch {
    ($kernels:expr, $memory:expr, $arguments:expr, |$launch:ident| $then:expr) => {{
        let Memory { out, inputs, .. } = $memory;
        let [a, b, c] = inputs;
        match $arguments {
            Arguments::Two => {
                let $launch = $kernels.take_2(out, 1);
                $then
            }
            Arguments::Four => {
                let $launch = $kernels.take_4(out, a, 1, 2.0);
                $then
            }
            Arguments::Ten => {
                let $launch = $kernels.take_10(out, a, b, c, 1, 2.0, 1, 2.0, 1, 2.0);
                $then
            }
            Arguments::Forty => {
                let $launch = $kernels.take_40(
                    out, a, b, c, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0,
                    1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0,
                );
                $then
            }
            Arguments::SeventySeven => {
                let $launch = $kernels.take_77(
                    out, a, b, c, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0,
                    1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0,
                    1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0,
                    1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1, 2.0, 1,
                );
                $then
            }
        }
    }};
}
pub(crate) use with_launch;

/// The bytes of that file.
pub(crate) const FILE: &[u8] = include_bytes!("../kernels/arguments.syclbin");

/// A queue, and memory for the kernels.
pub(crate) struct Memory {
    pub(crate) queue: Queue,
    pub(crate) out: Buffer<i32>,
    pub(crate) inputs: [Buffer<i32>; 3],
}

impl Memory {
    pub(crate) fn new() -> syclbin_rt::Result<Self> {
        let queue = Device::best()?.queue()?;
        let out = queue.zeroed(1)?;
        let input = || queue.zeroed(1);
        let inputs = [input()?, input()?, input()?];
        Ok(Self { queue, out, inputs })
    }

    pub(crate) fn device(&self) -> String {
        self.queue.device().name().to_owned()
    }

    pub(crate) fn finish(&self) -> Result<(), String> {
        self.queue.wait().map_err(told)
    }
}

/// The work-item that all contestants launch.
pub(crate) fn range() -> NdRange<1> {
    NdRange::new(1).local(1)
}

pub(crate) struct Stub {
    memory: Memory,
    kernels: kernels::Module,
}

impl Contestant for Stub {
    fn new() -> Result<Self, String> {
        let made = || {
            let memory = Memory::new()?;
            let kernels = kernels::Module::load(&memory.queue)?;
            Ok(Self { memory, kernels })
        };
        made().map_err(told)
    }

    fn device(&self) -> String {
        self.memory.device()
    }

    fn launch(&mut self, arguments: Arguments) -> Result<(), String> {
        let kernels = &self.kernels;
        // SAFETY: each kernel uses one element of each buffer.
        with_launch!(kernels, &mut self.memory, arguments, |launch| unsafe {
            launch.launch(range()).map_err(told)?;
        });
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.memory.finish()
    }
}

pub(crate) struct SafeStub {
    memory: Memory,
    kernels: checked::Module,
}

impl Contestant for SafeStub {
    fn new() -> Result<Self, String> {
        let made = || {
            let memory = Memory::new()?;
            let kernels = checked::Module::load(&memory.queue)?;
            Ok(Self { memory, kernels })
        };
        made().map_err(told)
    }

    fn device(&self) -> String {
        self.memory.device()
    }

    fn launch(&mut self, arguments: Arguments) -> Result<(), String> {
        let kernels = &self.kernels;
        with_launch!(kernels, &mut self.memory, arguments, |launch| {
            launch.launch(range()).map_err(told)?;
        });
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.memory.finish()
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn told(error: syclbin_rt::Error) -> String {
    error.to_string()
}
