// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures that are no errors, each with its reason.

/// Why a program need not hear of a failure of `call` in a step.
pub(crate) fn reason(call: &str, step: &str) -> Option<&'static str> {
    if call.starts_with("clRelease") || call.contains("Free") {
        return Some(
            "nobody is left to tell, and what is not released is the driver's from then on",
        );
    }
    let (.., reason) = ABSORBED
        .iter()
        .find(|(name, steps, _)| *name == call && (steps.is_empty() || steps.contains(&step)))?;
    Some(reason)
}

/// How many references to objects of a kind may be left after a failure of `call`.
pub(crate) fn left(call: &str, kind: &str) -> u64 {
    if call == "clFinish" {
        // What is not waited for may be in use, and is never freed.
        return u64::from(is_kept(kind));
    }
    let of_call = match call {
        "clEnqueueUnmapMemObject" => "Mapping",
        "clReleaseCommandQueue" => "Queue",
        "clReleaseMemObject" => "Memory",
        "clMemFreeINTEL" | "clMemBlockingFreeINTEL" => "UsmAllocation",
        other => other.strip_prefix("clRelease").unwrap_or_default(),
    };
    u64::from(of_call == kind)
}

/// Whether objects of a kind are kept where no thread can wait for what may use them.
pub(crate) fn is_kept(kind: &str) -> bool {
    matches!(kind, "UsmAllocation" | "Queue")
}

/// How many references of a kind are kept if a call failed in `step`. A step that adopts memory does not drop the owner,
/// and the context that it holds, where no thread can wait.
pub(crate) fn lent(kind: &str, step: &str) -> u64 {
    match (step, kind) {
        ("share a queue and memory", "Memory" | "Context") => 2,
        _ => 0,
    }
}

/// The call, the steps (none: all of them), and the reason.
type Absorbed = (&'static str, &'static [&'static str], &'static str);

const ABSORBED: &[Absorbed] = &[
    (
        "clCreateProgramWithBinary",
        &["load a cached module", "use two queues", "await"],
        "what the cache holds and the driver does not take is compiled again",
    ),
    (
        "clBuildProgram",
        &["load a cached module", "use two queues", "await"],
        "as above, and the driver takes it only now",
    ),
    (
        "clGetProgramInfo",
        &[
            "load a module",
            "load a cached module",
            "link",
            "set constants",
            "use variables",
            "use work-group memory",
            "use two queues",
            "await",
            "save a module and load it",
        ],
        "code that cannot be had is not kept for the next process",
    ),
    (
        "clEnqueueBarrierWithWaitList",
        &["use two queues"],
        "on a queue out of order two make one; the first only has to come after commands that have \
         events of their own",
    ),
    (
        "clEnqueueUnmapMemObject",
        &[],
        "a view of memory goes without a word; a driver that refuses that refuses what comes next",
    ),
    (
        "clGetDeviceInfo",
        &["look for devices"],
        "what a device need not tell it is taken to lack",
    ),
    (
        "clWaitForEvents",
        &[],
        "where the command has ended meanwhile, its event tells how",
    ),
    (
        "clGetKernelWorkGroupInfo",
        &["ask about a kernel"],
        "memory that a driver does not report is unknown",
    ),
    (
        "clGetKernelSubGroupInfo",
        &["ask about a kernel"],
        "a device may have no sub-groups",
    ),
    (
        "clGetProgramBuildInfo",
        &["load code that does not build"],
        "without the log, the failure itself is told",
    ),
    (
        "clFlush",
        &[],
        "the kernel is in the queue all the same; waiting for it flushes, too",
    ),
    (
        "clGetExtensionFunctionAddressForPlatform",
        &["suggest a size of work-groups"],
        "a size that no driver suggests is worked out",
    ),
    (
        "clGetExtensionFunctionAddressForPlatform",
        &["look for devices"],
        "a driver lacks what it does not tell; whoever needs that function is told so",
    ),
];
