// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels, and their programs' variables.

use super::failures::{in_simulation, is_simulation};
use super::*;

#[test]
fn a_kernel_runs_and_its_result_is_read() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let out = Numbers::new(&bench.queue)?;
    let event = bench.iota(&bench.queue, &out, 5, WaitList::NOTHING)?;
    event.wait()?;
    assert!(event.is_complete()?);
    // The event is known to have ended, so it needs no driver event.
    assert!(event.cuda()?.mark()?.is_none());
    assert_eq!(out.read(&bench.queue)?, counted(5));
    Ok(())
}

/// What `iota` writes, in a range with the offset 70.
fn iota_at_an_offset(bench: &Bench) -> Result<Vec<u32>> {
    let out = Numbers::new(&bench.queue)?;
    let mut object = bench.kernel("iota", &[8, 4])?.object()?;
    let range = NdRange::new(LEN).offset(70);
    // SAFETY: as in `Bench::iota`.
    unsafe {
        object.set(0, Argument::Memory(&out.0, true))?;
        object.set(1, Argument::Bytes(&5u32.to_le_bytes()))?;
        object.enqueue(&bench.queue, &grid(range), WaitList::NOTHING)?;
    }
    out.read(&bench.queue)
}

#[test]
fn a_range_with_an_offset_runs_the_twin() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    assert_eq!(iota_at_an_offset(&bench)?, counted(75));
    Ok(())
}

#[test]
fn a_twin_takes_an_offset() -> Tested {
    let Some(mut bench) = bench()? else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(PTX);
    let text = text.replace("_with_offset_param_2[12]", "_with_offset_param_2[16]");
    bench.program = build(&bench.queue.context(), &[module(text.as_bytes())])?;
    assert_eq!(iota_at_an_offset(&bench)?, counted(5));
    Ok(())
}

const FAILING_SEARCH: &str = "fail=cuModuleGetFunction:2:999";

#[test]
fn failed_search_for_a_twin_is_an_error() {
    in_simulation(
        module_path!(),
        "a_child_cannot_look_for_twins",
        FAILING_SEARCH,
    );
}

// Without the twin, the kernel would run without its offset.
#[test]
fn a_child_cannot_look_for_twins() -> Tested {
    if !is_simulation(FAILING_SEARCH) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let failed = bench.kernel("iota", &[8, 4]).err();
    assert_eq!(failed.map(name), Some("CUDA_ERROR_UNKNOWN"));
    Ok(())
}

const UNKNOWN_PARAMETERS: &str = "fail=cuFuncGetParamInfo:1:801";

#[test]
fn twin_is_known_without_reported_parameters() {
    in_simulation(
        module_path!(),
        "a_child_reports_no_parameters",
        UNKNOWN_PARAMETERS,
    );
}

#[test]
fn a_child_reports_no_parameters() -> Tested {
    if !is_simulation(UNKNOWN_PARAMETERS) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    assert_eq!(iota_at_an_offset(&bench)?, counted(75));
    Ok(())
}

#[test]
fn queues_wait_for_each_other() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let other = bench.queue.context().new_queue(QueueOptions::new())?;
    let out = Numbers::new(&bench.queue)?;
    let mut last = bench.iota(&bench.queue, &out, 0, WaitList::NOTHING)?;
    for _ in 0..10 {
        let after = WaitList::new([&last].into_iter());
        let there = bench.double(&other, &out, &after)?;
        let after = WaitList::new([&there].into_iter());
        last = bench.double(&bench.queue, &out, &after)?;
    }
    assert_eq!(out.read(&bench.queue)?, doubled(20, 3));
    other.barrier(&WaitList::new([&last].into_iter()))?.wait()?;
    assert!(last.is_complete()?);
    Ok(())
}

#[test]
fn local_memory_is_separate_from_other_memory() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    // The second size exceeds what a kernel may use without opting in.
    assert_reverses(&bench, &[[12, 400], [60 << 10, 400]])
}

const FAILING_OPT_IN: &str = "fail=cuFuncSetAttribute:1:999";

#[test]
fn default_local_memory_needs_no_opt_in() {
    in_simulation(module_path!(), "a_child_cannot_opt_in", FAILING_OPT_IN);
}

#[test]
fn a_child_cannot_opt_in() -> Tested {
    if !is_simulation(FAILING_OPT_IN) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    // With 512 bytes more, these are exactly 48 KiB.
    let before = (48 << 10) - 512;
    assert_reverses(&bench, &[[before, 512]])?;
    let failed = assert_reverses(&bench, &[[before + 1, 512]]).err();
    assert_eq!(failed.map(name), Some("CUDA_ERROR_UNKNOWN"));
    Ok(())
}

/// Runs `reverse` with pairs of sizes of work-group memory: what it does not use, and what it uses.
fn assert_reverses(bench: &Bench, sizes: &[[usize; 2]]) -> Tested {
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let mut object = bench.kernel("reverse", &[8, 4, 4])?.object()?;
    let range = grid(NdRange::new(LEN).local(100));
    let backwards = |group: u32| (0..100).rev().map(move |number| group * 100 + number);
    let expected: Vec<u32> = (0..10).flat_map(backwards).collect();
    for [before, own] in sizes {
        queue.start_fill(&out.0, &[0], WaitList::NOTHING)?;
        // SAFETY: the kernel takes a pointer to as many numbers, and work-group memory.
        unsafe {
            object.set(0, Argument::Memory(&out.0, true))?;
            object.set(1, Argument::Local(*before))?;
            object.set(2, Argument::Local(*own))?;
            object.enqueue(queue, &range, WaitList::NOTHING)?;
        }
        assert_eq!(out.read(queue)?, expected);
    }
    Ok(())
}

#[test]
fn kernel_receives_all_of_sixty_arguments() -> Tested {
    let Some(mut bench) = bench()? else {
        return Ok(());
    };
    let numbers: Vec<u32> = (1..60).collect();
    let parameters = (numbers.iter()).map(|number| format!(",\n.param .u32 many_param_{number}"));
    let copies = numbers.iter().enumerate().map(|(index, number)| {
        let offset = index * 4;
        format!("ld.param.b32 %r1, [many_param_{number}];\nst.global.b32 [%rd2+{offset}], %r1;\n")
    });
    let text = format!(
        ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry many(\n\
         .param .u64 .ptr .global .align 4 many_param_0{}\n)\n{{\n.reg .b32 %r<2>;\n.reg .b64 %rd<3>;\n\
         ld.param.b64 %rd1, [many_param_0];\ncvta.to.global.u64 %rd2, %rd1;\n{}ret;\n}}\n",
        parameters.collect::<String>(),
        copies.collect::<String>()
    );
    bench.program = build(&bench.queue.context(), &[module(text.as_bytes())])?;
    let out = Numbers::new(&bench.queue)?;
    let sizes = [&[8][..], &[4; 59]].concat();
    let mut object = bench.kernel("many", &sizes)?.object()?;
    // SAFETY: the kernel takes a pointer and 59 numbers, which it writes.
    unsafe {
        object.set(0, Argument::Memory(&out.0, true))?;
        for (index, number) in numbers.iter().enumerate() {
            object.set(index + 1, Argument::Bytes(&(number * 3).to_le_bytes()))?;
        }
        object.enqueue(&bench.queue, &grid(NdRange::new(1)), WaitList::NOTHING)?;
    }
    let expected: Vec<u32> = numbers.iter().map(|number| number * 3).collect();
    assert_eq!(out.read(&bench.queue)?[..59], expected);
    Ok(())
}

#[test]
fn bad_arguments_never_reach_the_driver() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let mut object = bench.kernel("iota", &[8, 4])?.object()?;
    let refused = invalid("cuLaunchKernel");
    // SAFETY: nothing is launched.
    unsafe {
        assert_eq!(object.set(1, Argument::Bytes(&[0; 8])), Err(refused));
        assert_eq!(object.set(2, Argument::Bytes(&[0; 8])), Err(refused));
        let range = grid(NdRange::new(LEN).local(7));
        let launched = object.enqueue(&bench.queue, &range, WaitList::NOTHING);
        let refused = Failure::Rejected(Rejection::TooManyGroups);
        assert_eq!(launched.err(), Some(refused));
    }
    let missing = find(&bench.program, c"nothing", None);
    assert_eq!(missing.err().map(name), Some("CUDA_ERROR_NOT_FOUND"));
    Ok(())
}

#[test]
fn unknown_parameters_are_queried_from_the_driver() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let kernel = match find(&bench.program, c"reverse", None) {
        Err(Failure::Missing { .. }) => {
            say_skipped("the driver does not report parameters");
            return Ok(());
        }
        kernel => kernel?,
    };
    assert_eq!(kernel.bounds().arguments, 3);
    Ok(())
}

#[test]
fn variables_are_read_and_written_by_name() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let (queue, program) = (&bench.queue, &bench.program);
    let mut value = [0; 4];
    queue.transfer_variable(
        program,
        c"__syclbin_constant_by",
        0,
        HostSlice::To(&mut value),
    )?;
    assert_eq!(value, 3u32.to_le_bytes());
    queue.transfer_variable(
        program,
        c"__syclbin_constant_by",
        0,
        HostSlice::From(&1u32.to_le_bytes()),
    )?;
    let out = Numbers::new(queue)?;
    bench.iota(queue, &out, 0, WaitList::NOTHING)?;
    bench.double(queue, &out, WaitList::NOTHING)?;
    assert_eq!(out.read(queue)?, doubled(1, 1));

    queue.point_variable(program, c"table", &out.0.memory)?;
    let mut address = [0; 8];
    queue.transfer_variable(program, c"table", 0, HostSlice::To(&mut address))?;
    assert_eq!(u64::from_le_bytes(address), out.memory().pointer);
    queue.transfer_variable(program, c"table", 8, HostSlice::From(&[7; 8]))?;
    let mut table = [0; 16];
    queue.transfer_variable(program, c"table", 0, HostSlice::To(&mut table))?;
    assert_eq!(table, [address, [7; 8]].concat()[..]);
    let names = [
        queue.transfer_variable(program, c"nothing", 0, HostSlice::From(&[1])),
        queue.transfer_variable(program, c"table", 0, HostSlice::From(&[1; 17])),
    ];
    let names = names.map(|written| written.err().map_or("", name));
    assert_eq!(names, ["CUDA_ERROR_NOT_FOUND", "CUDA_ERROR_INVALID_VALUE"]);
    Ok(())
}

const FAULT_IN_LINKER: &str = "fail=cuLinkDestroy:1:719";

#[test]
fn linker_is_destroyed_after_linking() {
    in_simulation(
        module_path!(),
        "a_child_destroys_its_linker",
        FAULT_IN_LINKER,
    );
}

// The call that destroys the linker reports an error, which destroys the context.
#[test]
fn a_child_destroys_its_linker() -> Tested {
    if !is_simulation(FAULT_IN_LINKER) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    assert!(!bench.program.binary()?.is_empty());
    assert!(bench.queue.cuda()?.stream.context.is_lost());
    Ok(())
}

#[test]
fn constants_have_the_values_that_were_set() -> Tested {
    let Some(mut bench) = bench()? else {
        return Ok(());
    };
    let mut set = module(PTX);
    let constants = [("__syclbin_constant_by", 11u32), ("no thread reads it", 5)];
    set.constants = constants
        .map(|(name, value)| (name.to_owned(), value.to_le_bytes().to_vec()))
        .to_vec();
    bench.program = build(&bench.queue.context(), &[set])?;
    let out = Numbers::new(&bench.queue)?;
    bench.iota(&bench.queue, &out, 0, WaitList::NOTHING)?;
    bench.double(&bench.queue, &out, WaitList::NOTHING)?;
    assert_eq!(out.read(&bench.queue)?, doubled(1, 11));
    Ok(())
}

#[test]
fn constants_are_set_while_another_library_captures() -> Tested {
    use cudarc::driver::sys::{
        CUresult, CUstreamCaptureMode, cuGraphDestroy, cuStreamBeginCapture_v2, cuStreamCreate,
        cuStreamDestroy_v2, cuStreamEndCapture,
    };
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let mut set = module(PTX);
    set.constants = vec![("__syclbin_constant_by".to_owned(), vec![11, 0, 0, 0])];
    let (mut stream, mut graph) = (std::ptr::null_mut(), std::ptr::null_mut());
    let relaxed = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the context is current; the call writes one handle.
    let created = unsafe { cuStreamCreate(&raw mut stream, 0) };
    assert_eq!(created, CUresult::CUDA_SUCCESS);
    // SAFETY: the stream is alive.
    let begun = unsafe { cuStreamBeginCapture_v2(stream, relaxed) };
    let built = build(&bench.queue.context(), &[set]);
    // SAFETY: the stream and the graph are owned and no longer used.
    let ended = unsafe {
        let ended = cuStreamEndCapture(stream, &raw mut graph);
        cuGraphDestroy(graph);
        cuStreamDestroy_v2(stream);
        ended
    };
    assert_eq!([begun, ended], [CUresult::CUDA_SUCCESS; 2]);
    built.map(drop)
}

#[test]
fn unset_constant_fails_the_build_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_cannot_set_a_constant",
        FAILING_VARIABLE,
    );
}

const FAILING_VARIABLE: &str = "fail=cuModuleGetGlobal_v2:1:999";

// Kernels would otherwise compute with the default value.
#[test]
fn a_child_cannot_set_a_constant() -> Tested {
    if !is_simulation(FAILING_VARIABLE) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let mut set = module(PTX);
    set.constants = vec![("__syclbin_constant_by".to_owned(), vec![11, 0, 0, 0])];
    let built = build(&bench.queue.context(), &[set]).map(drop);
    assert_eq!(built.map_err(name), Err("CUDA_ERROR_UNKNOWN"));
    Ok(())
}

#[test]
fn unreported_parameters_are_not_missing_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_asks_for_parameters",
        FAILING_PARAMETERS,
    );
}

const FAILING_PARAMETERS: &str = "fail=cuFuncGetParamInfo:1:801,fail=cuFuncGetParamInfo:2:999";

#[test]
fn a_child_asks_for_parameters() -> Tested {
    if !is_simulation(FAILING_PARAMETERS) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    // The driver does not report parameters, so those in the PTX count.
    let kernel = bench.kernel("double", &[8])?;
    assert_eq!(kernel.bounds().arguments, 1);
    let refused = find(&bench.program, c"double", None).map(drop);
    assert_eq!(refused.map_err(name), Err("CUDA_ERROR_UNKNOWN"));
    Ok(())
}

#[test]
fn compute_capability_has_two_digits_in_simulation() {
    in_simulation(module_path!(), "a_child_has_an_older_device", OLDER);
}

const OLDER: &str = "sm=75";

#[test]
fn a_child_has_an_older_device() -> Tested {
    use syclbin::architecture::Architecture;
    if !is_simulation(OLDER) {
        return Ok(()); // only the child process runs the test
    }
    let facts = device().expect("the simulated device").facts();
    let architecture = facts.architecture.and_then(Architecture::name);
    assert_eq!(architecture, Some("nvidia_gpu_sm_75"));
    assert_eq!(facts.ptx.map(|ptx| ptx.sm), Some(75));
    Ok(())
}
