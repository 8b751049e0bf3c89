// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenarios that the format's reference runtime is tested with, on the CPU device and through
//! stubs. Kernels and names are ours; what is shown is the same.
//!
//! | scenario of the reference | here |
//! |---|---|
//! | basic: input, object, executable, ahead of time | `load::kernel_runs_from_every_kind_of_file` |
//! | dae: an argument that the kernel never reads | `load::unread_argument_must_still_be_given`; removed ones: `device::rest` |
//! | dg: device globals | `globals::*` |
//! | optional kernel features | `load::kernel_is_missing_without_its_aspects` |
//! | link: input and object, plain and with native code | `link::function_is_found_in_every_file_kind` |
//! | link with mixed levels of optimization | `link::code_of_different_levels_of_optimization_is_linked` |
//! | link with code that is compiled at run time | `compiler::scenarios::run_time_kernel_links_with_embedded_file` |
//! | the same in both directions | `compiler::scenarios::linked_module_has_only_its_own_kernels` |
//! | link of files by the compiler | `link::files_that_the_compiler_linked_run`; with other options: `compiler::driver` |
//! | content: round trip, of several targets, native code of compiled SPIR-V | `save::*` |
//! | content: architecture, kernels without names, specialization constants | `save::*` |
//! | collision of specialization constants | `constants::*` |
//! | native objects without imports; native objects that import, loaded only | `link::*`, `load::*` |
//! | what a dump says of a simple kernel | `load::file_has_its_state_and_one_image` |
//! | indirect access | `compiler::parameters` and `device::types::structs`: pointers inside of structs |
//! | exceptions: bytes, states, devices | `refused::*`; damaged files: `syclbin-rt/tests/it/module/loading.rs` |
//! | errors of compiling and linking | `compiler::linking`, `compiler::clang`, `syclbin-rt/tests/it/module/link.rs` |
//! | malformed input of tools | `cargo-syclbin/tests/it/files` |
//!
//! Not here:
//!
//! - `fast_link`, and native objects that are linked: no OpenCL driver links native code, and every
//!   form of a program has it. Such an object is refused by name (`compiler::scenarios`).
//! - Sources that are compiled inside of the running program: `syclbin-clang`, a process, does it.
//! - Function pointers (`function_pointer_case`, `link_sycl_inline`): see
//!   `compiler::scenarios::call_through_function_pointer_is_refused`.
//! - Several devices in one bundle, and states as types: a module is loaded for one device, and made
//!   executable whatever the state of its file.
#![allow(unsafe_code)] // loading a file and launching a kernel are unsafe

mod constants;
mod globals;
pub(crate) mod link;
mod load;
mod refused;
mod save;
