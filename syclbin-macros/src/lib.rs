// SPDX-License-Identifier: MIT OR Apache-2.0
//! Provides `include_syclbin!`, which embeds a SYCLBIN file and generates a typed launch function for every kernel.
//!
//! Use this macro through the crate `syclbin-rt`, which re-exports it, because the generated code calls that crate. The
//! crate `syclbin-expand` generates the code.
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
/// The string is the name that `build.rs` passed to `syclbin_build::Build::compile`. A string that ends in `.syclbin`
/// is a file path relative to the directory that contains `Cargo.toml`.
///
/// # Generated items
///
/// - `kernels::Module` with `load(&Queue)`, which loads the kernels for the queue's device. Each kernel is compiled
///   when it is first used, unless `build()` or `build_kernels(symbols)` compiles it earlier. `best_device()` returns
///   the best device for the file, `builder(&queue)` creates a builder, and `FILE` is the file itself, for `link`,
/// - the unsafe methods `load_file(path)` and `load_bytes(bytes)` of `Module::builder(&queue)`, which load another file
///   with the same kernels,
/// - a method of `Module` for every kernel: `module.saxpy(2.0, &x, &mut y, n)` returns a `syclbin_rt::Launch`,
///   whose `launch(range)` runs the kernel. The range must have as many dimensions as the kernel, which rustc checks. A
///   C++ namespace becomes a Rust module with a struct `Kernels`, and a field named after the namespace:
///   `module.fill.iota(0.0, &mut out, n)`,
/// - a Rust struct for every C++ struct among the parameter types of the kernels,
/// - a builder for specialization constants (`Module::builder(&queue).radius(3).load()`),
/// - a method for every device global (`module.table()?.write(&[1, 2, 3, 4])`),
/// - a builder method that links other files whose functions the kernels import
///   (`Module::builder(&queue).link(shapes::Module::FILE).load()`),
/// - `kernels::KERNELS`, which describes each kernel that has a function,
/// - `kernels::SYCLBIN`, the bytes of the file, aligned to 8 bytes.
///
/// `cargo syclbin expand FILE` prints the generated code.
///
/// | C++ | Rust |
/// |---|---|
/// | `bool`, `signed char`, `char`, `short`, `int`, `long`, `long long` | `bool`, `i8`, `i8`, `i16`, `i32`, `i64`, `i64` |
/// | `unsigned char` to `unsigned long long` | `u8` to `u64` |
/// | `float`, `double` | `f32`, `f64` |
/// | `sycl::half`, `bfloat16` | `half::f16`, `half::bf16` (feature `half` of `syclbin-rt`) |
/// | an enumeration | its underlying integer type |
/// | `std::complex<double>` | `[f64; 2]`: the real part, then the imaginary part |
/// | `sycl::vec<float, 2>`, `marray`, `id`, `range` | `[f32; 2]`, an array; a three-element `vec` occupies four elements |
/// | `Particle`, a struct by value | `kernels::Particle`, or a type of your own |
/// | `T *` that the kernel only reads (`const`, or proven by the compiler) | `&DeviceSlice<T>`: a `&Buffer<T>`, an array, or a slice of one |
/// | `T *` that the kernel may write | `&mut DeviceSlice<T>`: a `&mut Buffer<T>`, an array, or a slice of one |
/// | `bool *`, a `bool` in a struct | `DeviceSlice<u8>`, `u8`: every byte must be 0 or 1 |
/// | `T *` that may be null, declared by an item: `fn f where mask: Option;` | `Option<&DeviceSlice<T>>`, `Option<&mut DeviceSlice<T>>` |
/// | `void *`, or a pointer to a type that the file does not describe | `&DeviceSlice` or `&mut DeviceSlice` of any `Pod` type |
/// | `T *` in a struct | `DevicePointer<T>` if `T` is a number or a vector, from `array.pointer()`; otherwise `DevicePointer<()>`, from `array.pointer().cast()` |
/// | `work_group_memory` of a fixed size, `kernel_handler` | no parameter: the function passes it |
/// | `work_group_memory<T[]>`, `dynamic_work_group_memory` | `LocalMemory<T>` |
/// | `local_accessor<T, 1>`, `local_accessor<T, 2>` | `usize`, `[usize; 2]`: the number of elements |
/// | `accessor<T, 1>` | `&DeviceSlice<T>` or `&mut DeviceSlice<T>`; the accessor covers all elements |
/// | `accessor<T, 2>` | `(&DeviceSlice<T>, [usize; 2])`: the elements and their extent in each dimension |
/// | `accessor<float4, 2, access_mode::read, target::image>` | `&Image<2, _>` with a format whose `Element` is `f32` |
/// | the same with `access_mode::write` | `&mut Image<2, _>` |
/// | `sampler` | `&Sampler` |
///
/// The signature includes parameters that the compiler optimized away. For a kernel compiled for one work-group
/// size, that size is a constant, such as `Module::SUM_LOCAL_SIZE`.
///
/// # Ranges
///
/// | kernel | argument of `launch(range)` |
/// |---|---|
/// | one dimension | a number, or `NdRange::new(n).local(64)` |
/// | two or three dimensions | `[rows, columns]`, or `NdRange::new([rows, columns]).local([8, 8])` |
/// | compiled for one work-group size | the same without work-groups (`syclbin_rt::Range`) |
/// | `single_task` | `()` |
/// | in a file that does not record the dimensions | any of these (`syclbin_rt::AnyRange`) |
///
/// # Structs
///
/// Structs are `#[repr(C)]` and [`Pod`](https://docs.rs/bytemuck/latest/bytemuck/trait.Pod.html), with padding as
/// explicit fields, so write `Particle { mass: 1.0, ..Default::default() }`. A compile-time check compares the size
/// and offsets with the C++ layout. You can substitute your own type, which is checked in the same way, or rename
/// the generated type. If another generated struct contains your type, it must also implement `Debug` and `PartialEq`.
///
/// ```ignore
/// syclbin_rt::include_syclbin! {
///     mod kernels = "particles";
///     types { Particle => crate::Particle, ns::Pair<int, 2> as Pair }
/// }
/// ```
///
/// If two structs in one file share a name but differ in layout, kernels that take either of them are left out.
///
/// # Names
///
/// The name of a template instance includes its arguments (`scale<int>` becomes `scale_int`). An overload's name
/// includes the parameters that differ (`f(float *)` becomes `f_float_ptr`). A Rust keyword becomes a raw identifier
/// (`r#move`) or gets a trailing underscore (`self_`). So does a kernel called `FILE`, `best_device`, `build`,
/// `build_kernels`, `builder`, `load` or `new`: `load` becomes `load_`. Kernels that would still share a name are
/// numbered: `host_0`, `host_1`. To rename kernels or to leave them out, add items as in the following example. It is
/// an error to choose a name that is already taken.
///
/// ```ignore
/// syclbin_rt::include_syclbin! {
///     mod kernels = "vector_ops";
///     only { saxpy, fill::*, scale<int> } // or: skip { .. }
///     fn scale<int> as scale_ints;
///     pub(crate) fn fill::iota;
///     fn host_0 as doubled;               // an unnamed lambda, by its generated name
/// }
/// ```
///
/// Write kernel names as in C++: `saxpy`, `fill::iota`, `scale<int>`, `f(float *, int)`.
///
/// # Contracts
///
/// Launching a kernel is unsafe, because the file does not record which buffer elements the kernel accesses. To make a
/// launch safe, declare a contract: a `safe fn` in `unsafe extern "SYCL" { .. }`. When its conditions hold, the kernel
/// must have no undefined behavior, for any arguments, any buffer contents and any concurrent use of the buffers. By
/// writing the keyword `unsafe`, the author of the contract guarantees this; the lint `unsafe_code` reports the
/// keyword. A launch that violates a condition fails before it reaches the driver. The error names the kernel, the
/// argument and the values in the condition.
///
/// A condition is a boolean Rust expression. Within it:
///
/// - integer parameters are 128-bit integers. So are members and elements of parameters passed by value:
///   `world.grid.sizes[1]`. They are read with their C++ layout, even from your own type. Floats are `f32` or `f64`,
///   and a `bool` is a `bool`. Parameters keep their C++ names, even `in` or `self`. Refer to an unnamed parameter, or
///   one called `range`, by its index, which starts at 0: `arg2` is the third parameter;
/// - `x.len()` is the number of elements in a buffer, an accessor or work-group memory (the number of bytes for a
///   `void *`);
/// - `x.is_none()` and `x.is_some()` test whether a pointer is null. A null pointer has length 0;
/// - `x.align()` is the largest power of two that is known to divide the address of a pointer or accessor;
/// - `x.size(0)` to `x.size(2)` are the components of an accessor's C++ `get_range()`;
/// - `range.items()`, `range[0]` to `range[2]` and `range.dimensions()` describe the launch range, and
///   `range.local()[0]` and `range.local().items()` describe the work-group, whose size the launch must then set;
/// - all other names, such as constants, resolve in the module that contains `include_syclbin!`, and `super` is the
///   parent of that module.
///
/// A kernel's integers support the usual operators, `min`, `max`, `div_ceil` and `next_multiple_of`, and mix with
/// integers of any type. A literal without a suffix is an `i128`, so add a suffix when you combine it with your own
/// integers or pass it to your own function: `2usize * BLOCK`. A condition is false if arithmetic on a kernel's
/// integers overflows or divides by zero, or if it compares a length with a negative number. Arithmetic on your own
/// integers follows Rust's rules. Without the rule about lengths, for an `int n`, the condition `x.len() >= n` would
/// hold for -1, and a kernel that converts -1 to `size_t` would write out of bounds.
/// To allow negative numbers, state it explicitly: `n < 0 || x.len() >= n`.
///
/// ```ignore
/// unsafe extern "SYCL" {
///     // SAFETY: work-item i reads mask[i], if there is a mask, and writes out[i / 64].
///     safe fn reduce where mask: Option, mask.is_none() || mask.len() >= range.items(),
///         out.len() >= range.items().div_ceil(64);
/// }
/// ```
///
/// The conditions must mention the length of every buffer, and the size of each dimension of a 2D or 3D accessor, so
/// that no bound is forgotten. If a buffer really needs no bound, write `x.len() >= 0`.
///
/// If the file does not record how many dimensions a kernel has, its contract must state the number in exactly this
/// form: `range.dimensions() == 2`, or `range.dimensions() == 0` for a `single_task`. The launch then accepts only
/// such ranges.
///
/// The following conditions are implied. The function's generated documentation lists those that apply, except the
/// first:
///
/// - A number in a condition must be `>= 0` if the file does not record whether it is signed.
/// - A `bool` inside a value must be 0 or 1. A `bool` in a union, or in a part that the file does not describe, is not
///   checked.
/// - The argument for a pointer to a type with `alignas` must have that alignment. Generated structs have the same
///   alignment in Rust, so arrays of them are allocated with it. Buffers have their driver's default alignment.
/// - The argument for a `void *` must start at the beginning of its allocation, or at a multiple of the device's
///   memory alignment, because the kernel may read any type there. To replace this condition, write a condition on
///   `x.align()`, such as `x.align() >= 16` for a kernel that reads `float4`.
///
/// A kernel cannot be declared safe if a struct parameter, or a device global in its file, contains device pointers, or
/// a union, bit-fields or another undescribed part of 8 bytes or more, where a pointer could be; or if the kernel takes an image, an
/// accessor whose element type the file does not record, or values with more than 64 `bool`s. The macro only checks that
/// the conditions mention each length, not that they suffice.
///
/// # Errors
///
/// The macro reports all mistakes at once, each at its token: a missing or damaged file, names that do not exist in
/// the file, and the mistakes described above. Kernels with unsupported parameters are left out. The module's
/// documentation lists these kernels with the reason, and a call to one is a compile error with the same reason. A
/// crate with `#![no_implicit_prelude]` must `skip` such kernels.
#[proc_macro]
pub fn include_syclbin(input: TokenStream) -> TokenStream {
    syclbin_expand::include(input.into()).into()
}
