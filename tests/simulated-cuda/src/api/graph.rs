// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs.

use std::ffi::{c_uint, c_void};
use std::sync::{Arc, Weak};

use cudarc::driver::sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2_st, CUDA_MEMCPY3D_st,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUgraph, CUgraphExec, CUgraphNode, CUkernelNodeAttrID,
    CUkernelNodeAttrValue, CUstream,
};

use super::copy::{end, is_memory_type};
use super::launch::{Sizes, cooperative, kernel};
use super::{handle, pointer};
use crate::call::{Code, Outcome, functions, give, read, read_many};
use crate::device::graph::{Executable, Graph, Node, Template};
use crate::device::work::{Copy, Fill, Host, Kernel, Work};
use crate::device::{context, table};

/// The graph that a node is in.
struct Member(Weak<Template>);

/// # Safety
/// There are so many nodes to wait for, and room for the handle.
unsafe fn add(
    to: *mut CUgraphNode,
    graph: CUgraph,
    after: *const CUgraphNode,
    count: usize,
    work: Work,
) -> Outcome<()> {
    let graph: Arc<Template> = table::find(handle(graph))?;
    work.check()?;
    // SAFETY: by the contract.
    let after = unsafe { read_many(after, count)? };
    let node = Node {
        handle: table::reserve(),
        work,
        after: after.into_iter().map(handle).collect(),
    };
    let new = node.handle;
    graph.graph().add(node)?;
    table::insert(new, Arc::new(Member(Arc::downgrade(&graph))));
    // SAFETY: by the contract.
    unsafe { give(to, pointer(new)) }
}

/// # Safety
/// The pointers of the structure are as a launch needs them.
unsafe fn launch(parameters: &CUDA_KERNEL_NODE_PARAMS_v2_st) -> Outcome<Kernel> {
    let sizes = Sizes {
        grid: [
            parameters.gridDimX,
            parameters.gridDimY,
            parameters.gridDimZ,
        ],
        block: [
            parameters.blockDimX,
            parameters.blockDimY,
            parameters.blockDimZ,
        ],
        shared: parameters.sharedMemBytes as usize,
    };
    let function = handle(parameters.func);
    // SAFETY: by the contract.
    unsafe { kernel(function, &sizes, parameters.kernelParams, parameters.extra) }
}

fn copy(what: &CUDA_MEMCPY3D_st) -> Outcome<Copy> {
    let host = |pointer: *const c_void| pointer.expose_provenance() as u64;
    let from = [what.srcXInBytes, what.srcY, what.srcZ];
    let to = [what.dstXInBytes, what.dstY, what.dstZ];
    Ok(Copy {
        from: end(
            what.srcMemoryType,
            what.srcDevice,
            host(what.srcHost),
            from,
            what.srcPitch,
            what.srcHeight,
        )?,
        to: end(
            what.dstMemoryType,
            what.dstDevice,
            host(what.dstHost),
            to,
            what.dstPitch,
            what.dstHeight,
        )?,
        width: what.WidthInBytes as u64,
        height: what.Height as u64,
        depth: what.Depth as u64,
    })
}

fn fill(what: &CUDA_MEMSET_NODE_PARAMS) -> Outcome<Fill> {
    if !matches!(what.elementSize, 1 | 2 | 4) {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(Fill {
        to: what.dst,
        pitch: what.pitch as u64,
        value: what.value,
        element: u64::from(what.elementSize),
        width: what.width as u64,
        height: what.height as u64,
    })
}

fn instantiate(graph: CUgraph) -> Outcome<u64> {
    let graph: Arc<Template> = table::find(handle(graph))?;
    let new = table::reserve();
    let copy = graph.graph().clone();
    table::insert(new, Arc::new(Executable::new(copy)));
    Ok(new)
}

functions! {
    fn cuGraphCreate(to: *mut CUgraph, flags: c_uint) {
        context::initialized()?;
        if flags != 0 {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let new = table::reserve();
        give(to, pointer(new))?;
        table::insert(new, Arc::new(Template::new(Graph::default())));
        Ok(())
    }

    fn cuGraphDestroy(graph: CUgraph) {
        table::remove::<Template>(handle(graph)).map(|_| ())
    }

    fn cuGraphAddEmptyNode(to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize) {
        add(to, graph, after, count, Work::Nothing)
    }

    fn cuGraphAddKernelNode_v2(to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, what: *const CUDA_KERNEL_NODE_PARAMS_v2_st) {
        context::current()?;
        let work = launch(&read(what)?)?;
        add(to, graph, after, count, work.into())
    }

    // The only attribute is that of cooperative launches.
    fn cuGraphKernelNodeSetAttribute(node: CUgraphNode, attribute: c_uint, value: *const CUkernelNodeAttrValue) {
        let member: Arc<Member> = table::find(handle(node))?;
        let graph = member.0.upgrade().ok_or(Code::CUDA_ERROR_INVALID_HANDLE)?;
        let mut graph = graph.graph();
        let node = graph.node(handle(node))?;
        let Work::Kernel(kernel) = &node.work else {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        };
        if attribute != CUkernelNodeAttrID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE as u32 || value.is_null() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let plain = Kernel::clone(kernel);
        let is_cooperative = (*value).cooperative != 0;
        node.work = if is_cooperative { cooperative(plain)? } else { plain }.into();
        Ok(())
    }

    fn cuGraphAddMemcpyNode(to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, what: *const CUDA_MEMCPY3D_st, which: CUcontext) {
        context::by_handle(handle(which))?;
        if what.is_null() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        is_memory_type(&raw const (*what).srcMemoryType)?;
        is_memory_type(&raw const (*what).dstMemoryType)?;
        add(to, graph, after, count, Work::Copy(copy(&read(what)?)?))
    }

    fn cuGraphAddMemsetNode(to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, what: *const CUDA_MEMSET_NODE_PARAMS, which: CUcontext) {
        context::by_handle(handle(which))?;
        add(to, graph, after, count, Work::Fill(fill(&read(what)?)?))
    }

    fn cuGraphAddHostNode(to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, what: *const CUDA_HOST_NODE_PARAMS) {
        let what = read(what)?;
        let function = what.fn_.ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        let data = what.userData.expose_provenance();
        add(to, graph, after, count, Work::Host(Host::Plain(function, data)))
    }

    // A copy of the other graph, as it is now.
    fn cuGraphAddChildGraphNode(to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, child: CUgraph) {
        if graph == child {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let child: Arc<Template> = table::find(handle(child))?;
        let copy = child.graph().clone();
        add(to, graph, after, count, Work::Child(copy))
    }

    // Without an array it only counts.
    fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) {
        let graph: Arc<Template> = table::find(handle(graph))?;
        let graph = graph.graph();
        if !nodes.is_null() {
            for (at, node) in graph.nodes.iter().take(read(count)?).enumerate() {
                give(nodes.wrapping_add(at), pointer(node.handle))?;
            }
        }
        give(count, graph.nodes.len())
    }

    fn cuGraphInstantiateWithFlags(to: *mut CUgraphExec, graph: CUgraph, _flags: u64) {
        context::current()?;
        give(to, pointer(instantiate(graph)?))
    }

    fn cuGraphUpload(graph: CUgraphExec, stream: CUstream) {
        let context = context::current()?;
        context.stream(handle(stream))?;
        table::find::<Executable>(handle(graph)).map(|_| ())
    }

    // Nodes run one after another: each is behind all that it waits for.
    fn cuGraphLaunch(graph: CUgraphExec, stream: CUstream) {
        let context = context::current()?;
        let stream = context.stream(handle(stream))?;
        let graph: Arc<Executable> = table::find(handle(graph))?;
        let nodes = graph.graph().nodes.clone();
        for node in nodes {
            stream.submit(&context, node.work)?;
        }
        Ok(())
    }

    fn cuGraphExecDestroy(graph: CUgraphExec) {
        table::remove::<Executable>(handle(graph)).map(|_| ())
    }

    fn cuGraphExecKernelNodeSetParams_v2(graph: CUgraphExec, node: CUgraphNode, what: *const CUDA_KERNEL_NODE_PARAMS_v2_st) {
        context::current()?;
        let graph: Arc<Executable> = table::find(handle(graph))?;
        let work = launch(&read(what)?)?;
        let mut graph = graph.graph();
        let node = graph.node(handle(node))?;
        if !matches!(node.work, Work::Kernel(_)) {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        node.work = work.into();
        Ok(())
    }
}
