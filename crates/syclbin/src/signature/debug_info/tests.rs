// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debug information that is written by hand, for cases that no stored file covers.

use super::*;
use crate::spirv::module::{ParameterType, TypeId};

const INLINED_AT: u32 = 25;
const GLOBAL: u64 = 5;
const LOCAL: u64 = 4;

/// Debug information, whose ids count from 1.
struct Written {
    module: Module,
    newer: bool,
    last: u32,
}

impl Written {
    fn new(newer: bool) -> Self {
        let (module, last) = (Module::default(), 0);
        Self {
            module,
            newer,
            last,
        }
    }

    fn id(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    fn text(&mut self, text: &str) -> u32 {
        let id = self.id();
        self.module.strings.insert(id, text.into());
        id
    }

    fn number(&mut self, number: u64) -> u32 {
        let id = self.id();
        self.module.constants.insert(id, number);
        id
    }

    fn add(&mut self, instruction: u32, operands: &[u32]) -> u32 {
        let result = self.id();
        self.module.extended.push(Extended {
            result,
            set: 0,
            instruction,
            operands: operands.to_vec(),
        });
        result
    }

    fn basic(&mut self, name: &str, bits: u64) -> u32 {
        let operands = [self.text(name), self.number(bits)];
        self.add(TYPE_BASIC, &operands)
    }

    fn pointer(&mut self, to: u32, storage: u64) -> u32 {
        let operands = [to, self.number(storage)];
        self.add(TYPE_POINTER, &operands)
    }

    fn constant(&mut self, of: u32) -> u32 {
        let operands = [of, self.number(0)];
        self.add(TYPE_QUALIFIER, &operands)
    }

    /// A class (tag 1) or union (tag 2) in a scope. A name that starts with `_ZTS` is the linkage name.
    fn composite(&mut self, tag: u64, name: &str, scope: u32, bits: u64, parts: &[u32]) -> u32 {
        let (plain, linkage) = if name.starts_with("_ZTS") {
            ("class", name)
        } else {
            (name, "")
        };
        let [name, linkage] = [plain, linkage].map(|text| self.text(text));
        let [tag, size] = [tag, bits].map(|number| self.number(number));
        let operands = [&[name, tag, 0, 0, 0, scope, linkage, size, 0], parts].concat();
        self.add(TYPE_COMPOSITE, &operands)
    }

    fn class(&mut self, name: &str, bits: u64, parts: &[u32]) -> u32 {
        self.composite(1, name, 0, bits, parts)
    }

    fn member(&mut self, name: &str, ty: u32, offset: u64, bits: u64, flags: u64) -> u32 {
        let name = self.text(name);
        let [offset, bits, flags] = [offset, bits, flags].map(|number| self.number(number));
        let parent = if self.newer { &[][..] } else { &[0] };
        let operands = [&[name, ty, 0, 0, 0], parent, &[offset, bits, flags]].concat();
        self.add(TYPE_MEMBER, &operands)
    }

    fn base(&mut self, ty: u32, offset: u64) -> u32 {
        let child = if self.newer { &[][..] } else { &[0] };
        let operands = [child, &[ty, self.number(offset), 0]].concat();
        self.add(INHERITANCE, &operands)
    }

    fn function_type(&mut self, parameters: &[u32]) -> u32 {
        let operands = [&[0, 0], parameters].concat();
        self.add(TYPE_FUNCTION, &operands)
    }

    fn function(&mut self, name: &str, linkage: &str, ty: u32) -> u32 {
        let [name, linkage] = [name, linkage].map(|text| self.text(text));
        self.add(FUNCTION, &[name, ty, 0, 0, 0, 0, linkage, 0, 0])
    }

    fn inlined_at(&mut self, scope: u32, outer: &[u32]) -> u32 {
        let column = if self.newer { &[0][..] } else { &[] };
        let operands = [&[0], column, &[scope], outer].concat();
        self.add(INLINED_AT, &operands)
    }

    /// A class whose call operator is a kernel with these arguments and members.
    fn functor(&mut self, symbol: &str, arguments: &[(&str, u32)], members: &[(&str, u32)]) {
        let members = members
            .iter()
            .map(|(name, ty)| self.member(name, *ty, 0, 8, 0));
        let members: Vec<u32> = members.collect();
        let this = self.class("Functor", 8, &members);
        let this = self.constant(this);
        let this = self.pointer(this, GLOBAL);
        let ty = self.function_type(&[this]);
        let operator = self.function("operator()", "", ty);
        let types: Vec<u32> = arguments.iter().map(|(_, ty)| *ty).collect();
        let ty = self.function_type(&types);
        let kernel = self.function("kernel", symbol, ty);
        for (number, (name, ty)) in (1..).zip(arguments) {
            let name = self.text(name);
            self.add(LOCAL_VARIABLE, &[name, *ty, 0, 0, 0, kernel, 0, number]);
        }
        let code = self.id();
        self.add(FUNCTION_DEFINITION, &[kernel, code]);
        let at = self.inlined_at(kernel, &[]);
        self.add(SCOPE, &[operator, at]);
    }

    fn info(&self) -> DebugInfo<'_> {
        DebugInfo::new(&self.module, 0, self.newer, Definitions::default())
    }

    fn spelled(&self, ty: u32) -> Option<String> {
        let ty = self.info().cpp_type(ty, MAX_DEPTH)?;
        Some(ty.to_string())
    }

    /// The members of a class, as `type name; offset`.
    fn members(&self, class: u32) -> Vec<String> {
        let mut info = self.info();
        let name = info.cpp_type(class, MAX_DEPTH).unwrap().to_string();
        let layouts = &info.definitions.layouts;
        let id = info.definitions.named[&name].structure().unwrap();
        let members = layouts.fields(id).iter().map(|field| {
            let name = field.name.as_deref().unwrap_or("_");
            format!("{} {name}; {}", layouts.spell(&field.ty), field.offset)
        });
        members.collect()
    }

    /// The parameters of a kernel, as `type name`, where the code has these arguments.
    fn parameters(&self, symbol: &str, passed: &[Option<ParameterType>]) -> Option<Vec<String>> {
        let passed = passed.iter().map(|ty| {
            ty.map(|ty| Parameter {
                name: None,
                ty,
                align: None,
            })
        });
        let passed: Vec<_> = passed.collect();
        let parameters = self.info().kernel_parameters(symbol, &passed)?;
        let spelled = parameters.iter().map(|of| format!("{} {}", of.ty, of.name));
        Some(spelled.collect())
    }
}

const LAMBDA: &str = "_ZTSZ4hostvEUlvE_";

#[test]
fn unnamed_captures_are_named_after_the_lambda() {
    let mut written = Written::new(true);
    let int = written.basic("int", 32);
    let x = written.member("x", int, 0, 32, 0);
    let [held, aliased] = [0, 0].map(|_| written.class("", 32, &[x]));
    let alias = written.text("Alias");
    let alias = written.add(TYPEDEF, &[alias, aliased, 0, 0, 0, 0]);
    let nothing = written.class("", 8, &[]);
    let own = written.class("Sum", 32, &[x]);
    let empty = written.class("Empty", 8, &[]);
    let constant = written.constant(held);
    let arguments = [
        ("held", held),
        ("alias", alias),
        ("aliased", aliased),
        ("nothing", nothing),
        ("empty", empty),
        ("", own),
    ];
    let members = [
        ("held", constant),
        ("aliased", aliased),
        ("nothing", nothing),
        ("empty", empty),
    ];
    written.functor(LAMBDA, &arguments, &members);
    let expected = [
        "host::held held",
        "host::aliased alias",
        "host::aliased aliased",
        "struct {} nothing",
        "Empty empty",
        "Sum this",
    ];
    let found = written.parameters(LAMBDA, &[None; 6]);
    assert_eq!(found.unwrap(), expected);
    // A class has names for all its members.
    let mut written = Written::new(true);
    let int = written.basic("int", 32);
    written.functor("_ZTS3Add", &[("", int)], &[]);
    assert_eq!(written.parameters("_ZTS3Add", &[None]).unwrap(), ["int "]);
    assert_eq!(written.parameters("_ZTS3Add", &[]), None);
}

#[test]
fn code_gives_sizes_of_unnamed_arguments() {
    let mut written = Written::new(true);
    let float = written.basic("float", 32);
    let x = written.member("x", float, 0, 32, 0);
    let unnamed = written.class("", 64, &[x]);
    written.functor(LAMBDA, &[("other", unnamed)], &[]);
    let (types, none) = (&mut written.module.types, BTreeMap::new());
    let double = [500, 64];
    types.declare(22, &double, &none, &BTreeSet::new()).unwrap();
    let ty = TypeId(500);
    let found = written.parameters(LAMBDA, &[Some(ParameterType::ByValue { ty })]);
    assert_eq!(found.unwrap(), ["bytes[8] other"]);
    assert_eq!(written.parameters(LAMBDA, &[None]), None);
}

#[test]
fn accessors_are_four_arguments_of_one_name() {
    let mut written = Written::new(true);
    let int = written.basic("int", 32);
    let [global, local] = [GLOBAL, LOCAL].map(|storage| written.pointer(int, storage));
    let mut class = |linkage: &str| written.class(linkage, 64, &[]);
    let [range1, range2] = [1, 2].map(|n| class(&format!("_ZTSN4sycl3_V15rangeILi{n}EEE")));
    let [id1, id2] = [1, 2].map(|n| class(&format!("_ZTSN4sycl3_V12idILi{n}EEE")));
    let none = class("_ZTSN4sycl3_V114local_accessorIiLi0EEE");
    let grid = class("_ZTS4GridIiLi7EE");
    let arguments = [
        ("p", global),
        ("r", range1),
        ("s", range1),
        ("i", id1),
        ("none", local),
        ("none", range1),
        ("none", range1),
        ("none", id1),
        ("grid", local),
        ("grid", range2),
        ("grid", range2),
        ("grid", id2),
        ("mixed", global),
        ("mixed", range1),
        ("mixed", range2),
        ("mixed", id1),
        ("pixels", int),
    ];
    // A class that holds an accessor.
    written.functor("_ZTS3Add", &arguments, &[("none", none), ("grid", grid)]);
    let mut passed = [None; 17];
    passed[16] = Some(ParameterType::Image {
        dimensions: 2,
        written: false,
    });
    let found = written.parameters("_ZTS3Add", &passed).unwrap();
    let expected = [
        "int * p",
        "sycl::range<1> r",
        "sycl::range<1> s",
        "sycl::id<1> i",
        "sycl::local_accessor<int, 0> none",
        "sycl::local_accessor<int, 2> grid",
        "int * mixed",
        "sycl::range<1> mixed",
        "sycl::range<2> mixed",
        "sycl::id<1> mixed",
        "sycl::accessor<pixel, 2, sycl::access_mode::read, sycl::target::image> pixels",
    ];
    assert_eq!(found, expected);
}

#[test]
fn locations_are_file_names_and_lines() {
    for (path, instruction, expected) in [
        ("/home/me/solver.cpp", SOURCE, Some("solver.cpp:12")),
        ("C:\\me\\solver.cpp", SOURCE, Some("solver.cpp:12")),
        ("/home/me/", SOURCE, None),
        ("solver\u{1b}.cpp", SOURCE, None),
        ("solver.cpp", LEXICAL_BLOCK, None),
    ] {
        let mut written = Written::new(true);
        let (path_id, line) = (written.text(path), written.number(12));
        let source = written.add(instruction, &[path_id]);
        let name = written.text("k");
        written.add(FUNCTION, &[name, 0, source, line, 0, 0, 0, 0, 0]);
        assert_eq!(written.info().location("k").as_deref(), expected, "{path}");
    }
}

#[test]
fn only_host_variables_have_value_types() {
    let mut written = Written::new(true);
    let int = written.basic("int", 32);
    let stream = written.class("_ZTSN4sycl3_V16streamE", 64, &[]);
    let global = "_ZTSN4sycl3_V13ext6oneapi12experimental13device_globalIiEE";
    for (linkage, of, expected) in [
        (global, int, Some("int")),
        ("_ZTSN4sycl3_V117specialization_idIiEE", int, Some("int")),
        (global, stream, None),
        ("_ZTS4PairIiE", int, None),
    ] {
        let class = written.class(linkage, 64, &[]);
        let argument = written.add(TEMPLATE_PARAMETER, &[0, of]);
        let template = written.add(TYPE_TEMPLATE, &[class, argument]);
        for ty in [template, written.constant(template)] {
            let variable = written.add(GLOBAL_VARIABLE, &[0, ty]);
            let mut info = written.info();
            let variable = info.get(variable).unwrap();
            let found = info.value_type(variable).map(|ty| ty.to_string());
            assert_eq!(found.as_deref(), expected, "{linkage}");
        }
    }
}

#[test]
fn dimensions_come_from_property_or_used_class() {
    let mut written = Written::new(true);
    let ty = written.function_type(&[]);
    let [f, g, h] = ["f", "g", "h"].map(|name| written.function(name, "", ty));
    let item = written.function("get", "_ZNK4sycl3_V17nd_itemILi3EE13get_global_idEi", ty);
    for function in [f, g, h] {
        written.add(FUNCTION_DEFINITION, &[function, 1000 + function]);
    }
    written.add(FUNCTION_DEFINITION, &[item, 1000 + item]);
    let property = "syclbin: Of<decltype((nd_range_kernel<2>))>::name";
    let texts = Vec::from([property.into()]);
    written.module.annotations.insert(1000 + f, texts);
    let calls = [f, g].map(|caller| (1000 + caller, 1000 + item));
    written.module.calls.extend(calls);
    let mut info = written.info();
    let mut found = |name: &str| info.dimensions(&format!("__sycl_kernel_{name}"));
    assert_eq!(["f", "g", "h"].map(&mut found), [Some(2), Some(3), None]);
}

#[test]
fn uses_are_outermost_inlined_functions() {
    for newer in [false, true] {
        let mut written = Written::new(newer);
        let [kernel, operator, helper, plain] =
            ["k", "operator()", "help", "plain"].map(|name| written.function(name, "", 0));
        let block = written.add(LEXICAL_BLOCK, &[0, 0, 0, operator, 0]);
        let inner = written.add(LEXICAL_BLOCK, &[0, 0, 0, block]);
        let instance = written.add(TYPE_TEMPLATE, &[plain]);
        written.add(FUNCTION_DEFINITION, &[kernel, 1000]);
        let outer = written.inlined_at(kernel, &[]);
        let nested = written.inlined_at(inner, &[outer]);
        written.add(SCOPE, &[kernel]); // not inlined
        written.add(SCOPE, &[helper, nested]);
        written.add(SCOPE, &[block, outer]); // the same function
        written.add(SCOPE, &[instance, outer]);
        let expected = BTreeMap::from([(kernel, [operator, plain].into())]);
        assert_eq!(written.info().uses, expected);
    }
}

#[test]
fn types_without_a_linkage_name_are_spelled() {
    let mut written = Written::new(true);
    let (float, char) = (
        written.basic("float", 32),
        written.basic("unsigned char", 8),
    );
    let count = written.number(4);
    let vector = written.add(TYPE_VECTOR, &[float, count]);
    let vector = written.pointer(vector, GLOBAL);
    let expected = "float __attribute__((ext_vector_type)) *";
    assert_eq!(written.spelled(vector).unwrap(), expected);
    // An enumeration of the standard library, which needs no definition.
    let name = written.text("std");
    let std = written.add(LEXICAL_BLOCK, &[0, 0, 0, 0, name]);
    let name = written.text("byte");
    let byte = written.add(TYPE_ENUM, &[name, char, 0, 0, 0, std]);
    let mut info = written.info();
    let ty = info.cpp_type(byte, MAX_DEPTH).unwrap();
    assert_eq!(ty.to_string(), "std::byte");
    assert!(info.definitions.named.is_empty());
    let outer = written.composite(1, "Outer", std, 32, &[]);
    let inner = written.composite(1, "Inner", outer, 32, &[]);
    assert_eq!(written.spelled(inner).unwrap(), "std::Outer::Inner");
}

#[test]
fn counts_of_arrays_are_constants_or_subranges() {
    let mut written = Written::new(true);
    let int = written.basic("int", 32);
    let [three, endless] = [3, u64::from(u32::MAX)].map(|count| written.number(count));
    let subrange = written.add(TYPE_SUBRANGE, &[0, three]);
    // A variable array, whose count is not its line.
    let variable = written.add(LOCAL_VARIABLE, &[0, int, 0, three, 0, 0, 0]);
    for (count, expected) in [
        (three, "int[3]"),
        (subrange, "int[3]"),
        (endless, "int[]"),
        (variable, "int[]"),
    ] {
        let array = written.add(TYPE_ARRAY, &[int, count]);
        assert_eq!(written.spelled(array).unwrap(), expected);
    }
}

#[test]
fn types_of_one_name_are_told_apart() {
    let mut written = Written::new(true);
    let [int, float] = ["int", "float"].map(|name| written.basic(name, 32));
    let [x, y] = [int, float].map(|ty| written.member("x", ty, 0, 32, 0));
    let own = written.composite(2, "U", 0, 32, &[x, y]);
    let [first, second] = [x, y].map(|member| written.class("S", 32, &[member]));
    let same = written.composite(2, "S", 0, 32, &[x, y]);
    let mut info = written.info();
    let mut found = |ty| info.cpp_type(ty, MAX_DEPTH).map(|ty| ty.to_string());
    let names = [own, first, second, same, first, second, same].map(&mut found);
    let expected = [
        Some("U"),
        Some("S"),
        Some("S_2"),
        None,
        Some("S"),
        Some("S_2"),
        None,
    ];
    assert_eq!(names.each_ref().map(Option::as_deref), expected);
    assert_eq!(info.definitions.undefined, BTreeSet::from(["U".into()]));
}

#[test]
fn bases_are_members_and_unnamed_members_stay() {
    for newer in [false, true] {
        let mut written = Written::new(newer);
        let [int, float] = ["int", "float"].map(|name| written.basic(name, 32));
        let x = written.member("x", int, 0, 32, 0);
        let limit = written.member("LIMIT", int, 0, 32, 0x200);
        let base = written.class("Base_A", 32, &[x]);
        let empty = written.class("Empty", 8, &[limit]);
        let derived = written.class("Derived", 32, &[]);
        assert_eq!(written.spelled(derived).unwrap(), "Derived");
        let parts = [
            written.base(empty, 0),
            written.base(base, 0),
            written.member("", base, 32, 32, 0),
            written.member("y", float, 64, 32, 0),
            written.member("STATIC", float, 0, 32, 0x200),
        ];
        let class = written.class("All", 96, &parts);
        let expected = ["Base_A Base_A; 0", "Base_A _; 4", "float y; 8"];
        assert_eq!(written.members(class), expected);
    }
}

#[test]
fn classes_with_only_static_members_are_empty() {
    for newer in [false, true] {
        let mut written = Written::new(newer);
        let char = written.basic("char", 8);
        let member = written.member("c", char, 0, 8, 0);
        let limit = written.member("LIMIT", char, 0, 8, 0x200);
        let (none, fixed) = (written.class("N", 8, &[]), written.class("F", 8, &[limit]));
        let held = written.class("H", 8, &[limit, member]);
        let mut derived = |of| {
            let base = written.base(of, 0);
            written.class("D", 8, &[base])
        };
        let [of_fixed, of_held] = [fixed, held].map(&mut derived);
        let found = |class| written.info().is_empty(class);
        assert_eq!([none, fixed, of_fixed].map(found), [true; 3]);
        assert_eq!([held, of_held, char].map(found), [false; 3]);
    }
}
