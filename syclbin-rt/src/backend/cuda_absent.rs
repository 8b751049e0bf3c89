// SPDX-License-Identifier: MIT OR Apache-2.0
//! The substitute for the CUDA backend in a program without it: no device is found, so nothing else ever
//! exists.
//!
//! Each type has the methods of its namesake in `backend/cuda/`, but no values.

use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::backend::argument::{Argument, Arguments, Values};
use crate::backend::dispatch::memory::Memory as AnyMemory;
use crate::backend::failure::{BuildError, Failure, NoView, Unstarted};
use crate::backend::library_error::LibraryError;
use crate::backend::native::{
    DeviceHandle, EventHandle, KernelHandle, MemoryHandle, NativeEvent, Owner, QueueHandle,
};
use crate::backend::reach::Reach;
use crate::backend::slice::Region;
use crate::backend::slot::Slot;
use crate::backend::source::Source;
use crate::backend::times::Times;
use crate::device::facts::Facts;
use crate::device::partition::{PartPosition, Partition};
use crate::launch::range::Grid;
use crate::launch::sampler::modes::{Addressing, Filtering};
use crate::memory::image::shape::Shape;
use crate::module::kernel_attributes::KernelAttributes;
use crate::queue::options::{QueueAbilities, QueueOptions};

/// Types without values, whose methods are never called. The first argument of each method is of such a type.
macro_rules! absent {
    ($($name:ident {
        $($(#[$meta:meta])* $([$unsafe:tt])? fn $method:ident(
            $this:ident: $receiver:ty $(, $argument:ident: $type:ty)* $(,)?
        ) $(-> $returned:ty)?;)*
    })*) => {
        $(
            pub(crate) enum $name {}

            #[allow(unused_variables, reason = "nothing calls them")]
            impl $name {
                fn never(&self) -> ! {
                    match *self {}
                }

                $(
                    $(#[$meta])*
                    pub(crate) $($unsafe)? fn $method(
                        $this: $receiver $(, $argument: $type)*
                    ) $(-> $returned)? {
                        $this.never()
                    }
                )*
            }
        )*
    };
}

absent! {
    Library {
        fn devices(self: &'static Self) -> Result<&'static [DriverDevice], Failure>;
    }
    DriverDevice {
        fn facts(self: &Self) -> &Facts;
        fn library(self: &Self) -> &'static str;
        fn native(self: &Self) -> DeviceHandle;
        fn part(self: &Self) -> Option<PartPosition<&'static Self>>;
        fn partition(self: &'static Self, how: Partition<'_>) -> Result<&'static [Self], Failure>;
    }
    Context {
        fn shared(device: &'static DriverDevice) -> Result<Arc<Self>, Failure>;
        #[cfg(test)]
        fn new(device: &'static DriverDevice) -> Result<Self, Failure>;
        fn device(self: &Self) -> &'static DriverDevice;
        fn finish_all(self: &Self) -> Result<(), Failure>;
        fn keeps_programs(self: &Self) -> bool;
        fn variant(self: &Self) -> Option<[u8; 4]>;
        fn variant_of_own(self: &Self, code: &[u8]) -> Option<Option<[u8; 4]>>;
        fn processor_of(self: &Self, code: &[u8]) -> Option<[u8; 4]>;
    }
    Queue {
        fn abilities(context: &Context) -> Result<QueueAbilities, Failure>;
        fn new(context: Arc<Context>, options: QueueOptions) -> Result<Self, Failure>;
        fn options(self: &Self) -> QueueOptions;
        fn context(self: &Self) -> &Arc<Context>;
        fn barrier(self: &Self, events: &WaitList<'_>) -> Result<Event, Failure>;
        fn in_order(self: &Self) -> Result<(), Failure>;
        fn finish(self: &Self) -> Result<(), Failure>;
        fn flush(self: &Self) -> Result<(), Failure>;
        fn flush_after(self: &Self, commands: usize) -> Result<(), Failure>;
        fn flushed(self: &Self) -> Result<(), Failure>;
        fn has_addresses(self: &Self) -> bool;
        fn upload(self: &Self, bytes: &[u8]) -> Result<Memory, Failure>;
        fn zeroed(self: &Self, size: usize) -> Result<Memory, Failure>;
        fn zeroed_at_address(self: &Self, reach: Reach, size: usize) -> Result<Memory, Failure>;
        fn read(self: &Self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<(), Failure>;
        fn write(self: &Self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<(), Failure>;
        fn read_image(self: &Self, image: &Image, pixels: &mut [u8]) -> Result<(), Failure>;
        fn write_image(self: &Self, image: &Image, pixels: &[u8]) -> Result<(), Failure>;
        fn start_fill(
            self: &Self, region: &Region<[()]>, pattern: &[u8], after: &WaitList<'_>
        ) -> Result<Event, Failure>;
        fn start_copy(
            self: &Self, from: &Region<[()]>, to: &Region<[()]>, after: &WaitList<'_>
        ) -> Result<Event, Failure>;
        fn copies_to_peer(self: &Self, from: &Region<[()]>, to: &Region<[()]>) -> bool;
        fn copy_to_peer(
            self: &Self, from: &Region<[()]>, other: &Self, to: &Region<[()]>
        ) -> Result<(), Failure>;
        [unsafe] fn start_read(
            self: &Self, region: &Region<[()]>, to: *mut c_void, after: &WaitList<'_>
        ) -> Result<Event, Unstarted>;
        [unsafe] fn start_write(
            self: &Self, region: &Region<[()]>, from: *const c_void, after: &WaitList<'_>
        ) -> Result<Event, Unstarted>;
        fn names_variables_as_code(self: &Self) -> bool;
        fn native(self: &Self) -> QueueHandle;
        [unsafe] fn adopt(device: &'static DriverDevice, handle: QueueHandle) -> Result<Self, Failure>;
        [unsafe] fn barrier_after(self: &Self, event: EventHandle) -> Result<Event, Failure>;
        fn point_variable(
            self: &Self, program: &Program, name: &CStr, memory: &Arc<AnyMemory>
        ) -> Result<(), Failure>;
        fn write_variable(self: &Self, program: &Program, name: &CStr, bytes: &[u8]) -> Result<(), Failure>;
        fn read_variable(
            self: &Self, program: &Program, name: &CStr, offset: usize, bytes: &mut [u8]
        ) -> Result<(), Failure>;
        fn variable_size(self: &Self, program: &Program, name: &CStr) -> Result<usize, Failure>;
    }
    Memory {
        fn part_alignment(self: &Self) -> Option<usize>;
        fn known_address(self: &Self) -> Option<u64>;
        fn least_alignment(self: &Self) -> u64;
        fn context(self: &Self) -> &Arc<Context>;
        fn address(self: &Self) -> Option<u64>;
        fn native(self: &Self, offset: usize) -> MemoryHandle;
        [unsafe] fn adopt(
            context: &Arc<Context>, handle: MemoryHandle, size: usize, owner: Owner
        ) -> Result<Self, Failure>;
    }
    HostView {
        fn new(
            queue: &Queue, memory: &Memory, offset: usize, size: usize, writing: bool
        ) -> Result<Self, NoView>;
        fn pointer(self: &Self) -> *mut c_void;
        fn end(self: Self, queue: &Queue, memory: &Memory) -> Result<(), Failure>;
    }
    Image {
        fn new(context: &Arc<Context>, shape: &Shape, pixels: &[u8]) -> Result<Self, Failure>;
        fn context(self: &Self) -> &Arc<Context>;
        fn shape(self: &Self) -> &Shape;
    }
    Sampler {
        fn new(
            context: &Arc<Context>, addressing: Addressing, filtering: Filtering, normalized: bool
        ) -> Result<Self, Failure>;
        fn context(self: &Self) -> &Arc<Context>;
    }
    Program {
        fn build(context: &Arc<Context>, sources: &[Source<'_>]) -> Result<Self, BuildError>;
        fn from_file(context: &Arc<Context>, source: &Source<'_>) -> Result<Self, BuildError>;
        fn from_cache(context: &Arc<Context>, binary: &[u8]) -> Result<Option<Self>, BuildError>;
        fn binary(self: &Self) -> Result<Vec<u8>, Failure>;
        fn kernel_names(self: &Self) -> Result<Vec<String>, Failure>;
    }
    Kernel {
        fn new(program: &Arc<Program>, symbol: CString, slots: Option<Vec<Slot>>) -> Result<Self, Failure>;
        fn keep_to(self: &mut Self, all_items: usize, items: Option<[usize; 3]>);
        fn object(self: &Self) -> Result<KernelObject, Failure>;
        fn arguments(self: &Self) -> usize;
        fn required_local(self: &Self) -> Option<[usize; 3]>;
        fn max_local(self: &Self) -> usize;
        fn local_memory(self: &Self) -> u64;
        fn native(self: &Self) -> KernelHandle;
        fn preferred_multiple(self: &Self) -> Result<usize, Failure>;
        fn attributes(self: &Self) -> Result<KernelAttributes, Failure>;
        fn suggested_local(
            self: &Self, queue: &Queue, values: impl Iterator, global: &[usize]
        ) -> Result<Option<[usize; 3]>, Failure>;
        [unsafe] fn launch(
            self: &Self, queue: &Queue, values: &impl Values, grid: &Grid, after: &WaitList<'_>
        ) -> Result<Event, (Option<usize>, Failure)>;
    }
    KernelObject {
        [unsafe] fn enqueue(
            self: &Self, queue: &Queue, grid: &Grid, after: &WaitList<'_>
        ) -> Result<Event, Failure>;
        [unsafe] fn enqueue_without_event(
            self: &Self, queue: &Queue, grid: &Grid, after: &WaitList<'_>
        ) -> Result<(), Failure>;
    }
    Graph {
        fn new(queue: &Arc<Queue>) -> Result<Option<Self>, Failure>;
        [unsafe] fn add_kernel(self: &mut Self, kernel: &KernelObject, grid: &Grid) -> Result<(), Failure>;
        fn add_copy(self: &mut Self, from: &Region<[()]>, to: &Region<[()]>) -> Result<(), Failure>;
        fn add_fill(self: &mut Self, region: &Region<[()]>, pattern: &[u8]) -> Result<(), Failure>;
        fn finish(self: &mut Self) -> Result<(), Failure>;
        [unsafe] fn enqueue(self: &Self, after: &WaitList<'_>) -> Result<Event, Failure>;
    }
    Event {
        fn shared(self: &Self) -> Result<Self, Failure>;
        fn wait(self: &Self) -> Result<(), Failure>;
        fn has_ended(self: &Self) -> bool;
        fn is_complete(self: &Self) -> Result<bool, Failure>;
        fn times(self: &Self) -> Result<Times, Failure>;
        fn native(self: &Self) -> Result<Option<NativeEvent>, Failure>;
        fn poll(self: &Self, end: &mut End, waker: &Waker) -> Poll<Result<(), Failure>>;
    }
}

/// The state that an event would have.
#[derive(Default)]
pub(crate) struct End;

/// An empty list.
pub(crate) struct WaitList<'a>(PhantomData<&'a Event>);

impl WaitList<'static> {
    pub(crate) const NOTHING: &Self = &Self(PhantomData);
}

impl<'a> WaitList<'a> {
    pub(crate) fn new(mut events: impl Iterator<Item = &'a Event>) -> Self {
        match events.next() {
            Some(event) => event.never(),
            None => Self(PhantomData),
        }
    }
}

impl Library {
    /// # Errors
    ///
    /// Always.
    pub(crate) fn load() -> Result<&'static Self, LibraryError> {
        Err(LibraryError::WithoutCuda)
    }
}

impl Arguments for KernelObject {
    unsafe fn set(&mut self, _index: usize, _value: Argument<'_>) -> Result<(), Failure> {
        self.never()
    }

    unsafe fn set_any(&mut self, _index: usize, _value: Argument<'_>) -> Result<(), Failure> {
        self.never()
    }
}

pub(in crate::backend) mod errors {
    //! Errors of an absent driver.

    /// Returns the name of an error; there are no errors.
    pub(in crate::backend) fn error_name(_code: i32) -> &'static str {
        "an unknown error"
    }

    /// Returns whether an error ends a context; there are no contexts.
    pub(in crate::backend) fn is_sticky(_code: i32) -> bool {
        false
    }
}
