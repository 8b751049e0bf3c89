// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules: programs with their variables in memory, and their kernels.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Context;
use super::image::{self, Refused};
use super::memory::{Kind, Memory};
use super::table;
use crate::call::{Code, Outcome};
use crate::code::{Code as Routine, Linked, Program};
use crate::ptx::Space;
use crate::run::MOST_LOCAL;

/// What a block has of shared memory without asking, and at most.
pub(crate) const SHARED_PLAIN: usize = 48 << 10;
pub(crate) const SHARED_MOST: usize = 227 << 10;
pub(crate) const MOST_THREADS: u32 = 1024;
/// Bytes of parameters at most.
const MOST_PARAMETERS: usize = 4096;

/// A variable that can be asked for: its name, address and size.
pub(crate) type Global = (String, u64, u64);

/// A module.
pub(crate) struct Module {
    pub(crate) handle: u64,
    pub(crate) context: u64,
    pub(crate) program: Program,
    pub(crate) globals: Vec<Global>,
    addresses: Vec<u64>,
    /// Functions that were asked for, by the numbers of their kernels.
    functions: Mutex<Vec<Arc<Function>>>,
}

/// A kernel of a module.
pub(crate) struct Function {
    pub(crate) handle: u64,
    pub(crate) name: String,
    pub(crate) module: Arc<Module>,
    pub(crate) kernel: usize,
    /// What a launch may ask for of shared memory.
    pub(crate) most_shared: AtomicUsize,
}

impl Module {
    /// Loads an image into the memory of a context.
    pub(crate) fn load(context: &Context, image: image::Image) -> Result<Arc<Self>, Refused> {
        let linked = image.link()?;
        let memory = Memory::get()?;
        let mut addresses = Vec::new();
        let placed = Self::place(context, memory, &linked, &mut addresses);
        let (program, globals) = match placed {
            Ok(placed) => placed,
            Err(refused) => {
                for address in addresses.iter().filter(|address| **address != 0) {
                    let _ = memory.free(*address, &[Kind::Variable]);
                }
                return Err(refused);
            }
        };
        let module = Arc::new(Self {
            handle: table::reserve(),
            context: context.handle,
            program,
            globals,
            addresses,
            functions: Mutex::default(),
        });
        table::insert(module.handle, Arc::clone(&module));
        Ok(module)
    }

    fn place(
        context: &Context,
        memory: &Memory,
        linked: &Linked,
        addresses: &mut Vec<u64>,
    ) -> Result<(Program, Vec<Global>), Refused> {
        for variable in linked.variables() {
            let size = variable.size as u64;
            addresses.push(match variable.space {
                Space::Shared => 0,
                _ => memory.on_device(
                    Kind::Variable,
                    context.device,
                    context.handle,
                    size.max(1),
                    variable.align as u64,
                )?,
            });
        }
        let mut globals = Vec::new();
        for (number, variable) in linked.variables().enumerate() {
            if variable.space == Space::Shared {
                continue;
            }
            let mut content = linked
                .content(number, addresses)
                .map_err(Refused::unlinked)?;
            content.resize(variable.size, 0);
            let place = memory.bytes(addresses[number], content.len() as u64, false)?;
            // SAFETY: the variable has so many bytes, and nobody else knows of it yet.
            unsafe { place.copy_from_nonoverlapping(content.as_ptr(), content.len()) };
            if linked.is_visible(number) {
                globals.push((
                    variable.name.clone(),
                    addresses[number],
                    variable.size as u64,
                ));
            }
        }
        let program = linked.place(addresses)?;
        for code in program.codes.iter().filter(|code| code.entry) {
            if code.parameter_bytes > MOST_PARAMETERS {
                let what = format!(
                    "{} has more than {MOST_PARAMETERS} bytes of parameters",
                    code.name
                );
                return Err(Refused::invalid(what));
            }
            if code.local_bytes > MOST_LOCAL {
                let what = format!("{} uses too much local data", code.name);
                return Err(Refused::invalid(what));
            }
            if code.shared_bytes > SHARED_PLAIN {
                let what = format!("{} uses too much shared data", code.name);
                return Err(Refused::invalid(what));
            }
        }
        Ok((program, globals))
    }

    /// Frees what it has.
    pub(crate) fn unload(&self) -> Outcome<()> {
        let memory = Memory::get()?;
        for address in self.addresses.iter().filter(|address| **address != 0) {
            memory.free(*address, &[Kind::Variable])?;
        }
        let mut functions = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for function in functions.drain(..) {
            let _ = table::remove::<Function>(function.handle);
        }
        Ok(())
    }

    /// The kernels, by number.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = (usize, &Routine)> {
        let codes = self.program.codes.iter().enumerate();
        codes.filter(|(_, code)| code.entry)
    }

    /// The kernel with a number, by the same handle each time.
    pub(crate) fn function(self: &Arc<Self>, kernel: usize) -> Arc<Function> {
        let mut functions = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = functions.iter().find(|function| function.kernel == kernel) {
            return Arc::clone(known);
        }
        let name = self.program.codes[kernel].name.clone();
        let function = Arc::new(Function {
            handle: table::reserve(),
            name,
            module: Arc::clone(self),
            kernel,
            most_shared: AtomicUsize::new(SHARED_PLAIN - self.program.codes[kernel].shared_bytes),
        });
        table::insert(function.handle, Arc::clone(&function));
        functions.push(Arc::clone(&function));
        function
    }
}

impl Function {
    pub(crate) fn routine(&self) -> &Routine {
        &self.module.program.codes[self.kernel]
    }

    /// Threads that a block may have.
    pub(crate) fn most_threads(&self) -> u32 {
        self.routine()
            .most_threads
            .unwrap_or(MOST_THREADS)
            .min(MOST_THREADS)
    }

    /// Whether a launch of such sizes can be.
    pub(crate) fn check(&self, grid: [u32; 3], block: [u32; 3], shared: usize) -> Outcome<()> {
        let within = |sizes: [u32; 3], most: [u32; 3]| {
            sizes
                .iter()
                .zip(most)
                .all(|(size, most)| (1..=most).contains(size))
        };
        let threads = block
            .iter()
            .try_fold(1u32, |all, size| all.checked_mul(*size));
        if !within(grid, [0x7fff_ffff, 0xffff, 0xffff])
            || !within(block, [MOST_THREADS, MOST_THREADS, 64])
            || threads.is_none_or(|threads| threads > MOST_THREADS)
            || shared > self.most_shared.load(Ordering::Relaxed)
            || self
                .routine()
                .required_threads
                .is_some_and(|required| required != block)
        {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        if threads.is_some_and(|threads| threads > self.most_threads()) {
            return Err(Code::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
        }
        Ok(())
    }
}
