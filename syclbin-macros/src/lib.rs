// SPDX-License-Identifier: MIT OR Apache-2.0
//! `include_syclbin!`: embeds a SYCLBIN file and writes a typed launch function for every kernel.
//!
//! Use this macro through crate `syclbin-rt`, which re-exports it and which the generated code calls. Crate
//! `syclbin-expand` generates the code.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

/// Embeds a SYCLBIN file and generates a module with one typed function for every kernel in it.
///
/// ```ignore
/// syclbin_rt::include_syclbin! {
///     /// The kernels of kernels/saxpy.cpp.
///     pub mod kernels = "saxpy";
///
///     // SAFETY: work-item i reads x[i] and y[i] and writes y[i], for i < n.
///     unsafe extern "SYCL" {
///         safe fn saxpy where x.len() >= n, y.len() >= n;
///     }
/// }
/// ```
///
/// The string is the name that build.rs passed to `syclbin_build::Build::compile`. If it ends in `.syclbin`,
/// it is the path of a file, relative to the directory of Cargo.toml.
///
/// # What is generated
///
/// - `kernels::Module` with `load(&Queue)`, which compiles the kernels for the queue's device,
/// - the unsafe functions `load_file(&Queue, path)` and `from_bytes(&Queue, bytes)` of `Module`. They load another
///   file that has the same kernels,
/// - a method of `Module` for every kernel: `module.saxpy(2.0, &x, &mut y, n)` returns a
///   `syclbin_rt::Launch`, whose `launch(range)` runs it. The range has the dimensions of the kernel, which
///   compilers check. A C++ namespace becomes a Rust module with a struct
///   `Kernels`, and a field of that name: `module.fill.iota(0.0, &mut out, n)`,
/// - a struct for every struct that a kernel takes,
/// - a builder for specialization constants (`Module::builder(&queue).radius(3).load()`),
/// - a method for every device global (`module.table()?.write(&[1, 2, 3, 4])`),
/// - a builder method that links other files, whose functions the kernels import
///   (`Module::builder(&queue).link(shapes::Module::FILE).load()`),
/// - `kernels::SYCLBIN`, the bytes of the file at 8-byte alignment.
///
/// `cargo syclbin expand FILE` prints the generated code.
///
/// | C++ | Rust |
/// |---|---|
/// | `bool`, `signed char`, `char`, `short`, `int`, `long`, `long long` | `bool`, `i8`, `i8`, `i16`, `i32`, `i64`, `i64` |
/// | `unsigned char` to `unsigned long long` | `u8` to `u64` |
/// | `float`, `double` | `f32`, `f64` |
/// | `sycl::half`, `bfloat16` | `half::f16`, `half::bf16` (feature `half` of `syclbin-rt`, on by default) |
/// | an enumeration | the integer beneath it |
/// | `sycl::vec<float, 2>`, `marray`, `id`, `range` | `[f32; 2]`, an array; a `vec` of three has the size of four |
/// | `Particle`, a struct by value | `kernels::Particle`, or a type of your own |
/// | `T *` that the kernel only reads (`const`, or proven by the compiler) | `&DeviceSlice<T>`: a `&Buffer<T>`, an array, a part of one |
/// | `T *` that it may write | `&mut DeviceSlice<T>`: a `&mut Buffer<T>` ... |
/// | `bool *`, a `bool` in a struct | `DeviceSlice<u8>`, `u8`: every byte is 0 or 1 |
/// | `T *` that may be null, which an item says: `fn f where mask: Option;` | `Option<&DeviceSlice<T>>`, `Option<&mut DeviceSlice<T>>` |
/// | `void *`, a pointer to what the file does not describe | `&DeviceSlice` or `&mut DeviceSlice` of any `Pod` type |
/// | `T *` in a struct | `DevicePointer<T>` |
/// | `work_group_memory` of a fixed size, `kernel_handler` | nothing: the function passes it |
/// | `work_group_memory<T[]>`, `dynamic_work_group_memory` | `LocalMemory<T>` |
/// | `local_accessor<T, 1>`, `local_accessor<T, 2>` | `usize`, `[usize; 2]`: how many elements |
/// | `accessor<T, 1>` | `&DeviceSlice<T>` or `&mut DeviceSlice<T>`, all of it |
/// | `accessor<T, 2>` | `(&DeviceSlice<T>, [usize; 2])`: the elements, and how they lie |
/// | `accessor<float4, 2, access_mode::read, target::image>` | `&Image<2, _>` of a format whose `Element` is `f32` |
/// | the same with `access_mode::write` | `&mut Image<2, _>` |
/// | `sampler` | `&Sampler` |
///
/// The signature also has the parameters that the compiler removed from the code. A kernel that is compiled
/// for one work-group size has a constant for it (`Module::SUM_LOCAL_SIZE`).
///
/// # Ranges
///
/// | kernel | `launch(range)` takes |
/// |---|---|
/// | one dimension | a number, or `NdRange::new(n).local(64)` |
/// | two or three dimensions | `[rows, columns]`, or `NdRange::new([rows, columns]).local([8, 8])` |
/// | compiled for one work-group size | the same without work-groups (`syclbin_rt::Range`) |
/// | `single_task` | `()` |
/// | of a file that does not record the dimensions | any of these (`syclbin_rt::AnyRange`) |
///
/// # Structs
///
/// Structs are `#[repr(C)]` and [`Pod`](https://docs.rs/bytemuck/latest/bytemuck/trait.Pod.html), with gaps
/// as fields: write `Particle { mass: 1.0, ..Default::default() }`. When your crate is compiled, a check
/// compares size and offsets with those in C++. You can give your own type, which is checked in the same way,
/// or another name:
///
/// ```ignore
/// syclbin_rt::include_syclbin! {
///     mod kernels = "particles";
///     types { Particle => crate::Particle, ns::Pair<int, 2> as Pair }
/// }
/// ```
///
/// Two structs with the same name and different layouts in one file are an error.
///
/// # Names
///
/// The name of a function depends only on the kernel. The name of a template instance includes its arguments
/// (`scale<int>` is `scale_int`). The name of an overload includes its parameters (`f(float *, int)` is
/// `f_float_ptr_int`). A reserved Rust name becomes raw (`r#move`) or gets an underscore (`self_`). A function
/// of `Module` keeps its name, so a kernel `load` becomes `load_`. Two kernels with the same Rust name are an
/// error: rename one of them, or leave kernels out:
///
/// ```ignore
/// syclbin_rt::include_syclbin! {
///     mod kernels = "vector_ops";
///     only { saxpy, fill::*, scale<int> } // or: skip { .. }
///     fn scale<int> as scale_ints;
///     pub(crate) fn fill::iota;
///     fn host_0 as doubled;               // a lambda without a name, by its function
/// }
/// ```
///
/// Write a kernel as in C++: `saxpy`, `fill::iota`, `scale<int>`, `f(float *, int)`.
///
/// # Contracts
///
/// Launching a kernel is unsafe, because the file does not say how far the kernel reaches into its buffers. A
/// `safe fn` in `unsafe extern "SYCL" { .. }` declares a contract. Under its conditions, the kernel does nothing
/// undefined: whatever the arguments are, whatever the buffers hold, and whatever else uses them meanwhile. The
/// author of the contract promises that by the word `unsafe`, and the lint `unsafe_code` sees it. A launch that
/// breaks a condition is an error, which names the kernel, the argument and the values in the condition. Nothing
/// of such a launch reaches the driver.
///
/// A condition is a Rust expression that is true or false. In it,
///
/// - an integer parameter is a number of 128 bits, and so are members and elements of parameters that are
///   passed by value: `world.grid.sizes[1]`. They are read with their C++ layout, also from your own type. Floats
///   are `f32` or `f64`, and a `bool` is a `bool`. Parameters have their C++ names, such as `in` or `self`. A
///   parameter without a name, and one called `range`, is `arg2`, counted from 0;
/// - `x.len()` is the number of elements of a buffer, an accessor or work-group memory (of a `void *`, of bytes);
/// - `x.is_none()` and `x.is_some()` say whether a pointer is null. A null pointer has a length of 0;
/// - `x.align()` of a pointer or an accessor is the largest power of two that is known to divide its address;
/// - `x.size(0)` to `x.size(2)` of an accessor is `get_range()` of C++;
/// - `range.items()`, `range[0]` to `range[2]` and `range.dimensions()` are of the launch;
/// - other names are those of the module around `include_syclbin!`, such as constants.
///
/// Numbers have the operators of integers, `min`, `max`, `div_ceil` and `next_multiple_of`. A condition is false if
/// a number in it overflows or is divided by zero. It is also false if it compares a length with a negative
/// number: for an `int n`, `x.len() >= n` holds for -1, and a kernel that converts -1 to `size_t` writes out of
/// bounds. To allow such numbers, say so: `n < 0 || x.len() >= n`.
///
/// ```ignore
/// unsafe extern "SYCL" {
///     // SAFETY: work-item i reads mask[i], if there is a mask, and writes out[i / 64].
///     safe fn reduce where mask: Option, mask.is_none() || mask.len() >= range.items(),
///         out.len() >= range.items().div_ceil(64);
/// }
/// ```
///
/// Some condition has to name the length of every buffer, and of an accessor of two or three dimensions the size
/// of each dimension. Otherwise a kernel without any bound would be safe. Write `x.len() >= 0` if that is meant.
///
/// If the file does not record how many dimensions a kernel has, its contract states it, in these words:
/// `range.dimensions() == 2`, or `range.dimensions() == 0` for a `single_task`. The launch then takes such
/// ranges only.
///
/// Some conditions are implied, and the documentation of the function lists them:
///
/// - A number must be `>= 0` where a condition uses it and the file does not say whether it is signed.
/// - A `bool` inside of a value must be 0 or 1.
/// - The argument for a pointer to a type with `alignas` must be aligned to that. Generated structs have this
///   alignment in Rust too, and arrays of them are allocated with it. A buffer has the alignment that its
///   driver gives to all memory.
/// - The argument for a `void *` must begin where its memory begins, or at a multiple of the device's memory
///   alignment. The reason is that the kernel may read any type there. A condition on `x.align()` replaces
///   this one: `x.align() >= 16` for a kernel that reads `float4`.
///
/// A kernel that takes device pointers in structs cannot be safe. A kernel in a file whose device globals
/// hold device pointers cannot be safe either.
///
/// # Errors
///
/// The macro reports all mistakes at once, each at its token: a missing or damaged file, names that the file
/// does not have, and the mistakes described above. A kernel with an unsupported parameter is left out. The
/// documentation of the module says which kernel and why. A call of the kernel is a compile error with the
/// same reason. A crate with `#![no_implicit_prelude]` has to `skip` the kernel.
#[proc_macro]
pub fn include_syclbin(input: TokenStream) -> TokenStream {
    syclbin_expand::include(input.into()).into()
}
