// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of `--help`: every option, by topic.

pub(crate) const HELP: &str = "\
Usage: syclbin-clang [-fsycl] -fsyclbin[=STATE] [-o FILE] [OPTIONS] INPUT...

Compiles SYCL kernels to a SYCLBIN file, as DPC++'s clang++ does. Several sources go into one file.
SYCLBIN files of the states input and object can be inputs too; their modules become part of the file.
So does the device code of DPC++'s objects (.o), static libraries (.a) and LLVM bitcode (.bc) for spir64.
A member of a static library is linked if it has kernels, or defines what other inputs need.

Output:
  -fsyclbin[=STATE]  input, object or executable (the default). Input and object may call device
                     functions that other files define; an executable defines all of them
  -fsycl-link        link SYCLBIN files and objects only, so that a program need not link their SPIR-V;
                     implies -fsyclbin=executable
  -o FILE            the file to write (default: a.syclbin)
  -c, -fsycl, --offload-new-driver        accepted; this is the default

Sources:
  -I DIR, -isystem DIR, -iquote DIR, -idirafter DIR     directories with headers
  --sysroot=DIR, -isysroot DIR            root of the C++ standard library
  -include FILE, -imacros FILE, -D NAME[=VALUE], -U NAME, -Wp,OPTION,...
  -x c++             accepted; every source is compiled as SYCL C++
  --                 only file names follow
  @FILE              arguments from FILE, quoted as in a shell; FILE may contain other @FILE

Language and code:
  -O0..-O3, -Os, -g, -std=..., -f..., -m..., -W..., -w, -Xclang OPTION     as in clang
  -fsycl-device-code-split=auto|per_source|per_kernel|off   how kernels are divided into modules
  -f[no-]gpu-rdc, -f[no-]sycl-rdc, --[no-]offload-rdc       whether device code may use functions of
                     other sources of the same file (the default)
  -f[no-]sycl-allow-device-image-dependencies     whether modules may use functions of each other;
                     input and object imply it

Targets:
  -fsycl-targets=TARGET,...               code for each of them, in one file
      spir64         SPIR-V, compiled by the device's driver when a program runs (the default)
      spir64_x86_64  native code for the processor, made on Intel's CPU device
      intel_gpu_...  native code for this Intel GPU, made by ocloc, which must be on PATH. Its warnings,
                     such as register spills, are shown
      spir64_gen     the same, with -Xsycl-target-backend=spir64_gen '-device NAME,...'
      nvptx64-nvidia-cuda                 PTX, compiled by NVIDIA's driver when a program runs: for sm_75, and
                     so for all later GPUs
      nvidia_gpu_... PTX for the lowest GPU that is named, and native code for each, made by ptxas
                     and nvlink
  --optional-target=nvptx64-nvidia-cuda   PTX as well; if a source cannot be compiled to PTX,
                     this program warns and leaves out its PTX
  --offload-arch=NAME,...                 the same by processor (avx2, skx ...) or GPU (pvc, sm_80 ...)
  -Xsycl-target-backend[=TARGET] OPTIONS, -Xs OPTIONS   for the compiler of a native target: ocloc's
                     own; for spir64_x86_64 -march=PROCESSOR and --bo=OPTION of clBuildProgram; for
                     nvptx64-nvidia-cuda --offload-arch=GPU,... (or --cuda-gpu-arch=) and ptxas's own
  -Xsycl-target-frontend[=TARGET] OPTION  for clang; applies to all targets
  --cuda-path=DIR    the CUDA toolkit whose libdevice and ptxas are used (default: the component that
                     `cargo syclbin toolchain install --component nvidia` installs)

Asserts:
  An assert that fails in device code is recorded, and the Rust program that launched the kernel gets an
  error when it waits.
  -DNDEBUG                  removes asserts
  -DSYCLBIN_NATIVE_ASSERT   leaves asserts to the driver: a failed assert ends the process that launched the
                     kernel

Rules for make:
  -MD, -MMD          write a depfile, with or without system headers
  -MF FILE           its name (default: the output with suffix .d); for one source
  -MT TARGET, -MQ TARGET                  what the rule makes (default: the output), as it is or quoted
  -MP                a rule without prerequisites for each header, so that headers may be deleted

This program:
  -v                 print the steps, and do them
  -###               print the steps only
  -Qunused-arguments                      no warnings about options without effect
  --version, --help

Options for a linker (-L, -l, -Wl, -shared ...) have no effect, and cause a warning. Other options go to
clang, which rejects unknown options.

Exit status: 0 on success, 1 on failure, or the status of another compiler that failed. A compiler crash on
one of several inputs, or on a native target, gives 254. A crash on a single source ends this program by
the same signal.
";
