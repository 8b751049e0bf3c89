// SPDX-License-Identifier: MIT OR Apache-2.0
//! Patterns of real code bases: what their files say, and what their kernels compute.
#![allow(unsafe_code)] // a launch is unsafe

use std::collections::BTreeMap;

use syclbin::signature::{self, Element, KernelSignature, Signatures, Type};
use syclbin_rt::format::Rgba;
use syclbin_rt::{Addressing, Aspect, Buffer, Event, Filtering, Image, NdRange, Sampler};

use crate::common::{self, queue};

syclbin_rt::include_syclbin! { mod glm = "glm"; }
syclbin_rt::include_syclbin! { mod names = "names"; }
syclbin_rt::include_syclbin! {
    mod described = "described";
    fn "_ZTSZ5applyI6AddTwoEvRN4sycl3_V15queueEPiT_E5Apply" as apply;
    fn "_ZTSZ12apply_lambdaIZ10operationsRN4sycl3_V15queueEPiEUliE_EvS3_S4_T_E11ApplyLambda" as apply_lambda;
}
syclbin_rt::include_syclbin! { mod samp = "samp"; }

fn signatures(file: &[u8]) -> Signatures {
    signature::kernels(&syclbin::read::parse(file).unwrap()).unwrap()
}

#[test]
fn group_local_memory_is_no_argument() {
    let Some(queue) = queue() else { return };
    let kernels = glm::Module::load(&queue).unwrap();
    let numbers = (0..64u8).map(f32::from).collect::<Vec<_>>();
    let mut data = queue.upload(&numbers).unwrap();
    let range = || NdRange::new(64).local(8);
    // SAFETY: here and below, the kernels stay inside of their buffers.
    unsafe { kernels.one(&mut data).launch(range()) }.unwrap();
    let reversed = numbers
        .chunks(8)
        .flat_map(|group| group.iter().rev().copied());
    let reversed = reversed.collect::<Vec<_>>();
    assert_eq!(queue.download(&data).unwrap(), reversed);
    // SAFETY: as above.
    unsafe { kernels.two(&mut data).launch(range()) }.unwrap();
    let doubled = numbers
        .iter()
        .map(|number| number * 2.0)
        .collect::<Vec<_>>();
    assert_eq!(queue.download(&data).unwrap(), doubled);
}

#[test]
fn local_accessors_without_dimensions_take_no_argument() {
    let Some(queue) = queue() else { return };
    let kernels = glm::Module::load(&queue).unwrap();
    let numbers = (0..64u8).map(f32::from).collect::<Vec<_>>();
    let mut expected = numbers.clone();
    for group in expected.chunks_mut(8) {
        group[0] = group[7];
    }
    let run = |launch: &dyn Fn(&mut Buffer<f32>) -> Event| {
        let mut data = queue.upload(&numbers).unwrap();
        launch(&mut data);
        assert_eq!(queue.download(&data).unwrap(), expected);
    };
    let range = || NdRange::new(64).local(8);
    // SAFETY: as above.
    run(&|data| unsafe { kernels.single(data).launch(range()) }.unwrap());
    // SAFETY: as above.
    run(&|data| unsafe { kernels.captured(data).launch(range()) }.unwrap());
}

#[test]
fn pointers_to_arrays_take_arrays() {
    let Some(queue) = queue() else { return };
    if common::lacks(&queue, Aspect::FP64) {
        return;
    }
    let kernels = glm::Module::load(&queue).unwrap();
    let mut data = queue.upload(&[[1.0f64; 4]; 64]).unwrap();
    let range = NdRange::new(64).local(8);
    // SAFETY: as above.
    unsafe { kernels.arrays(&mut data).launch(range) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [[1.0, 3.0, 1.0, 1.0]; 64]);
}

#[test]
fn typedefs_name_structs_and_their_members() {
    let Some(queue) = queue() else { return };
    let kernels = names::Module::load(&queue).unwrap();
    let of = |first: i16| names::S {
        first: first.into(),
        second: 0.5,
    };
    let structs = queue.upload(&(0..64).map(of).collect::<Vec<_>>()).unwrap();
    let mut out = queue.zeroed::<f32>(64).unwrap();
    // SAFETY: as above.
    unsafe { kernels.unnamed_struct(&mut out, &structs).launch(64) }.unwrap();
    let expected = (0..64u8)
        .map(|first| f32::from(first) * 0.5)
        .collect::<Vec<_>>();
    assert_eq!(queue.download(&out).unwrap(), expected);
    // SAFETY: as above.
    unsafe { kernels.unnamed_value(2, &mut out, of(8)).launch(64) }.unwrap();
    let found = queue.download(&out).unwrap();
    assert_eq!(found[..3], [4.0, 4.0, 1.0]);
}

/// A picture of 8 by 8 pixels, whose red is their number, and what a kernel makes of that.
macro_rules! sample {
    ($kernel:ident) => {{
        let Some(queue) = queue().filter(|queue| !common::lacks(queue, Aspect::IMAGE)) else {
            return;
        };
        let kernels = samp::Module::load(&queue).unwrap();
        let numbers = (0..64u8).map(f32::from).collect::<Vec<_>>();
        let pixels = numbers.iter().map(|number| [*number, 0.0, 0.0, 1.0]);
        let pixels = pixels.collect::<Vec<_>>();
        let image = Image::<2, Rgba<f32>>::upload(&queue, [8, 8], &pixels).unwrap();
        let (addressing, filtering) = (Addressing::ClampToEdge, Filtering::Nearest);
        let sampler = Sampler::new(&queue, addressing, filtering, false).unwrap();
        let mut out = queue.zeroed::<f32>(64).unwrap();
        // SAFETY: as above.
        unsafe { kernels.$kernel(&mut out, &image, &sampler).launch(64) }.unwrap();
        assert_eq!(queue.download(&out).unwrap(), numbers);
    }};
}

#[test]
fn lambdas_take_samplers() {
    sample!(main);
}

#[test]
fn named_lambdas_take_samplers() {
    sample!(SampNamed);
}

#[test]
fn files_have_dimensions_and_lines() {
    let file = signatures(described::SYCLBIN);
    let base = |kernel: &KernelSignature| kernel.name.as_ref().unwrap().base.clone();
    let found = file
        .kernels
        .iter()
        .map(|kernel| (base(kernel), kernel.dimensions));
    let found = found.collect::<BTreeMap<_, _>>();
    let expected = [
        ("Flat", 2),
        ("Generic", 3),
        ("GenericLambda", 2),
        ("ItemLambda", 2),
        ("IntLambda", 1),
        ("SizeLambda", 1),
        ("Task", 0),
        ("TaskWithHandler", 0),
        ("Groups", 2),
        ("Streamed", 0),
        ("function", 2),
        ("property_task", 0),
        ("property_cube", 3),
        ("task", 0),
        ("macro", 3),
        ("instance", 2),
        ("Apply", 1),
        ("ApplyLambda", 1),
        ("Points", 0),
        ("Unions", 0),
    ];
    let expected = expected.map(|(name, dimensions)| (name.to_owned(), Some(dimensions)));
    assert_eq!(found, BTreeMap::from(expected));
    for kernel in &file.kernels {
        let location = kernel.location.as_deref().unwrap_or_default();
        assert!(location.starts_with("described.cpp:"), "{kernel:?}");
    }
}

#[test]
fn streams_are_left_out_with_a_reason() {
    let file = signatures(described::SYCLBIN);
    let streamed = file
        .kernels
        .iter()
        .find(|kernel| kernel.symbol.contains("Streamed"));
    let reason = streamed
        .unwrap()
        .parameters
        .as_ref()
        .unwrap_err()
        .to_string();
    let expected = "parameter out: `sycl::stream` is not supported; print with";
    assert!(reason.starts_with(expected), "{reason}");
}

#[test]
fn objects_without_members_are_no_arguments() {
    let Some(queue) = queue() else { return };
    let kernels = described::Module::load(&queue).unwrap();
    let mut data = queue.upload(&[1, 2, 3, 4]).unwrap();
    // SAFETY: as above.
    unsafe { kernels.apply(&mut data).launch(4) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [3, 4, 5, 6]);
    // SAFETY: as above.
    unsafe { kernels.apply_lambda(&mut data).launch(4) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [9, 12, 15, 18]);
}

#[test]
fn types_without_names_have_those_of_their_uses() {
    let file = signatures(described::SYCLBIN);
    let points = file
        .kernels
        .iter()
        .find(|kernel| kernel.symbol.contains("Points"))
        .unwrap();
    assert_eq!(
        points.declaration.as_ref().unwrap().to_string(),
        "void Points(int *to, Point point, Size size, Word *words)"
    );
    let Type::Value(Element::Struct(point)) = points.parameters.as_ref().unwrap()[1].ty else {
        panic!("{points:?}")
    };
    assert_eq!(
        file.layouts.describe(point),
        "struct Point { Point::at at; /* 0 */ bytes value[4]; /* 8 */ } /* size 12, align 4 */"
    );
}

/// A file of another compiler has no descriptions, and the same kernels.
fn undescribed() -> Signatures {
    let mut file = syclbin::read::parse(described::SYCLBIN).unwrap();
    for module in &mut file.modules {
        module.metadata.remove_set(syclbin::property::set::KERNELS);
    }
    signature::kernels(&file).unwrap()
}

#[test]
fn unions_are_bytes() {
    for file in [signatures(described::SYCLBIN), undescribed()] {
        let mut kernels = file.kernels.iter();
        let unions = kernels.find(|kernel| kernel.symbol.ends_with("6Unions"));
        let parameters = unions.unwrap().parameters.as_ref().unwrap();
        let mut values = parameters.iter().filter_map(|one| one.ty.value());
        let Some(Element::Struct(word)) = values.next() else {
            panic!("{parameters:?}")
        };
        let fields = &file.layouts.get(*word).unwrap().fields;
        assert_eq!(fields[0].ty, Element::Bytes(4));
    }
    let Some(queue) = queue() else { return };
    let kernels = described::Module::load(&queue).unwrap();
    let mut data = queue.upload(&[0]).unwrap();
    let word = described::Word {
        field0: 7i32.to_ne_bytes(),
    };
    // SAFETY: as above.
    unsafe { kernels.Unions(&mut data, word).launch(()) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [7]);
}

#[test]
fn removed_arguments_without_declarations_do_not_exist() {
    let file = undescribed();
    let apply = file
        .kernels
        .iter()
        .find(|kernel| kernel.symbol.ends_with("5Apply"))
        .unwrap();
    let types = apply
        .parameters
        .as_ref()
        .unwrap()
        .iter()
        .map(|parameter| &parameter.ty);
    let [data, op] = types.collect::<Vec<_>>()[..] else {
        panic!("{apply:?}")
    };
    assert!(matches!(data, Type::Pointer { .. }));
    assert_eq!(op, &Type::Unused);
}
