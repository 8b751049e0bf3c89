// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file with a kernel that tells its specialization constants.

use syclbin::metadata::{SpecConstantDescriptor, SpecializationConstants};
use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin};

/// `kernel void answer(global uint *out)` writes three constants of the `SpecId`s 5, 6 and 7, whose
/// defaults are 70, 80 and 90. Written by hand: no compiler at hand lowers such constants.
fn spirv() -> Vec<u8> {
    let mut words: Vec<u32> = vec![0x0723_0203, 0x0001_0000, 0, 20, 0];
    let mut op = |code: u32, operands: &[u32]| {
        let count = u32::try_from(operands.len() + 1).expect("a short instruction");
        words.push(count << 16 | code);
        words.extend(operands);
    };
    let [main, void, uint, pointer, function] = [1, 2, 3, 4, 5];
    let [first, second, third, one, two] = [6, 7, 8, 9, 10];
    let [out, label, place_1, place_2] = [11, 12, 13, 14];
    for capability in [4, 6] {
        op(17, &[capability]); // Addresses, Kernel
    }
    op(14, &[2, 2]); // memory model: 64-bit addresses, OpenCL
    let [a, b] = [*b"answ", *b"er\0\0"].map(u32::from_le_bytes);
    op(15, &[6, main, a, b]); // entry point of a kernel
    for (constant, id) in [(first, 5), (second, 6), (third, 7)] {
        op(71, &[constant, 1, id]); // SpecId
    }
    op(19, &[void]);
    op(21, &[uint, 32, 0]);
    op(32, &[pointer, 5, uint]); // to global memory
    op(33, &[function, void, pointer]);
    for (constant, value) in [(first, 70), (second, 80), (third, 90)] {
        op(50, &[uint, constant, value]); // a specialization constant
    }
    op(43, &[uint, one, 1]);
    op(43, &[uint, two, 2]);
    op(54, &[void, main, 0, function]);
    op(55, &[pointer, out]);
    op(248, &[label]);
    op(62, &[out, first, 2, 4]); // store, aligned to 4
    op(67, &[pointer, place_1, out, one]);
    op(62, &[place_1, second, 2, 4]);
    op(67, &[pointer, place_2, out, two]);
    op(62, &[place_2, third, 2, 4]);
    op(253, &[]);
    op(56, &[]);
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The same for CUDA, as `syclbin-clang` makes it.
const PTX: &str = "
.version 6.3
.target sm_75
.address_size 64

.visible .global .align 4 .b8 __syclbin_constant_radius[4] = {70};
.visible .global .align 4 .b8 __syclbin_constant_pair[8] = {80, 0, 0, 0, 90};

.visible .entry answer(
	.param .u64 .ptr .global .align 4 answer_param_0
)
{
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<3>;

	ld.param.b64 	%rd1, [answer_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	ld.global.b32 	%r1, [__syclbin_constant_radius];
	st.global.b32 	[%rd2], %r1;
	ld.global.b32 	%r2, [__syclbin_constant_pair];
	st.global.b32 	[%rd2+4], %r2;
	ld.global.b32 	%r3, [__syclbin_constant_pair+4];
	st.global.b32 	[%rd2+8], %r3;
	ret;
}
";

/// Two constants: a number, and a struct of two numbers that the code knows as two.
pub(crate) fn constants() -> SpecializationConstants {
    let part = |id, offset| SpecConstantDescriptor {
        id,
        offset,
        size: 4,
    };
    let mut constants = SpecializationConstants::default();
    constants.constants.insert("radius", vec![part(5, 0)]);
    constants
        .constants
        .insert("pair", vec![part(6, 0), part(7, 4)]);
    let defaults = [70u32, 80, 90].map(u32::to_le_bytes);
    constants.defaults = Some(defaults.concat());
    constants
}

/// A file of that kernel with these constants.
pub(crate) fn file(constants: &SpecializationConstants) -> Vec<u8> {
    let mut module = AbstractModule::default();
    module.add_kernel_name("answer");
    constants.write(&mut module.metadata);
    let image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", spirv());
    module.images.push(image);
    if std::env::var("SYCLBIN_DEVICE").is_ok_and(|selector| selector.starts_with("cuda")) {
        let image = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", PTX.as_bytes());
        module.images.push(image);
    }
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    syclbin::write::to_vec(&file, Container::default()).expect("it can be written")
}
