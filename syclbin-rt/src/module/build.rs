// SPDX-License-Identifier: MIT OR Apache-2.0
//! Building before the first use, on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::{Error, ErrorKind, Result};
use crate::load::build::Part;
use crate::load::loaded_module::{LoadedModule, NativeCode};
use crate::module::Module;

impl Module {
    /// Builds all kernels now, on several threads. Otherwise each is built when it is first used.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("saxpy.syclbin").unwrap();
    /// # let queue = syclbin_rt::Device::best_for(&bytes)?.queue()?;
    /// # // SAFETY: a compiler made the file.
    /// let module = unsafe { syclbin_rt::Module::load(&queue, &bytes)? };
    /// module.build()?;
    /// // From here on, no launch waits for a compiler, and `module.kernel` finds each kernel.
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When some kernels do not run on the device. The error has all reasons, with the driver's build logs. All
    /// other kernels are built.
    pub fn build(&self) -> Result<()> {
        let builder = &self.0.builder;
        let modules = self.0.modules.iter();
        let modules = modules.filter(|module| module.kernels(builder).next().is_some());
        let modules: Vec<_> = modules.collect();
        self.build_modules(&modules);
        let native = NativeCode::new(builder, &self.0.modules);
        let mut reasons = Vec::new();
        for module in modules {
            if module.program().is_some() {
                let kernels = module.kernels(builder).map(|name| self.kernel(name));
                reasons.extend(kernels.filter_map(|kernel| Some(kernel.err()?.to_string())));
            } else if native.module_of(builder, module).is_none() {
                reasons.extend(module.misfits(builder));
            }
        }
        self.all_built(reasons)
    }

    /// Builds the kernels with these names now, on several threads. The names are those that
    /// [`kernel`](Self::kernel) takes.
    ///
    /// # Errors
    ///
    /// When some of the kernels do not exist or do not run on the device. The error has all reasons. All other
    /// kernels are built.
    pub fn build_kernels<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<()> {
        let names: Vec<&str> = names.into_iter().collect();
        let kernels = in_parallel(&names, |name| self.kernel(name));
        let errors = kernels.into_iter().filter_map(Result::err);
        self.all_built(errors.map(|error| error.to_string()).collect())
    }

    pub(crate) fn all_built(&self, reasons: Vec<String>) -> Result<()> {
        if reasons.is_empty() {
            return Ok(());
        }
        let device = self.queue().device();
        let message = format_args!("not all kernels run on {device}");
        Err(Error::listing(ErrorKind::Unavailable, message, reasons))
    }

    /// Builds all code of `modules`. Native code comes first: other code is only built for kernels without it.
    pub(crate) fn build_modules(&self, modules: &[&LoadedModule]) {
        let builder = &self.0.builder;
        in_parallel(modules, |module| module.build(builder, &Part::Native));
        let native = NativeCode::new(builder, &self.0.modules);
        let lacks_native = |module: &&&LoadedModule| {
            module.program().is_none() && native.module_of(builder, module).is_none()
        };
        let others: Vec<_> = modules.iter().filter(lacks_native).collect();
        in_parallel(&others, |module| module.build(builder, &Part::Code));
    }
}

/// Calls `run` with each item, on as many threads as the process has processors.
fn in_parallel<T: Sync, R: Send>(items: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || {
        let claimed = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let items = claimed.map_while(|index| Some((index, run(items.get(index)?))));
        items.collect::<Vec<_>>()
    };
    let mut done = thread::scope(|scope| {
        let others = 1..processors.min(items.len());
        let others: Vec<_> = others.map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(items) => done.extend(items),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
