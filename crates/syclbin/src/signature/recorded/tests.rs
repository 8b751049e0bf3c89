// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions that no build writes, and the bytes of those that it writes.

use super::*;
use crate::signature::Argument;
use crate::signature::types::{Access, Enum, Field, Scalar};

const INT: Element = Element::Scalar(Scalar::I32);

fn vector(count: u32) -> Element {
    let of = Scalar::F32;
    Element::Vector { of, count }
}

fn pointer(to: Element) -> Element {
    Element::Pointer(Box::new(Pointee::Element(to)))
}

fn layout(size: u64, align: u64, fields: &[(u64, Element)]) -> Layout {
    let fields = fields
        .iter()
        .map(|(offset, ty)| Field::unnamed(*offset, ty.clone(), true));
    Layout::of_code("S", size, align, fields.collect())
}

/// What a module records of a kernel with this parameter, when it is read again.
fn read_again(parameter: Parameter, layouts: &Layouts) -> Result<Parameter, Unsupported> {
    let mut module = AbstractModule::default();
    module.add_kernel_name("k");
    let mut written = KernelSignature::new("k", Ok(vec![parameter]));
    written.dimensions = Some(3);
    let value = of_kernel(&written, layouts);
    module.metadata.insert(set::KERNELS, "k", value);
    let mut names = Names::default();
    let read = kernel(&module, "k", &mut names).unwrap();
    let mut parameters = read.parameters?;
    assert_eq!(read.dimensions, Some(3));
    assert_eq!(&names.layouts, layouts);
    Ok(parameters.remove(0))
}

fn accessor(element: Element, dimensions: u8) -> Parameter {
    Parameter {
        align: Some(4),
        arguments: vec![Argument::Passed; 4],
        ..Parameter::new(Type::Accessor {
            element: Pointee::Element(element),
            dimensions,
            access: Access::Read,
        })
    }
}

#[test]
fn only_parameters_that_can_exist_are_read() {
    let mut layouts = Layouts::default();
    let fields = [(0, INT), (8, pointer(vector(3))), (16, Element::Bytes(8))];
    let id = layouts.insert(layout(24, 8, &fields));
    let structure = Element::Struct(id);
    let value = |element| Parameter::new(Type::Value(element));
    for sound in [
        value(structure.clone()),
        value(Element::array(structure.clone(), 2)),
        accessor(structure.clone(), 3),
    ] {
        assert_eq!(read_again(sound.clone(), &layouts), Ok(sound));
    }
    let float = Enum {
        name: "E".into(),
        of: Scalar::F32,
    };
    let mut misaligned = accessor(structure.clone(), 2);
    misaligned.align = Some(3);
    let mut short = accessor(structure.clone(), 2);
    short.arguments.pop();
    let pair = Element::array(structure.clone(), 1);
    for unsound in [
        value(pointer(INT)),
        value(Element::Bytes(4)),
        value(vector(5)),
        value(Element::Enum(float)),
        value(Element::array(pointer(structure), 1)),
        value(Element::array(pointer(vector(5)), 1)),
        value(Element::array(INT, u64::MAX)),
        accessor(vector(5), 2),
        accessor(pair.clone(), 0),
        accessor(pair, 4),
        misaligned,
        short,
    ] {
        let read = read_again(unsound.clone(), &layouts);
        assert_eq!(read, Err(damaged()), "{unsound:?}");
    }
}

#[test]
fn only_structs_with_ordered_members_are_read() {
    let read = |layout: Layout| {
        let mut layouts = Layouts::default();
        let id = layouts.insert(layout);
        let parameter = Parameter::new(Type::Value(Element::Struct(id)));
        read_again(parameter, &layouts).is_ok()
    };
    assert!(read(layout(8, 4, &[(0, INT), (4, INT)])));
    for unsound in [
        layout(8, 3, &[(0, INT), (4, INT)]),
        layout(8, 4, &[(0, INT), (2, INT)]),
        layout(8, 4, &[(0, INT), (6, INT)]),
        layout(32, 4, &[(0, vector(5))]),
        layout(8, 4, &[(0, Element::array(INT, u64::MAX))]),
    ] {
        assert!(!read(unsound.clone()), "{unsound:?}");
    }
}

/// The limit is on what nests, not on how many arrays there are.
#[test]
fn structs_of_many_arrays_are_read() {
    let fields: Vec<_> = (0..200).map(|n| (4 * n, Element::array(INT, 1))).collect();
    let mut layouts = Layouts::default();
    let id = layouts.insert(layout(800, 4, &fields));
    let parameter = Parameter::new(Type::Value(Element::Struct(id)));
    assert_eq!(read_again(parameter.clone(), &layouts), Ok(parameter));
}

#[test]
fn numbers_have_their_shortest_leb128_form() {
    for (number, bytes) in [
        (0, &[0][..]),
        (127, &[0x7f]),
        (128, &[0x80, 1]),
        (0x4081, &[0x81, 0x81, 1]),
    ] {
        let mut writer = Writer {
            bytes: Vec::new(),
            structs: BTreeMap::new(),
        };
        u64::write(&number, &mut writer);
        assert_eq!(writer.bytes, bytes);
        assert_eq!(
            u64::read(&mut Reader::new(bytes, &mut Names::default())),
            Some(number)
        );
    }
}

#[test]
fn damaged_values_add_no_structs() {
    let mut layouts = Layouts::default();
    let id = layouts.insert(layout(4, 4, &[(0, INT)]));
    let parameter = Parameter::new(Type::Value(Element::Struct(id)));
    let written = of_kernel(&KernelSignature::new("k", Ok(vec![parameter])), &layouts);
    let whole = written.as_bytes().unwrap();
    for (bytes, structs) in [(whole.to_vec(), 1), ([whole, &[0]].concat(), 0)] {
        let mut module = AbstractModule::default();
        module.metadata.insert(set::KERNELS, "k", bytes);
        let mut names = Names::default();
        let read = kernel(&module, "k", &mut names).unwrap();
        assert_eq!(read.parameters.is_ok(), structs == 1);
        assert_eq!(names.layouts.list.len(), structs);
    }
}
