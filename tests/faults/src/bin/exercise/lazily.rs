// SPDX-License-Identifier: MIT OR Apache-2.0
//! When modules are built, and when arguments are set.

use std::thread;

use faults::Control;
use syclbin::{Container, Syclbin};
use syclbin_rt::{Arg, Device, Launch, Module, Queue, Result};

use crate::answer;
use crate::steps::{VECTOR_OPS, executes, load, load_bytes};

/// The modules of the large file.
const MODULES: usize = 1000;
const THREADS: usize = 16;

/// Returns what is wrong.
pub(crate) fn all(control: &Control, device: &Device) -> Vec<String> {
    let mut builds = Builds {
        control,
        wrong: Vec::new(),
    };
    if let Err(error) = device.queue().and_then(|queue| {
        many_modules(&mut builds, &queue)?;
        one_module(&mut builds, &queue)?;
        arguments(&mut builds, &queue)
    }) {
        builds.wrong.push(error.to_string());
    }
    builds.wrong
}

/// Counts calls, mostly those that build.
struct Builds<'c> {
    control: &'c Control,
    wrong: Vec<String>,
}

impl Builds<'_> {
    fn expect<T>(&mut self, what: &str, expected: u64, run: impl FnOnce() -> T) -> T {
        self.expect_calls(&["clBuildProgram", "clCompileProgram"], what, expected, run)
    }

    fn expect_calls<T>(
        &mut self,
        functions: &[&str],
        what: &str,
        expected: u64,
        run: impl FnOnce() -> T,
    ) -> T {
        self.control.disarm();
        let result = run();
        let calls = self.control.report().calls;
        let found: u64 = functions.iter().filter_map(|name| calls.get(*name)).sum();
        if found != expected {
            self.wrong.push(format!(
                "{what}: {functions:?} called {found} times, not {expected}"
            ));
        }
        result
    }

    fn check(&mut self, what: &str, holds: bool) {
        if !holds {
            self.wrong.push(what.to_owned());
        }
    }
}

fn name(index: usize) -> String {
    format!("k{index:05}")
}

/// A file with a kernel in each of its modules. No two modules have the same code.
fn many() -> Vec<u8> {
    let constants = answer::constants();
    let one = answer::file(&constants);
    let one = syclbin::read::parse(&one).expect("a good file");
    let modules = (0..MODULES).map(|index| {
        let mut module = one.modules[0].clone();
        module
            .metadata
            .remove_set(syclbin::property::set::KERNEL_NAMES);
        module.add_kernel_name(name(index));
        let code = module.images[0].bytes.to_mut();
        let place = code.windows(6).position(|bytes| bytes == b"answer");
        code[place.expect("the name")..][..6].copy_from_slice(name(index).as_bytes());
        module
    });
    let file = Syclbin {
        modules: modules.collect(),
        ..one.clone()
    };
    syclbin::write::to_vec(&file, Container::default()).expect("a good file")
}

fn runs(queue: &Queue, module: &Module, index: usize) -> Result<bool> {
    let kernel = module.kernel(&name(index));
    let mut out = queue.zeroed::<u32>(3)?;
    // SAFETY: it writes three numbers.
    unsafe { Launch::new(&kernel, &["out"], [Arg::write(&mut out)]).launch(1)? };
    Ok(queue.download(&out)? == [70, 80, 90])
}

fn many_modules(builds: &mut Builds<'_>, queue: &Queue) -> Result<()> {
    let file = many();
    let module = builds.expect("loading", 0, || load_bytes(queue, &file))?;
    builds.expect("asking for images and names", 0, || {
        let chosen = module.images().filter(|choice| choice.image().is_some());
        (chosen.count(), module.kernel_names().count())
    });
    let first = builds.expect("a first launch", 1, || runs(queue, &module, 7))?;
    let again = builds.expect("a second launch", 0, || runs(queue, &module, 7))?;
    builds.check("both launches have right results", first && again);

    let each = |index: &(dyn Fn(usize) -> usize + Sync)| {
        thread::scope(|scope| {
            let module = &module;
            let threads =
                (0..THREADS).map(|thread| scope.spawn(move || runs(queue, module, index(thread))));
            let threads: Vec<_> = threads.collect();
            let mut results = threads.into_iter().map(thread::ScopedJoinHandle::join);
            results.all(|result| matches!(result, Ok(Ok(true))))
        })
    };
    let same = builds.expect("one kernel on all threads", 1, || each(&|_| 100));
    let others = builds.expect("a kernel on each thread", THREADS as u64, || {
        each(&|thread| 200 + thread)
    });
    builds.check("all threads have right results", same && others);

    builds.control.arm("clBuildProgram 1 -11").expect("a plan");
    let refused = module.kernel(&name(300)).map(drop);
    let refused = refused
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    builds.check(
        "the error names the kernel and the call",
        refused.starts_with("kernel k00300 does not run on ") && refused.contains("clBuildProgram"),
    );
    let again = builds.expect("a refused kernel again", 0, || module.kernel(&name(300)));
    let again = again.err().map(|error| error.to_string());
    builds.check("the error stays the same", again == Some(refused));
    let next = builds.expect("a kernel after a refused one", 1, || {
        runs(queue, &module, 301)
    })?;
    builds.check("a refused module spoils no other", next);

    let names: Vec<String> = (302..306).map(name).collect();
    let names = || names.iter().map(String::as_str);
    builds.expect("four kernels", 4, || module.build_kernels(names()))?;
    builds.expect("four kernels again", 0, || module.build_kernels(names()))?;
    let both = module.build_kernels([name(300).as_str(), "none"]);
    let both = both
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    builds.check(
        "all errors are returned",
        both.contains("kernel k00300 does not run") && both.contains("none"),
    );
    Ok(())
}

/// The kernels of a module are compiled one by one, until the whole module is.
fn one_module(builds: &mut Builds<'_>, queue: &Queue) -> Result<()> {
    let module = builds.expect("loading", 0, || load(queue, VECTOR_OPS))?;
    let names: Vec<&str> = module.kernel_names().collect();
    for name in &names {
        builds.expect(name, 1, || module.kernel(name))?;
    }
    let file = test_files::read(VECTOR_OPS);
    let file = syclbin::read::parse(&file).expect("a good file");
    let several = file.modules.iter();
    let several = several.filter(|module| module.kernel_names().nth(1).is_some());
    builds.expect("the whole file", several.count() as u64, || module.build())?;
    builds.expect("the whole file again", 0, || module.build())?;
    builds.expect("a kernel of the whole file", 0, || module.kernel(names[0]))?;
    Ok(())
}

/// A launch sets only the arguments that differ from those of the launch before.
fn arguments(builds: &mut Builds<'_>, queue: &Queue) -> Result<()> {
    let kernel = load(queue, VECTOR_OPS)?.kernel("_ZN18__sycl_kernel_fill4iotaEfPfi");
    let mut buffers = [queue.zeroed::<f32>(16)?, queue.zeroed::<f32>(16)?];
    let mut launch = |what: &str, expected: u64, start: f32, buffer: usize| {
        let out = &mut buffers[buffer];
        let ended = builds.expect_calls(&["clSetKernelArg"], what, expected, || {
            let args = [Arg::scalar(start), Arg::write(out), Arg::scalar(16i32)];
            // SAFETY: it writes 16 numbers.
            unsafe { Launch::new(&kernel, &["start", "out", "count"], args).launch(1) }
        })?;
        ended.wait()?;
        let expected: Vec<f32> = (0..16u8).map(|i| start + f32::from(i)).collect();
        let right = !executes() || queue.download(out)? == expected;
        builds.check("each launch has the right result", right);
        Ok(())
    };
    launch("a first launch", 3, 1.0, 0)?;
    launch("the same launch", 0, 1.0, 0)?;
    launch("another number", 1, 2.0, 0)?;
    launch("another buffer", 1, 2.0, 1)?;
    launch("the first launch again", 2, 1.0, 0)?;
    kernel.as_ref().map(syclbin_rt::Kernel::native).ok();
    launch("the same launch, but others have the handle", 3, 1.0, 0)?;
    Ok(())
}
