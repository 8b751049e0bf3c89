// SPDX-License-Identifier: MIT OR Apache-2.0
//! A problem run by raw calls of the driver (`cudarc`), with a kernel that `nvcc` compiled.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use cudarc::driver::sys::{
    CUdeviceptr, CUfunction, CUmodule, CUresult, CUstream, cuCtxSetCurrent, cuDeviceGet,
    cuDevicePrimaryCtxRetain, cuInit, cuLaunchKernel, cuMemAlloc_v2, cuMemFree_v2,
    cuMemcpyDtoDAsync_v2, cuMemcpyDtoH_v2, cuMemcpyHtoD_v2, cuModuleGetFunction, cuModuleLoadData,
    cuStreamCreate, cuStreamSynchronize,
};

use crate::contest::Contestant;
use crate::problem::{Problem, Value};
use crate::{Result, words};

/// The context and a stream. Both end with the process.
#[derive(Clone, Copy)]
pub(crate) struct Raw {
    stream: CUstream,
}

/// A loaded module, which ends with the process.
pub(crate) struct Module(CUmodule);

/// Memory of the device.
pub(crate) struct Memory {
    pub(crate) address: CUdeviceptr,
    /// In words.
    len: usize,
}

fn check(call: &str, result: CUresult) -> Result<()> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(format!("{call}: {other:?}")),
    }
}

impl Raw {
    pub(crate) fn open() -> Result<Self> {
        let (mut device, mut context, mut stream) = (0, null_mut(), null_mut());
        // SAFETY: each call writes one value.
        unsafe {
            check("cuInit", cuInit(0))?;
            check("cuDeviceGet", cuDeviceGet(&raw mut device, 0))?;
            let retained = cuDevicePrimaryCtxRetain(&raw mut context, device);
            check("cuDevicePrimaryCtxRetain", retained)?;
            check("cuCtxSetCurrent", cuCtxSetCurrent(context))?;
            check("cuStreamCreate", cuStreamCreate(&raw mut stream, 1))?;
        }
        Ok(Self { stream })
    }

    /// Loads PTX or a cubin.
    pub(crate) fn load(self, code: &[u8]) -> Result<Module> {
        let mut module = null_mut();
        // The driver takes PTX as a string.
        let code = [code, &[0]].concat();
        // SAFETY: it is code that nvcc made, and ends with a zero byte.
        let loaded = unsafe { cuModuleLoadData(&raw mut module, code.as_ptr().cast()) };
        check("cuModuleLoadData", loaded)?;
        Ok(Module(module))
    }

    pub(crate) fn upload(self, data: &[u32]) -> Result<Memory> {
        let (mut address, size) = (0, size_of_val(data));
        // SAFETY: one value is written.
        let allocated = unsafe { cuMemAlloc_v2(&raw mut address, size) };
        check("cuMemAlloc", allocated)?;
        let len = data.len();
        let memory = Memory { address, len };
        // SAFETY: the memory has as many bytes as the words.
        let copied = unsafe { cuMemcpyHtoD_v2(address, data.as_ptr().cast(), size) };
        check("cuMemcpyHtoD", copied)?;
        Ok(memory)
    }

    pub(crate) fn download(self, memory: &Memory) -> Result<Vec<u32>> {
        self.wait()?;
        let mut data = vec![0u32; memory.len];
        let size = size_of_val(&data[..]);
        // SAFETY: the memory has as many words.
        let copied = unsafe { cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), memory.address, size) };
        check("cuMemcpyDtoH", copied)?;
        Ok(data)
    }

    /// Puts a copy into the stream.
    pub(crate) fn copy(self, from: &Memory, to: &Memory) -> Result<()> {
        let size = from.len.min(to.len) * size_of::<u32>();
        // SAFETY: both memories have as many bytes.
        let copied = unsafe { cuMemcpyDtoDAsync_v2(to.address, from.address, size, self.stream) };
        check("cuMemcpyDtoDAsync", copied)
    }

    pub(crate) fn wait(self) -> Result<()> {
        // SAFETY: the stream is alive.
        let ended = unsafe { cuStreamSynchronize(self.stream) };
        check("cuStreamSynchronize", ended)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: nothing else has the address. The call waits for the device.
        let _ = unsafe { cuMemFree_v2(self.address) };
    }
}

impl Module {
    fn function(&self, name: &str) -> Result<CUfunction> {
        let name = CString::new(name).map_err(words)?;
        let mut function = null_mut();
        // SAFETY: the module is loaded, and one handle is written.
        let found = unsafe { cuModuleGetFunction(&raw mut function, self.0, name.as_ptr()) };
        check("cuModuleGetFunction", found)?;
        Ok(function)
    }
}

/// The contestant.
pub(crate) struct Theirs {
    raw: Raw,
    function: CUfunction,
    blocks: [u32; 2],
    threads: [u32; 2],
    /// The values that `pointers` point to.
    _values: Box<[[u8; 8]]>,
    pointers: Vec<*mut c_void>,
    memory: Vec<Memory>,
    /// Which of `memory` has the result.
    result: usize,
}

impl Theirs {
    /// Finds the kernel in `module` and uploads its arguments.
    pub(crate) fn new<const N: usize>(
        raw: Raw,
        module: &Module,
        problem: &Problem<N>,
    ) -> Result<Self> {
        let (written, _) = problem.result()?;
        let (mut values, mut memory, mut result) = (Vec::new(), Vec::new(), 0);
        for (index, value) in problem.values.iter().enumerate() {
            let mut bytes = [0; 8];
            match value {
                Value::F32(value) => bytes[..4].copy_from_slice(&value.to_ne_bytes()),
                Value::U32(value) => bytes[..4].copy_from_slice(&value.to_ne_bytes()),
                Value::U64(value) => bytes = value.to_ne_bytes(),
                Value::Read(data) | Value::Write(data) => {
                    if index == written {
                        result = memory.len();
                    }
                    let uploaded = raw.upload(data)?;
                    bytes = uploaded.address.to_ne_bytes();
                    memory.push(uploaded);
                }
                Value::Local(_) => continue,
            }
            values.push(bytes);
        }
        let mut values = values.into_boxed_slice();
        let pointers = values.iter_mut().map(|value| value.as_mut_ptr().cast());
        Ok(Self {
            raw,
            function: module.function(problem.name)?,
            blocks: problem.blocks,
            threads: problem.threads,
            pointers: pointers.collect(),
            _values: values,
            memory,
            result,
        })
    }

    /// The words of the result.
    pub(crate) fn result(&self) -> Result<Vec<u32>> {
        self.raw.download(&self.memory[self.result])
    }
}

impl Contestant for Theirs {
    fn launch(&mut self) -> Result<()> {
        let (blocks, threads) = (self.blocks, self.threads);
        // SAFETY: the function and the stream are alive. There is a pointer for each parameter of the
        // kernel, to a value of its type. The kernel of a problem stays inside of its memory.
        let launched = unsafe {
            cuLaunchKernel(
                self.function,
                blocks[0],
                blocks[1],
                1,
                threads[0],
                threads[1],
                1,
                0,
                self.raw.stream,
                self.pointers.as_mut_ptr(),
                null_mut(),
            )
        };
        check("cuLaunchKernel", launched)
    }

    fn wait(&mut self) -> Result<()> {
        self.raw.wait()
    }
}
