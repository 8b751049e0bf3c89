// SPDX-License-Identifier: MIT OR Apache-2.0
//! A problem run by `syclbin-rt`.

use std::path::Path;

use syclbin_rt::{AnyRange, Arg, Buffer, Kernel, Launch, Module, NdRange, Queue};

use crate::contest::Contestant;
use crate::directory::at;
use crate::problem::{Problem, Value};
use crate::{Result, words};

/// An argument, with its memory on the device.
enum Given {
    F32(f32),
    U32(u32),
    U64(u64),
    Read(Buffer<u32>),
    Write(Buffer<u32>),
    Local(usize),
}

/// The contestant.
pub(crate) struct Ours<'p, const N: usize> {
    problem: &'p Problem<N>,
    queue: Queue,
    kernel: syclbin_rt::Result<Kernel>,
    given: [Given; N],
    range: AnyRange,
}

impl<'p, const N: usize> Ours<'p, N> {
    /// Loads the kernel from `file` and uploads its arguments.
    pub(crate) fn new(queue: &Queue, file: &Path, problem: &'p Problem<N>) -> Result<Self> {
        let upload = |data: &[u32]| queue.upload(data).map_err(words);
        let given = problem.values.iter().map(|value| {
            Ok(match value {
                Value::F32(value) => Given::F32(*value),
                Value::U32(value) => Given::U32(*value),
                Value::U64(value) => Given::U64(*value),
                Value::Read(data) => Given::Read(upload(data)?),
                Value::Write(data) => Given::Write(upload(data)?),
                Value::Local(bytes) => Given::Local(*bytes),
            })
        });
        let given: Vec<Given> = given.collect::<Result<_>>()?;
        let given = given.try_into().map_err(|_| "a value is missing")?;
        let threads = problem.threads.map(|number| number as usize);
        let [x, y] = [0, 1].map(|axis| problem.blocks[axis] as usize * threads[axis]);
        // SYCL names the slowest dimension first.
        let range = match (y, threads) {
            (1, [group, _]) => NdRange::new(x).local(group).into(),
            (_, [columns, rows]) => NdRange::new([y, x]).local([rows, columns]).into(),
        };
        Ok(Self {
            problem,
            queue: queue.clone(),
            kernel: kernel(queue, file)?,
            given,
            range,
        })
    }

    /// The words of the result.
    pub(crate) fn result(&self) -> Result<Vec<u32>> {
        let (index, _) = self.problem.result()?;
        match &self.given[index] {
            Given::Write(buffer) => self.queue.download(buffer).map_err(words),
            _ => Err("the result is not in memory".to_owned()),
        }
    }
}

impl<const N: usize> Contestant for Ours<'_, N> {
    fn launch(&mut self) -> Result<()> {
        let args = self.given.each_mut().map(|given| match given {
            Given::F32(value) => Arg::scalar(*value),
            Given::U32(value) => Arg::scalar(*value),
            Given::U64(value) => Arg::scalar(*value),
            Given::Read(buffer) => Arg::read(buffer),
            Given::Write(buffer) => Arg::write(buffer),
            Given::Local(bytes) => Arg::local(*bytes),
        });
        let launch = Launch::new(&self.kernel, self.problem.parameters, args);
        // SAFETY: a problem has the arguments of its kernel, which stays inside of their memory.
        unsafe { launch.launch(self.range) }
            .map(drop)
            .map_err(words)
    }

    fn wait(&mut self) -> Result<()> {
        self.queue.wait().map_err(words)
    }
}

/// The only kernel of `file`.
pub(crate) fn kernel(queue: &Queue, file: &Path) -> Result<syclbin_rt::Result<Kernel>> {
    let bytes = std::fs::read(file).map_err(|error| at(file, &error))?;
    // SAFETY: the compiler made the file.
    let module = unsafe { Module::load(queue, &bytes) }.map_err(words)?;
    let mut names = module.kernel_names();
    let name = names.next().ok_or_else(|| at(file, &"it has no kernel"))?;
    Ok(module.kernel(name))
}
