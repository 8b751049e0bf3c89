// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests to a render node.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::memory::AddressSpace;
use crate::product::Product;
use crate::streamer;

/// Names the GPUs of the nodes.
const VARIABLE: &str = "SIMULATED_XE";

/// All nodes of a process. Numbers of objects, of address spaces and of queues are of all nodes together.
#[derive(Default)]
pub(crate) struct Nodes {
    state: Option<State>,
}

#[derive(Default)]
struct State {
    /// The GPU behind each open file.
    open: HashMap<c_int, Product>,
    last: u32,
    objects: HashMap<u32, Arc<Object>>,
    spaces: HashMap<u32, Space>,
    /// The address space of each queue.
    queues: HashMap<u32, Space>,
    /// The thread that carries out submissions, one after another.
    engine: Option<Sender<Batch>>,
}

type Space = Arc<Mutex<AddressSpace>>;

/// A submission.
struct Batch {
    space: Space,
    address: u64,
    has_wide_timestamps: bool,
    fences: Vec<(u64, u64)>,
    submitter: Submitter,
}

/// How many batches are not done.
static UNDONE: AtomicUsize = AtomicUsize::new(0);

impl Batch {
    fn carry_out(&self) {
        self.submitter.let_return();
        let space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        streamer::run(&space, self.address, self.has_wide_timestamps);
        for (address, value) in &self.fences {
            // The address is the GPU's. The driver may have unmapped it since it submitted the batch.
            space.write(*address, *value);
        }
    }
}

/// The thread that submitted a batch.
struct Submitter {
    thread: libc::pid_t,
    /// The processor time that it had used then.
    used: Option<Duration>,
    /// Whether it has made another request since.
    came_back: Arc<AtomicBool>,
}

thread_local! {
    /// The flag of the last batch that this thread submitted.
    static LAST: RefCell<Arc<AtomicBool>> = RefCell::default();
}

/// Tells the last batch that its thread makes another request.
fn came_back() {
    // A thread that ends has no flag any more.
    let _ = LAST.try_with(|last| last.borrow().store(true, Ordering::Release));
}

impl Submitter {
    /// How much processor time the driver spends on its lists after a submission returns.
    const LISTS: Duration = Duration::from_micros(50);
    /// How long to wait for a sleeping thread, which a lock or a page fault may have stopped inside the driver.
    const INTERRUPTED: Duration = Duration::from_millis(5);

    fn this_thread() -> Self {
        let thread = unsafe { libc::gettid() };
        let came_back = Arc::default();
        let _ = LAST.try_with(|last| last.replace(Arc::clone(&came_back)));
        Self {
            thread,
            used: processor_time(thread),
            came_back,
        }
    }

    /// Waits until the thread has left the driver's submission.
    ///
    /// The driver (26.27) still walks a submission's list of allocations after the request returns. If the batch is
    /// already done, another thread may free one of them, and the driver crashes. A GPU is hardly ever that fast.
    fn let_return(&self) {
        let Some(used) = self.used else { return };
        let mut slept = Instant::now();
        while !self.came_back.load(Ordering::Acquire)
            && processor_time(self.thread).is_some_and(|now| now < used + Self::LISTS)
            && slept.elapsed() < Self::INTERRUPTED
        {
            std::thread::sleep(Duration::from_micros(10));
            if is_running(self.thread) {
                slept = Instant::now();
            }
        }
    }
}

/// The processor time that a thread of this process has used. None once it has ended.
fn processor_time(thread: libc::pid_t) -> Option<Duration> {
    // What `pthread_getcpuclockid` computes, which needs a thread that has not ended.
    let clock = !thread << 3 | 6;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Whether a thread has a processor or waits for one.
fn is_running(thread: libc::pid_t) -> bool {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    // The state follows the name, which is in parentheses.
    status.is_ok_and(|status| {
        status
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .starts_with(" R")
    })
}

fn work(batches: &Receiver<Batch>) {
    for batch in batches {
        batch.carry_out();
        UNDONE.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Memory of the process that stands for memory of the GPU.
pub(crate) struct Object {
    file: c_int,
    bytes: u64,
    host: usize,
}

impl Object {
    /// Maps a file, which is closed with the object.
    fn new(file: c_int, bytes: u64) -> Result<Arc<Self>, c_int> {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
        );
        let host = unsafe {
            libc::syscall(
                libc::SYS_mmap,
                null_mut::<c_void>(),
                bytes,
                protection,
                flags,
                file,
                0i64,
            )
        };
        if host == -1 {
            unsafe { libc::syscall(libc::SYS_close, file) };
            return Err(libc::ENOMEM);
        }
        let host = host as usize;
        Ok(Arc::new(Self { file, bytes, host }))
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        unsafe {
            libc::munmap(self.host as *mut c_void, self.bytes as usize);
            libc::syscall(libc::SYS_close, self.file);
        }
    }
}

/// A request that must be made again a little later.
pub(crate) const AGAIN: c_int = libc::EAGAIN;

/// The object is in the upper bits of an offset that `mmap` takes.
const OBJECT_SHIFT: u32 = 38;

impl Nodes {
    pub(crate) const fn new() -> Self {
        Self { state: None }
    }

    fn state(&mut self) -> &mut State {
        self.state.get_or_insert_default()
    }

    /// Opens a node, if the variable names so many GPUs.
    pub(crate) fn open(&mut self, index: usize) -> Option<c_int> {
        let names = std::env::var(VARIABLE).ok()?;
        let product = Product::find(names.split(',').nth(index)?)?;
        let file = unsafe { libc::memfd_create(c"xe".as_ptr(), libc::MFD_CLOEXEC) };
        self.state().open.insert(file, product);
        Some(file)
    }

    pub(crate) fn close(&mut self, file: c_int) {
        if let Some(state) = &mut self.state {
            state.open.remove(&file);
        }
    }

    /// The file behind an object that `mmap` maps by its offset in a node.
    pub(crate) fn object_at(&self, file: c_int, offset: i64) -> Option<(c_int, i64)> {
        let state = self.state.as_ref()?;
        state.open.get(&file)?;
        let object = state.objects.get(&((offset >> OBJECT_SHIFT) as u32))?;
        Some((object.file, offset & ((1 << OBJECT_SHIFT) - 1)))
    }

    /// Answers a request to a node, or nothing if the file is another one.
    pub(crate) unsafe fn request(
        &mut self,
        file: c_int,
        number: u32,
        argument: *mut c_void,
    ) -> Option<Result<(), c_int>> {
        let state = self.state.as_mut()?;
        let product = *state.open.get(&file)?;
        came_back();
        let argument = Argument(argument.cast());
        let result = match number.checked_sub(0x40) {
            None => state.any_driver(number, argument),
            Some(number) => state.xe(&product, number, argument),
        };
        if std::env::var_os("SIMULATED_XE_LOG").is_some() {
            eprintln!("simulated-xe: request {number:#x}: {result:?}");
        }
        Some(result)
    }
}

/// A structure of the header, whose members are at offsets.
#[derive(Clone, Copy)]
struct Argument(*mut u8);

impl Argument {
    fn get<T: Copy>(self, offset: usize) -> T {
        unsafe { self.0.add(offset).cast::<T>().read_unaligned() }
    }

    fn set<T>(self, offset: usize, value: T) {
        unsafe { self.0.add(offset).cast::<T>().write_unaligned(value) };
    }

    /// The members of an array: its address at one offset, their number at another.
    fn array(self, address: usize, count: usize, size: usize) -> impl Iterator<Item = Self> {
        let first = self.get::<usize>(address) as *mut u8;
        let count = self.get::<u32>(count) as usize;
        (0..count).map(move |index| Self(first.wrapping_add(index * size)))
    }
}

impl State {
    fn next(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    fn object(&self, handle: u32) -> Result<&Arc<Object>, c_int> {
        self.objects.get(&handle).ok_or(libc::ENOENT)
    }

    /// What all drivers of GPUs answer.
    fn any_driver(&mut self, number: u32, argument: Argument) -> Result<(), c_int> {
        match number {
            // DRM_IOCTL_VERSION: the lengths and addresses of three texts follow the version.
            0x00 => {
                const NAME: &[u8] = b"xe";
                argument.set(0, [1i32, 1, 0]);
                let (length, name) = (argument.get::<usize>(16), argument.get::<*mut u8>(24));
                if !name.is_null() {
                    unsafe { name.copy_from(NAME.as_ptr(), length.min(NAME.len())) };
                }
                argument.set(16, NAME.len());
            }
            // DRM_IOCTL_GEM_CLOSE
            0x09 => {
                let handle = argument.get(0);
                let object = self.objects.remove(&handle).ok_or(libc::EINVAL)?;
                drop(object);
            }
            // DRM_IOCTL_GET_CAP: files for memory objects, and nothing else.
            0x0c => argument.set(8, if argument.get::<u64>(0) == 5 { 3u64 } else { 0 }),
            // DRM_IOCTL_PRIME_HANDLE_TO_FD
            0x2d => {
                let file = self.object(argument.get(0))?.file;
                argument.set(8, unsafe { libc::dup(file) });
            }
            // DRM_IOCTL_PRIME_FD_TO_HANDLE
            0x2e => {
                let file = unsafe { libc::dup(argument.get(8)) };
                let bytes = unsafe { libc::lseek(file, 0, libc::SEEK_END) };
                let object = Object::new(file, u64::try_from(bytes).map_err(|_| libc::EBADF)?)?;
                let handle = self.next();
                self.objects.insert(handle, object);
                argument.set(0, handle);
            }
            _ => return Err(libc::EINVAL),
        }
        Ok(())
    }

    /// The requests of `xe`, by the numbers in its header.
    fn xe(&mut self, product: &Product, number: u32, argument: Argument) -> Result<(), c_int> {
        match number {
            0 => return query(product, argument),
            // GEM_CREATE
            1 => {
                let bytes: u64 = argument.get(8);
                if bytes == 0 || bytes > product.largest() {
                    return Err(libc::ENOMEM);
                }
                let file =
                    unsafe { libc::memfd_create(c"memory of a GPU".as_ptr(), libc::MFD_CLOEXEC) };
                if unsafe { libc::ftruncate(file, bytes as i64) } != 0 {
                    return Err(libc::ENOMEM);
                }
                let object = Object::new(file, bytes)?;
                let handle = self.next();
                self.objects.insert(handle, object);
                argument.set(28, handle);
            }
            // GEM_MMAP_OFFSET, but not of the barrier of the PCI bus.
            2 => {
                let handle: u32 = argument.get(8);
                if argument.get::<u32>(12) != 0 {
                    return Err(libc::EINVAL);
                }
                self.object(handle)?;
                argument.set(16, u64::from(handle) << OBJECT_SHIFT);
            }
            // VM_CREATE, but not with page faults.
            3 => {
                if argument.get::<u32>(8) & 4 != 0 {
                    return Err(libc::EINVAL);
                }
                let space = self.next();
                self.spaces.insert(space, Space::default());
                argument.set(12, space);
            }
            // VM_DESTROY
            4 => drop(self.spaces.remove(&argument.get(0))),
            // VM_BIND: one operation is in the structure, several are in an array.
            5 => {
                let space: u32 = argument.get(8);
                if argument.get::<u32>(20) == 1 {
                    self.bind(space, Argument(argument.0.wrapping_add(24)))?;
                } else {
                    for operation in argument.array(24, 20, 80) {
                        self.bind(space, operation)?;
                    }
                }
                for (address, value) in fences(argument.array(112, 108, 48)) {
                    signal(address, value);
                }
            }
            // EXEC_QUEUE_CREATE
            6 => {
                let queue = self.next();
                let space = self.spaces.get(&argument.get(12)).ok_or(libc::ENOENT)?;
                self.queues.insert(queue, Arc::clone(space));
                argument.set(20, queue);
            }
            // EXEC_QUEUE_DESTROY
            7 => drop(self.queues.remove(&argument.get(0))),
            // EXEC_QUEUE_GET_PROPERTY: it is not banned.
            8 => argument.set(16, 0u64),
            // EXEC
            9 => {
                let space = self.queues.get(&argument.get(8)).ok_or(libc::ENOENT)?;
                let batch = Batch {
                    space: Arc::clone(space),
                    address: argument.get(24),
                    has_wide_timestamps: product.has_wide_timestamps(),
                    fences: fences(argument.array(16, 12, 48)).collect(),
                    submitter: Submitter::this_thread(),
                };
                UNDONE.fetch_add(1, Ordering::AcqRel);
                let engine = self.engine.get_or_insert_with(|| {
                    let (send, receive) = mpsc::channel();
                    std::thread::spawn(move || work(&receive));
                    send
                });
                engine.send(batch).map_err(|_| libc::EIO)?;
            }
            // WAIT_USER_FENCE: once all work is done, what is not there will not come.
            10 => {
                let is_last = UNDONE.load(Ordering::Acquire) == 0;
                let mask = argument.get::<u64>(32);
                let value = unsafe { argument.get::<*const u64>(8).read_volatile() } & mask;
                let wanted = argument.get::<u64>(24);
                let is_there = match argument.get::<u16>(16) {
                    0 => value == wanted,
                    1 => value != wanted,
                    2 => value > wanted,
                    3 => value >= wanted,
                    4 => value < wanted,
                    _ => value <= wanted,
                };
                let missing = if is_last { libc::ETIME } else { AGAIN };
                return is_there.then_some(()).ok_or(missing);
            }
            _ => return Err(libc::EINVAL),
        }
        Ok(())
    }

    fn bind(&mut self, space: u32, operation: Argument) -> Result<(), c_int> {
        const NULL: u32 = 1 << 2;
        let handle: u32 = operation.get(8);
        let offset: u64 = operation.get(16);
        let (bytes, address): (u64, u64) = (operation.get(24), operation.get(32));
        let flags: u32 = operation.get(44);
        let host = match operation.get::<u32>(40) {
            // MAP
            0 if flags & NULL != 0 => return Ok(()),
            0 => {
                let object = self.object(handle)?;
                if offset
                    .checked_add(bytes)
                    .is_none_or(|end| end > object.bytes)
                {
                    return Err(libc::EINVAL);
                }
                Some((object.host + offset as usize, Some(Arc::clone(object))))
            }
            // UNMAP
            1 => None,
            // MAP_USERPTR
            2 => Some((offset as usize, None)),
            // PREFETCH
            4 => return Ok(()),
            _ => return Err(libc::EINVAL),
        };
        let space = self.spaces.get(&space).ok_or(libc::ENOENT)?;
        let mut space = space.lock().unwrap_or_else(PoisonError::into_inner);
        match host {
            Some(host) => space.map(address, bytes, host),
            None => space.unmap(address, bytes),
        }
        Ok(())
    }
}

/// The addresses and values of fences that a request signals.
fn fences(syncs: impl Iterator<Item = Argument>) -> impl Iterator<Item = (u64, u64)> {
    const USER_FENCE: u32 = 2;
    let signalled =
        syncs.filter(|sync| sync.get::<u32>(12) & 1 != 0 && sync.get::<u32>(8) == USER_FENCE);
    signalled.map(|sync| (sync.get(16), sync.get(24)))
}

/// Signals a fence that is at an address of the process.
fn signal(address: u64, value: u64) {
    unsafe { (address as *mut u64).write_volatile(value) };
}

/// DEVICE_QUERY is made twice: for the size of the reply, and for the reply.
fn query(product: &Product, argument: Argument) -> Result<(), c_int> {
    const ENGINE_CYCLES: u32 = 6;
    let (kind, size): (u32, u32) = (argument.get(8), argument.get(12));
    let data = Argument(argument.get(16));
    if kind == ENGINE_CYCLES {
        if size == 0 {
            argument.set(12, 40u32);
            return Ok(());
        }
        // The width of the counter, its value, and the time before and after.
        data.set(12, 36u32);
        data.set(16, [streamer::ticks(), streamer::nanoseconds(), 100]);
        return Ok(());
    }
    let reply = product.reply(kind).ok_or(libc::EINVAL)?;
    if size == 0 {
        argument.set(12, reply.len() as u32);
        return Ok(());
    }
    if (size as usize) < reply.len() {
        return Err(libc::EINVAL);
    }
    unsafe { data.0.copy_from(reply.as_ptr(), reply.len()) };
    Ok(())
}
