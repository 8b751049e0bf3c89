// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file whose native code reads specialization constants from memory, as DPC++ compiles it for CUDA and ahead of time.

use std::collections::BTreeMap;

use syclbin::metadata::{SpecConstantDescriptor, SpecializationConstants};
use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin};

/// A functor, whose last argument is the address of the constants.
pub(crate) const FUNCTOR: &str = "_ZTS8Emulated";
/// A function with a `kernel_handler`, which is a struct that consists of the address.
pub(crate) const FUNCTION: &str = "__sycl_kernel_emulated";
/// A functor that reads no constants, and writes 4.
pub(crate) const PLAIN: &str = "_ZTS5Plain";

/// The number of words that the first two kernels copy: the constants.
pub(crate) const WORDS: usize = 5;

/// A SPIR-V module in the making. Written by hand, because no compiler at hand makes such kernels.
#[derive(Default)]
struct Assembly {
    words: Vec<u32>,
    ids: BTreeMap<&'static str, u32>,
    last_id: u32,
}

impl Assembly {
    /// Returns a new id.
    fn id(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }

    /// Returns the id called `name`.
    fn named(&mut self, name: &'static str) -> u32 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.id();
        self.ids.insert(name, id);
        id
    }

    fn op(&mut self, code: u32, operands: &[u32]) {
        let count = u32::try_from(operands.len() + 1).expect("a short instruction");
        self.words.push(count << 16 | code);
        self.words.extend(operands);
    }

    /// Writes an instruction with a type and a result, and returns the result.
    fn value(&mut self, code: u32, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        self.op(code, &[&[ty, id], operands].concat());
        id
    }

    fn finish(self) -> Vec<u8> {
        let header = [0x0723_0203, 0x0001_0000, 0, self.last_id + 1, 0];
        let words = header.into_iter().chain(self.words);
        words.flat_map(u32::to_le_bytes).collect()
    }
}

/// The three kernels in SPIR-V.
pub(crate) fn spirv() -> Vec<u8> {
    let mut code = Assembly::default();
    for capability in [4, 6] {
        code.op(17, &[capability]); // Addresses, Kernel
    }
    code.op(14, &[2, 2]); // memory model: 64-bit addresses, OpenCL
    for name in [FUNCTOR, FUNCTION, PLAIN] {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(name.len() / 4 * 4 + 4, 0);
        let (words, _) = bytes.as_chunks();
        let words = words.iter().map(|word| u32::from_le_bytes(*word));
        let kernel = code.named(name);
        code.op(
            15,
            &[6, kernel].into_iter().chain(words).collect::<Vec<_>>(),
        );
    }
    let handler = code.named("handler");
    code.op(71, &[handler, 38, 2]); // passed by value
    let [void, uint, global] = ["void", "uint", "global"].map(|name| code.named(name));
    let [by_value, to_global] = ["by value", "to global"].map(|name| code.named(name));
    let wrapped = code.id();
    code.op(19, &[void]);
    code.op(21, &[uint, 32, 0]);
    code.op(32, &[global, 5, uint]);
    code.op(30, &[wrapped, global]);
    code.op(32, &[by_value, 7, wrapped]);
    code.op(32, &[to_global, 7, global]);
    let types = [
        (FUNCTOR, vec![global, global]),
        (FUNCTION, vec![global, by_value]),
        (PLAIN, vec![global]),
    ];
    let types = types.map(|(name, parameters)| {
        let ty = code.id();
        code.op(33, &[&[ty, void], &parameters[..]].concat());
        (name, ty, parameters)
    });
    let indices = [0, 1, 2, 3, 4].map(|index| code.value(43, uint, &[index]));
    for (name, ty, parameters) in types {
        let kernel = code.named(name);
        code.op(54, &[void, kernel, 0, ty]);
        let out = code.value(55, global, &[]);
        let from = parameters.get(1).map(|parameter| {
            if name != FUNCTION {
                return code.value(55, *parameter, &[]);
            }
            code.op(55, &[*parameter, handler]);
            handler
        });
        let label = code.id();
        code.op(248, &[label]);
        let from = match from {
            Some(from) if name == FUNCTION => {
                let member = code.value(66, to_global, &[from, indices[0]]);
                Some(code.value(61, global, &[member, 2, 8]))
            }
            from => from,
        };
        match from {
            None => code.op(62, &[out, indices[4], 2, 4]),
            Some(from) => {
                for index in indices {
                    let place = code.value(67, global, &[from, index]);
                    let word = code.value(61, uint, &[place, 2, 4]);
                    let place = code.value(67, global, &[out, index]);
                    code.op(62, &[place, word, 2, 4]);
                }
            }
        }
        code.op(253, &[]);
        code.op(56, &[]);
    }
    code.finish()
}

/// The three kernels in PTX.
fn ptx() -> String {
    let copies = (0..WORDS).map(|word| {
        let offset = word * 4;
        format!("ld.global.b32 %r1, [%rd2+{offset}];\nst.global.b32 [%rd1+{offset}], %r1;\n")
    });
    let copies: String = copies.collect();
    let kernel = |name: &str, last: &str, body: &str| {
        format!(
            ".visible .entry {name}(\n.param .u64 .ptr .global .align 4 {name}_param_0{last}\n)\n{{\n\
             .reg .b32 %r<2>;\n.reg .b64 %rd<3>;\nld.param.b64 %rd1, [{name}_param_0];\n{body}ret;\n}}\n"
        )
    };
    let reading = |name: &str, last: &str| {
        let last = format!(",\n.param {last}");
        let body = format!("ld.param.b64 %rd2, [{name}_param_1];\n{copies}");
        kernel(name, &last, &body)
    };
    [
        ".version 6.3\n.target sm_75\n.address_size 64\n".to_owned(),
        reading(FUNCTOR, ".u64 .ptr .global .align 1 _ZTS8Emulated_param_1"),
        reading(FUNCTION, ".align 8 .b8 __sycl_kernel_emulated_param_1[8]"),
        kernel(PLAIN, "", "mov.b32 %r1, 4;\nst.global.b32 [%rd1], %r1;\n"),
    ]
    .concat()
}

/// Returns a fat binary with PTX, as compilers store it.
fn fat_binary(ptx: &str) -> Vec<u8> {
    let mut entry = Vec::new();
    entry.extend([1u16, 0x101].map(u16::to_le_bytes).concat());
    entry.extend(64u32.to_le_bytes());
    entry.extend((ptx.len() as u64).to_le_bytes());
    entry.extend([0; 12]);
    entry.extend(75u32.to_le_bytes());
    entry.extend([0; 8]);
    entry.extend(0x11u64.to_le_bytes());
    entry.resize(64, 0);
    entry.extend(ptx.as_bytes());
    let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend((entry.len() as u64).to_le_bytes());
    bytes.extend(entry);
    bytes
}

/// Two constants as DPC++ describes them: a number with padding up to 8 bytes, and a struct of 12 bytes.
pub(crate) fn constants() -> SpecializationConstants {
    let part = |id, offset, size| SpecConstantDescriptor { id, offset, size };
    let padding = part(SpecConstantDescriptor::PADDING, 4, 4);
    let mut constants = SpecializationConstants::default();
    let radius = vec![part(0, 0, 4), padding];
    constants.constants.insert("radius", radius);
    constants.constants.insert("triple", vec![part(1, 0, 12)]);
    constants.defaults = Some([70u32, 0, 80, 90, 100].map(u32::to_le_bytes).concat());
    constants
}

/// A file of the three kernels. `native` is native code of [`spirv`] for x86-64; without it, the file is for CUDA. The
/// code that follows it is never run, and contains the types of the parameters.
pub(crate) fn file(constants: &SpecializationConstants, native: Option<Vec<u8>>) -> Vec<u8> {
    let mut module = AbstractModule::default();
    for name in [FUNCTOR, FUNCTION, PLAIN] {
        module.add_kernel_name(name);
    }
    constants.write(&mut module.metadata);
    module.images = match native {
        Some(code) => vec![
            Image::native("x86_64", "spir64_x86_64-unknown-unknown", code),
            Image::ir(IrType::SpirV, "spir64-unknown-unknown", spirv()),
        ],
        None => vec![
            Image::native("sm_75", "nvptx64-nvidia-cuda", fat_binary(&ptx())),
            Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", ptx().into_bytes()),
        ],
    };
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    syclbin::write::to_vec(&file, Container::default()).expect("it can be written")
}
