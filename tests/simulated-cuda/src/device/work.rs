// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a stream or a graph does: kernels, copies, fills and functions of the host.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{CUresult, CUstream};

use super::graph::Graph;
use super::memory::{Kind, Memory};
use super::module::Function;
use super::stream::Shared;
use crate::call::{Code, Outcome, callback};
use crate::run::{Fault, Launch, Stop, launch};

/// A piece of work.
#[derive(Clone)]
pub(crate) enum Work {
    Kernel(Arc<Kernel>),
    Copy(Copy),
    Fill(Fill),
    Host(Host),
    /// Memory of the pool.
    Free(u64),
    /// The nodes of another graph, one after another.
    Child(Graph),
    Nothing,
}

/// A launch.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) function: Arc<Function>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: usize,
    /// Whether all blocks run at the same time.
    pub(crate) cooperative: bool,
    pub(crate) parameters: Vec<u8>,
}

impl From<Kernel> for Work {
    fn from(kernel: Kernel) -> Self {
        Self::Kernel(Arc::new(kernel))
    }
}

/// One end of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) address: u64,
    /// Bytes from one row to the next, and from one layer to the next.
    pub(crate) pitch: u64,
    pub(crate) layer: u64,
    /// Whether it may be memory that the driver does not know.
    pub(crate) or_host: bool,
}

/// A copy of layers of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) to: End,
    pub(crate) from: End,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

/// A fill of rows with a value of 1, 2 or 4 bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    pub(crate) to: u64,
    pub(crate) pitch: u64,
    pub(crate) value: u32,
    pub(crate) element: u64,
    /// Elements in a row.
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// A function of the program and its argument.
#[derive(Clone, Copy)]
pub(crate) enum Host {
    Plain(unsafe extern "C" fn(*mut c_void), usize),
    /// It is called after an error too, and told of it.
    Callback(
        unsafe extern "C" fn(CUstream, CUresult, *mut c_void),
        u64,
        usize,
    ),
}

const WORKSPACE: u64 = 64;

/// One kernel at a time: so atomic operations of one are atomic for all.
static DEVICE: Mutex<()> = Mutex::new(());

impl Work {
    /// Does it. An error is one that the context does not survive.
    pub(crate) fn run(&self) -> Outcome<()> {
        match self {
            Self::Kernel(kernel) => kernel.run(),
            // It was checked when it was handed in; what is gone since then is an error of the device.
            Self::Copy(copy) => copy.run().map_err(|_| Code::CUDA_ERROR_ILLEGAL_ADDRESS),
            Self::Fill(fill) => fill.run().map_err(|_| Code::CUDA_ERROR_ILLEGAL_ADDRESS),
            Self::Host(Host::Plain(function, data)) => {
                let data = std::ptr::with_exposed_provenance_mut(*data);
                // SAFETY: whoever handed it in vouches for the function and its argument.
                callback(|| unsafe { function(data) });
                Ok(())
            }
            Self::Free(address) => Memory::get()?.free(*address, &[Kind::Pooled]),
            Self::Child(graph) => graph.nodes.iter().try_for_each(|node| node.work.run()),
            Self::Host(Host::Callback(..)) | Self::Nothing => Ok(()),
        }
    }

    /// Tells those who want to be told of errors too.
    pub(crate) fn told(&self, shared: &Shared) {
        if let Self::Host(Host::Callback(function, stream, data)) = self {
            let status = shared.check().err().unwrap_or(Code::CUDA_SUCCESS);
            let stream = std::ptr::without_provenance_mut(*stream as usize);
            let data = std::ptr::with_exposed_provenance_mut(*data);
            // SAFETY: whoever handed it in vouches for the function and its argument.
            callback(|| unsafe { function(stream, status, data) });
        }
    }

    /// Whether all addresses are good now.
    pub(crate) fn check(&self) -> Outcome<()> {
        match self {
            Self::Copy(copy) => copy.rows(|_, _| Ok(())),
            Self::Fill(fill) => fill.rows(|_| Ok(())),
            _ => Ok(()),
        }
    }
}

impl Kernel {
    fn run(&self) -> Outcome<()> {
        let _one = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = Memory::get()?;
        let workspace = if self.cooperative {
            self.workspace(memory)?
        } else {
            0
        };
        let view = memory.view();
        let launched = Launch {
            program: &self.function.module.program,
            kernel: self.function.kernel,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.shared,
            parameters: &self.parameters,
            workspace,
        };
        let ended = launch(&launched, &view).map_err(|stop| self.code(stop));
        if self.cooperative {
            let _ = memory.free(workspace, &[Kind::Variable]);
        }
        ended
    }

    /// Memory where the blocks of a cooperative launch meet.
    fn workspace(&self, memory: &Memory) -> Outcome<u64> {
        let context = self.function.module.context;
        let workspace = memory.on_device(Kind::Variable, 0, context, WORKSPACE, 256)?;
        let place = memory.bytes(workspace, WORKSPACE, false)?;
        // SAFETY: it has so many bytes, and no other thread has its address yet.
        unsafe { place.write_bytes(0, WORKSPACE as usize) };
        Ok(workspace)
    }

    fn code(&self, stop: Stop) -> Code {
        let name = &self.function.name;
        let Stop {
            fault,
            line,
            block,
            thread,
        } = stop;
        // A real driver does not say this anywhere; whoever reads a failed test wants to know.
        eprintln!(
            "simulated CUDA device: {name} failed at line {line} of its text, block {block:?}, thread {thread:?}: {fault:?}"
        );
        match fault {
            Fault::Address => Code::CUDA_ERROR_ILLEGAL_ADDRESS,
            Fault::Alignment => Code::CUDA_ERROR_MISALIGNED_ADDRESS,
            Fault::Failed => Code::CUDA_ERROR_LAUNCH_FAILED,
            Fault::Assertion => Code::CUDA_ERROR_ASSERT,
            Fault::Stack => Code::CUDA_ERROR_HARDWARE_STACK_ERROR,
        }
    }
}

impl Copy {
    /// Of bytes that lie in a row.
    pub(crate) fn plain(to: u64, to_host: bool, from: u64, from_host: bool, bytes: u64) -> Self {
        let end = |address, or_host| End {
            address,
            pitch: bytes,
            layer: bytes,
            or_host,
        };
        Self {
            to: end(to, to_host),
            from: end(from, from_host),
            width: bytes,
            height: 1,
            depth: 1,
        }
    }

    fn rows(&self, mut each: impl FnMut(*mut u8, *mut u8) -> Outcome<()>) -> Outcome<()> {
        let memory = Memory::get()?;
        for layer in 0..self.depth {
            for row in 0..self.height {
                let find = |end: &End| {
                    let before = layer * end.layer + row * end.pitch;
                    let address = end.address.wrapping_add(before);
                    memory.bytes(address, self.width, end.or_host)
                };
                each(find(&self.to)?, find(&self.from)?)?;
            }
        }
        Ok(())
    }

    fn run(&self) -> Outcome<()> {
        self.rows(|to, from| {
            // SAFETY: both have so many bytes: of allocations, or as whoever handed it in vouches.
            unsafe { std::ptr::copy(from, to, self.width as usize) };
            Ok(())
        })
    }
}

impl Fill {
    fn rows(&self, mut each: impl FnMut(*mut u8) -> Outcome<()>) -> Outcome<()> {
        let memory = Memory::get()?;
        let bytes = self.width.checked_mul(self.element);
        let bytes = bytes.ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        for row in 0..self.height {
            let address = self.to.wrapping_add(row * self.pitch);
            each(memory.bytes(address, bytes, false)?)?;
        }
        Ok(())
    }

    fn run(&self) -> Outcome<()> {
        let value = self.value.to_le_bytes();
        self.rows(|to| {
            for at in 0..(self.width * self.element) as usize {
                let byte = value[at % self.element as usize];
                // SAFETY: the row has so many bytes of an allocation.
                unsafe { to.add(at).write(byte) };
            }
            Ok(())
        })
    }
}
