/// The kernels of `constants.object.syclbin`.
#[allow(dead_code, non_snake_case, non_camel_case_types, clippy::too_many_arguments)]
pub mod kernels {
    /// The bytes of `constants.object.syclbin`, aligned to 8.
    pub static SYCLBIN: &[u8] = ::syclbin_rt::include_bytes_aligned!(
        8, "../../../testfiles/constants.object.syclbin"
    );
    /// The kernels of `constants.object.syclbin`, compiled for the device of a queue.
    #[derive(Clone, Debug)]
    pub struct Module {
        blur: ::syclbin_rt::Result<::syclbin_rt::Kernel>,
    }
    impl Module {
        /// Compiles the kernels of `constants.object.syclbin` for the device of `queue`.
        ///
        /// # Errors
        ///
        /// When no image of the file fits the device, or the driver refuses them all. A single
        /// kernel that the device cannot run makes an error only when it is launched.
        pub fn load(queue: &::syclbin_rt::Queue) -> ::syclbin_rt::Result<Self> {
            ::core::result::Result::Ok(
                Self::new(&::syclbin_rt::Module::load_embedded(queue, SYCLBIN)?),
            )
        }
        fn new(module: &::syclbin_rt::Module) -> Self {
            Self {
                blur: module.kernel("__sycl_kernel_blur"),
            }
        }
        /// Kernel `blur`; the file does not tell its C++ signature.
        ///
        /// Whether these are signed is not known; taken for signed: `arg2`.
        ///
        /// # Safety
        ///
        /// To launch it is unsafe: nothing checks that the kernel stays inside of `arg0` and
        /// `arg1`, nor that its work-items do not race.
        /// [`Launch::launch`](::syclbin_rt::Launch::launch) lists all that the caller vouches for.
        pub fn blur<'a>(
            &'a self,
            arg0: &'a ::syclbin_rt::Buffer<f32>,
            arg1: &'a mut ::syclbin_rt::Buffer<f32>,
            arg2: i32,
        ) -> ::syclbin_rt::Launch<'a, 4> {
            ::syclbin_rt::Launch::new(
                &self.blur,
                &["arg0", "arg1", "arg2", "arg3"],
                [
                    ::syclbin_rt::Arg::read(arg0),
                    ::syclbin_rt::Arg::write(arg1),
                    ::syclbin_rt::Arg::scalar(arg2),
                    ::syclbin_rt::Arg::kernel_handler(),
                ],
            )
        }
    }
}
