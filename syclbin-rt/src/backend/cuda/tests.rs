//! What the backend does on a device of CUDA, and on a driver that only simulates one.

use std::ffi::CString;
use std::sync::{Arc, mpsc};
use std::task::{Poll, Wake, Waker};

use super::*;
use crate::backend::argument::{Argument, Arguments as _};
use crate::backend::cuda::program::{Kind, Module};
use crate::backend::dispatch::memory::Memory as AnyMemory;
use crate::backend::failure::{BuildError, Code, Failure, Rejection};
use crate::backend::reach::Reach;
use crate::backend::slice::Region;
use crate::backend::slot::Slot;
use crate::common::{on_cuda, say_skipped};
use crate::launch::range::{Grid, NdRange};
use crate::queue::options::QueueOptions;

const PTX: &[u8] = include_bytes!("tests.ptx");
/// How many elements most tests have.
const LEN: usize = 1000;

type Tested = Result<(), Failure>;

/// A queue, and the program of the tests.
struct Bench {
    queue: Arc<Queue>,
    program: Arc<Program>,
}

fn device() -> Option<&'static DriverDevice> {
    let reason = match Library::load() {
        Ok(library) => match library.devices() {
            Ok([first, ..]) => return Some(first),
            Ok([]) => "the driver has no device".to_owned(),
            Err(failure) => format!("{failure:?}"),
        },
        Err(reason) => reason,
    };
    assert!(!on_cuda(), "SYCLBIN_DEVICE asks for CUDA, but {reason}");
    say_skipped(&reason);
    None
}

fn build(context: &Arc<Context>, modules: &[Module<'_>]) -> Result<Arc<Program>, Failure> {
    match Program::of(context, modules) {
        Ok(program) => Ok(Arc::new(program)),
        Err(BuildError { failure, log, .. }) => {
            assert_eq!(log, "", "{failure:?}");
            Err(failure)
        }
    }
}

fn module(code: &[u8]) -> Module<'_> {
    Module {
        code,
        kind: Kind::Ptx,
        settings: &[],
        max_registers: None,
    }
}

fn bench_with(options: QueueOptions) -> Result<Option<Bench>, Failure> {
    let Some(device) = device() else {
        return Ok(None);
    };
    let context = Context::shared(device)?;
    Ok(Some(Bench {
        program: build(&context, &[module(PTX)])?,
        queue: Arc::new(Queue::new(context, options)?),
    }))
}

fn bench() -> Result<Option<Bench>, Failure> {
    bench_with(QueueOptions::new())
}

/// `LEN` numbers on the device.
struct Numbers(Region);

/// Bytes of memory.
fn region(memory: Memory, offset: usize, size: usize) -> Region {
    Region::new(Arc::new(AnyMemory::from(memory)), offset, size, 1)
}

fn raw(region: &Region) -> &Memory {
    region.memory.raw().cuda().expect("memory of CUDA")
}

impl Numbers {
    fn new(queue: &Queue) -> Result<Self, Failure> {
        let memory = queue.zeroed(LEN * 4)?;
        Ok(Self(region(memory, 0, LEN * 4)))
    }

    fn memory(&self) -> &Memory {
        raw(&self.0)
    }

    fn read(&self, queue: &Queue) -> Result<Vec<u32>, Failure> {
        let mut numbers = vec![0u32; LEN];
        queue.read(self.memory(), 0, bytemuck::cast_slice_mut(&mut numbers))?;
        Ok(numbers)
    }
}

impl Bench {
    fn kernel(&self, name: &str, sizes: &[usize]) -> Result<Kernel, Failure> {
        let mut slots = Vec::new();
        let mut end: usize = 0;
        for size in sizes {
            let offset = end.next_multiple_of(*size);
            end = offset + size;
            slots.push(Slot {
                offset,
                size: *size,
            });
        }
        Kernel::new(&self.program, CString::new(name).unwrap(), Some(slots))
    }

    fn iota(
        &self,
        queue: &Queue,
        out: &Numbers,
        by: u32,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        let mut object = self.kernel("iota", &[8, 4])?.object()?;
        let grid = grid(NdRange::new(LEN));
        // SAFETY: the kernel takes a pointer to as many numbers, and a number.
        unsafe {
            object.set(0, Argument::Memory(&out.0, true))?;
            object.set(1, Argument::Bytes(&by.to_le_bytes()))?;
            object.enqueue(queue, &grid, after)
        }
    }

    fn double(&self, queue: &Queue, out: &Numbers, after: &WaitList<'_>) -> Result<Event, Failure> {
        let object = self.doubling(out)?;
        // SAFETY: the memory has as many numbers.
        unsafe { object.enqueue(queue, &grid(NdRange::new(LEN)), after) }
    }

    fn doubling(&self, out: &Numbers) -> Result<KernelObject, Failure> {
        let mut object = self.kernel("double", &[8])?.object()?;
        // SAFETY: the kernel takes a pointer to numbers.
        unsafe { object.set(0, Argument::Memory(&out.0, true)) }?;
        Ok(object)
    }
}

/// The name of what the driver answered.
fn name(failure: Failure) -> &'static str {
    failure.code().map_or("", Code::name)
}

fn grid(range: NdRange) -> Grid {
    range.grid(range.local_extent())
}

fn counted(from: u32) -> Vec<u32> {
    (from..).take(LEN).collect()
}

fn doubled(times: u32, by: u32) -> Vec<u32> {
    let double = |number: u32| (0..times).fold(number, |number, _| 2 * number + by);
    counted(0).into_iter().map(double).collect()
}

struct Bell(mpsc::Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

#[test]
fn a_kernel_runs_and_its_result_is_read() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let out = Numbers::new(&bench.queue)?;
    let event = bench.iota(&bench.queue, &out, 5, WaitList::NOTHING)?;
    event.wait()?;
    assert!(event.is_complete()?);
    // It is known to have ended, so it takes no event of the driver.
    assert!(event.mark()?.is_none());
    assert_eq!(out.read(&bench.queue)?, counted(5));
    let names = bench.program.kernel_names()?;
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["double", "fault", "iota", "reverse"]);
    Ok(())
}

#[test]
fn a_range_with_an_offset_runs_the_twin() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let out = Numbers::new(&bench.queue)?;
    let mut object = bench.kernel("iota", &[8, 4])?.object()?;
    let range = NdRange::new(LEN).offset(70);
    // SAFETY: as of `iota`.
    unsafe {
        object.set(0, Argument::Memory(&out.0, true))?;
        object.set(1, Argument::Bytes(&5u32.to_le_bytes()))?;
        object.enqueue(&bench.queue, &grid(range), WaitList::NOTHING)?;
    }
    assert_eq!(out.read(&bench.queue)?, counted(75));
    Ok(())
}

#[test]
fn queues_wait_for_each_other() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let other = Queue::new(Arc::clone(bench.queue.context()), QueueOptions::new())?;
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
fn work_group_memory_has_its_place_beside_other_memory() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let mut object = bench.kernel("reverse", &[8, 4, 4])?.object()?;
    let range = grid(NdRange::new(LEN).local(100));
    let backwards = |group: u32| (0..100).rev().map(move |number| group * 100 + number);
    let expected: Vec<u32> = (0..10).flat_map(backwards).collect();
    // The second time there is more than a kernel may have without asking.
    for before in [12, 60 << 10] {
        queue.start_fill(&out.0, &[0], WaitList::NOTHING)?;
        // SAFETY: the kernel takes a pointer to as many numbers, and memory for its groups.
        unsafe {
            object.set(0, Argument::Memory(&out.0, true))?;
            object.set(1, Argument::Local(before))?;
            object.set(2, Argument::Local(400))?;
            object.enqueue(queue, &range, WaitList::NOTHING)?;
        }
        assert_eq!(out.read(queue)?, expected);
    }
    Ok(())
}

#[test]
fn what_does_not_fit_a_kernel_is_refused_before_the_driver_sees_it() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let mut object = bench.kernel("iota", &[8, 4])?.object()?;
    let code = errors::INVALID_VALUE;
    let refused = Failure::cuda("cuLaunchKernel", code);
    // SAFETY: nothing is launched.
    unsafe {
        assert_eq!(object.set(1, Argument::Bytes(&[0; 8])), Err(refused));
        assert_eq!(object.set(2, Argument::Bytes(&[0; 8])), Err(refused));
        let range = grid(NdRange::new(LEN).local(7));
        let launched = object.enqueue(&bench.queue, &range, WaitList::NOTHING);
        let refused = Failure::Rejected(Rejection::TooManyGroups);
        assert_eq!(launched.err(), Some(refused));
    }
    let missing = Kernel::new(&bench.program, c"nothing".to_owned(), None);
    assert_eq!(missing.err().map(name), Some("CUDA_ERROR_NOT_FOUND"));
    Ok(())
}

#[test]
fn parameters_are_asked_of_the_driver_where_nobody_knows_them() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let kernel = match Kernel::new(&bench.program, c"reverse".to_owned(), None) {
        Err(failure) if failure.code() == Some(Code::Cuda(errors::NOT_SUPPORTED)) => {
            say_skipped("the driver does not tell");
            return Ok(());
        }
        kernel => kernel?,
    };
    assert_eq!(kernel.arguments(), 3);
    Ok(())
}

#[test]
fn memory_is_copied_and_filled_at_any_place() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let bytes: Vec<u8> = (0..=255).collect();
    let reaches = [
        None,
        Some(Reach::Device),
        Some(Reach::Host),
        Some(Reach::Shared),
    ];
    for reach in reaches {
        let memory = match reach {
            None => queue.zeroed(512)?,
            Some(reach) => queue.zeroed_at_address(reach, 512)?,
        };
        assert_eq!(memory.address().is_some(), reach.is_some());
        queue.write(&memory, 3, &bytes)?;
        let memory = region(memory, 3, 256);
        let copy = region(queue.upload(&[9; 512])?, 5, 256);
        queue.start_copy(&memory, &copy, WaitList::NOTHING)?;
        let event = queue.start_fill(&copy.part(2, 24), b"sycl-rs!", WaitList::NOTHING)?;
        let mut read = vec![0; 512];
        queue.read(raw(&copy), 0, &mut read)?;
        assert!(event.is_complete()?);
        let mut expected = vec![9; 512];
        expected[5..261].copy_from_slice(&bytes);
        expected[7..31].copy_from_slice(&b"sycl-rs!".repeat(3));
        assert_eq!(read, expected, "{reach:?}");
        if let Some(pointer) = raw(&memory).host_pointer() {
            // SAFETY: nothing is in the queue, and the host may see this memory.
            let seen = unsafe { std::slice::from_raw_parts(pointer.add(3), 256) };
            assert_eq!(seen, bytes);
        }
    }
    let memory = queue.upload(&[])?;
    queue.read(&memory, 0, &mut [])?;
    assert_eq!(
        queue.write(&memory, 0, &[1, 2]).err(),
        Some(Failure::Rejected(Rejection::OutOfBounds("cuMemcpyAsync")))
    );
    Ok(())
}

#[test]
fn transfers_end_with_their_events() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let from: Vec<u32> = counted(40);
    let mut to = vec![0u32; LEN];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut to);
    // SAFETY: both are waited for before they go.
    unsafe {
        let written = queue.start_write(&out.0, from.as_ptr().cast(), WaitList::NOTHING);
        let written = written.map_err(|unstarted| unstarted.failure)?;
        let after = WaitList::new([&written].into_iter());
        let read = queue.start_read(&out.0, bytes.as_mut_ptr().cast(), &after);
        let read = read.map_err(|unstarted| unstarted.failure)?;
        assert!(read.has_ended());
    }
    assert_eq!(to, from);
    Ok(())
}

#[test]
fn variables_are_read_and_written_by_name() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let (queue, program) = (&bench.queue, &bench.program);
    let mut value = [0; 4];
    queue.read_variable(program, c"__syclbin_constant_by", &mut value)?;
    assert_eq!(value, 3u32.to_le_bytes());
    queue.write_variable(program, c"__syclbin_constant_by", &1u32.to_le_bytes())?;
    let out = Numbers::new(queue)?;
    bench.iota(queue, &out, 0, WaitList::NOTHING)?;
    bench.double(queue, &out, WaitList::NOTHING)?;
    assert_eq!(out.read(queue)?, doubled(1, 1));

    queue.point_variable(program, c"table", &out.0.memory)?;
    let mut address = [0; 8];
    queue.read_variable(program, c"table", &mut address)?;
    assert_eq!(u64::from_le_bytes(address), out.memory().pointer);
    let names = [
        queue.write_variable(program, c"nothing", &[1]),
        queue.write_variable(program, c"table", &[1; 17]),
    ];
    let names = names.map(|written| written.err().map_or("", name));
    assert_eq!(names, ["CUDA_ERROR_NOT_FOUND", "CUDA_ERROR_INVALID_VALUE"]);
    Ok(())
}

#[test]
fn constants_have_the_values_that_were_set() -> Tested {
    let Some(mut bench) = bench()? else {
        return Ok(());
    };
    let mut set = module(PTX);
    let settings = [("__syclbin_constant_by", 11u32), ("no thread reads it", 5)]
        .map(|(name, value)| (name.to_owned(), value.to_le_bytes().to_vec()));
    set.settings = &settings;
    bench.program = build(bench.queue.context(), &[set])?;
    let out = Numbers::new(&bench.queue)?;
    bench.iota(&bench.queue, &out, 0, WaitList::NOTHING)?;
    bench.double(&bench.queue, &out, WaitList::NOTHING)?;
    assert_eq!(out.read(&bench.queue)?, doubled(1, 11));
    Ok(())
}

#[test]
fn recorded_commands_run_one_after_the_other_each_time() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let Some(mut buffer) = CommandBuffer::new(queue)? else {
        say_skipped("the driver has no such graphs");
        return Ok(());
    };
    let (out, copy) = (Numbers::new(queue)?, Numbers::new(queue)?);
    let object = bench.doubling(&out)?;
    let range = grid(NdRange::new(LEN));
    buffer.add_fill(&out.0, &[1, 0, 0, 0, 2, 0, 0, 0])?;
    // SAFETY: the memory has as many numbers, and lives as long as the buffer.
    unsafe {
        buffer.add_kernel(&object, &range)?;
        buffer.add_kernel(&object, &range)?;
    }
    buffer.add_copy(&out.0, &copy.0)?;
    buffer.add_fill(&out.0, &[7])?;
    buffer.finish()?;
    let expected = [13, 17].repeat(LEN / 2);
    for _ in 0..3 {
        // SAFETY: as above.
        unsafe { buffer.enqueue(WaitList::NOTHING) }?.wait()?;
        assert_eq!(copy.read(queue)?, expected);
        assert_eq!(out.read(queue)?, [0x0707_0707; LEN]);
        queue.start_fill(&copy.0, &[0], WaitList::NOTHING)?;
    }
    Ok(())
}

#[test]
fn a_profile_tells_when_commands_ran_one_after_the_other() -> Tested {
    let Some(bench) = bench_with(QueueOptions::new().profiling())? else {
        return Ok(());
    };
    let other = Queue::new(
        Arc::clone(bench.queue.context()),
        QueueOptions::new().profiling(),
    )?;
    let out = Numbers::new(&bench.queue)?;
    let mut ended = 0;
    for queue in [&*bench.queue, &other, &*bench.queue] {
        let event = bench.iota(queue, &out, 1, WaitList::NOTHING)?;
        event.wait()?;
        let times = event.times()?;
        assert!(times.queued > 0 && times.queued <= times.submitted);
        assert!(times.submitted <= times.started && times.started < times.ended);
        assert!(ended <= times.started, "{ended} {}", times.started);
        ended = times.ended;
    }
    Ok(())
}

#[test]
fn who_polls_is_woken_when_a_command_has_ended() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let out = Numbers::new(&bench.queue)?;
    for _ in 0..20 {
        let event = bench.iota(&bench.queue, &out, 1, WaitList::NOTHING)?;
        let (send, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Bell(send)));
        let mut end = End::default();
        while event.poll(&mut end, &waker)? == Poll::Pending {
            assert!(woken.recv().is_ok(), "the waker is gone");
        }
        assert!(event.is_complete()?);
    }
    Ok(())
}

/// Says to a child that it is one.
const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";

// In a process of its own: others use the context of the device too.
#[test]
fn a_kernel_that_faults_ends_the_context_and_a_new_one_works() {
    if device().is_none() {
        return;
    }
    let name = "backend::cuda::tests::a_child_loses_its_context";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let output = child.args([name, "--exact"]).env(CHILD, "1").output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn a_child_loses_its_context() -> Tested {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the others
    }
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let object = bench.kernel("fault", &[])?.object()?;
    // SAFETY: it is to fail.
    let event = unsafe { object.enqueue(queue, &grid(NdRange::new(1)), WaitList::NOTHING) }?;
    let fault = Failure::cuda("cuLaunchKernel", 700);
    assert_eq!(event.wait(), Err(fault));
    assert!(queue.context().is_lost());
    // All of it answers with what it died of.
    for answer in [
        out.read(queue).map(drop),
        queue.finish(),
        queue.zeroed(4).map(drop),
        bench.iota(queue, &out, 1, WaitList::NOTHING).map(drop),
        event.is_complete().map(drop),
        queue.context().finish_all(),
    ] {
        assert_eq!(answer.map_err(name), Err("CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
    let mut end = End::default();
    let polled = event.poll(&mut end, Waker::noop());
    assert_eq!(polled, Poll::Ready(Err(fault)));

    let device = queue.context().device();
    drop((object, event));
    drop(bench);
    // While an object of the old context is left, there is no new context: the old context might be in use.
    let refused = Context::shared(device).err();
    assert_eq!(refused.map(Failure::code), Some(fault.code()));
    drop(out);
    let context = Context::shared(device)?;
    assert!(!context.is_lost());
    let bench = Bench {
        program: build(&context, &[module(PTX)])?,
        queue: Arc::new(Queue::new(context, QueueOptions::new())?),
    };
    let out = Numbers::new(&bench.queue)?;
    bench.iota(&bench.queue, &out, 5, WaitList::NOTHING)?;
    assert_eq!(out.read(&bench.queue)?, counted(5));
    Ok(())
}

#[test]
fn code_that_the_driver_refuses_comes_with_its_words() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let context = bench.queue.context();
    let code = PTX.to_vec();
    let text = String::from_utf8(code).unwrap();
    let broken = text.replace("add.s32", "bad.s32");
    let error = Program::of(context, &[module(broken.as_bytes())]).err();
    let BuildError { failure, log, .. } = error.expect("no such instruction");
    assert_eq!(name(failure), "CUDA_ERROR_INVALID_PTX");
    assert!(!log.is_empty());
    let newer = text.replace(".version 6.3", ".version 99.0");
    let error = Program::of(context, &[module(newer.as_bytes())]).err();
    let failure = error.expect("no such version").failure;
    assert_eq!(name(failure), "CUDA_ERROR_UNSUPPORTED_PTX_VERSION");
    // The context is as it was.
    assert!(!context.is_lost());
    bench.queue.finish()
}

/// Has the simulated driver fail: `fail=FUNCTION:CALL:CODE`.
const SIMULATION: &str = "SYCLBIN_SIMULATED_CUDA";

#[test]
fn whatever_call_fails_is_an_error_of_a_test_and_no_more() {
    if std::env::var_os(SIMULATION).is_some() {
        return; // a child of the below
    }
    let Some(device) = device() else {
        return;
    };
    if !device.facts().name.starts_with("Simulated") {
        return say_skipped("only the simulated driver fails on request");
    }
    for function in sys::NAMES {
        // A code that ends the context, and one that does not. Where a driver waits it is not said for
        // nothing that the context has ended: nothing of it is running any more.
        let waits = matches!(*function, "cuStreamSynchronize" | "cuEventSynchronize");
        let first = if waits { 999 } else { 719 };
        for (call, code) in [(1, first), (3, 999)] {
            let fail = format!("fail={function}:{call}:{code}");
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["backend::cuda::tests", "--test-threads=1"]);
            child.env(CHILD, "1").env(SIMULATION, &fail);
            let output = child.output().unwrap();
            // 101 says that tests failed. Nothing but their own assertions panics.
            assert!(
                matches!(output.status.code(), Some(0 | 101)),
                "{fail}: {output:?}"
            );
            let said = String::from_utf8_lossy(&output.stdout);
            let panics = said.lines().filter(|line| line.contains("panicked at"));
            let own = |line: &str| line.contains("cuda/tests.rs");
            assert!(panics.clone().all(own), "{fail}: {said}");
        }
    }
}
