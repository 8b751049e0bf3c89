//! The text of `--help`: every option, by topic.

pub(crate) const HELP: &str = "\
Usage: syclbin-clang [-fsycl] -fsyclbin[=STATE] [-o FILE] [OPTIONS] SOURCE-OR-SYCLBIN...

Compiles SYCL kernels to a SYCLBIN file, as DPC++'s clang++ does. Several sources go into one file; so
do SYCLBIN files of the states input and object, whose modules join it.

What is made:
  -fsyclbin[=STATE]  input, object or executable (the default). Input and object may leave device
                     functions to be found when files are linked; in an executable all are there
  -fsycl-link        make an executable of SYCLBIN files alone; as -fsyclbin=executable
  -o FILE            the file to write (default: a.syclbin)
  -c, -fsycl, --offload-new-driver        accepted, as this is what happens anyway

Sources:
  -I DIR, -isystem DIR, -iquote DIR, -idirafter DIR     where headers are looked for
  --sysroot=DIR, -isysroot DIR            where the C++ standard library is looked for
  -include FILE, -imacros FILE, -D NAME[=VALUE], -U NAME, -Wp,OPTION,...
  -x c++             accepted, as sources are taken for SYCL C++ whatever they are called
  --                 only names of files follow
  @FILE              arguments from FILE, quoted as in a shell; it may name other such files

Language and code:
  -O0..-O3, -Os, -g, -std=..., -f..., -m..., -W..., -w, -Xclang OPTION     as in clang
  -fsycl-device-code-split=auto|per_source|per_kernel|off   how kernels are divided into modules
  -f[no-]sycl-allow-device-image-dependencies     whether modules may use functions of each other;
                     input and object imply it

Targets:
  -fsycl-targets=TARGET,...               code for each of them, in one file
      spir64         SPIR-V, compiled by the device's driver when a program runs (the default)
      spir64_x86_64  native code for the processor, made on Intel's CPU device
      intel_gpu_...  native code for this Intel GPU, made by ocloc, which must be on PATH
      spir64_gen     the same, with -Xsycl-target-backend=spir64_gen '-device NAME,...'
      nvptx64-nvidia-cuda                 PTX, compiled by NVIDIA's driver when a program runs: for sm_75, and
                     so for all later GPUs
      nvidia_gpu_... PTX for the lowest GPU that is named, and native code for each, made by ptxas
  --optional-target=nvptx64-nvidia-cuda   PTX as well; a source that cannot be compiled to it is warned of, and
                     goes without
  --offload-arch=NAME,...                 the same by processor (avx2, skx ...) or GPU (pvc, sm_80 ...)
  -Xsycl-target-backend[=TARGET] OPTIONS, -Xs OPTIONS   for the compiler of a native target: ocloc's
                     own; for spir64_x86_64 -march=PROCESSOR and --bo=OPTION of clBuildProgram; for
                     nvptx64-nvidia-cuda --offload-arch=GPU,... (or --cuda-gpu-arch=) and ptxas's own
  -Xsycl-target-frontend[=TARGET] OPTION  for clang, which is told the same for all targets
  --cuda-path=DIR    the CUDA whose mathematics and ptxas are used (default: those of `cargo syclbin
                     toolchain install --component nvidia`)

Asserts:
  -DNDEBUG                  leaves them out
  -DSYCLBIN_NATIVE_ASSERT   keeps those of device code, which are refused if neither is defined: one that
                     fails ends the process that launched the kernel

Rules for make:
  -MD, -MMD          write a depfile, with or without system headers
  -MF FILE           its name (default: the output with suffix .d); for one source
  -MT TARGET, -MQ TARGET                  what the rule makes (default: the output), as it is or quoted
  -MP                a rule without prerequisites for each header, so that it may be deleted

This program:
  -v                 print the steps, and do them
  -###               print the steps only
  -Qunused-arguments                      no warnings of options that have no effect
  --version, --help

Environment:
  SYCLBIN_PTX_INLINE=off    leaves calls of built-in functions in PTX, which are inlined by default
                     (or with on), so that the effect can be measured

Options for a linker (-L, -l, -Wl, -shared ...) have no effect here and are warned of. Others go to clang,
which refuses those it does not know.

It ends with 0 if all is well, and with 1 if not, or with what another compiler ended with. A compiler
that crashes on one of several inputs, or on a native target, makes it end with 254; a crash on a
single source is its own, and ends it by a signal.
";
