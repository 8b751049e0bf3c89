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
    ($kernels:expr, $buffers:expr, $arguments:expr, $values:expr, |$launch:ident| $then:expr) => {{
        let Buffers { out, inputs } = $buffers;
        let [a, b, c] = inputs;
        let Values { first, n, x } = $values;
        match $arguments {
            Arguments::Two => {
                let $launch = $kernels.take_2(out, first);
                $then
            }
            Arguments::Four => {
                let $launch = $kernels.take_4(out, a, first, x);
                $then
            }
            Arguments::Ten => {
                let $launch = $kernels.take_10(out, a, b, c, first, x, n, x, n, x);
                $then
            }
            Arguments::Forty => {
                let $launch = $kernels.take_40(
                    out, a, b, c, first, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x,
                    n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x,
                );
                $then
            }
            Arguments::SeventySeven => {
                let $launch = $kernels.take_77(
                    out, a, b, c, first, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x,
                    n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x,
                    n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x, n, x,
                    n,
                );
                $then
            }
        }
    }};
}
pub(crate) use with_launch;

/// The bytes of that file.
pub(crate) const FILE: &[u8] = include_bytes!("../kernels/arguments.syclbin");

/// Buffers for the kernels.
pub(crate) struct Buffers {
    pub(crate) out: Buffer<i32>,
    pub(crate) inputs: [Buffer<i32>; 3],
}

/// Numbers for the kernels: the first integer, and all others.
#[derive(Clone, Copy)]
pub(crate) struct Values {
    pub(crate) first: i32,
    pub(crate) n: i32,
    pub(crate) x: f32,
}

impl Values {
    pub(crate) const ONCE: Self = Self {
        first: 1,
        n: 1,
        x: 2.0,
    };
}

/// A queue, and arguments for the kernels.
pub(crate) struct Memory {
    pub(crate) queue: Queue,
    pub(crate) buffers: [Buffers; 2],
    launches: i32,
}

impl Memory {
    pub(crate) fn new() -> syclbin_rt::Result<Self> {
        let queue = Device::best()?.queue()?;
        let buffer = || queue.zeroed(1);
        let buffers = || -> syclbin_rt::Result<Buffers> {
            let inputs = [buffer()?, buffer()?, buffer()?];
            let out = buffer()?;
            Ok(Buffers { out, inputs })
        };
        let buffers = [buffers()?, buffers()?];
        let launches = 0;
        Ok(Self {
            queue,
            buffers,
            launches,
        })
    }

    /// The arguments of the next launch: all differ from those of the launch before, or only one number does.
    fn next(&mut self, all: bool) -> (&mut Buffers, Values) {
        self.launches = self.launches.wrapping_add(1);
        let first = self.launches;
        let [even, odd] = &mut self.buffers;
        if !all {
            let values = Values::ONCE;
            return (even, Values { first, ..values });
        }
        let x = (first & 1) as f32;
        let n = first;
        let buffers = if first & 1 == 0 { even } else { odd };
        (buffers, Values { first, n, x })
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

/// Changes one number from launch to launch, or all arguments.
pub(crate) struct Stub<const ALL: bool> {
    memory: Memory,
    kernels: kernels::Module,
}

impl<const ALL: bool> Contestant for Stub<ALL> {
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
        let (buffers, values) = self.memory.next(ALL);
        // SAFETY: each kernel uses one element of each buffer.
        with_launch!(kernels, buffers, arguments, values, |launch| unsafe {
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
        let (buffers, values) = self.memory.next(false);
        with_launch!(kernels, buffers, arguments, values, |launch| {
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
