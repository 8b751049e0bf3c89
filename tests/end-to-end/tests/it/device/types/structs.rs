// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of structs.cpp by their stubs: structs of every kind by value, by pointer and with
//! pointers inside, accessors of more dimensions, required work-groups, device globals.
#![allow(unsafe_code)] // a launch is unsafe

use end_to_end::structs::{
    self, Aligned, Bits, Deep, Hybrid, Keywords, Packed, Span, Wave, WithUnion,
};
use end_to_end::structs::{geo, ns};
use syclbin_rt::half::{bf16, f16};
use syclbin_rt::{Aspect, DeviceArray, LocalMemory, NdRange, bytemuck};

use crate::common::{self, queue};

/// The file on the device, unless there is none.
macro_rules! load {
    ($queue:ident, $kernels:ident) => {
        let Some($queue) = queue() else { return };
        let $kernels = structs::Module::load(&$queue).unwrap();
    };
}

fn inner(s: i16, tag: [i8; 3]) -> geo::Inner {
    geo::Inner {
        s,
        tag,
        ..geo::Inner::default()
    }
}

fn deep() -> Deep {
    Deep {
        r#in: [inner(-3, [1, 2, 3]), inner(400, [-4, 5, 6])],
        mode: 1,
        v3: [0.5, 1.5, 2.5, 0.0],
        grid: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        flag: 1,
        h: f16::from_f32(0.125),
        pair: [7, 4_000_000_000],
        ..Deep::default()
    }
}

#[test]
fn every_member_of_a_struct_by_value_arrives() {
    load!(queue, kernels);
    if common::lacks(&queue, Aspect::FP16) {
        return;
    }
    let mut out = queue.zeroed::<f32>(13).unwrap();
    // SAFETY: the kernel writes 13 elements.
    unsafe { kernels.deep_by_value(deep(), &mut out).launch(()) }.unwrap();
    let expected = [
        -3.0, 400.0, 3.0, -4.0, 1.0, 0.5, 2.5, 3.0, 4.0, 1.0, 0.125, 7.0, 4e9,
    ];
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn structs_by_pointer_are_read_and_written() {
    load!(queue, kernels);
    if common::lacks(&queue, Aspect::FP16) {
        return;
    }
    let mut second = deep();
    second.mode = 0;
    second.flag = 0;
    let from = [deep(), second];
    let on_device = queue.upload(&from).unwrap();
    let mut before = Deep::default();
    before.grid[1][2] = 10.0;
    let mut to = queue.upload(&[before, before]).unwrap();
    // SAFETY: two work-items, two elements each.
    unsafe { kernels.deep_by_pointer(&on_device, &mut to).launch(2) }.unwrap();
    let expected = from.map(|from| {
        let mut to = from;
        to.r#in[1].s = 397;
        to.r#in[0].tag[1] = 7;
        to.mode = 1 - from.mode;
        to.v3 = [1.0, 3.0, 5.0, 0.0];
        to.grid[1][2] = 11.0;
        to.flag = 1 - from.flag;
        to.h = f16::from_f32(0.25);
        to.pair = [4_000_000_000, 7];
        to
    });
    let mut written = queue.download(&to).unwrap();
    for written in &mut written {
        written.v3[3] = 0.0; // what a vector of three does not use is anything
    }
    assert_eq!(written, expected);
}

#[test]
fn pointers_inside_structs_reach_their_arrays() {
    load!(queue, kernels);
    let (Ok(a), Ok(b)) = (
        DeviceArray::<f32>::zeroed(&queue, 8),
        DeviceArray::upload(&queue, &[1.0f32, 2.0, 4.0]),
    ) else {
        common::say_skipped("the device has no arrays with an address");
        return;
    };
    let span = |array: &DeviceArray<f32>, count| Span {
        data: array.pointer(),
        count,
        ..Span::default()
    };
    // SAFETY: the kernel stays below the count, and the array has as many elements.
    unsafe { kernels.fill_span(span(&a, 5), 10.0).launch(8) }.unwrap();
    let expected = [10.0, 11.0, 12.0, 13.0, 14.0, 0.0, 0.0, 0.0];
    assert_eq!(queue.download(&a).unwrap(), expected);

    let spans = queue
        .upload(&[span(&a, 5), span(&b, 3), span(&b, 0)])
        .unwrap();
    let mut sums = queue.zeroed::<f32>(3).unwrap();
    // SAFETY: three work-items, spans and sums; the spans are inside of their arrays, which live on.
    unsafe { kernels.sum_spans(&spans, &mut sums).launch(3) }.unwrap();
    assert_eq!(queue.download(&sums).unwrap(), [60.0, 7.0, 0.0]);
}

#[test]
fn packed_struct_has_no_padding() {
    load!(queue, kernels);
    assert_eq!((size_of::<Packed>(), align_of::<Packed>()), (7, 1));
    let by = Packed {
        tag: 1,
        number: 1_000_000,
        last: -5,
    };
    let mut to = queue.upload(&[by]).unwrap();
    // SAFETY: the kernel writes one element.
    let launched = unsafe { kernels.packed_both(by, &mut to).launch(()) };
    if let Err(error) = &launched
        && error.to_string().contains("packed struct by value")
    {
        return common::say_skipped("the driver misreads packed structs by value");
    }
    launched.unwrap();
    let [written] = queue.download(&to).unwrap()[..] else {
        panic!("one element")
    };
    let (tag, number, last) = (written.tag, written.number, written.last);
    assert_eq!((tag, number, last), (2, 2_000_000, -5));
}

#[test]
fn overaligned_struct_has_a_padded_size() {
    load!(queue, kernels);
    assert_eq!(size_of::<Aligned>(), 16);
    let by = Aligned {
        x: 2.0,
        c: 9,
        ..Aligned::default()
    };
    let mut to = queue.upload(&[by, Aligned::default()]).unwrap();
    // SAFETY: the kernel touches two elements.
    unsafe { kernels.aligned_both(by, &mut to).launch(()) }.unwrap();
    let written = queue.download(&to).unwrap();
    assert_eq!((written[1].x, written[1].c), (4.0, 9));
}

#[test]
fn an_empty_struct_is_not_an_argument() {
    load!(queue, kernels);
    let mut out = queue.zeroed::<i32>(1).unwrap();
    // SAFETY: the kernel writes one element.
    unsafe { kernels.nothing(&mut out).launch(()) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [5]);
}

#[test]
fn members_with_reserved_names_are_renamed() {
    load!(queue, kernels);
    let by = Keywords {
        r#type: 1,
        r#match: 1.5,
        self_: -1,
        r#fn: 200,
        ..Keywords::default()
    };
    let mut to = queue.zeroed::<Keywords>(1).unwrap();
    // SAFETY: the kernel writes one element.
    unsafe { kernels.keywords(by, &mut to).launch(()) }.unwrap();
    let written = queue.download(&to).unwrap()[0];
    assert_eq!((written.r#type, written.r#match), (2, 3.0));
    assert_eq!((written.self_, written.r#fn), (-2, 200));
}

#[test]
fn unions_and_bit_fields_are_bytes() {
    load!(queue, kernels);
    let run = |by: WithUnion| {
        let mut to = queue.zeroed::<WithUnion>(1).unwrap();
        // SAFETY: the kernel writes one element.
        unsafe { kernels.unions(by, &mut to).launch(()) }.unwrap();
        queue.download(&to).unwrap()[0]
    };
    let whole = run(WithUnion {
        either: 41i32.to_le_bytes(),
        which: 0,
    });
    assert_eq!(whole.either, 42i32.to_le_bytes());
    let real = run(WithUnion {
        either: 1.25f32.to_le_bytes(),
        which: 1,
    });
    assert_eq!(real.either, 2.5f32.to_le_bytes());

    let by: Bits = bytemuck::cast([0b0110_1010u32, 77]);
    let mut to = queue.zeroed::<Bits>(1).unwrap();
    // SAFETY: the kernel writes one element.
    unsafe { kernels.bits(by, &mut to).launch(()) }.unwrap();
    let written: [u32; 2] = bytemuck::cast(queue.download(&to).unwrap()[0]);
    assert_eq!(written, [0b0110_1011, 77]);
}

#[test]
fn numbers_of_two_bytes_are_members() {
    load!(queue, kernels);
    if common::lacks(&queue, Aspect::FP16) {
        return;
    }
    let by = Hybrid {
        b: bf16::from_f32(-2.5),
        h: f16::from_f32(0.5),
    };
    let mut to = queue.zeroed::<Hybrid>(1).unwrap();
    // SAFETY: the kernel writes one element.
    unsafe { kernels.hybrids(by, &mut to).launch(()) }.unwrap();
    let written = queue.download(&to).unwrap()[0];
    assert_eq!((written.b, written.h), (by.b, f16::from_f32(1.0)));
}

#[test]
fn numbers_of_two_bytes_are_elements() {
    load!(queue, kernels);
    let from = queue.upload(&[bf16::from_f32(3.0)]).unwrap();
    let mut to = queue.zeroed::<bf16>(2).unwrap();
    // SAFETY: the kernel reads one element and writes two.
    unsafe {
        kernels
            .brains(bf16::from_f32(1.5), &from, &mut to)
            .launch(())
    }
    .unwrap();
    let expected = [1.5, -3.0].map(bf16::from_f32);
    assert_eq!(queue.download(&to).unwrap(), expected);
}

#[test]
fn an_enumeration_with_a_scope_is_its_number() {
    load!(queue, kernels);
    let mut to = queue.zeroed::<u8>(1).unwrap();
    for (mode, expected) in [(0, 1), (1, 0)] {
        // SAFETY: the kernel writes one element.
        unsafe { kernels.mode_by_value(mode, &mut to).launch(()) }.unwrap();
        assert_eq!(queue.download(&to).unwrap(), [expected]);
    }
}

#[test]
fn template_instance_is_a_struct() {
    load!(queue, kernels);
    let pair = ns::Pair_int_2 { a: [1, 2], b: 3 };
    let mut to = queue.upload(&[pair]).unwrap();
    // SAFETY: the kernel writes one element.
    unsafe { kernels.ns.add_pair(pair, &mut to).launch(()) }.unwrap();
    let written = queue.download(&to).unwrap()[0];
    assert_eq!((written.a, written.b), ([2, 4], 6));
}

#[test]
fn local_memory_holds_requested_structs() {
    load!(queue, kernels);
    let mut out = queue.zeroed::<i32>(8).unwrap();
    let launch = kernels.shared_structs(LocalMemory::of(4), &mut out);
    // SAFETY: groups of four, as many as the memory has elements; `out` has one for each work-item.
    unsafe { launch.launch(NdRange::new(8).local(4)) }.unwrap();
    let expected = [106, 104, 102, 100, 110, 108, 106, 104];
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn structs_of_work_group_memory_alone_are_described() {
    load!(queue, kernels);
    let mut out = queue.zeroed::<i32>(1).unwrap();
    let (open, ids) = (
        LocalMemory::<structs::OnlyLocal>::of(3),
        LocalMemory::<[u64; 2]>::of(2),
    );
    // SAFETY: one work-item; the kernel stays below the counts.
    unsafe { kernels.only_local(open, ids, &mut out).launch(1) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [3457]);
}

#[test]
fn members_in_the_padding_of_bases_arrive() {
    load!(queue, kernels);
    if common::lacks(&queue, Aspect::FP16) {
        return;
    }
    let by = structs::InTail {
        number: 7,
        last: 300,
        ..Default::default()
    };
    let to = structs::InTail {
        tail: 20,
        ..Default::default()
    };
    let mut to = queue.upload(&[to]).unwrap();
    // SAFETY: the kernel touches one element.
    unsafe { kernels.in_tail(by, &mut to).launch(()) }.unwrap();
    let written = queue.download(&to).unwrap()[0];
    assert_eq!((written.number, written.last), (8, 320));
}

#[test]
fn structs_that_may_overlap_are_copied() {
    load!(queue, kernels);
    let from = structs::Moved {
        numbers: [1, 2, 3, 4, 5, 6, 7, 8, 9],
    };
    let from = queue.upload(&[from]).unwrap();
    let mut to = queue.zeroed::<structs::Moved>(1).unwrap();
    let mut third = queue.zeroed::<structs::Moved>(1).unwrap();
    // SAFETY: the kernel touches one element of each.
    unsafe { kernels.moved(&from, &mut to, &mut third).launch(()) }.unwrap();
    assert_eq!(
        queue.download(&third).unwrap(),
        queue.download(&from).unwrap()
    );
    assert_eq!(queue.download(&to).unwrap()[0].numbers[0], 1);
}

#[test]
fn required_work_groups_are_constants_and_used() {
    load!(queue, kernels);
    assert_eq!(structs::Module::GROUPS_OF_1_LOCAL_SIZE, [16]);
    assert_eq!(structs::Module::GROUPS_OF_2_LOCAL_SIZE, [2, 8]);
    assert_eq!(structs::Module::GROUPS_OF_3_LOCAL_SIZE, [1, 2, 4]);

    let mut out = queue.zeroed::<u32>(48).unwrap();
    // SAFETY: one element for each work-item.
    unsafe { kernels.groups_of_1(&mut out).launch(48) }.unwrap();
    let expected: Vec<u32> = (0..48).map(|i| i / 16 * 100 + 16).collect();
    assert_eq!(queue.download(&out).unwrap(), expected);

    let mut out = queue.zeroed::<u32>(4 * 16).unwrap();
    // SAFETY: as above.
    unsafe { kernels.groups_of_2(&mut out).launch([4, 16]) }.unwrap();
    let expected: Vec<u32> = (0..4 * 16)
        .map(|i| i / 16 / 2 * 1000 + i % 16 / 8 * 100 + 28)
        .collect();
    assert_eq!(queue.download(&out).unwrap(), expected);

    let mut out = queue.zeroed::<u32>(2 * 4 * 8).unwrap();
    // SAFETY: as above.
    unsafe { kernels.groups_of_3(&mut out).launch([2, 4, 8]) }.unwrap();
    let expected: Vec<u32> = (0..2 * 4 * 8)
        .map(|i| i / 32 * 10_000 + i / 8 % 4 / 2 * 1000 + i % 8 / 4 * 100 + 24)
        .collect();
    assert_eq!(queue.download(&out).unwrap(), expected);

    // What is not a multiple of the work-group is an error.
    let launch = kernels.groups_of_1(&mut out);
    // SAFETY: as above; and nothing runs.
    unsafe { launch.launch(40) }.unwrap_err();
}

#[test]
fn device_globals_of_all_types_are_accessible() {
    load!(queue, kernels);
    let (table, bias) = (kernels.table().unwrap(), kernels.bias().unwrap());
    let shift = kernels.ns.shift().unwrap();
    table.write(&[1, 2, 3, 4]).unwrap();
    bias.write(&0.5).unwrap();
    let by = ns::Shift {
        by: [5, 6],
        scale: 2.0,
    };
    shift.write(&by).unwrap();
    let index = queue.upload(&[3, 0]).unwrap();
    let mut out = queue.zeroed::<f32>(2).unwrap();
    // SAFETY: two elements of each; the kernel keeps an index below 4.
    unsafe { kernels.read_globals(&index, &mut out).launch(2) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [129.0, 123.0]);

    // SAFETY: it touches nothing but the variables.
    unsafe { kernels.write_globals(10, by).launch(()) }.unwrap();
    assert_eq!(table.read().unwrap(), [0, 10, 20, 30]);
    assert_eq!(bias.read().unwrap(), 5.0);
    let moved = ns::Shift {
        by: [15, 6],
        scale: 2.0,
    };
    assert_eq!(shift.read().unwrap(), moved);
}

#[test]
fn arrays_of_structs_are_members_of_a_functor() {
    load!(queue, kernels);
    let parts = [10, 20, 30].map(|s| inner(s, [0, 0, 1]));
    let pairs = [100, 200].map(|b| ns::Pair_int_2 { a: [0; 2], b });
    let mut out = queue.zeroed::<i32>(3).unwrap();
    // SAFETY: three work-items, parts and elements.
    unsafe { kernels.Parts(parts, pairs, &mut out).launch(3) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [201, 401, 401]);
}

#[test]
fn accessors_take_a_buffer_and_its_shape() {
    load!(queue, kernels);
    let cells: Vec<_> = (0..4 * 8).map(|s| inner(s * 3, [0; 3])).collect();
    let input = queue.upload(&cells).unwrap();
    let mut out = queue.zeroed::<i32>(4 * 8).unwrap();
    // SAFETY: one element for each work-item.
    unsafe { kernels.Rows(&mut out, (&input, [4, 8])).launch([4, 8]) }.unwrap();
    let expected: Vec<i32> = (0..4 * 8).map(|i| i * 3).collect();
    assert_eq!(queue.download(&out).unwrap(), expected);

    let mut out = queue.zeroed::<i32>(2 * 3 * 4).unwrap();
    let launch = kernels.Cells((&mut out, [2, 3, 4]));
    // SAFETY: as above.
    unsafe { launch.launch([2, 3, 4]) }.unwrap();
    let expected: Vec<i32> = (0..24)
        .map(|i| i / 12 * 100 + i / 4 % 3 * 10 + i % 4)
        .collect();
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn local_accessor_takes_its_shape() {
    load!(queue, kernels);
    let mut out = queue.zeroed::<i32>(4 * 8).unwrap();
    let range = NdRange::new([4, 8]).local([4, 8]);
    // SAFETY: one element of the tile and of the buffer for each work-item.
    unsafe { kernels.Turned([4, 8], &mut out).launch(range) }.unwrap();
    let expected: Vec<i32> = (0..32).rev().collect();
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn complex_numbers_are_arrays_of_two() {
    load!(queue, kernels);
    if common::lacks(&queue, Aspect::FP64) {
        return;
    }
    let wave = Wave {
        amplitude: [1.5, 8.0],
        phase: [[1.0, 2.0], [3.0, 4.0]],
    };
    let input = queue.upload(&[[1.0f32, 0.25], [2.0, 0.5]]).unwrap();
    let mut out = queue.zeroed::<[f64; 2]>(2).unwrap();
    let launch = kernels.Modulate_modulate_Twice(wave, &input, &mut out);
    // SAFETY: work-item i reads in[i] and writes out[i], for i < 2.
    unsafe { launch.launch(2) }.unwrap();
    let expected = [[1.75, 10.0], [2.0, 10.0]];
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn local_types_of_one_name_are_different() {
    syclbin_rt::include_syclbin! { mod local_types = "local_types"; }
    let Some(queue) = queue() else { return };
    let kernels = local_types::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<f32>(2).unwrap();
    let mut rows = queue.zeroed::<local_types::Row>(2).unwrap();
    let point = local_types::Point { x: 1.0, y: 2.0 };
    // SAFETY: the kernel writes two numbers, and to the second row.
    unsafe {
        kernels
            .first_kernel(&mut rows, 3, &mut out, point)
            .launch(())
    }
    .unwrap();
    assert_eq!(queue.download(&out).unwrap(), [1.0, 2.0]);
    assert_eq!(queue.download(&rows).unwrap()[1].n, 3);
    let mut rows = queue.zeroed::<local_types::Row_2>(2).unwrap();
    let point = local_types::Point_2 { x: 1.0, y: 2.0 };
    // SAFETY: as above.
    unsafe {
        kernels
            .second_kernel(&mut rows, 4, &mut out, point)
            .launch(())
    }
    .unwrap();
    assert_eq!(queue.download(&out).unwrap(), [1.0, 2.0]);
    assert_eq!(queue.download(&rows).unwrap()[1].n, [0, 0, 4]);
    let mut unions = queue.zeroed::<[u8; 64]>(2).unwrap();
    // SAFETY: the kernel writes to the second union.
    unsafe { kernels.third_kernel(&mut unions).launch(()) }.unwrap();
    assert_eq!(queue.download(&unions).unwrap()[1][..4], 1f32.to_ne_bytes());
    let mut unions = queue.zeroed::<[f64; 2]>(2).unwrap();
    let mut structs = queue.zeroed::<local_types::Late_2>(2).unwrap();
    // SAFETY: the kernel writes to the second element.
    unsafe { kernels.early_1(&mut unions).launch(()) }.unwrap();
    // SAFETY: as above.
    unsafe { kernels.early_2(&mut structs).launch(()) }.unwrap();
    assert_eq!(queue.download(&unions).unwrap()[1][0].to_bits(), 1);
    assert_eq!(queue.download(&structs).unwrap()[1].n, 2);
}

#[test]
fn local_types_may_differ_in_pointers() {
    syclbin_rt::include_syclbin! { mod local_types = "local_types"; }
    let Some(queue) = queue() else { return };
    let kernels = local_types::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<f32>(1).unwrap();
    let (Ok(floats), Ok(ints)) = (
        DeviceArray::upload(&queue, &[2.5f32]),
        DeviceArray::upload(&queue, &[7i32]),
    ) else {
        common::say_skipped("the device has no arrays with an address");
        return;
    };
    let mut other = queue.zeroed::<f32>(1).unwrap();
    let (to, to_ints) = (floats.pointer(), ints.pointer());
    let launches = [
        kernels.links_1(&mut out, local_types::Link_2 { to }),
        kernels.links_2(&mut other, local_types::Link { to: to_ints }),
    ];
    for launch in launches {
        // SAFETY: the kernel reads the number behind its pointer, and writes one.
        unsafe { launch.launch(()) }.unwrap();
    }
    assert_eq!(queue.download(&out).unwrap(), [2.5]);
    assert_eq!(queue.download(&other).unwrap(), [7.0]);
}

#[test]
fn members_of_nested_base_classes_are_passed() {
    use local_types::{Flag, Named, OnlyFlag, Pair, Params, Tagged};
    syclbin_rt::include_syclbin! { mod local_types = "local_types"; }
    let Some(queue) = queue() else { return };
    let kernels = local_types::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<f32>(3).unwrap();
    #[allow(non_snake_case, reason = "members are named after base classes")]
    let Named = Named {
        Flag: Flag { c: 3 },
    };
    let p = Params {
        Named,
        x: 0.5,
        ..bytemuck::Zeroable::zeroed()
    };
    let flag = OnlyFlag { Named };
    #[allow(non_snake_case, reason = "as above")]
    let Pair = Pair { x: 1.5, y: 0.0 };
    let tagged = Tagged { Pair, k: 4 };
    let launch = kernels.bases_kernel(&mut out, p, flag, tagged);
    // SAFETY: the kernel writes three numbers.
    unsafe { launch.launch(()) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [3.5, 3.0, 5.5]);
}

#[test]
fn elements_may_be_arrays_of_arrays() {
    syclbin_rt::include_syclbin! { mod local_types = "local_types"; }
    let Some(queue) = queue() else { return };
    let kernels = local_types::Module::load(&queue).unwrap();
    let input = queue
        .upload(&[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]])
        .unwrap();
    let mut out = queue.zeroed::<i32>(4).unwrap();
    // SAFETY: the kernel reads two elements, and writes four numbers.
    unsafe {
        kernels
            .arrays_kernel(2, &input, &mut out)
            .launch(NdRange::new(4).local(4))
    }
    .unwrap();
    assert_eq!(queue.download(&out).unwrap(), [13, 17, 15, 16]);
}
