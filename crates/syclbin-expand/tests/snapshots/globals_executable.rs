/// The kernels of `globals.executable.syclbin`.
///
/// # Omitted
///
/// - `store`: the file contains neither a declaration nor SPIR-V for this kernel
/// - `lookup`: the file contains neither a declaration nor SPIR-V for this kernel
/// - `bias`: neither a declaration nor the code specifies its type
/// - `table`: neither a declaration nor the code specifies its type
#[allow(
    dead_code,
    non_snake_case,
    non_camel_case_types,
    clippy::pub_underscore_fields,
    clippy::too_many_arguments
)]
pub mod kernels {
    /// The bytes of `globals.executable.syclbin`, aligned to 8 bytes.
    pub static SYCLBIN: &[u8] = {
        #[allow(unused_imports, redundant_imports)]
        use ::core::marker::Sized;
        macro_rules! include_bytes {
            ($path:expr) => {
                ::core::include_bytes!($path)
            };
        }
        const BYTES: &[u8; 7952] = ::syclbin_rt::__private::include_bytes_aligned!(
            8, "../../../../tests/files/globals.executable.syclbin"
        );
        BYTES
    };
    /// Describes each kernel that has a function.
    pub const KERNELS: &[::syclbin_rt::KernelInfo] = &[];
    /// The kernels of `globals.executable.syclbin`, loaded for the device of a queue.
    #[derive(Clone, Debug)]
    pub struct Module {
        module: ::syclbin_rt::Module,
    }
    impl Module {
        /// The file, for use with [`Builder::link`] of another module.
        pub const FILE: ::syclbin_rt::Embedded = unsafe {
            ::syclbin_rt::Embedded::new(SYCLBIN)
        };
        /// Returns the best device on this machine that `globals.executable.syclbin` contains code for: preferably a GPU, then an accelerator, then a CPU.
        ///
        /// `SYCLBIN_DEVICE` selects another device. Calls `syclbin_rt::Device::best_for` with this file.
        ///
        /// # Errors
        ///
        /// Fails if no device can run anything in the file; the error gives the reason for each device.
        pub fn best_device() -> ::syclbin_rt::Result<::syclbin_rt::Device> {
            ::syclbin_rt::Device::best_for(Self::FILE)
        }
        /// Loads `globals.executable.syclbin` for the device of `queue`. Each kernel is compiled when it is first used.
        ///
        /// [`build`](Self::build) compiles all kernels at once.
        ///
        /// # Errors
        ///
        /// Fails if no image in the file fits the device. A kernel that the device cannot run, or that
        /// its driver rejects, is an error only when it is used.
        pub fn load(queue: &::syclbin_rt::Queue) -> ::syclbin_rt::Result<Self> {
            Self::builder(queue).load()
        }
        /// Creates a builder that loads another file, links with other files, or sets specialization constants.
        pub fn builder(queue: &::syclbin_rt::Queue) -> Builder<'_> {
            Builder {
                module: ::syclbin_rt::Module::builder(queue),
            }
        }
        /// Compiles all kernels now, on several threads, so that no launch waits for a compiler.
        ///
        /// # Errors
        ///
        /// Fails if some kernels cannot run on the device; the error lists all reasons. All others
        /// are compiled.
        pub fn build(&self) -> ::syclbin_rt::Result<()> {
            self.module.build()
        }
        /// Compiles the kernels with these symbols now, on several threads. [`KERNELS`] lists the
        /// symbols.
        ///
        /// # Errors
        ///
        /// Fails if any of them does not exist or cannot run on the device; the error lists all
        /// reasons.
        pub fn build_kernels<'n>(
            &self,
            symbols: impl ::core::iter::IntoIterator<Item = &'n ::core::primitive::str>,
        ) -> ::syclbin_rt::Result<()> {
            self.module.build_kernels(symbols)
        }
        fn new(module: &::syclbin_rt::Module) -> Self {
            Self {
                module: ::core::clone::Clone::clone(module),
            }
        }
        #[doc(hidden)]
        pub fn store<T0>(&self, arguments: T0) -> ::core::convert::Infallible
        where
            (T0,): left_out::store,
        {
            let _ = (arguments,);
            <(T0,) as left_out::store>::never()
        }
        #[doc(hidden)]
        pub fn lookup<T0>(&self, arguments: T0) -> ::core::convert::Infallible
        where
            (T0,): left_out::lookup,
        {
            let _ = (arguments,);
            <(T0,) as left_out::lookup>::never()
        }
    }
    /// Builds the kernels of `globals.executable.syclbin`, linked with other files.
    #[derive(Clone, Debug)]
    #[must_use = "nothing is loaded until `load` is called"]
    pub struct Builder<'q> {
        module: ::syclbin_rt::ModuleBuilder<'q>,
    }
    impl<'q> Builder<'q> {
        /// Resolves functions and variables that the kernels import from `file`, such as `other::Module::FILE`.
        pub fn link(self, file: ::syclbin_rt::Embedded) -> Self {
            Self {
                module: self.module.link_embedded(file),
            }
        }
        /// Loads the module with these values and linked files.
        ///
        /// # Errors
        ///
        /// Fails for the same reasons as [`Module::load`].
        pub fn load(self) -> ::syclbin_rt::Result<Module> {
            let module = unsafe { self.module.load_embedded(Module::FILE)? };
            ::core::result::Result::Ok(Module::new(&module))
        }
        /// Loads another file, such as a newer build, with the same values and linked files.
        ///
        /// The file must contain every kernel, specialization constant and device global of
        /// `globals.executable.syclbin` that has a function here, with the same types, dimensions
        /// and required work-group sizes. Its code may differ, and it may contain more of each.
        ///
        /// # Errors
        ///
        /// Fails if the file cannot be read or does not match, in which case the error lists all
        /// differences, or for the same reasons as [`Module::load`].
        ///
        /// # Safety
        ///
        /// The caller must guarantee that each image in the file is compiler output, as for
        /// `syclbin_rt::Module::load`, and that each kernel whose launch is safe here is sound
        /// under the same conditions.
        pub unsafe fn load_file(
            self,
            path: impl ::core::convert::AsRef<::syclbin_rt::__private::Path>,
        ) -> ::syclbin_rt::Result<Module> {
            let path = ::core::convert::AsRef::as_ref(&path);
            let module = unsafe {
                self.module.load_file_for(path, Module::FILE, KERNELS)?
            };
            ::core::result::Result::Ok(Module::new(&module))
        }
        /// Loads the bytes of another file, like [`load_file`](Self::load_file).
        ///
        /// # Errors
        ///
        /// Fails if the bytes are not a SYCLBIN file, or for the same reasons as [`load_file`](Self::load_file).
        ///
        /// # Safety
        ///
        /// As for [`load_file`](Self::load_file).
        pub unsafe fn load_bytes(self, bytes: &[u8]) -> ::syclbin_rt::Result<Module> {
            let module = unsafe {
                self.module.load_bytes_for(bytes, Module::FILE, KERNELS)?
            };
            ::core::result::Result::Ok(Module::new(&module))
        }
    }
    #[doc(hidden)]
    pub mod left_out {
        #[diagnostic::on_unimplemented(
            message = "no Rust function is generated for kernel `store`: the file contains neither a declaration nor SPIR-V for this kernel",
            label = "omitted by `include_syclbin!`",
            note = "`syclbin_rt::Kernel::launch` takes `Arg`s instead",
        )]
        pub trait store {
            fn never() -> ::core::convert::Infallible;
        }
        #[diagnostic::on_unimplemented(
            message = "no Rust function is generated for kernel `lookup`: the file contains neither a declaration nor SPIR-V for this kernel",
            label = "omitted by `include_syclbin!`",
            note = "`syclbin_rt::Kernel::launch` takes `Arg`s instead",
        )]
        pub trait lookup {
            fn never() -> ::core::convert::Infallible;
        }
    }
}
