// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels run, and compute what the same loop computes in Rust.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin::Value;
use syclbin::property::set;
use syclbin_rt::{AnyRange, Arg, Buffer, Event, Kernel, Launch, NdRange, Queue, Result};

use crate::common;

const VECTOR_OPS: &str = "vector_ops.object.syclbin";
const WORK_GROUP: &str = "work_group.object.syclbin";

fn saxpy(
    kernel: &Result<Kernel>,
    a: f32,
    x: &Buffer<f32>,
    y: &mut Buffer<f32>,
    range: impl Into<AnyRange>,
) -> Result<Event> {
    let n = u32::try_from(x.len()).expect("a small buffer");
    assert_eq!(x.len(), y.len());
    let args = [Arg::scalar(a), Arg::read(x), Arg::write(y), Arg::scalar(n)];
    // SAFETY: the kernel checks its index against `n`, which is the length of both buffers.
    unsafe { Launch::new(kernel, &["a", "x", "y", "n"], args).launch(range) }
}

#[test]
fn saxpy_over_a_million_elements_equals_rust() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let n = 1usize << 20;
    let host_x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 * 0.5).collect();
    let host_y: Vec<f32> = (0..n).map(|i| (i % 777) as f32).collect();
    let x = queue.upload(&host_x)?;
    let mut y = queue.upload(&host_y)?;
    let event = saxpy(&kernel, 2.0, &x, &mut y, n)?;
    event.wait()?;
    assert!(event.is_complete()?);
    let result = queue.download(&y)?;
    // Every value is a small multiple of 0.5, so no rounding tells the two apart.
    let expected = host_x.iter().zip(&host_y).map(|(x, y)| 2.0 * x + y);
    assert!(expected.eq(result.iter().copied()));
    assert_eq!(queue.download(&x)?, host_x);
    Ok(())
}

#[test]
fn a_queue_orders_launches_and_copies() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = queue.upload(&vec![1.0f32; 4096])?;
    let mut y = queue.zeroed::<f32>(4096)?;
    for _ in 0..100 {
        saxpy(&kernel, 1.0, &x, &mut y, 4096)?;
    }
    assert_eq!(queue.download(&y)?, vec![100.0; 4096]);
    Ok(())
}

#[test]
fn changed_arguments_replace_earlier_ones() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = [queue.upload(&[1.0f32; 256])?, queue.upload(&[2.0f32; 256])?];
    for round in 0..50u8 {
        // New buffers may get the handles of those that were dropped.
        let mut y = queue.upload(&[f32::from(round); 256])?;
        let a = f32::from(round / 3);
        let index = usize::from(round / 2 % 2);
        saxpy(&kernel, a, &x[index], &mut y, 256)?;
        let expected = a * [1.0, 2.0][index] + f32::from(round);
        assert_eq!(queue.download(&y)?, [expected; 256], "round {round}");
    }
    Ok(())
}

#[test]
fn iota_is_found_by_its_mangled_symbol() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "_ZN18__sycl_kernel_fill4iotaEfPfi");
    let mut out = queue.zeroed::<f32>(16)?;
    let args = [
        Arg::scalar(3.5f32),
        Arg::write(&mut out),
        Arg::scalar(16i32),
    ];
    // SAFETY: the one work-item writes 16 elements.
    unsafe { Launch::new(&kernel, &["start", "out", "count"], args).launch(1)? };
    let expected: Vec<f32> = (0..16u8).map(|i| 3.5 + f32::from(i)).collect();
    assert_eq!(queue.download(&out)?, expected);
    Ok(())
}

#[test]
fn a_kernel_in_double_precision_runs() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "_Z19__sycl_kernel_scaleIdEvPT_S0_");
    let mut data = queue.upload(&[1.0f64, -2.0, 1e300])?;
    let args = [Arg::write(&mut data), Arg::scalar(0.5f64)];
    // SAFETY: one work-item per element.
    unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(3)? };
    assert_eq!(queue.download(&data)?, [0.5, -1.0, 5e299]);
    Ok(())
}

fn coords(queue: &Queue, sizes: [usize; 3], local: Option<[usize; 3]>) -> Result<Vec<i32>> {
    let kernel = common::kernel(queue, WORK_GROUP, "coords");
    let mut out = queue.zeroed::<i32>(sizes.iter().product())?;
    let range = NdRange::new(sizes);
    let range = local.map_or(range, |local| range.local(local));
    let args = [Arg::write(&mut out)];
    // SAFETY: one element per work-item.
    unsafe { Launch::new(&kernel, &["out"], args).launch(range)? };
    queue.download(&out)
}

/// `d0 * 10000 + d1 * 100 + d2`, dimension 0 slowest: what the kernel `coords` writes.
fn expected_coords([n0, n1, n2]: [i32; 3]) -> Vec<i32> {
    let mut expected = Vec::new();
    for d0 in 0..n0 {
        for d1 in 0..n1 {
            expected.extend((0..n2).map(|d2| d0 * 10000 + d1 * 100 + d2));
        }
    }
    expected
}

#[test]
fn dimension_0_varies_slowest_in_three_dimensions() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    assert_eq!(
        coords(&queue, [2, 8, 24], None)?,
        expected_coords([2, 8, 24])
    );
    Ok(())
}

#[test]
fn dimension_0_varies_slowest_in_two_dimensions() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    // A kernel of one dimension reads the fastest one: of [2, 3] that is dimension 1, so the three
    // first bytes are counted twice. In the other order it would be the two first, three times.
    let kernel = common::kernel(&queue, WORK_GROUP, "histogram");
    let bytes = queue.upload(&[1u8, 2, 2, 3, 3, 3])?;
    let mut bins = queue.zeroed::<u32>(256)?;
    let args = [Arg::read(&bytes), Arg::write(&mut bins)];
    let range = NdRange::new([2, 3]).local([1, 3]);
    // SAFETY: no index is beyond the six bytes, and there is a bin for every byte.
    unsafe { Launch::new(&kernel, &["bytes", "bins"], args).launch(range)? };
    assert_eq!(queue.download(&bins)?[..5], [0, 2, 4, 0, 0]);
    Ok(())
}

#[test]
fn required_work_group_is_the_only_choice() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let sizes = [2, 4, 8];
    assert_eq!(
        coords(&queue, sizes, Some(sizes))?,
        expected_coords([2, 4, 8])
    );
    let message = coords(&queue, sizes, Some([2, 2, 8]))
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with(
            "kernel coords: it was compiled for work-groups of [2, 4, 8] (work_group_size<2, 4, 8> \
             or reqd_work_group_size(2, 4, 8) in C++), not of [2, 2, 8]"
        ),
        "{message}"
    );
    // Still usable.
    assert_eq!(coords(&queue, sizes, None)?, expected_coords([2, 4, 8]));
    Ok(())
}

#[test]
fn sizes_that_only_the_file_tells_hold_too() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile(VECTOR_OPS);
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    let words = |words: &[u32]| Value::Bytes {
        bits: 32 * words.len() as u64,
        data: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
    };
    for module in &mut file.modules {
        let metadata = &mut module.metadata;
        let key = "__sycl_kernel_saxpy@max_work_group_size";
        metadata.insert(set::PROGRAM_METADATA, key, words(&[16, 1, 1]));
        let key = "__sycl_kernel_saxpy@max_linear_work_group_size";
        metadata.insert(set::PROGRAM_METADATA, key, 8u32);
    }
    let module = common::load(&queue, &common::written(&file))?;
    let kernel = module.kernel("saxpy");
    let x = queue.upload(&[1.0f32; 64])?;
    let mut y = queue.upload(&[1.0f32; 64])?;
    let mut refusal = |local: usize| {
        let launched = saxpy(&kernel, 1.0, &x, &mut y, NdRange::new(64).local(local));
        launched.unwrap_err().to_string()
    };
    assert_eq!(
        refusal(32),
        "kernel saxpy: it was compiled for work-groups of at most [16] (max_work_group_size<16> in \
         C++), not of [32]"
    );
    let expected = "the work-group [16] has 16 work-items, but the kernel allows at most 8 on ";
    assert!(refusal(16).contains(expected), "{}", refusal(16));
    saxpy(&kernel, 1.0, &x, &mut y, NdRange::new(64).local(8))?;
    assert_eq!(queue.download(&y)?, [2.0; 64]);

    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut file.modules {
        let metadata = &mut module.metadata;
        let key = "__sycl_kernel_saxpy@reqd_work_group_size";
        metadata.insert(set::PROGRAM_METADATA, key, words(&[4, 1, 1]));
        let key = "__sycl_kernel_saxpy@work_group_num_dim";
        metadata.insert(set::PROGRAM_METADATA, key, 2u32);
    }
    let module = common::load(&queue, &common::written(&file))?;
    let required = module.kernel("saxpy")?;
    assert_eq!(required.required_local_size(), Some(&[1, 4][..]));
    Ok(())
}

#[test]
fn a_wrong_number_of_arguments_names_both_numbers() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = queue.upload(&[1.0f32])?;
    let args = [Arg::scalar(1.0f32), Arg::read(&x)];
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { Launch::new(&kernel, &["a", "x"], args).launch(1) };
    assert_eq!(
        launched.unwrap_err().to_string(),
        "kernel saxpy: expected 4 arguments, found 2 (a, x)"
    );
    let mut y = queue.upload(&[1.0f32])?;
    saxpy(&kernel, 1.0, &x, &mut y, 1)?;
    assert_eq!(queue.download(&y)?, [2.0]);
    Ok(())
}

#[test]
fn scalar_of_wrong_size_is_refused() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = queue.upload(&[1.0f32])?;
    let mut y = queue.upload(&[1.0f32])?;
    let args = [
        Arg::scalar(1.0f64),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(1u32),
    ];
    // SAFETY: the size of the first argument is refused, so nothing runs.
    let launched = unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(1) };
    let message = launched.unwrap_err().to_string();
    assert_eq!(
        message,
        "kernel saxpy: argument 0 (a) is 8 bytes long, but the kernel expects 4"
    );
    saxpy(&kernel, 1.0, &x, &mut y, 1)?;
    assert_eq!(queue.download(&y)?, [2.0]);
    Ok(())
}

#[test]
fn invalid_range_or_work_group_is_refused() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = queue.upload(&[1.0f32; 64])?;
    let mut y = queue.upload(&[1.0f32; 64])?;
    let mut refusal = |range: AnyRange| {
        let launched = saxpy(&kernel, 1.0, &x, &mut y, range);
        launched.unwrap_err().to_string()
    };
    let message = refusal(NdRange::new(0).into());
    assert!(
        message.starts_with("kernel saxpy: the range [0] is empty"),
        "{message}"
    );
    let message = refusal(NdRange::new(64).local(48).into());
    assert!(
        message.contains("[48] does not divide the range [64]"),
        "{message}"
    );
    let max = queue.device().max_work_group_size();
    let message = refusal(NdRange::new(max * 2).local(max * 2).into());
    assert!(
        message.contains(&format!("allows at most {max}")),
        "{message}"
    );
    saxpy(&kernel, 1.0, &x, &mut y, NdRange::new(64).local(16))?;
    assert_eq!(queue.download(&y)?, [2.0; 64]);
    Ok(())
}

#[test]
fn uncountable_range_never_reaches_the_driver() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile(VECTOR_OPS);
    let refused = |id_range: Option<u32>, range: AnyRange| -> Result<String> {
        let mut file = syclbin::read::parse(&bytes).expect("a good file");
        for module in &mut file.modules {
            let metadata = &mut module.metadata;
            if let Some(id_range) = id_range {
                metadata.insert(set::MISC_PROPERTIES, "idQueriesRange", id_range);
            }
        }
        let kernel = common::load(&queue, &common::written(&file))?.kernel("saxpy");
        let x = queue.upload(&[1.0f32])?;
        let mut y = queue.upload(&[1.0f32])?;
        let launched = saxpy(&kernel, 1.0, &x, &mut y, range);
        assert_eq!(queue.download(&y)?, [1.0]);
        Ok(launched.unwrap_err().to_string())
    };
    // What compilers leave out is `int`.
    let line = AnyRange::from(1 << 31);
    for id_range in [None, Some(0)] {
        assert_eq!(
            refused(id_range, line)?,
            "kernel saxpy: the range [2147483648], including any offset, has more than 2147483647 work-items, the \
             maximum that the kernel was compiled for; reduce the range, or compile with \
             -fsycl-id-queries-range=size_t"
        );
    }
    let message = refused(Some(1), [1 << 16, 1 << 16].into())?;
    assert!(
        message.contains("more than 4294967295 work-items"),
        "{message}"
    );
    let message = refused(Some(2), [1 << 32, 1 << 32].into())?;
    assert!(
        message.ends_with("compiled for; reduce the range"),
        "{message}"
    );
    Ok(())
}

#[test]
fn two_threads_launch_one_kernel() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let work = |a: f32| -> Result<Vec<f32>> {
        let x = queue.upload(&vec![1.0f32; 1000])?;
        let mut y = queue.zeroed::<f32>(1000)?;
        for _ in 0..200 {
            saxpy(&kernel, a, &x, &mut y, 1000)?;
        }
        queue.download(&y)
    };
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| work(1.0));
        let two = scope.spawn(|| work(2.0));
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_eq!(one?, vec![200.0; 1000]);
    assert_eq!(two?, vec![400.0; 1000]);
    Ok(())
}

#[test]
fn buffers_may_be_dropped_while_kernels_use_them() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let mut y = queue.zeroed::<f32>(1 << 18)?;
    for _ in 0..50 {
        let x = queue.upload(&vec![1.0f32; 1 << 18])?;
        drop(saxpy(&kernel, 1.0, &x, &mut y, 1 << 18)?);
    }
    assert!(queue.download(&y)?.iter().all(|y| *y == 50.0));
    // The last handles go while the kernel runs.
    let x = queue.upload(&vec![1.0f32; 1 << 18])?;
    let event = saxpy(&kernel, 1.0, &x, &mut y, 1 << 18)?;
    drop((x, y, kernel, queue));
    event.wait()
}

#[test]
fn ids_start_at_the_range_offset() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    // It writes its global ids to where its linear id, which begins at 0, says.
    let kernel = common::kernel(&queue, WORK_GROUP, "coords");
    let [mut launched, mut prepared, mut recorded] = [
        queue.zeroed::<i32>(64)?,
        queue.zeroed(64)?,
        queue.zeroed(64)?,
    ];
    let range = |first: usize| NdRange::new([2, 4, 8]).offset([first, 5, 7]);
    fn coords<'a>(kernel: &'a Result<Kernel>, out: &'a mut Buffer<i32>) -> Launch<'a, 1> {
        Launch::new(kernel, &["out"], [Arg::write(out)])
    }
    // SAFETY: there are 64 work-items.
    unsafe { coords(&kernel, &mut launched).launch(range(3))? };
    let stays = coords(&kernel, &mut prepared).prepare(range(4))?;
    // SAFETY: as above.
    unsafe { stays.launch()? };
    let mut recorder = queue.record();
    // SAFETY: as above.
    unsafe { coords(&kernel, &mut recorded).record(&mut recorder, range(6))? };
    let recording = recorder.finish()?;
    recording.replay()?;
    let expected = |first: i32| -> Vec<i32> {
        let ids = (0..64).map(|at| (at / 32 + first, at / 8 % 4 + 5, at % 8 + 7));
        ids.map(|(z, y, x)| z * 10_000 + y * 100 + x).collect()
    };
    assert_eq!(queue.download(&launched)?, expected(3));
    assert_eq!(queue.download(&prepared)?, expected(4));
    assert_eq!(queue.download(&recorded)?, expected(6));
    // An offset of 0 is none.
    let range = NdRange::new([2, 4, 8]).offset([0, 0, 0]);
    // SAFETY: as above.
    unsafe { coords(&kernel, &mut launched).launch(range)? };
    let without = expected(0).iter().map(|id| id - 507).collect::<Vec<_>>();
    assert_eq!(queue.download(&launched)?, without);
    Ok(())
}

#[test]
fn invalid_offset_is_refused() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = queue.upload(&[1.0f32])?;
    let mut y = queue.zeroed::<f32>(1)?;
    for first in [i32::MAX as usize - 3, usize::MAX] {
        let range = NdRange::new(4).offset(first);
        let refused = saxpy(&kernel, 1.0, &x, &mut y, range).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("the maximum that the kernel was"),
            "{refused}"
        );
    }
    assert_eq!(queue.download(&y)?, [0.0]);
    Ok(())
}
