//! The same kernels in CUDA, compiled by `nvcc`, through raw calls of the driver (`cudarc`).

use std::ffi::{CString, OsStr, c_uint, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;

use cudarc::driver::sys::{
    CUdeviceptr, CUfunction, CUmodule, CUresult, CUstream, cuCtxSetCurrent, cuDeviceGet,
    cuDevicePrimaryCtxRetain, cuInit, cuLaunchKernel, cuMemAlloc_v2, cuMemcpyDtoH_v2,
    cuMemcpyHtoD_v2, cuModuleGetFunction, cuModuleLoadData, cuStreamCreate, cuStreamSynchronize,
};

/// Nothing is released: the process ends with it.
pub(crate) struct Raw {
    module: CUmodule,
    stream: CUstream,
}

/// A kernel with the grid it is launched over.
pub(crate) struct Kernel {
    function: CUfunction,
    blocks: [c_uint; 2],
    threads: [c_uint; 2],
}

fn check(call: &str, result: CUresult) -> Result<(), String> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(format!("{call}: {other:?}")),
    }
}

/// PTX of `kernels.cu`.
fn ptx(nvcc: &OsStr, arch: &str, folder: &Path) -> Result<CString, String> {
    let output = folder.join("kernels.ptx");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/gpu/kernels.cu");
    let mut command = Command::new(nvcc);
    command.args(["-O3", "-ptx", &format!("-arch={arch}")]);
    let status = command.arg(source).arg("-o").arg(&output).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("nvcc ended with {status}")),
        Err(error) => return Err(format!("{}: {error}", nvcc.display())),
    }
    let text = std::fs::read(&output).map_err(|error| error.to_string())?;
    CString::new(text).map_err(|error| error.to_string())
}

impl Raw {
    pub(crate) fn new(nvcc: &OsStr, arch: &str, folder: &Path) -> Result<Self, String> {
        let text = ptx(nvcc, arch, folder)?;
        let (mut device, mut context) = (0, null_mut());
        let (mut module, mut stream) = (null_mut(), null_mut());
        // SAFETY: the driver is there, as `syclbin-rt` has found a device of it; each call writes one
        // value, and the text ends with a zero byte.
        unsafe {
            check("cuInit", cuInit(0))?;
            check("cuDeviceGet", cuDeviceGet(&raw mut device, 0))?;
            let retained = cuDevicePrimaryCtxRetain(&raw mut context, device);
            check("cuDevicePrimaryCtxRetain", retained)?;
            check("cuCtxSetCurrent", cuCtxSetCurrent(context))?;
            let loaded = cuModuleLoadData(&raw mut module, text.as_ptr().cast());
            check("cuModuleLoadData", loaded)?;
            check("cuStreamCreate", cuStreamCreate(&raw mut stream, 1))?;
        }
        Ok(Self { module, stream })
    }

    pub(crate) fn kernel(
        &self,
        name: &str,
        blocks: [c_uint; 2],
        threads: [c_uint; 2],
    ) -> Result<Kernel, String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let mut function = null_mut();
        // SAFETY: the module is loaded, and one handle is written.
        let found = unsafe { cuModuleGetFunction(&raw mut function, self.module, name.as_ptr()) };
        check("cuModuleGetFunction", found)?;
        Ok(Kernel {
            function,
            blocks,
            threads,
        })
    }

    /// Memory with these numbers.
    pub(crate) fn upload(&self, data: &[f32]) -> Result<CUdeviceptr, String> {
        let (mut memory, size) = (0, size_of_val(data));
        // SAFETY: the memory has as many bytes as the numbers.
        unsafe {
            check("cuMemAlloc", cuMemAlloc_v2(&raw mut memory, size))?;
            check(
                "cuMemcpyHtoD",
                cuMemcpyHtoD_v2(memory, data.as_ptr().cast(), size),
            )?;
        }
        Ok(memory)
    }

    pub(crate) fn download(&self, memory: CUdeviceptr, len: usize) -> Result<Vec<f32>, String> {
        self.wait()?;
        let mut data = vec![0.0f32; len];
        // SAFETY: the memory has as many numbers.
        let copied = unsafe { cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), memory, len * 4) };
        check("cuMemcpyDtoH", copied)?;
        Ok(data)
    }

    /// Launches a kernel, whose arguments `pointers` point to.
    ///
    /// # Safety
    ///
    /// There is a pointer for each parameter of the kernel, to a value of its type, and what it does with
    /// them stays inside of the memory.
    pub(crate) unsafe fn launch(
        &self,
        kernel: &Kernel,
        pointers: &mut [*mut c_void],
    ) -> Result<(), String> {
        let (blocks, threads) = (kernel.blocks, kernel.threads);
        // SAFETY: the function and the stream are alive, and the rest is as the caller says.
        let launched = unsafe {
            cuLaunchKernel(
                kernel.function,
                blocks[0],
                blocks[1],
                1,
                threads[0],
                threads[1],
                1,
                0,
                self.stream,
                pointers.as_mut_ptr(),
                null_mut(),
            )
        };
        check("cuLaunchKernel", launched)
    }

    pub(crate) fn wait(&self) -> Result<(), String> {
        // SAFETY: the stream is alive.
        check("cuStreamSynchronize", unsafe {
            cuStreamSynchronize(self.stream)
        })
    }
}
