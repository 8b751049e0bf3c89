//! What users write: the functions of `include_syclbin!`.

use syclbin_rt::{Buffer, Device, NdRange, Queue};

use crate::contestant::{Arguments, Contestant};

syclbin_rt::include_syclbin! {
    pub(crate) mod kernels = "benches/kernels/arguments.syclbin";
}

syclbin_rt::include_syclbin! {
    mod checked = "benches/kernels/arguments.syclbin";

    safe fn take_2 where out.len() >= 1;
    safe fn take_4 where out.len() >= 1, a.len() >= 1;
    safe fn take_10 where out.len() >= 1, a.len() >= 1, b.len() >= 1, c.len() >= 1;
}

/// The bytes of that file.
pub(crate) const FILE: &[u8] = include_bytes!("../kernels/arguments.syclbin");

/// A queue, and memory for the kernels.
struct World {
    queue: Queue,
    out: Buffer<i32>,
    inputs: [Buffer<i32>; 3],
}

impl World {
    fn new() -> syclbin_rt::Result<Self> {
        let queue = Device::best()?.queue()?;
        let out = queue.zeroed(1)?;
        let input = || queue.zeroed(1);
        let inputs = [input()?, input()?, input()?];
        Ok(Self { queue, out, inputs })
    }
}

/// The work-item that all contestants launch.
fn range() -> NdRange {
    NdRange::new(1).local(1)
}

pub(crate) struct Stub {
    world: World,
    kernels: kernels::Module,
}

impl Contestant for Stub {
    fn new() -> Result<Self, String> {
        let made = || {
            let world = World::new()?;
            let kernels = kernels::Module::load(&world.queue)?;
            Ok(Self { world, kernels })
        };
        made().map_err(told)
    }

    fn device(&self) -> String {
        self.world.queue.device().name().to_owned()
    }

    fn launch(&mut self, arguments: Arguments) -> Result<(), String> {
        let World { out, inputs, .. } = &mut self.world;
        let [a, b, c] = inputs;
        let kernels = &self.kernels;
        // SAFETY: each kernel uses one element of each buffer.
        let launched = unsafe {
            match arguments {
                Arguments::Two => kernels.take_2(out, 1).launch(range()),
                Arguments::Four => kernels.take_4(out, a, 1, 2.0).launch(range()),
                Arguments::Ten => kernels
                    .take_10(out, a, b, c, 1, 2.0, 3, 4.0, 5, 6.0)
                    .launch(range()),
            }
        };
        launched.map(drop).map_err(told)
    }

    fn finish(&mut self) -> Result<(), String> {
        self.world.queue.wait().map_err(told)
    }
}

pub(crate) struct SafeStub {
    world: World,
    kernels: checked::Module,
}

impl Contestant for SafeStub {
    fn new() -> Result<Self, String> {
        let made = || {
            let world = World::new()?;
            let kernels = checked::Module::load(&world.queue)?;
            Ok(Self { world, kernels })
        };
        made().map_err(told)
    }

    fn device(&self) -> String {
        self.world.queue.device().name().to_owned()
    }

    fn launch(&mut self, arguments: Arguments) -> Result<(), String> {
        let World { out, inputs, .. } = &mut self.world;
        let [a, b, c] = inputs;
        let kernels = &self.kernels;
        let launched = match arguments {
            Arguments::Two => kernels.take_2(out, 1).launch(range()),
            Arguments::Four => kernels.take_4(out, a, 1, 2.0).launch(range()),
            Arguments::Ten => kernels
                .take_10(out, a, b, c, 1, 2.0, 3, 4.0, 5, 6.0)
                .launch(range()),
        };
        launched.map(drop).map_err(told)
    }

    fn finish(&mut self) -> Result<(), String> {
        self.world.queue.wait().map_err(told)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn told(error: syclbin_rt::Error) -> String {
    error.to_string()
}
