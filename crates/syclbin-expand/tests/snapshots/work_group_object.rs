/// The kernels of `work_group.object.syclbin`.
#[allow(
    dead_code,
    non_snake_case,
    non_camel_case_types,
    clippy::pub_underscore_fields,
    clippy::too_many_arguments
)]
pub mod kernels {
    /// The bytes of `work_group.object.syclbin`, aligned to 8 bytes.
    pub static SYCLBIN: &[u8] = {
        #[allow(unused_imports, redundant_imports)]
        use ::core::marker::Sized;
        macro_rules! include_bytes {
            ($path:expr) => {
                ::core::include_bytes!($path)
            };
        }
        const BYTES: &[u8; 7848] = ::syclbin_rt::__private::include_bytes_aligned!(
            8, "../../../../tests/files/work_group.object.syclbin"
        );
        BYTES
    };
    /// Describes each kernel that has a function.
    pub const KERNELS: &[::syclbin_rt::KernelInfo] = &[
        ::syclbin_rt::KernelInfo {
            name: "block_sum",
            symbol: "__sycl_kernel_block_sum",
            declaration: "",
            parameters: &[
                ::syclbin_rt::ParameterInfo {
                    name: "",
                    kind: ::syclbin_rt::ParameterKind::ReadPointer,
                    ty: "",
                    size: ::core::option::Option::Some(4),
                },
                ::syclbin_rt::ParameterInfo {
                    name: "",
                    kind: ::syclbin_rt::ParameterKind::WritePointer,
                    ty: "",
                    size: ::core::option::Option::Some(4),
                },
                ::syclbin_rt::ParameterInfo {
                    name: "",
                    kind: ::syclbin_rt::ParameterKind::LocalMemory,
                    ty: "",
                    size: ::core::option::Option::Some(4),
                },
            ],
            dimensions: ::core::option::Option::Some(1),
            work_group_size: &[64],
            aspects: &[],
        },
        ::syclbin_rt::KernelInfo {
            name: "coords",
            symbol: "__sycl_kernel_coords",
            declaration: "",
            parameters: &[
                ::syclbin_rt::ParameterInfo {
                    name: "",
                    kind: ::syclbin_rt::ParameterKind::WritePointer,
                    ty: "",
                    size: ::core::option::Option::Some(4),
                },
            ],
            dimensions: ::core::option::Option::None,
            work_group_size: &[2, 4, 8],
            aspects: &[],
        },
        ::syclbin_rt::KernelInfo {
            name: "histogram",
            symbol: "__sycl_kernel_histogram",
            declaration: "",
            parameters: &[
                ::syclbin_rt::ParameterInfo {
                    name: "",
                    kind: ::syclbin_rt::ParameterKind::ReadPointer,
                    ty: "",
                    size: ::core::option::Option::None,
                },
                ::syclbin_rt::ParameterInfo {
                    name: "",
                    kind: ::syclbin_rt::ParameterKind::WritePointer,
                    ty: "",
                    size: ::core::option::Option::Some(4),
                },
            ],
            dimensions: ::core::option::Option::None,
            work_group_size: &[],
            aspects: &[],
        },
    ];
    /// The kernels of `work_group.object.syclbin`, loaded for the device of a queue.
    #[derive(Clone, Debug)]
    pub struct Module {
        block_sum: ::syclbin_rt::__private::StubKernel,
        coords: ::syclbin_rt::__private::StubKernel,
        histogram: ::syclbin_rt::__private::StubKernel,
        module: ::syclbin_rt::Module,
    }
    impl Module {
        /// The file, for use with [`Builder::link`] of another module.
        pub const FILE: ::syclbin_rt::Embedded = unsafe {
            ::syclbin_rt::Embedded::new(SYCLBIN)
        };
        /// The work-group size that `block_sum` is compiled for, in SYCL's order.
        pub const BLOCK_SUM_LOCAL_SIZE: [usize; 1] = [64];
        /// The work-group size that `coords` is compiled for, in SYCL's order.
        pub const COORDS_LOCAL_SIZE: [usize; 3] = [2, 4, 8];
        /// Returns the best device on this machine that `work_group.object.syclbin` contains code for: preferably a GPU, then an accelerator, then a CPU.
        ///
        /// `SYCLBIN_DEVICE` selects another device. Calls `syclbin_rt::Device::best_for` with this file.
        ///
        /// # Errors
        ///
        /// Fails if no device can run anything in the file; the error gives the reason for each device.
        pub fn best_device() -> ::syclbin_rt::Result<::syclbin_rt::Device> {
            ::syclbin_rt::Device::best_for(Self::FILE)
        }
        /// Loads `work_group.object.syclbin` for the device of `queue`. Each kernel is compiled when it is first used.
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
                block_sum: ::syclbin_rt::__private::StubKernel::new(
                    module,
                    "__sycl_kernel_block_sum",
                ),
                coords: ::syclbin_rt::__private::StubKernel::new(
                    module,
                    "__sycl_kernel_coords",
                ),
                histogram: ::syclbin_rt::__private::StubKernel::new(
                    module,
                    "__sycl_kernel_histogram",
                ),
                module: ::core::clone::Clone::clone(module),
            }
        }
        /// Kernel `block_sum`; the file does not record its C++ signature.
        ///
        /// The file does not record whether these are signed, so they are treated as signed:
        /// `arg0`, `arg1`, `arg2`.
        ///
        /// It is compiled for work-groups of `[64]` ([`Self::BLOCK_SUM_LOCAL_SIZE`]), which every
        /// launch uses; the range must be a multiple of that size.
        ///
        /// # Safety
        ///
        /// Launching it is unsafe: nothing checks that the kernel stays within `arg0`, `arg1` and
        /// `arg2`, or that its work-items do not race.
        /// [`Launch::launch`](::syclbin_rt::Launch::launch) lists everything that the caller
        /// guarantees.
        pub fn block_sum<'a>(
            &'a self,
            arg0: &'a ::syclbin_rt::DeviceSlice<i32>,
            arg1: &'a mut ::syclbin_rt::DeviceSlice<i32>,
            arg2: ::syclbin_rt::LocalMemory<i32>,
        ) -> ::syclbin_rt::Launch<'a, 3, ::syclbin_rt::Range<1>> {
            ::syclbin_rt::Launch::new(
                    self.block_sum.get(),
                    &["arg0", "arg1", "arg2"],
                    [
                        ::syclbin_rt::Arg::read(arg0),
                        ::syclbin_rt::Arg::write(arg1),
                        <::syclbin_rt::Arg<'_> as ::core::convert::From<_>>::from(arg2),
                    ],
                )
                .with_range()
        }
        /// Kernel `coords`; the file does not record its C++ signature.
        ///
        /// The file does not record whether these are signed, so they are treated as signed:
        /// `arg0`.
        ///
        /// It is compiled for work-groups of `[2, 4, 8]` ([`Self::COORDS_LOCAL_SIZE`]), which every
        /// launch uses; the range must be a multiple of that size.
        ///
        /// # Safety
        ///
        /// Launching it is unsafe: nothing checks that the kernel stays within `arg0`, or that its
        /// work-items do not race. [`Launch::launch`](::syclbin_rt::Launch::launch) lists
        /// everything that the caller guarantees.
        pub fn coords<'a>(
            &'a self,
            arg0: &'a mut ::syclbin_rt::DeviceSlice<i32>,
        ) -> ::syclbin_rt::Launch<'a, 1, ::syclbin_rt::Range<3>> {
            ::syclbin_rt::Launch::new(
                    self.coords.get(),
                    &["arg0"],
                    [::syclbin_rt::Arg::write(arg0)],
                )
                .with_range()
        }
        /// Kernel `histogram`; the file does not record its C++ signature.
        ///
        /// The file does not record whether these are signed, so they are treated as signed:
        /// `arg1`.
        ///
        /// The file does not record what these point to, so they accept buffers of any type:
        /// `arg0`.
        ///
        /// # Safety
        ///
        /// Launching it is unsafe: nothing checks that the kernel stays within `arg0` and `arg1`,
        /// or that its work-items do not race. [`Launch::launch`](::syclbin_rt::Launch::launch)
        /// lists everything that the caller guarantees.
        pub fn histogram<'a>(
            &'a self,
            arg0: &'a ::syclbin_rt::DeviceSlice<impl ::syclbin_rt::Pod>,
            arg1: &'a mut ::syclbin_rt::DeviceSlice<i32>,
        ) -> ::syclbin_rt::Launch<'a, 2> {
            ::syclbin_rt::Launch::new(
                self.histogram.get(),
                &["arg0", "arg1"],
                [::syclbin_rt::Arg::read(arg0), ::syclbin_rt::Arg::write(arg1)],
            )
        }
    }
    /// Builds the kernels of `work_group.object.syclbin`, linked with other files.
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
        /// `work_group.object.syclbin` that has a function here, with the same types, dimensions
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
}
