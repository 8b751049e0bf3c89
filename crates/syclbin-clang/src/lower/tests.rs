use syclbin::metadata::SpecConstantDescriptor;
use syclbin::signature::spirv::{self, Import};

use super::words::{
    DECORATION_CPACKED, DECORATION_LINKAGE_ATTRIBUTES, DECORATION_SPEC_ID, Instruction,
    LINKAGE_IMPORT, Module, STORAGE_FUNCTION, op,
};
use super::*;

/// Returns the SPIR-V of tests/files/constants.cpp, as the compiler library made it.
fn reference() -> Vec<u8> {
    let bytes = test_files::read("constants.object.syclbin");
    let file = syclbin::read::parse(&bytes).unwrap();
    file.modules[0].images[0].bytes.to_vec()
}

fn part(id: u32, offset: u32, size: u32) -> SpecConstantDescriptor {
    SpecConstantDescriptor { id, offset, size }
}

fn is_lowered(code: &[u8]) -> bool {
    let imports = spirv::unresolved_imports(code);
    imports.is_ok_and(|imports| {
        let mut imports = imports.iter();
        imports.all(|symbol| Import::of(symbol) != Import::SpecializationConstant)
    })
}

/// Returns the number of instructions with this opcode.
fn count(code: &[u8], opcode: u16) -> usize {
    let module = Module::parse(code).unwrap();
    let all = module.instructions.iter();
    all.filter(|i| i.opcode == opcode).count()
}

#[test]
fn the_constants_of_a_real_module_are_lowered_in_the_order_of_their_reads() {
    let code = reference();
    assert!(!is_lowered(&code));
    let lowered = lower(&code).unwrap().unwrap();
    let mut constants = lowered.constants.constants.iter();
    assert_eq!(
        constants.next(),
        Some((
            "____ZL7stencil",
            &vec![part(0, 0, 4), part(1, 4, 4), part(2, 8, 4), part(3, 12, 4)]
        ))
    );
    assert_eq!(
        constants.next(),
        Some(("____ZL4gain", &vec![part(4, 0, 8)]))
    );
    assert_eq!(
        constants.next(),
        Some(("____ZL6offset", &vec![part(5, 0, 4)]))
    );
    assert_eq!(constants.next(), None);
    let stencil = [0.25f32, 0.5, 0.25].map(f32::to_le_bytes).concat();
    let others = [&1i32.to_le_bytes()[..], &2.5f64.to_le_bytes()];
    let all = [&stencil[..], &others.concat(), &7i32.to_le_bytes()].concat();
    assert_eq!(lowered.constants.defaults, Some(all));
    assert!(lowered.constants.layout().is_ok());

    let code = &lowered.code;
    assert!(is_lowered(code));
    assert_eq!(count(code, op::FUNCTION_CALL), 0);
    assert_eq!(count(code, op::SPEC_CONSTANT), 6);
    // One composite has the three floats, and one has them and the radius.
    assert_eq!(count(code, op::SPEC_CONSTANT_COMPOSITE), 2);
    assert!(
        lower(code).unwrap().is_none(),
        "there is nothing more to do"
    );
}

#[test]
fn nothing_stays_that_was_only_there_for_the_calls() {
    let lowered = lower(&reference()).unwrap().unwrap();
    let module = Module::parse(&lowered.code).unwrap();
    let variables = module.instructions.iter();
    let variables: Vec<u32> = variables
        .filter(|i| i.opcode == op::VARIABLE)
        .filter_map(|i| i.operand(2))
        .collect();
    // Two built-in inputs and the stencil remain. No symbol text remains; SPIR-V does not even allow it in its
    // former storage class.
    let input = 1;
    assert_eq!(variables, [input, input, STORAGE_FUNCTION]);
    let defined: Vec<u32> = module
        .instructions
        .iter()
        .flat_map(|i| match i.opcode {
            op::LABEL => i.operand(0),
            op::NAME | op::DECORATE => None,
            _ if i.result().is_some() => i.result(),
            _ => i.operand(1),
        })
        .chain([1]) // the set of extended instructions
        .collect();
    for instruction in &module.instructions {
        if let (op::NAME | op::DECORATE, Some(id)) = (instruction.opcode, instruction.operand(0)) {
            assert!(defined.contains(&id), "{id} has a name, and is nowhere");
        }
    }
}

// The ids of the modules below.
const VOID: u32 = 1;
const BOOL: u32 = 2;
const BYTE: u32 = 3;
const INT: u32 = 4;
const LONG: u32 = 5;
const TO_BYTE: u32 = 6;
const PAIR: u32 = 7;
const TO_PAIR: u32 = 8;
const READ: u32 = 9;
const KERNEL: u32 = 10;
/// The first id for values, and for additions of a test.
const FIRST: u32 = 100;
const GENERIC: u32 = 8;
const CROSS_WORKGROUP: u32 = 5;

/// The instructions of a module that reads constants, and of a kernel.
struct Builder {
    globals: Vec<Instruction>,
    body: Vec<Instruction>,
    next: u32,
    value: u32,
}

impl Builder {
    /// Creates a module whose constants have this type.
    fn of(value: u32) -> Self {
        Self {
            globals: Vec::new(),
            body: Vec::new(),
            next: FIRST,
            value,
        }
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn global(&mut self, opcode: u16, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        let operands = [ty, id].into_iter().chain(operands.iter().copied());
        self.globals.push(Instruction::new(opcode, operands));
        id
    }

    fn inside(&mut self, opcode: u16, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        let operands = [ty, id].into_iter().chain(operands.iter().copied());
        self.body.push(Instruction::new(opcode, operands));
        id
    }

    /// Adds a variable that holds `text`.
    fn text(&mut self, text: &str) -> u32 {
        let bytes: Vec<u32> = text.bytes().chain([0]).map(u32::from).collect();
        let count = u32::try_from(bytes.len()).unwrap();
        let count = self.global(op::CONSTANT, INT, &[count]);
        let bytes: Vec<u32> = bytes
            .into_iter()
            .map(|byte| self.global(op::CONSTANT, BYTE, &[byte]))
            .collect();
        let array = self.id();
        self.globals
            .push(Instruction::new(op::TYPE_ARRAY, [array, BYTE, count]));
        let text = self.global(op::CONSTANT_COMPOSITE, array, &bytes);
        self.variable(text)
    }

    /// Adds a variable of the module with this value. The pass does not need a pointer type.
    fn variable(&mut self, value: u32) -> u32 {
        self.global(op::VARIABLE, TO_BYTE, &[CROSS_WORKGROUP, value])
    }

    /// Adds a read of the constant with the symbol in `id` and the default in `value`.
    fn read(&mut self, id: u32, value: u32) -> u32 {
        match self.value {
            PAIR => {
                let to = self.inside(op::VARIABLE, TO_PAIR, &[STORAGE_FUNCTION]);
                self.inside(op::FUNCTION_CALL, VOID, &[READ, to, id, value, value]);
                to
            }
            ty => self.inside(op::FUNCTION_CALL, ty, &[READ, id, value, value]),
        }
    }

    fn build(&self) -> Vec<u8> {
        let words = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(text.len() / 4 * 4 + 4, 0);
            let (words, _) = bytes.as_chunks();
            words.iter().copied().map(u32::from_le_bytes).collect()
        };
        let text = |before: &[u32], text: &str, after: &[u32]| {
            let words: Vec<u32> = words(text);
            [before, &words, after].concat()
        };
        let import = [READ, DECORATION_LINKAGE_ATTRIBUTES];
        let symbol = "_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_";
        let mut instructions = vec![
            Instruction::new(op::ENTRY_POINT, text(&[6, KERNEL], "blur", &[])),
            Instruction::new(op::DECORATE, text(&import, symbol, &[LINKAGE_IMPORT])),
            Instruction::new(op::TYPE_VOID, [VOID]),
            Instruction::new(op::TYPE_BOOL, [BOOL]),
            Instruction::new(op::TYPE_INT, [BYTE, 8, 0]),
            Instruction::new(op::TYPE_INT, [INT, 32, 0]),
            Instruction::new(op::TYPE_INT, [LONG, 64, 0]),
            Instruction::new(op::TYPE_POINTER, [TO_BYTE, GENERIC, BYTE]),
            Instruction::new(op::TYPE_STRUCT, [PAIR, BYTE, LONG, INT]),
            Instruction::new(op::TYPE_POINTER, [TO_PAIR, GENERIC, PAIR]),
        ];
        instructions.extend(self.globals.iter().cloned());
        let (function, parameter) = (20, 21);
        instructions.extend([
            Instruction::new(op::TYPE_FUNCTION, [function, VOID, TO_PAIR]),
            Instruction::new(op::FUNCTION, [VOID, READ, 0, function]),
            Instruction::new(op::FUNCTION_PARAMETER, [TO_PAIR, parameter]),
            Instruction::new(op::FUNCTION_END, []),
            Instruction::new(op::FUNCTION, [VOID, KERNEL, 0, function]),
            Instruction::new(op::LABEL, [22]),
        ]);
        instructions.extend(self.body.iter().cloned());
        instructions.extend([
            Instruction::new(op::RETURN, []),
            Instruction::new(op::FUNCTION_END, []),
        ]);
        let header = [u32::from_le_bytes(spirv::MAGIC_BYTES), 0x1_0400, 0, 0, 0];
        let bytes: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
        let module = Module::parse(&bytes).unwrap();
        module.with(self.next + 1, instructions).to_bytes().unwrap()
    }

    fn lower(&self) -> Result<Lowered, String> {
        let lowered = lower(&self.build()).map_err(|refusal| refusal.to_string())?;
        let lowered = lowered.expect("it reads a constant");
        assert!(is_lowered(&lowered.code));
        Ok(lowered)
    }

    fn refused(&self) -> String {
        self.lower().unwrap_err()
    }
}

/// Returns a module that reads a single constant, `ns::radius`, of type `ty` and with this default.
fn one(ty: u32, default: impl FnOnce(&mut Builder) -> u32) -> Builder {
    let mut builder = Builder::of(ty);
    let id = builder.text("____ZN2nsL6radiusE");
    let value = default(&mut builder);
    let value = builder.variable(value);
    builder.read(id, value);
    builder
}

#[test]
fn a_bool_is_a_constant_that_is_true_or_false() {
    for (byte, expected, other) in [
        (1, op::SPEC_CONSTANT_TRUE, op::SPEC_CONSTANT_FALSE),
        (0, op::SPEC_CONSTANT_FALSE, op::SPEC_CONSTANT_TRUE),
    ] {
        let lowered = one(BOOL, |b| b.global(op::CONSTANT, BYTE, &[byte]));
        let lowered = lowered.lower().unwrap();
        assert_eq!(count(&lowered.code, expected), 1);
        assert_eq!(count(&lowered.code, other), 0);
        let constants = lowered.constants.constants;
        assert_eq!(
            constants.get("____ZN2nsL6radiusE"),
            Some(&vec![part(0, 0, 1)])
        );
        assert_eq!(
            lowered.constants.defaults,
            Some(vec![u8::try_from(byte).unwrap()])
        );
    }
}

#[test]
fn gaps_and_the_end_of_a_struct_are_part_of_the_value_and_not_of_the_device() {
    let pair = |builder: &mut Builder| {
        let byte = builder.global(op::CONSTANT, BYTE, &[0xab]);
        let long = builder.global(op::CONSTANT, LONG, &[1, 2]);
        let int = builder.global(op::CONSTANT, INT, &[3]);
        builder.global(op::CONSTANT_COMPOSITE, PAIR, &[byte, long, int])
    };
    let lowered = one(PAIR, pair).lower().unwrap();
    let parts = vec![
        part(0, 0, 1),
        part(1, 8, 8),
        part(2, 16, 4),
        part(SpecConstantDescriptor::PADDING, 20, 4),
    ];
    let constants = &lowered.constants;
    assert_eq!(constants.constants.iter().next().unwrap().1, &parts);
    let mut bytes = [0; 24];
    bytes[0] = 0xab;
    bytes[8] = 1;
    bytes[12] = 2;
    bytes[16] = 3;
    assert_eq!(constants.defaults, Some(bytes.to_vec()));
    // Its value is stored as the call would have stored it.
    assert_eq!(count(&lowered.code, op::STORE), 1);
}

#[test]
fn parts_without_a_value_are_left_out() {
    let pair = |builder: &mut Builder| {
        let byte = builder.global(op::UNDEF, BYTE, &[]);
        let long = builder.global(op::CONSTANT_NULL, LONG, &[]);
        let int = builder.global(op::UNDEF, INT, &[]);
        builder.global(op::CONSTANT_COMPOSITE, PAIR, &[byte, long, int])
    };
    let lowered = one(PAIR, pair).lower().unwrap();
    let parts = vec![part(0, 8, 8), part(SpecConstantDescriptor::PADDING, 16, 8)];
    let constants = &lowered.constants;
    assert_eq!(constants.constants.iter().next().unwrap().1, &parts);
    assert_eq!(constants.defaults, Some(vec![0; 24]));
    assert_eq!(count(&lowered.code, op::SPEC_CONSTANT), 1);
}

#[test]
fn a_packed_struct_has_no_gaps() {
    let mut builder = one(PAIR, |b| b.global(op::CONSTANT_NULL, PAIR, &[]));
    let packed = Instruction::new(op::DECORATE, [PAIR, DECORATION_CPACKED]);
    builder.globals.insert(0, packed); // it only has to come before functions
    let code = builder.build();
    let mut module = Module::parse(&code).unwrap();
    let all = &mut module.instructions;
    let at = all
        .iter()
        .position(|i| i.operands == [PAIR, DECORATION_CPACKED]);
    let packed = all.remove(at.unwrap());
    all.insert(1, packed);
    let code = module.to_bytes().unwrap();
    let lowered = lower(&code).unwrap().unwrap();
    let parts = vec![part(0, 0, 1), part(1, 1, 8), part(2, 9, 4)];
    assert_eq!(lowered.constants.constants.iter().next().unwrap().1, &parts);
}

#[test]
fn the_same_constant_read_twice_is_one() {
    let mut builder = Builder::of(INT);
    let (first, second) = (builder.text("_Z1a"), builder.text("_Z1b"));
    let default = builder.global(op::CONSTANT, INT, &[5]);
    let value = builder.variable(default);
    for id in [second, first, second] {
        builder.read(id, value);
    }
    let lowered = builder.lower().unwrap();
    assert_eq!(count(&lowered.code, op::SPEC_CONSTANT), 2);
    assert_eq!(count(&lowered.code, op::COPY_OBJECT), 3);
    assert!(lowered.constants.constants.names().eq(["_Z1b", "_Z1a"]));

    let default = builder.global(op::CONSTANT, INT, &[6]);
    let other = builder.variable(default);
    builder.read(first, other);
    assert_eq!(
        builder.refused(),
        "specialization constant a, which blur reads, cannot be lowered: its reads differ in type or \
         default value; pass the value as a kernel argument instead"
    );
}

#[test]
fn what_cannot_be_lowered_is_named() {
    let pointer = one(TO_BYTE, |b| b.global(op::CONSTANT_NULL, TO_BYTE, &[]));
    assert_eq!(
        pointer.refused(),
        "specialization constant ns::radius, which blur reads, cannot be lowered: it has a pointer, \
         which SPIR-V cannot specialize; pass the value as a kernel argument instead"
    );
    let other = one(LONG, |b| b.global(op::CONSTANT, INT, &[1]));
    assert!(other.refused().contains("is not that of its default value"));
    let unknown = one(INT, |b| b.global(op::SPEC_CONSTANT, INT, &[1]));
    assert!(unknown.refused().contains("is not known to the compiler"));

    let mut builder = Builder::of(INT);
    let id = builder.text("_Z1a");
    let elsewhere = builder.global(op::VARIABLE, TO_BYTE, &[CROSS_WORKGROUP]);
    builder.read(id, elsewhere);
    let refused = builder.refused();
    assert!(refused.contains("constant a, which blur reads,"));
    assert!(refused.contains("its default value is not in this source"));
}

#[test]
fn a_constant_that_depends_on_the_run_is_refused() {
    let mut builder = Builder::of(INT);
    let (a, b) = (builder.text("_Z1a"), builder.text("_Z1b"));
    let default = builder.global(op::CONSTANT, INT, &[5]);
    let value = builder.variable(default);
    let either = builder.inside(op::PHI, TO_BYTE, &[a, 22, b, 22]);
    builder.read(either, value);
    assert_eq!(
        builder.refused(),
        "a specialization constant, which blur reads, cannot be lowered: which one is only known when \
         the kernel runs; pass the value as a kernel argument instead"
    );
}

#[test]
fn a_read_other_than_by_a_call_is_refused() {
    let mut builder = one(INT, |b| b.global(op::CONSTANT, INT, &[5]));
    builder.inside(op::COPY_OBJECT, TO_BYTE, &[READ]);
    assert!(builder.refused().contains("it is read in an unknown way"));
    let mut builder = Builder::of(INT);
    builder.inside(op::FUNCTION_CALL, INT, &[READ, 1]);
    assert!(builder.refused().contains("it is read in an unknown way"));
}

/// Returns a module like unoptimized code, where the symbol goes through a local variable.
fn through_a_local(volatile: bool, stores: usize) -> Builder {
    let mut builder = Builder::of(INT);
    let id = builder.text("_Z1a");
    let default = builder.global(op::CONSTANT, INT, &[5]);
    let value = builder.variable(default);
    let local = builder.inside(op::VARIABLE, TO_BYTE, &[STORAGE_FUNCTION]);
    let generic = builder.inside(op::PTR_CAST_TO_GENERIC, TO_BYTE, &[local]);
    for _ in 0..stores {
        builder
            .body
            .push(Instruction::new(op::STORE, [generic, id, 2, 8]));
    }
    let memory: &[u32] = if volatile { &[1] } else { &[2, 8] };
    let loaded = builder.inside(op::LOAD, TO_BYTE, &[&[generic], memory].concat());
    let cast = builder.inside(op::BITCAST, TO_BYTE, &[loaded]);
    builder.read(cast, value);
    builder
}

#[test]
fn symbols_are_followed_through_local_variables_of_unoptimized_code() {
    let lowered = through_a_local(false, 1).lower().unwrap();
    assert!(lowered.constants.constants.names().eq(["_Z1a"]));
    for opcode in [
        op::VARIABLE,
        op::STORE,
        op::LOAD,
        op::BITCAST,
        op::PTR_CAST_TO_GENERIC,
        op::FUNCTION_CALL,
    ] {
        assert_eq!(count(&lowered.code, opcode), 0, "opcode {opcode}");
    }
    let unknown = "which one is only known when the kernel runs";
    for (volatile, stores) in [(false, 2), (false, 0), (true, 1)] {
        let refused = through_a_local(volatile, stores).refused();
        assert!(refused.contains(unknown), "{refused}");
    }
}

#[test]
fn calls_with_other_effects_stay() {
    let mut builder = Builder::of(INT);
    let id = builder.text("_Z1a");
    let default = builder.global(op::CONSTANT, INT, &[5]);
    let value = builder.variable(default);
    let other_function = 30;
    let buffer = builder.inside(op::FUNCTION_CALL, TO_BYTE, &[other_function]);
    builder.inside(op::FUNCTION_CALL, INT, &[READ, id, value, buffer]);
    let lowered = builder.lower().unwrap();
    assert_eq!(count(&lowered.code, op::FUNCTION_CALL), 1);
}

#[test]
fn a_pointer_type_uses_only_its_pointee() {
    let pointer = Instruction::new(op::TYPE_POINTER, [TO_BYTE, GENERIC, BYTE]);
    assert_eq!(pointer.uses(), [BYTE]);
}

#[test]
fn code_without_constants_and_what_is_no_code_stay_as_they_are() {
    let lowered = lower(&reference()).unwrap().unwrap();
    assert!(lower(&lowered.code).unwrap().is_none());
    for bytes in [&[][..], &[1, 2, 3], b"\x7fELF", &spirv::MAGIC_BYTES] {
        assert!(lower(bytes).unwrap().is_none());
    }
}

#[test]
fn circles_and_enormous_types_are_no_trouble() {
    // Casts in a circle, and a local variable whose aliases form a circle.
    let mut builder = Builder::of(INT);
    let (a, b) = (FIRST + 1, FIRST + 2);
    builder.inside(op::BITCAST, TO_BYTE, &[b]);
    builder.inside(op::BITCAST, TO_BYTE, &[a]);
    builder.read(a, b);
    assert!(builder.refused().contains("only known when"));

    // Arrays of arrays, 2 to the power of 8 * 32 bytes.
    let refused = one(PAIR, |builder| {
        let count = builder.global(op::CONSTANT, INT, &[u32::MAX]);
        let mut ty = BYTE;
        for _ in 0..8 {
            let array = builder.id();
            let instruction = Instruction::new(op::TYPE_ARRAY, [array, ty, count]);
            builder.globals.push(instruction);
            ty = array;
        }
        builder.global(op::CONSTANT_NULL, ty, &[])
    });
    assert!(refused.refused().contains("not known to the compiler"));

    // A struct in a struct, a hundred thousand levels deep, and a value of the same depth.
    let deep = one(PAIR, |builder| {
        let (mut ty, mut value) = (INT, builder.global(op::CONSTANT, INT, &[1]));
        for _ in 0..100_000 {
            let outer = builder.id();
            builder
                .globals
                .push(Instruction::new(op::TYPE_STRUCT, [outer, ty]));
            value = builder.global(op::CONSTANT_COMPOSITE, outer, &[value]);
            ty = outer;
        }
        value
    });
    assert!(deep.refused().contains("not known to the compiler"));
}

#[test]
fn parts_beyond_what_an_instruction_can_say_are_refused() {
    for (length, expected) in [(65_532u32, true), (65_533, false)] {
        let mut builder = Builder::of(PAIR);
        let id = builder.text("_Z1a");
        let count = builder.global(op::CONSTANT, INT, &[length]);
        let array = builder.id();
        let instruction = Instruction::new(op::TYPE_ARRAY, [array, BYTE, count]);
        builder.globals.push(instruction);
        let value = builder.global(op::CONSTANT_NULL, array, &[]);
        let value = builder.variable(value);
        builder.value = array;
        builder.read(id, value);
        match builder.lower() {
            Ok(_) => assert!(expected, "{length} parts"),
            Err(refused) => {
                assert!(refused.contains("more parts than SPIR-V can say"));
                assert!(!expected, "{length} parts: {refused}");
            }
        }
    }
}

/// Any input gives an answer, and lowered code never reads a constant by a call.
#[test]
fn damaged_modules_end_in_an_answer() {
    let mut outcomes = [0; 3];
    let mut check = |code: &[u8]| {
        outcomes[match lower(code) {
            Ok(Some(lowered)) => {
                let module = Module::parse(&lowered.code).expect("it wrote no SPIR-V");
                let imports = Index::of(&module).imports;
                let mut names = imports.iter().map(|(_, name)| name.as_str());
                assert!(
                    names.all(|name| Import::of(name) != Import::SpecializationConstant),
                    "a read of a constant stayed"
                );
                0
            }
            Ok(None) => 1,
            Err(_) => 2,
        }] += 1;
    };
    let local = through_a_local(false, 1).build();
    for code in [reference(), local] {
        for at in 0..code.len() {
            let mut damaged = code.clone();
            for flipped in [1, 0xff] {
                damaged[at] = code[at] ^ flipped;
                check(&damaged);
            }
            damaged[at] = 0;
            check(&damaged);
        }
        for at in (0..code.len()).step_by(4) {
            check(&code[..at]);
            // An id replaces another id.
            for id in [9u32, 102, u32::MAX] {
                let mut damaged = code.clone();
                damaged[at..at + 4].copy_from_slice(&id.to_le_bytes());
                check(&damaged);
            }
        }
    }
    assert!(
        outcomes.iter().all(|count| *count > 100),
        "lowered, left alone, refused: {outcomes:?}"
    );
}

#[test]
fn decorations_stand_before_types_and_constants_before_functions() {
    let lowered = lower(&reference()).unwrap().unwrap();
    let module = Module::parse(&lowered.code).unwrap();
    let all = &module.instructions;
    let first = |opcode: u16| all.iter().position(|i| i.opcode == opcode).unwrap();
    let last = |opcode: u16| all.iter().rposition(|i| i.opcode == opcode).unwrap();
    assert!(last(op::DECORATE) < first(op::TYPE_INT));
    assert!(last(op::SPEC_CONSTANT_COMPOSITE) < first(op::FUNCTION));
    let decorated = all.iter().filter_map(|i| match i.operands[..] {
        [id, DECORATION_SPEC_ID, number] if i.opcode == op::DECORATE => Some((id, number)),
        _ => None,
    });
    let constants = all.iter().filter(|i| i.opcode == op::SPEC_CONSTANT);
    let expected = constants.filter_map(Instruction::result).zip(0..);
    assert!(decorated.eq(expected));
}
