// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA graphs: commands that are recorded once and enqueued by a single driver call.

use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Zeroable;

use super::*;

const LAUNCH: &str = "cuGraphLaunch";

/// An owned graph, whose commands run one after the other.
pub(crate) struct Graph {
    queue: Arc<Queue>,
    graph: CUgraph,
    /// The executable graph, once the recording has ended. Only one thread at a time may enqueue it.
    ready: Mutex<Option<CUgraphExec>>,
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
        let functions = context.device.functions;
        if functions.cuGraphInstantiateWithFlags.is_none()
            || functions.cuGraphAddKernelNode_v2.is_none()
        {
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

    /// Records a command that runs after the previous one.
    fn add(
        &mut self,
        call: &'static str,
        command: impl FnOnce(
            &'static Functions,
            CUgraph,
            *const CUgraphNode,
            usize,
            *mut CUgraphNode,
        ) -> Result<i32>,
    ) -> Result<()> {
        let context = Arc::clone(self.context());
        let functions = context.enter()?;
        let mut added = std::ptr::null_mut();
        let (after, count) = match &self.last {
            Some(last) => (std::ptr::from_ref(last), 1),
            None => (std::ptr::null(), 0),
        };
        let code = command(functions, self.graph, after, count, &raw mut added)?;
        context.check(call, code)?;
        self.last = Some(added);
        Ok(())
    }
}

impl AnyGraph for Graph {
    unsafe fn add_kernel(&mut self, kernel: &AnyKernelObject, grid: &AnyRange) -> Result<()> {
        let call = "cuGraphAddKernelNode";
        let AnyKernelObject::Cuda(kernel) = kernel else {
            return Err(Failure::FOREIGN);
        };
        if !Arc::ptr_eq(&kernel.context, self.context()) {
            return Err(Failure::FOREIGN);
        }
        kernel.prepare(grid, |launch| {
            let [x, y, z] = launch.blocks.groups;
            let [items_x, items_y, items_z] = launch.blocks.items;
            let node = CUDA_KERNEL_NODE_PARAMS {
                func: launch.function,
                gridDimX: x,
                gridDimY: y,
                gridDimZ: z,
                blockDimX: items_x,
                blockDimY: items_y,
                blockDimZ: items_z,
                sharedMemBytes: launch.local_bytes,
                kernelParams: launch.pointers.as_mut_ptr(),
                ..Zeroable::zeroed()
            };
            self.add(call, |functions, graph, after, count, added| {
                let add = functions.cuGraphAddKernelNode_v2.ok_or(Failure::Missing {
                    function: "cuGraphAddKernelNode_v2",
                    needs: "a CUDA 12.0 driver",
                })?;
                // SAFETY: the graph and the kernel are alive and belong to the current context. There is a pointer for
                // each parameter, and the driver copies the arguments before it returns (CUDA driver API,
                // cuGraphAddKernelNode).
                Ok(unsafe { (add.pass())(added, graph, after, count, &raw const node) })
            })
        })
    }

    fn add_copy(&mut self, from: &Region, to: &Region) -> Result<()> {
        let (source, target) = (self.queue.address_of(from)?, self.queue.address_of(to)?);
        // Managed memory must be declared as device memory (CUDA driver API, cuGraphAddMemcpyNode).
        let kind = |region: &Region| -> Result<CUmemorytype> {
            Ok(if region.memory.raw().cuda()?.kind == Some(UsmKind::Host) {
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
        let context = self.context().handle;
        self.add(
            "cuGraphAddMemcpyNode",
            |functions, graph, after, count, added| {
                let add = functions.cuGraphAddMemcpyNode;
                // SAFETY: the graph and the context are alive, and both regions lie within the context's memory.
                Ok(unsafe { (add.pass())(added, graph, after, count, &raw const node, context) })
            },
        )
    }

    fn add_fill(&mut self, region: &Region, pattern: &[u8]) -> Result<()> {
        let steps = steps(self.queue.address_of(region)?, region.bytes(), pattern);
        let context = self.context().handle;
        for step in steps.ok_or(invalid(FILL))? {
            // Either a single row of words, or rows of one word.
            let (width, height) = if step.pitch == step.width {
                (step.count, 1)
            } else {
                (1, step.count)
            };
            let node = CUDA_MEMSET_NODE_PARAMS {
                dst: step.address,
                pitch: step.pitch,
                value: step.value,
                elementSize: match step.width {
                    4 => 4,
                    2 => 2,
                    _ => 1,
                },
                width,
                height,
            };
            self.add(
                "cuGraphAddMemsetNode",
                |functions, graph, after, count, added| {
                    let add = functions.cuGraphAddMemsetNode;
                    // SAFETY: the graph and the context are alive; the step is inside the context's memory.
                    Ok(unsafe {
                        (add.pass())(added, graph, after, count, &raw const node, context)
                    })
                },
            )?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let call = "cuGraphInstantiateWithFlags";
        let context = Arc::clone(self.context());
        let functions = context.enter()?;
        let instantiate = functions.cuGraphInstantiateWithFlags;
        let instantiate = instantiate.ok_or(Failure::Missing {
            function: call,
            needs: "a CUDA 11.4 driver",
        })?;
        let mut ready = std::ptr::null_mut();
        // SAFETY: the graph is alive; the call writes one handle through a valid pointer.
        let code = unsafe { (instantiate.pass())(&raw mut ready, self.graph, 0) };
        context.check(call, code)?;
        let known = self.ready.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = known.replace(ready) {
            // SAFETY: `before` is owned, and the driver keeps it alive until its runs have finished.
            unsafe { (functions.cuGraphExecDestroy.pass())(before) };
        }
        Ok(())
    }

    unsafe fn enqueue(&self, after: &WaitList<'_>) -> Result<AnyEvent> {
        let _guard = CallGuard::new();
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let ready_now = ready.ok_or(invalid(LAUNCH))?;
        let event = self.queue.submit(LAUNCH, after, |functions, stream| {
            // SAFETY: the graph and the stream are alive and belong to the current context; the caller guarantees the
            // rest.
            let code = unsafe { (functions.cuGraphLaunch.pass())(ready_now, stream) };
            self.context().check(LAUNCH, code)
        });
        event.map(AnyEvent::from)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // Wait, because the objects that the graph uses may be dropped next. If the wait fails, leak the graph.
        if self.queue.finish().is_ok()
            && let Ok(functions) = self.context().enter()
        {
            // SAFETY: both handles are owned, and the runs have finished.
            unsafe {
                let ready = self.ready.get_mut().unwrap_or_else(PoisonError::into_inner);
                if let Some(ready) = ready.take() {
                    (functions.cuGraphExecDestroy.pass())(ready);
                }
                (functions.cuGraphDestroy.pass())(self.graph);
            }
        }
    }
}
