// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA graphs: commands that are recorded once and enqueued by a single driver call.

use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Zeroable;

use super::*;

const LAUNCH: &str = "cuGraphLaunch";

/// Calls a driver function that records a command in `$graph`, after the previous command. If the call fails, the
/// surrounding function returns the failure; otherwise the macro evaluates to `Ok(())`.
macro_rules! add {
    ($graph:expr $(, $driver:literal)? => $name:ident($($argument:expr),*)) => {{
        let (after, mut added) = ($graph.last.as_slice(), std::ptr::null_mut());
        let (first, count) = (after.as_ptr(), after.len());
        call!($graph.queue.stream.context $(, $driver)? => $name(
            &raw mut added, $graph.graph, first, count, $($argument),*
        ))?;
        $graph.last = Some(added);
        Ok(())
    }};
}

/// An owned graph, whose commands run one after the other.
pub(crate) struct Graph {
    queue: Arc<Queue>,
    graph: CUgraph,
    /// The executable graph, once the recording has ended. Only one thread at a time may enqueue it.
    ready: Mutex<Option<CUgraphExec>>,
    /// The node of the last recorded command.
    last: Option<CUgraphNode>,
}

// SAFETY: any thread may use a graph, but only one at a time (CUDA driver API, "Graph object thread safety"). Recording
// requires `&mut self`, and the executable graph is behind a lock.
unsafe impl Send for Graph {}
// SAFETY: as for `Send`.
unsafe impl Sync for Graph {}

impl Graph {
    /// Creates an empty graph for `queue`. Returns `None` if the driver is older than CUDA 12.
    pub(crate) fn for_queue(queue: &Arc<Queue>) -> Result<Option<Box<dyn AnyGraph>>> {
        let context = &queue.stream.context;
        if context.device.functions.cuGraphAddKernelNode_v2.is_none() {
            return Ok(None);
        }
        let mut graph = std::ptr::null_mut();
        // SAFETY: the call writes one handle to `graph`.
        unsafe { call!(context => cuGraphCreate(&raw mut graph, 0)) }?;
        Ok(Some(Box::new(Self {
            queue: Arc::clone(queue),
            graph,
            ready: Mutex::new(None),
            last: None,
        })))
    }

    fn context(&self) -> &Arc<Context> {
        &self.queue.stream.context
    }
}

impl AnyGraph for Graph {
    unsafe fn add_kernel(&mut self, kernel: &AnyKernelObject, grid: &AnyRange) -> Result<()> {
        let kernel = kernel.cuda()?;
        kernel.prepare(&self.queue, grid, |launch| {
            // SAFETY: the graph and the kernel are alive and belong to the current context. There is a pointer for each
            // parameter, and the driver copies the arguments before it returns (CUDA driver API,
            // cuGraphAddKernelNode).
            unsafe { add!(self, "a CUDA 12.0 driver" => cuGraphAddKernelNode_v2(launch)) }
        })?;
        let Some(node) = self.last.filter(|_| grid.root_sync) else {
            return Ok(());
        };
        let (cooperative, value) = COOPERATIVE;
        // SAFETY: the node is a kernel's, and the value has the attribute's type.
        unsafe { call!(self.context() => cuGraphKernelNodeSetAttribute(node, cooperative, value)) }
    }

    fn add_copy(&mut self, from: &Region, to: &Region) -> Result<()> {
        let (source, target) = (self.queue.address_of(from)?, self.queue.address_of(to)?);
        // Managed memory must be declared as device memory (CUDA driver API, cuGraphAddMemcpyNode).
        let kind = |region: &Region| -> Result<CUmemorytype> {
            Ok(if region.memory.raw.cuda()?.kind == Some(UsmKind::Host) {
                CUmemorytype::CU_MEMORYTYPE_UNIFIED
            } else {
                CUmemorytype::CU_MEMORYTYPE_DEVICE
            })
        };
        // Copy a single row: it needs no pitch, so the two-gigabyte limit on pitches does not apply.
        let node = CUDA_MEMCPY3D {
            srcMemoryType: kind(from)?,
            srcDevice: source,
            dstMemoryType: kind(to)?,
            dstDevice: target,
            WidthInBytes: from.bytes(),
            Height: 1,
            Depth: 1,
            ..Zeroable::zeroed()
        };
        let context = self.context().handle.0;
        // SAFETY: the graph and the context are alive, and both regions lie within the context's memory.
        unsafe { add!(self => cuGraphAddMemcpyNode(&raw const node, context)) }
    }

    fn add_fill(&mut self, region: &Region, pattern: &[u8]) -> Result<()> {
        let steps = steps(self.queue.address_of(region)?, region.bytes(), pattern);
        let context = self.context().handle.0;
        let mut steps = steps.ok_or(invalid(FILL))?;
        steps.try_for_each(|step| {
            // SAFETY: the graph and the context are alive; the step is inside the context's memory.
            unsafe { add!(self => cuGraphAddMemsetNode(&raw const step, context)) }
        })
    }

    unsafe fn capture(&mut self, enqueue: Enqueue<'_>) -> Result<bool> {
        // A stream of its own: other threads may enqueue commands on the queue's stream.
        let stream = Stream::new(Arc::clone(self.context()), Priority::Normal)?;
        let (graph, nodes, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        let mut capture = Capture { stream, graph };
        let stream = capture.stream.handle.0;
        // The restrictions during a capture do not apply to other threads.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive and belongs to the context.
        unsafe { call!(self.context() => cuStreamBeginCapture_v2(stream, mode)) }?;
        if !enqueue(self.context().native(stream)) {
            return Ok(false);
        }
        capture.end()?;
        // SAFETY: the captured graph is alive. Without an array, the call writes only the number of nodes.
        unsafe { call!(self.context() => cuGraphGetNodes(capture.graph, nodes, &raw mut count)) }?;
        if count > 0 {
            // SAFETY: both graphs are alive, and the node is a copy of the captured graph (CUDA driver API,
            // cuGraphAddChildGraphNode). The caller guarantees that the captured work is sound.
            unsafe { add!(self => cuGraphAddChildGraphNode(capture.graph)) }?;
        }
        Ok(count > 0)
    }

    fn finish(&mut self) -> Result<()> {
        let mut ready = std::ptr::null_mut();
        // SAFETY: the graph is alive; the call writes one handle through a valid pointer.
        unsafe {
            call!(self.context(), "a CUDA 11.4 driver" => cuGraphInstantiateWithFlags(
                &raw mut ready, self.graph, 0
            ))
        }?;
        self.ready = Mutex::new(Some(ready));
        Ok(())
    }

    unsafe fn enqueue(&self, after: &WaitList<'_>) -> Result<AnyEvent> {
        let _guard = CallGuard::new();
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let ready_now = ready.ok_or(invalid(LAUNCH))?;
        self.queue.submit(LAUNCH, after, |functions, stream| {
            // SAFETY: the graph and the stream are alive and belong to the current context; the caller guarantees the
            // rest.
            let code = unsafe { (functions.cuGraphLaunch.pass())(ready_now, stream) };
            self.context().check(LAUNCH, code)
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let ready = self.ready.get_mut().unwrap_or_else(PoisonError::into_inner);
        let ready = ready.take();
        // Wait, because the objects that the graph uses may be dropped next. If the wait fails, leak the graph.
        if ready.is_none() || self.queue.finish().is_ok() {
            // SAFETY: both handles are owned, and the runs have finished.
            unsafe {
                let _ = ready.map(|ready| call!(self.context() => cuGraphExecDestroy(ready)));
                let _ = call!(self.context() => cuGraphDestroy(self.graph));
            }
        }
    }
}

/// A stream that captures commands in a graph. The capture ends on drop at the latest, on the thread that began it.
struct Capture {
    stream: Arc<Stream>,
    /// The captured graph; null unless the capture has succeeded.
    graph: CUgraph,
}

impl Capture {
    fn end(&mut self) -> Result<()> {
        let (stream, graph) = (self.stream.handle.0, &raw mut self.graph);
        // SAFETY: the stream is alive; the call writes one handle through a valid pointer.
        unsafe { call!(self.stream.context => cuStreamEndCapture(stream, graph)) }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // If the capture has ended, the driver rejects this call.
        if !self.graph.is_null() || self.end().is_ok() {
            // SAFETY: the graph is owned, and nothing uses it.
            let _ = unsafe { call!(self.stream.context => cuGraphDestroy(self.graph)) };
        }
    }
}
