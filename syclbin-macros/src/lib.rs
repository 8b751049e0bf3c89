//! `include_syclbin!`: embeds a SYCLBIN file and writes a typed launch function for every kernel.
//!
//! Use it through crate `syclbin-rt`, which re-exports it and which the generated code calls. What
//! it writes comes from crate `syclbin-expand`.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

/// Embeds a SYCLBIN file and writes a module with one typed function for every kernel in it.
///
/// ```ignore
/// syclbin_rt::include_syclbin! {
///     /// The kernels of kernels/saxpy.cpp.
///     pub mod kernels = "saxpy";
///
///     // With this, launching it is safe.
///     safe fn saxpy where x.len() >= n, y.len() >= n;
/// }
/// ```
///
/// The text is the name that build.rs gave to `syclbin_build::Build::compile`, or the path of a
/// file, relative to the folder of Cargo.toml, if it ends in `.syclbin`.
///
/// # What is generated
///
/// - `kernels::Module` with `load(&Queue)`, which compiles the kernels for the queue's device,
/// - a method of it for every kernel: `module.saxpy(2.0, &x, &mut y, n)` returns a
///   `syclbin_rt::Launch`, whose `launch(range)` runs it. A C++ namespace is a Rust module with a
///   struct `Kernels`, and a field of that name: `module.fill.iota(0.0, &mut out, n)`,
/// - a struct for every struct that a kernel takes, a builder for specialization constants
///   (`Module::builder(&queue).radius(3).load()`) and a method for every device global
///   (`module.table()?.write(&[1, 2, 3, 4])`),
/// - the way to functions in other files, which the kernels import
///   (`Module::builder(&queue).link(shapes::Module::FILE).load()`),
/// - `kernels::SYCLBIN`, the bytes of the file at 8-byte alignment.
///
/// `cargo syclbin expand FILE` prints it all.
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
/// | `void *`, a pointer to what the file does not describe | `&DeviceSlice` or `&mut DeviceSlice` of any `Pod` type |
/// | `T *` in a struct | `DevicePointer<T>` |
/// | `work_group_memory` of a fixed size, `kernel_handler` | nothing: the function passes it |
/// | `work_group_memory<T[]>`, `dynamic_work_group_memory` | `LocalMemory<T>` |
/// | `local_accessor<T, 1>`, `local_accessor<T, 2>` | `usize`, `[usize; 2]`: how many elements |
/// | `accessor<T, 1>` | `&DeviceSlice<T>` or `&mut DeviceSlice<T>`, all of it |
/// | `accessor<T, 2>` | `(&DeviceSlice<T>, [usize; 2])`: the elements, and how they lie |
/// | `sampler` | `&Sampler` |
///
/// A parameter that the compiler removed from the code is in the signature all the same. A kernel
/// that is compiled for one work-group size has it as a constant (`Module::SUM_LOCAL_SIZE`), and
/// its launch takes a range without work-groups (`GlobalRange`).
///
/// # Structs
///
/// They are `#[repr(C)]` and [`Pod`](https://docs.rs/bytemuck/latest/bytemuck/trait.Pod.html), with
/// gaps as fields: write `Particle { mass: 1.0, ..Default::default() }`. That size and offsets are
/// those of C++ is checked when your crate is compiled. A type of your own, which is checked in the
/// same way, or another name is given like this:
///
/// ```ignore
/// syclbin_rt::include_syclbin! {
///     mod kernels = "particles";
///     types { Particle => crate::Particle, ns::Pair<int, 2> as Pair }
/// }
/// ```
///
/// Two structs of one name with different layouts in one file are an error.
///
/// # Names
///
/// A name follows from the kernel alone. An instance of a template is named after its arguments
/// (`scale<int>` is `scale_int`), overloads after their parameters (`f(float *, int)` is
/// `f_float_ptr_int`). A name that Rust reserves is raw (`r#move`) or gets an underscore (`self_`), as
/// do `load_`, `builder_` and `new_`. Two kernels of one name in Rust are an error; give one another
/// name, or leave kernels out:
///
/// ```ignore
/// syclbin_rt::include_syclbin! {
///     mod kernels = "vector_ops";
///     only { saxpy, fill::*, scale<int> } // or: skip { .. }
///     fn scale<int> as scale_ints;
///     pub(crate) fn fill::iota;
///     fn "_ZTSZ4hostvEUlvE_" as doubled;  // a lambda without a name, by its symbol
/// }
/// ```
///
/// A kernel is written as in C++: `saxpy`, `fill::iota`, `scale<int>`, `f(float *, int)`.
///
/// # Contracts
///
/// Launching a kernel is unsafe, because nothing says how far it reaches into its buffers. `safe fn`
/// says so: with these conditions, whatever the arguments are, whatever the buffers hold, and
/// whatever else is done to them meanwhile, the kernel does nothing undefined. That is a promise by
/// whoever writes it, like an `unsafe` block. A launch that breaks a condition is an error, which
/// names the kernel, the argument and both sides; nothing of it reaches the driver.
///
/// A condition compares integers with `<`, `<=`, `==`, `!=`, `>=` or `>`. It may use
///
/// - integer parameters, and members and elements of those that are passed by value:
///   `world.grid.sizes[1]`. They are read as C++ has them, also from a type of your own. Parameters
///   have their names of C++, raw where Rust reserves them: `r#in.len()`,
/// - `x.len()` of a buffer, an accessor or work-group memory, in elements (of a `void *` in bytes),
/// - `x.align()` of a pointer or an accessor: the largest power of two that its address is known to be a
///   multiple of,
/// - `x.size(0)` to `x.size(2)` of an accessor, as `get_range()` of C++,
/// - `range.items()`, `range[0]` to `range[2]` and `range.dimensions()` of the launch. A contract that
///   names `range[1]` means a kernel of two dimensions and asks the same of the range, unless a
///   condition on `range.dimensions()` says otherwise. Write one where an index must not come twice:
///   in a range of more dimensions than the kernel has it does,
/// - numbers, limits such as `i32::MIN`, and `+ - * / %`, which do not overflow unnoticed.
///
/// It may have 300 words and signs; write more as several conditions.
///
/// Every buffer needs a condition that bounds its length from below: by a number, by what the launch
/// gets, or by another length that is bounded. `x.len() <= n` bounds nothing, and nor does what is always
/// true, such as `x.len() >= 0`. An accessor of two or three dimensions needs such a condition for each,
/// since the length does not tell how rows lie.
///
/// Some conditions come by themselves, and the documentation of the function lists them:
///
/// - A signed number must be `>= 0` where a condition compares it with a length, or bounds it from above.
///   `x.len() >= n` of an `int n` holds for -1, and a kernel that converts -1 to `size_t` writes beyond
///   all memory. A condition that says how small `n` may be replaces this one: `n >= -8`, or
///   `n >= i32::MIN` for a kernel that is right for every number.
/// - A difference must be `>= 0` where a condition compares it with a length: `n - 1` in
///   `x.len() >= n - 1`. To allow less, say so: `n - 1 >= -1`.
/// - A number of which the file does not tell whether it is signed must be `>= 0` where a condition uses it.
/// - A `bool` inside of a value must be 0 or 1.
/// - What a pointer to a type with `alignas` gets is aligned to that. Generated structs have this alignment
///   in Rust too, and arrays of them are allocated with it; a buffer has the alignment that its driver gives
///   to all memory.
/// - What a `void *` gets begins where its memory does, or at a multiple of what the device aligns memory
///   to, as the kernel may read anything there. A condition on `x.align()` replaces this one: `x.align() >= 16`
///   for a kernel that reads `float4`.
///
/// A kernel that takes device pointers in structs cannot be safe, nor can one of a file whose device
/// globals hold any.
///
/// # Errors
///
/// What is wrong is said at its token, all at once: a file that is missing or damaged, names that
/// the file does not have, and what is said above. A kernel that takes what cannot be passed is left
/// out: the documentation of the module says which and why, and so does the compiler when it is
/// called.
#[proc_macro]
pub fn include_syclbin(input: TokenStream) -> TokenStream {
    syclbin_expand::include(input.into()).into()
}
