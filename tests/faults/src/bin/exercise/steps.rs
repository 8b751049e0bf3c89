// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that does all that the runtime can, in steps that can each be done again.

use std::future::IntoFuture as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;

use syclbin_rt::format::{Rgba, Unorm8};
use syclbin_rt::{
    Addressing, Arg, Buffer, Device, DeviceArray, ErrorKind, Event, Filtering, HostArray, Image,
    Kernel, Launch, Module, Queue, QueueOptions, Result, Sampler, SharedArray,
};

use crate::answer;
use crate::ledger::Ledger;

/// Compares results, unless the device executes no kernel and so has none.
macro_rules! expect_eq {
    ($found:expr, $expected:expr) => {
        match &$found {
            found if executes() => assert_eq!(*found, $expected),
            _ => {}
        }
    };
}

/// Whether kernels are executed. Simulated devices only take commands.
pub(crate) fn executes() -> bool {
    std::env::var("SYCLBIN_DEVICE_EXECUTES").map_or(true, |value| value != "no")
}

pub(crate) const VECTOR_OPS: &str = "vector_ops.object.syclbin";
pub(crate) const SCALE: &str = "_Z19__sycl_kernel_scaleIiEvPT_S0_";

/// All steps. None when one of them cannot be done.
pub(crate) fn all(ledger: &Ledger<'_>, device: &Device) -> Option<()> {
    let queue = ledger.step("make a queue", || device.queue())?;
    ledger.step("copy", || copies(&queue))?;
    let module = ledger.step("load a module", || whole(load(&queue, VECTOR_OPS)?))?;
    let saxpy = ledger.step("make a kernel", || module.kernel("saxpy"))?;
    ledger.step("ask about a kernel", || saxpy.attributes())?;
    launches(ledger, &queue, &Ok(saxpy))?;
    drop(module);
    ledger.step("load a cached module", || {
        let module = whole(load(&queue, VECTOR_OPS)?)?;
        scales(&queue, &module)
    })?;
    ledger.step("link", || linked(&queue))?;
    ledger.step("set constants", || constants(&queue))?;
    ledger.step("use variables", || variables(&queue))?;
    ledger.step("fail an assert", || failed_assert(&queue))?;
    ledger.step("use device arrays", || arrays(&queue))?;
    ledger.step("use host and shared arrays", || shared_arrays(&queue))?;
    ledger.step("copy parts, fill and map", || parts(&queue))?;
    repeats(ledger, &queue)?;
    ledger.step("make a sampler", || {
        Sampler::new(&queue, Addressing::ClampToEdge, Filtering::Nearest, false)
    })?;
    ledger.step("copy images", || images(&queue))?;
    ledger.step("share a queue and memory", || shared(&queue))?;
    ledger.step("use work-group memory", || work_groups(&queue))?;
    ledger.step("suggest a size of work-groups", || suggested(&queue))?;
    ledger.step("save a module and load it", || saved(&queue))?;
    ledger.step("load code that does not build", || broken(&queue))?;
    ledger.step("use two queues", || two_queues(&queue))?;
    ledger.step("copy later", || transfers(&queue))?;
    ledger.step("await", || futures(&queue))?;
    ledger.step("wait", || queue.wait())
}

pub(crate) fn load(queue: &Queue, name: &str) -> Result<Module> {
    load_bytes(queue, &test_files::read(name))
}

pub(crate) fn load_bytes(queue: &Queue, bytes: &[u8]) -> Result<Module> {
    // SAFETY: the code is what a compiler or the driver made, or what the driver refuses.
    unsafe { Module::load(queue, bytes) }
}

/// The module, if all its kernels can be had.
fn whole(module: Module) -> Result<Module> {
    module.build()?;
    Ok(module)
}

fn copies(queue: &Queue) -> Result<()> {
    let data: Vec<u32> = (0..1000).collect();
    let mut buffer = queue.upload(&data)?;
    expect_eq!(queue.download(&buffer)?, data);
    let zeroed = queue.zeroed::<u64>(77)?;
    expect_eq!(queue.download(&zeroed)?, [0; 77]);
    queue.write(&mut buffer, &vec![5; 1000])?;
    let mut back = vec![0; 1000];
    queue.read(&buffer, &mut back)?;
    expect_eq!(back, [5; 1000]);
    // Nothing to copy, which waits.
    let mut empty = queue.upload::<f32>(&[])?;
    queue.write(&mut empty, &[])?;
    queue.read(&empty, &mut [])
}

fn images(queue: &Queue) -> Result<()> {
    let pixels = [[1u8, 2, 3, 4], [5, 6, 7, 8]];
    let mut image = Image::<1, Rgba<Unorm8>>::upload(queue, [2], &pixels)?;
    expect_eq!(image.download(queue)?, pixels);
    image.write(queue, &[[9; 4], [7; 4]])?;
    expect_eq!(image.download(queue)?, [[9; 4], [7; 4]]);
    let volume = Image::<3, Rgba<f32>>::zeroed(queue, [2, 1, 3])?;
    expect_eq!(volume.download(queue)?, [[0.0; 4]; 6]);
    Ok(())
}

/// Takes the handles of our own objects, as if another library had made them.
fn shared(queue: &Queue) -> Result<()> {
    // SAFETY: the queue is alive, and of this library.
    let same = unsafe { Queue::from_native(queue.device(), queue.native()) }?;
    let owner = same.upload(&[1u32, 2, 3])?;
    let (handle, len) = (owner.native(), owner.len());
    // SAFETY: the memory is of the context of both queues, and is owned by the buffer.
    let buffer = unsafe { same.buffer_from_native::<u32, _>(handle, len, owner) }?;
    expect_eq!(queue.download(&buffer)?, [1, 2, 3]);
    Ok(())
}

fn saxpy(
    kernel: &Result<Kernel>,
    a: f32,
    x: &Buffer<f32>,
    y: &mut Buffer<f32>,
    after: &[&Event],
) -> Result<Event> {
    let n = u32::try_from(x.len()).expect("a small buffer");
    let range = x.len();
    let args = [Arg::scalar(a), Arg::read(x), Arg::write(y), Arg::scalar(n)];
    // SAFETY: both buffers have `n` elements.
    unsafe {
        Launch::new(kernel, &["a", "x", "y", "n"], args)
            .after(after)
            .launch(range)
    }
}

/// Launches on buffers that were there before: a launch that failed has changed nothing, and one
/// that did not has changed them once.
fn launches(ledger: &Ledger<'_>, queue: &Queue, kernel: &Result<Kernel>) -> Option<()> {
    let x = ledger.step("fill a buffer", || queue.upload(&[1.0f32; 64]))?;
    let mut y = ledger.step("zero a buffer", || queue.zeroed::<f32>(64))?;
    for done in 1..=3u8 {
        once(ledger, "launch and wait", || {
            saxpy(kernel, 1.0, &x, &mut y, &[])
        })?;
        let y = ledger.step("see what a kernel wrote", || queue.download(&y))?;
        if executes() && y != [f32::from(done); 64] {
            ledger.fail::<()>(format!("after {done} launches there is {}", y[0]));
        }
    }
    Some(())
}

/// Starts a command and waits for it, as a step: one that has failed is started again, but not one
/// that was started and whose outcome is unknown.
fn once(ledger: &Ledger<'_>, name: &str, mut start: impl FnMut() -> Result<Event>) -> Option<()> {
    let mut running = None;
    ledger.step(name, || {
        let event = match running.take() {
            Some(event) => event,
            None => start()?,
        };
        let waited = event.wait().and_then(|()| event.is_complete());
        let error = waited.as_ref().err().map(ToString::to_string);
        if !error.is_some_and(|error| error.starts_with("clEnqueue")) {
            running = Some(event);
        }
        assert!(waited?);
        Ok(())
    })
}

fn scales(queue: &Queue, module: &Module) -> Result<()> {
    let kernel = module.kernel(SCALE);
    let mut data = queue.upload(&[1i32, 2, 3])?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    // SAFETY: one work-item for each element.
    unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(3)? }.wait()?;
    expect_eq!(queue.download(&data)?, [3, 6, 9]);
    Ok(())
}

fn linked(queue: &Queue) -> Result<()> {
    let exporting = test_files::read("export_side.object.syclbin");
    let module = Module::builder(queue).link(&exporting);
    // SAFETY: a compiler made the code.
    let module = unsafe { module.load(&test_files::read("import_side.object.syclbin"))? };
    let kernel = module.kernel("apply");
    let input = queue.upload(&[0.0f32, 1.0, -3.0])?;
    let mut out = queue.zeroed::<f32>(3)?;
    let args = [Arg::read(&input), Arg::write(&mut out)];
    // SAFETY: a work-item for each element.
    unsafe { Launch::new(&kernel, &["in", "out"], args).launch(3)? }.wait()?;
    expect_eq!(queue.download(&out)?, [1.0, 2.0, 10.0]);
    Ok(())
}

fn constants(queue: &Queue) -> Result<()> {
    let module = Module::builder(queue)
        .specialization_constant("radius", 3u32)
        .specialization_constant("pair", [4u32, 5]);
    // SAFETY: the code is well-formed.
    let module = unsafe { module.load(&answer::file(&answer::constants()))? };
    let kernel = module.kernel("answer");
    let mut out = queue.zeroed::<u32>(3)?;
    // SAFETY: it writes three numbers.
    unsafe { Launch::new(&kernel, &["out"], [Arg::write(&mut out)]).launch(1)? }.wait()?;
    expect_eq!(queue.download(&out)?, [3, 4, 5]);
    Ok(())
}

fn variables(queue: &Queue) -> Result<()> {
    let module = load(queue, "globals.object.syclbin")?;
    let table = module.global::<[i32; 4]>("table")?;
    let bias = module.global::<f32>("bias")?;
    table.write(&[1, 2, 3, -4])?;
    bias.write(&0.5)?;
    expect_eq!((table.read()?, bias.read()?), ([1, 2, 3, -4], 0.5));
    let kernel = module.kernel("store");
    // SAFETY: it writes nothing but the variable.
    unsafe { Launch::new(&kernel, &["value"], [Arg::scalar(7i32)]).launch(1)? }.wait()?;
    expect_eq!(table.read()?, [0, 7, 14, 21]);
    Ok(())
}

/// A failed assert is reported once, even if the driver first fails to read the record of asserts.
fn failed_assert(queue: &Queue) -> Result<()> {
    let module = load(queue, "made/asserts.syclbin")?;
    let kernel = module.kernel("halve");
    let mut data = queue.upload(&[5])?;
    // SAFETY: one work-item for each element.
    let event = unsafe { Launch::new(&kernel, &["data"], [Arg::write(&mut data)]).launch(1)? };
    let waited = event.wait();
    if !executes() {
        return waited;
    }
    let error = waited.expect_err("5 is odd");
    if error.kind() == ErrorKind::Assert {
        return queue.wait();
    }
    // A kernel that did not run has no failed assert.
    if !error.to_string().starts_with("clEnqueueNDRangeKernel") {
        queue.wait().expect_err("the failed assert is not lost");
    }
    Err(error)
}

fn arrays(queue: &Queue) -> Result<()> {
    let module = load(queue, VECTOR_OPS)?;
    let kernel = module.kernel(SCALE);
    let mut array = DeviceArray::upload(queue, &[1i32, 2, 3])?;
    queue.write(&mut array, &[4, 5, 6])?;
    let args = [Arg::pointer(array.pointer()), Arg::scalar(2i32)];
    // SAFETY: one work-item for each element.
    unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(3)? }.wait()?;
    expect_eq!(queue.download(&array)?, [8, 10, 12]);
    let empty = DeviceArray::<f32>::zeroed(queue, 0)?;
    expect_eq!(queue.download(&empty)?, []);
    Ok(())
}

fn shared_arrays(queue: &Queue) -> Result<()> {
    let mut host = HostArray::<i32>::zeroed(queue, 3)?;
    let mut shared = SharedArray::<i32>::zeroed(queue, 3)?;
    queue.write(&mut host, &[1, 2, 3])?;
    queue.copy(&host, &mut shared)?.wait()?;
    queue.map_mut(&mut shared)?[0] = 7;
    expect_eq!(queue.download(&shared)?, [7, 2, 3]);
    queue.fill(&mut host, 5)?.wait()?;
    expect_eq!(*queue.map(&host)?, [5; 3]);
    Ok(())
}

fn parts(queue: &Queue) -> Result<()> {
    let module = load(queue, VECTOR_OPS)?;
    let kernel = module.kernel(SCALE);
    let mut buffer = queue.upload(&[1i32; 256])?;
    let (first, mut second) = buffer.split_at_mut(128)?;
    queue.copy(&first, &mut second)?.wait()?;
    queue.fill(&mut second, 2)?.wait()?;
    let args = [Arg::write(&mut second), Arg::scalar(3i32)];
    // SAFETY: one work-item for each element.
    unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(128)? }.wait()?;
    queue.map_mut(&mut buffer)?[0] = 9;
    let now = queue.map(&buffer)?;
    expect_eq!((now[0], now[1], now[128], now[255]), (9, 1, 6, 6));
    Ok(())
}

fn doubling<'a>(kernel: &'a Result<Kernel>, data: &'a mut Buffer<i32>) -> Launch<'a, 2> {
    let args = [Arg::write(data), Arg::scalar(2i32)];
    Launch::new(kernel, &["data", "factor"], args)
}

/// Prepared and recorded launches on memory that was there before: each runs once, or not at all.
fn repeats(ledger: &Ledger<'_>, queue: &Queue) -> Option<()> {
    let module = ledger.step("load for repeats", || load(queue, VECTOR_OPS))?;
    let kernel = ledger.step("make a kernel for repeats", || module.kernel(SCALE))?;
    let kernel = Ok(kernel);
    let mut data = ledger.step("fill for repeats", || queue.upload(&[1i32; 4]))?;
    let prepared = ledger.step("prepare", || doubling(&kernel, &mut data).prepare(4))?;
    let recording = ledger.step("record", || {
        let mut recorder = queue.record();
        for _ in 0..2 {
            // SAFETY: one work-item for each element.
            unsafe { doubling(&kernel, &mut data).record(&mut recorder, 4)? };
        }
        recorder.finish()
    })?;
    for times in [8, 64] {
        // SAFETY: one work-item for each element.
        once(ledger, "launch a prepared one", || unsafe {
            prepared.launch()
        })?;
        once(ledger, "replay", || recording.replay())?;
        let now = ledger.step("see what repeats wrote", || queue.download(&data))?;
        // A replay is several calls. One that failed between them is replayed from the start.
        if executes() && (now[0] < times || now != [now[0]; 4]) {
            ledger.fail::<()>(format!("{now:?} after repeats that make at least {times}"));
        }
    }
    drop((prepared, recording));
    // Begun again, it begins with the same numbers.
    ledger.step("replay copies", || {
        let mut other = queue.zeroed::<i32>(4)?;
        let mut recorder = queue.record();
        recorder.fill(&mut data, 3)?;
        // SAFETY: one work-item for each element.
        unsafe { doubling(&kernel, &mut data).record(&mut recorder, 4)? };
        recorder.copy(&data, &mut other)?;
        recorder.finish()?.replay()?.wait()?;
        expect_eq!(queue.download(&other)?, [6; 4]);
        Ok(())
    })
}

fn work_groups(queue: &Queue) -> Result<()> {
    let module = load(queue, "work_group.object.syclbin")?;
    let kernel = module.kernel("block_sum");
    let input = queue.upload(&[1i32; 128])?;
    let mut out = queue.zeroed::<i32>(2)?;
    let args = [Arg::read(&input), Arg::write(&mut out), Arg::local(256)];
    let names = &["in", "out", "scratch"];
    // SAFETY: groups of 64 add 128 numbers, with 64 numbers of work-group memory.
    unsafe { Launch::new(&kernel, names, args).launch(128)? }.wait()?;
    expect_eq!(queue.download(&out)?, [64, 64]);
    Ok(())
}

fn suggested(queue: &Queue) -> Result<()> {
    let kernel = load(queue, VECTOR_OPS)?.kernel(SCALE);
    let mut data = queue.upload(&[1i32; 64])?;
    let size = doubling(&kernel, &mut data).suggested_local_size(64)?;
    expect_eq!(64 % size[0], 0);
    Ok(())
}

fn saved(queue: &Queue) -> Result<()> {
    let bytes = load(queue, VECTOR_OPS)?.to_syclbin()?;
    scales(queue, &whole(load_bytes(queue, &bytes)?)?)
}

/// The failure is what is wanted, unless it is not the one that is.
fn broken(queue: &Queue) -> Result<()> {
    let bytes = test_files::read(VECTOR_OPS);
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    // Its first instruction declares a capability: 60000 is none.
    file.modules[0].images[0].bytes.to_mut()[24..28].copy_from_slice(&60_000u32.to_le_bytes());
    file.modules.truncate(1);
    let file = syclbin::write::to_vec(&file, syclbin::Container::default()).expect("a good file");
    // Intel's GPU driver does not look at it.
    let Err(error) = load_bytes(queue, &file)?.build() else {
        return Ok(());
    };
    let message = error.to_string();
    let refused = "clBuildProgram failed with CL_BUILD_PROGRAM_FAILURE (-11)";
    if message.contains(refused) {
        Ok(())
    } else {
        Err(error)
    }
}

/// A launch that waits for another one, on a queue that would not.
fn two_queues(queue: &Queue) -> Result<()> {
    let options = QueueOptions::new().out_of_order().profiling();
    let other = queue.device().queue_with(options)?;
    let module = load(&other, VECTOR_OPS)?;
    let kernel = module.kernel("saxpy");
    let x = other.upload(&[1.0f32; 64])?;
    let mut y = other.zeroed::<f32>(64)?;
    let first = saxpy(&kernel, 1.0, &x, &mut y, &[])?;
    let second = saxpy(&kernel, 1.0, &x, &mut y, &[&first])?;
    let done = other.barrier(&[&second])?;
    let here = queue.barrier(&[&done])?;
    // What waits for a command that failed fails too, and the first of them says why.
    let waited = [second.wait(), done.wait(), here.wait()];
    if let Err(error) = first.wait() {
        // Not if only the outcome is unknown.
        if error.to_string().starts_with("clEnqueueNDRangeKernel") {
            assert!(waited.iter().all(Result::is_err), "{waited:?}");
        }
        return Err(error);
    }
    waited.into_iter().collect::<Result<()>>()?;
    expect_eq!(queue.download(&y)?, [2.0; 64]);
    first.profile()?;
    other.wait()
}

/// Copies that are not waited for at once.
fn transfers(queue: &Queue) -> Result<()> {
    let data: Vec<u32> = (0..1000).collect();
    let mut buffer = queue.zeroed::<u32>(1000)?;
    let up = queue.write_later(&mut buffer, data.clone())?;
    let down = queue.after(&[up.event()]).download_later(&buffer)?;
    let sent = up.wait();
    let got = block_on(down.into_future());
    // The first of the two says why.
    expect_eq!(sent?, data);
    expect_eq!(got?, data);
    Ok(())
}

/// A future that is polled while its command cannot have ended, so that the driver has to tell.
fn futures(queue: &Queue) -> Result<()> {
    let module = load(queue, VECTOR_OPS)?;
    let kernel = module.kernel("_ZN18__sycl_kernel_fill4iotaEfPfi");
    let mut long = queue.zeroed::<f32>(LONG)?;
    let mut short = queue.zeroed::<f32>(4)?;
    let first = iota(&kernel, &mut long)?;
    let second = iota(&kernel, &mut short)?;
    let ended = block_on(second.into_future());
    first.wait()?;
    ended?;
    expect_eq!(queue.download(&short)?, [7.0, 8.0, 9.0, 10.0]);
    Ok(())
}

/// The number of elements that one work-item writes in tens of milliseconds.
///
/// A future asks for a callback only while its command runs. On a busy machine this thread may sleep before the first
/// poll.
const LONG: usize = 1 << 24;

fn iota(kernel: &Result<Kernel>, out: &mut Buffer<f32>) -> Result<Event> {
    let count = i32::try_from(out.len()).expect("a small buffer");
    let args = [Arg::scalar(7.0f32), Arg::write(out), Arg::scalar(count)];
    // SAFETY: the one work-item writes `count` elements.
    unsafe { Launch::new(kernel, &["start", "out", "count"], args).launch(1) }
}

/// Runs a future on this thread, which sleeps meanwhile.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
