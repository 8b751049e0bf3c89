//! `include_syclbin!`: embeds a SYCLBIN file and writes a typed launch function for every kernel.
//!
//! Use it through crate `syclbin-rt`, which re-exports it and which the generated code calls.
//!
//! | module | noun |
//! |---|---|
//! | `input` | what is written between the braces |
//! | `file` | the file that is meant: found, read, its kernels |
//! | `names` | C++ names as Rust identifiers, without collisions |
//! | `expand` | the generated module |
#![forbid(unsafe_code)]

mod expand;
mod file;
mod input;
mod names;

use proc_macro::TokenStream;

/// Embeds a SYCLBIN file and writes a module with one typed function for every kernel in it.
///
/// ```ignore
/// syclbin_rt::include_syclbin! {
///     /// The kernels of kernels/saxpy.cpp.
///     pub mod kernels = "saxpy";
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
/// - `kernels::SYCLBIN`, the bytes of the file at 8-byte alignment.
///
/// | C++ | Rust |
/// |---|---|
/// | `bool`, `signed char`, `char`, `short`, `int`, `long`, `long long` | `bool`, `i8`, `i8`, `i16`, `i32`, `i64`, `i64` |
/// | `unsigned char` to `unsigned long long` | `u8` to `u64` |
/// | `float`, `double` | `f32`, `f64` |
/// | `T *` that the kernel only reads (`const`, or proven by the compiler) | `&Buffer<T>` |
/// | `T *` that it may write | `&mut Buffer<T>` |
/// | `bool *` | `Buffer<u8>`: every byte is 0 or 1 |
/// | `void *` | `&Buffer` or `&mut Buffer` of any `Pod` type |
/// | `sycl::half`, `bfloat16` | `half::f16`, `half::bf16` (feature `half` of `syclbin-rt`, on by default) |
/// | an enumeration | the integer beneath it |
/// | `sycl::vec<float, 2>`, `marray`, `id`, `range` | `[f32; 2]`, an array; a `vec` of three has the size of four |
/// | `work_group_memory` of a fixed size, `kernel_handler` | nothing: the function passes it |
/// | `work_group_memory<T[]>`, `dynamic_work_group_memory` | `LocalMemory<T>` |
/// | `local_accessor<T, 1>` | `usize`, the number of elements |
/// | `accessor<T, 1>` | `&Buffer<T>` or `&mut Buffer<T>`, all of it |
/// | `sampler` | `&Sampler` |
///
/// A parameter that the compiler removed from the code is in the signature all the same.
///
/// An instance of a template is named after its arguments (`scale<int>` is `scale_int`), overloads
/// after their parameters. A name that Rust reserves is raw (`r#move`) or gets an underscore
/// (`self_`, `load_`). So does the later one where two kernels of a file would have one name. A
/// kernel that takes something else, a struct say, is left out; the documentation of the module says
/// which and why.
///
/// The generated code names the runtime `::syclbin_rt`: it must be a dependency under its own name.
///
/// # Errors
///
/// A file that is missing or damaged is an error at its name.
#[proc_macro]
pub fn include_syclbin(input: TokenStream) -> TokenStream {
    let expanded = syn::parse::<input::Input>(input).and_then(|input| {
        let file = file::File::read(&input.file)?;
        Ok(expand::expand(&input, &file))
    });
    expanded
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
