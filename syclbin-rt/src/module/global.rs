// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device globals: variables of a module that keep their values between launches.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;
use syclbin::__private::failed_assert;
use syclbin::metadata::{DeviceGlobal, ModuleMetadata, without_run_prefix};

use crate::backend::{Failure, HostSlice, Memory, Program, UsmKind};
use crate::error::{Error, ErrorKind, Result, counted};
use crate::queue::Queue;

/// The maximum size of a value that [`Global::read`] returns, in bytes. Larger values might overflow the stack.
const MOST_ON_STACK: usize = 64 << 10;

/// A C++ `device_global`. Returned by [`Module::global`](crate::Module::global). Clones refer to the same variable.
///
/// Loading a module sets each variable to its initial value from C++, or to zero. Saving a module does not save the
/// current values.
///
/// Reading and writing wait for all commands enqueued earlier on the module's queue. Commands enqueued later read the
/// written value.
pub struct Global<T> {
    queue: Queue,
    variable: Variable,
    value: PhantomData<fn() -> T>,
}

#[derive(Clone)]
pub(crate) struct Variable {
    /// The unique identifier: the mangled name.
    id: String,
    /// The name that the code uses for the variable, if the file records it. For a variable that is neither static nor
    /// in a namespace, this is the unmangled name.
    pub(crate) code_name: Option<String>,
    /// The name by which the driver looks up the variable.
    symbol: CString,
    size: usize,
    storage: Storage,
}

/// Device globals by their unique identifiers.
pub(crate) type Variables = BTreeMap<String, Variable>;

#[derive(Clone)]
enum Storage {
    /// Memory outside the programs. Each program contains a pointer to it, or its kernels receive one as a hidden
    /// argument.
    Memory(Arc<Memory>),
    /// A copy inside each program (`device_image_scope`).
    Programs(Vec<Program>),
}

impl<T: Pod> Global<T> {
    pub(crate) fn new(queue: &Queue, variable: Variable) -> Result<Self> {
        let bytes = size_of::<T>();
        if bytes != variable.size {
            return Err(Error::invalid(format_args!(
                "device global {} is {} long, but the size of the Rust type is {bytes}",
                variable.id,
                counted(variable.size, "byte")
            )));
        }
        Ok(Self {
            queue: queue.clone(),
            variable,
            value: PhantomData,
        })
    }

    /// Returns the unique identifier, which is the mangled name.
    #[must_use]
    pub fn name(&self) -> String {
        self.variable.id.clone()
    }

    /// Reads the value, after all commands enqueued earlier on the module's queue.
    ///
    /// Reading a value of more than 64 KiB does not compile, because it might overflow the stack. Use
    /// [`Global::read_boxed`] instead.
    ///
    /// ```compile_fail,E0080
    /// # fn table() -> syclbin_rt::Global<[u8; 16 << 20]> {
    /// #     unimplemented!()
    /// # }
    /// let bytes: [u8; 16 << 20] = table().read()?;
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if an earlier kernel or one of its asserts failed, or if the driver rejects the request.
    pub fn read(&self) -> Result<T> {
        const {
            assert!(
                size_of::<T>() <= MOST_ON_STACK,
                "a value of more than 64 KiB might overflow the stack: use `read_boxed`"
            );
        }
        let mut value = T::zeroed();
        self.read_bytes(bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// Reads a value of any size onto the heap, without using the stack.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Global::read`]. Returns [`ErrorKind::OutOfMemory`] if the host does not have
    /// enough memory.
    pub fn read_boxed(&self) -> Result<Box<T>> {
        let value = bytemuck::allocation::try_zeroed_box::<T>();
        let mut value = value.map_err(|()| {
            let message = format_args!("cannot allocate {} bytes on the host", size_of::<T>());
            Error::new(ErrorKind::OutOfMemory, message)
        })?;
        self.read_bytes(bytemuck::bytes_of_mut(&mut *value))?;
        Ok(value)
    }

    fn read_bytes(&self, bytes: &mut [u8]) -> Result<()> {
        let (queue, symbol) = (self.queue.raw(), &self.variable.symbol);
        let read = match &self.variable.storage {
            Storage::Memory(memory) => queue.read(memory, 0, bytes),
            // All programs of a module contain the same value.
            Storage::Programs(programs) => programs.first().map_or(Ok(()), |program| {
                queue.transfer_variable(program, symbol, 0, HostSlice::To(bytes))
            }),
        };
        read.map_err(|failure| self.failed(failure, "reading"))?;
        self.queue.check_asserts()
    }

    /// Writes a value, after all commands enqueued earlier on the module's queue.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request.
    pub fn write(&self, value: &T) -> Result<()> {
        let bytes = bytemuck::bytes_of(value);
        let (queue, symbol) = (self.queue.raw(), &self.variable.symbol);
        let written = match &self.variable.storage {
            Storage::Memory(memory) => queue.write(memory, 0, bytes),
            Storage::Programs(programs) => programs.iter().try_for_each(|program| {
                queue.transfer_variable(program, symbol, 0, HostSlice::From(bytes))
            }),
        };
        written.map_err(|failure| self.failed(failure, "writing"))
    }

    fn failed(&self, failure: Failure, action: &str) -> Error {
        let action = format!("{action} device global {}", self.variable.id);
        Error::driver(failure, action, self.queue.device())
    }
}

/// Returns the unique identifiers of a module's device globals, except for the record of failed asserts.
pub(crate) fn names(metadata: &ModuleMetadata) -> impl Iterator<Item = &str> {
    let names = metadata.device_globals.names().map(without_run_prefix);
    names.filter(|id| *id != failed_assert::VARIABLE)
}

pub(crate) fn defines(metadata: &ModuleMetadata, name: &str) -> bool {
    let mut code_names = metadata.program.global_names.iter();
    let named = code_names.find(|(_, code_name)| *code_name == name);
    names(metadata)
        .any(|id| id == name || named.is_some_and(|(named, _)| without_run_prefix(named) == id))
}

/// Connects the variables of a built program: allocates memory for variables outside the program, and makes the program
/// point to that memory, which all programs share. The variables in `unreached` are missing from the program.
///
/// # Errors
///
/// Fails if a variable cannot be connected.
pub(crate) fn connect(
    queue: &Queue,
    program: &Program,
    metadata: &ModuleMetadata,
    unreached: &BTreeSet<String>,
    variables: &mut Variables,
) -> Result<(), String> {
    // Use a map, because a hostile file may contain a hundred thousand variables.
    let code_names: BTreeMap<&str, &String> = (metadata.program.global_names.iter())
        .map(|(name, code_name)| (without_run_prefix(name), code_name))
        .collect();
    for (name, global) in metadata.device_globals.iter() {
        let id = without_run_prefix(name);
        if unreached.contains(id) {
            continue;
        }
        let fail = |reason: &dyn fmt::Display| format!("device global {id}: {reason}");
        let DeviceGlobal { size, image_scope } = *global;
        let size = size as usize;
        let code_name = code_names.get(id).copied();
        let name = match code_name {
            // CUDA looks up variables by their name in the code, and OpenCL by their unique identifier.
            Some(name) if queue.device().facts().ptx.is_some() => name,
            _ => id,
        };
        // Check the identifier even if the driver looks up the variable by its other name.
        let symbol = CString::new(id).and(CString::new(name.as_bytes()));
        let symbol = symbol.map_err(|_| fail(&"its name contains a NUL"))?;
        if id == failed_assert::VARIABLE {
            queue.watch_asserts(program, symbol);
            continue;
        }
        let variable = match variables.entry(id.to_owned()) {
            Entry::Occupied(known) => {
                let known = known.into_mut();
                let is_in_programs = matches!(known.storage, Storage::Programs(_));
                if known.size != size || is_in_programs != image_scope {
                    return Err(fail(&"two modules declare it differently"));
                }
                known
            }
            Entry::Vacant(new) => {
                let storage = if image_scope {
                    Storage::Programs(Vec::new())
                } else {
                    let raw = queue.raw();
                    let memory = if queue.device().facts().lifts_variables {
                        raw.zeroed(None, size)
                    } else if queue.device().facts().has_addresses {
                        raw.zeroed(Some(UsmKind::Device), size)
                    } else {
                        return Err(fail(
                            &"the device lacks unified shared memory (cl_intel_unified_shared_memory)",
                        ));
                    };
                    let memory = memory.map_err(|failure| fail(&failure))?;
                    let initialized = initialize(queue, program, &symbol, &memory, size);
                    initialized.map_err(|failure| fail(&failure))?;
                    Storage::Memory(memory)
                };
                new.insert(Variable {
                    id: id.to_owned(),
                    code_name: code_name.cloned(),
                    symbol: symbol.clone(),
                    size,
                    storage,
                })
            }
        };
        match &mut variable.storage {
            // Several linked modules may list the same variable.
            Storage::Programs(programs) => {
                if !programs.iter().any(|known| Arc::ptr_eq(known, program)) {
                    programs.push(program.clone());
                }
            }
            Storage::Memory(memory) => {
                let pointer = queue.raw().point_variable(program, &symbol, memory);
                pointer.map_err(|failure| fail(&failure))?;
            }
        }
    }
    Ok(())
}

/// Copies a variable's initial value to `memory`, which consists of `size` zeroed bytes. In the program, the variable
/// consists of a pointer and the initial value, which follows at its own alignment.
fn initialize(
    queue: &Queue,
    program: &Program,
    symbol: &CStr,
    memory: &Memory,
    size: usize,
) -> Result<(), Failure> {
    const POINTER: usize = size_of::<u64>();
    /// The size of the host buffer for copying.
    const CHUNK: usize = 1 << 20;
    let raw = queue.raw();
    let rest = raw.variable_size(program, symbol)?.checked_sub(size);
    let Some(rest @ POINTER..) = rest else {
        return Ok(()); // no initial value
    };
    // `rest` is the size of the pointer and of all padding. With an alignment of up to 8, padding follows the value and
    // is less than 8 bytes. Otherwise it precedes the value.
    let start = 1 << rest.ilog2();
    let mut chunk = vec![0; size.min(CHUNK)];
    for offset in (0..size).step_by(CHUNK) {
        let part = &mut chunk[..CHUNK.min(size - offset)];
        raw.transfer_variable(program, symbol, start + offset, HostSlice::To(&mut *part))?;
        if part.iter().any(|byte| *byte != 0) {
            raw.write(memory, offset, part)?;
        }
    }
    Ok(())
}

impl<T> Clone for Global<T> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            variable: self.variable.clone(),
            value: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Global<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = std::any::type_name::<T>();
        write!(f, "Global({}: {value})", self.variable.id)
    }
}

#[cfg(test)]
#[path = "global_tests.rs"]
mod tests;
