// SPDX-License-Identifier: MIT OR Apache-2.0
//! Problems of a launch, detected before the driver sees it.

use crate::contract::broken::Broken;
use crate::error::kind::join;

/// The reason why a launch was refused. Sizes are in SYCL's order: the last dimension varies fastest.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchProblem {
    /// Too few or too many arguments.
    #[error(
        "it takes {takes} arguments, {given} were given ({}){}",
        join(names),
        counted(*given, names.len())
    )]
    ArgumentCount {
        /// The number of arguments that the kernel takes; an accessor counts as four.
        takes: usize,
        /// The number of given arguments; an accessor counts as four.
        given: usize,
        /// The names of the arguments.
        names: &'static [&'static str],
    },
    /// An argument of another kind than the kernel takes at this position.
    #[error("argument {index} ({name}) is {given}, but the kernel takes {takes} there")]
    ArgumentKind {
        /// The argument, counted from 0.
        index: usize,
        /// Its name.
        name: &'static str,
        /// The given kind.
        given: &'static str,
        /// The kind that the kernel takes.
        takes: &'static str,
    },
    /// A value of another size than the kernel takes at this position.
    #[error("argument {index} ({name}) has {given} bytes, but the kernel takes {takes} there")]
    ArgumentSize {
        /// The argument, counted from 0.
        index: usize,
        /// Its name.
        name: &'static str,
        /// The size of the given value, or of a part of it, in bytes.
        given: usize,
        /// The size that the kernel takes, in bytes.
        takes: usize,
    },
    /// An accessor that exceeds its buffer.
    #[error("argument {index} ({name}) {problem}")]
    Accessor {
        /// The argument, counted from 0.
        index: usize,
        /// Its name.
        name: &'static str,
        /// Which size is exceeded.
        problem: String,
    },
    /// More work-group memory than the device has.
    #[error(
        "argument {index} ({name}) asks for {requested} bytes of work-group memory, and the \
         kernel uses {used} bytes besides; {device} has {max}"
    )]
    LocalMemory {
        /// The argument, counted from 0.
        index: usize,
        /// Its name.
        name: &'static str,
        /// The size that it requests, in bytes.
        requested: u64,
        /// The memory that the kernel itself and the earlier arguments use, in bytes.
        used: u64,
        /// The memory that the device has for each work-group, in bytes.
        max: u64,
        /// The device.
        device: String,
    },
    /// A buffer lies on another device.
    #[error("argument {index} ({name}) is on {buffer}, queue is on {queue}")]
    ArgumentDevice {
        /// The argument, counted from 0.
        index: usize,
        /// Its name.
        name: &'static str,
        /// The device of the buffer.
        buffer: String,
        /// The device of the queue.
        queue: String,
    },
    /// A part of a buffer begins at an offset that the device does not allow.
    #[error(
        "argument {index} ({name}) begins at byte {offset} of its buffer; on {device} a part begins at a multiple of {alignment} bytes, \
         or is one of an array with addresses, such as a DeviceArray"
    )]
    Misaligned {
        /// The argument, counted from 0.
        index: usize,
        /// Its name.
        name: &'static str,
        /// The offset of the part in bytes.
        offset: usize,
        /// The offset must be a multiple of this.
        alignment: usize,
        /// The device.
        device: String,
    },
    /// The address of an argument of a safe launch does not have the alignment that the kernel needs.
    #[error(
        "argument {index} ({name}) is aligned to {known} bytes, and the kernel needs {alignment}: {}",
        aligning(*known)
    )]
    Unaligned {
        /// The argument, counted from 0.
        index: usize,
        /// Its name.
        name: &'static str,
        /// The required alignment of its address, in bytes.
        alignment: u64,
        /// The known alignment of its address, in bytes.
        known: u64,
    },
    /// A prepared launch cannot change to another kernel.
    #[error(
        "this was prepared for kernel {prepared}, of this module and queue; prepare another one"
    )]
    OtherKernel {
        /// The kernel it was prepared for.
        prepared: String,
    },
    /// The driver refused an argument when the prepared launch was changed. It was not changed since.
    #[error(
        "the driver refused an argument when this prepared launch was changed; change it again before it is launched"
    )]
    Incomplete,
    /// A launch of a kernel is prepared, but the code does not contain the types of all its parameters.
    #[error(
        "the file does not tell the types of all parameters, so that a wrong argument could crash the driver; \
         launch it without `prepare`, record it by `Launch::record`, or give it a contract"
    )]
    UnknownTypes,
    /// A launch that waits for events is prepared or recorded.
    #[error(
        "what a prepared launch or a recording waits for is given to each launch (`launch_after`, `replay_after`), not by `after`"
    )]
    PreparedAfterEvents,
    /// The host has a view of the memory that the kernel would change.
    #[error(
        "argument {index} ({name}) is mapped: the host has a view of its memory, made by Queue::map or Queue::map_mut, that was not dropped; a view of a part counts for all of a buffer"
    )]
    Mapped {
        /// The argument, counted from 0.
        index: usize,
        /// Its name.
        name: &'static str,
    },
    /// An event to wait for belongs to another device.
    #[error("event {index} to wait for ({event}) is on {device}, queue is on {queue}")]
    EventDevice {
        /// The event, counted from 0.
        index: usize,
        /// The action of the event's command.
        event: String,
        /// The event's device.
        device: String,
        /// The device of the queue.
        queue: String,
    },
    /// The launch breaks the contract that makes it safe.
    #[error("{} breaks the contract {broken}", at_fault(argument))]
    Contract {
        /// The index of the argument at fault, counted from 0, and its name; `None` when the fault is not in a
        /// single argument.
        argument: Option<(usize, &'static str)>,
        /// The condition that does not hold, with its values.
        broken: Broken,
    },
    /// The range has no work-items.
    #[error("the range {global:?} is empty; leave the launch out when there is nothing to do")]
    EmptyRange {
        /// The range.
        global: Vec<usize>,
    },
    /// More work-items than the code can count. The behaviour with more is undefined.
    #[error(
        "the range {global:?} has more than {max} work-items, the most that the kernel was compiled \
         to count; reduce it{}",
        counting(*max)
    )]
    TooManyItems {
        /// The range.
        global: Vec<usize>,
        /// The largest number of work-items.
        max: usize,
    },
    /// A range with an offset for a launch that its contract makes safe.
    #[error(
        "its contract speaks of ids that begin at 0, and the range has an offset; declare the kernel \
         without `safe` to launch it so"
    )]
    SafeOffset,
    /// The work-group does not divide the range.
    #[error("the work-group {local:?} does not divide the range {global:?}; round the range up")]
    Indivisible {
        /// The range.
        global: Vec<usize>,
        /// The work-group.
        local: Vec<usize>,
    },
    /// The kernel was compiled for another work-group size.
    #[error(
        "it was compiled for work-groups of {required:?} (work_group_size<{}> or \
         reqd_work_group_size({}) in C++), not of {local:?}; leave the size out to get the right one",
        numbers(required),
        numbers(required)
    )]
    RequiredLocal {
        /// The size that the kernel was compiled for.
        required: Vec<usize>,
        /// The given size.
        local: Vec<usize>,
    },
    /// The work-group is larger than the kernel was compiled for.
    #[error(
        "it was compiled for work-groups of at most {max:?} (max_work_group_size<{}> in C++), \
         not of {local:?}",
        numbers(max)
    )]
    MaximumLocal {
        /// The largest size that the kernel was compiled for.
        max: Vec<usize>,
        /// The given size.
        local: Vec<usize>,
    },
    /// The kernel was compiled for ranges of another number of dimensions.
    #[error(
        "it was compiled for ranges of {dimensions} dimension{} (work_group_num_dim in the file), \
         not for {global:?}",
        if *dimensions == 1 { "" } else { "s" }
    )]
    KernelDimensions {
        /// The number of dimensions that the kernel was compiled for.
        dimensions: usize,
        /// The range.
        global: Vec<usize>,
    },
    /// The kernel was compiled for work-groups of more dimensions than the range has.
    #[error(
        "it was compiled for work-groups of {required:?} (work_group_size<{}> or \
         reqd_work_group_size({}) in C++) and needs a range of as many dimensions, not {global:?}",
        numbers(required),
        numbers(required)
    )]
    RequiredDimensions {
        /// The size that the kernel was compiled for.
        required: Vec<usize>,
        /// The range.
        global: Vec<usize>,
    },
    /// The work-group has more work-items than the kernel can have on this device.
    #[error("the work-group {local:?} has {items} work-items; on {device} it can have {max}")]
    LocalTooLarge {
        /// The work-group.
        local: Vec<usize>,
        /// The number of its work-items.
        items: usize,
        /// The largest number of work-items allowed.
        max: usize,
        /// The device.
        device: String,
    },
    /// A dimension of the work-group is larger than the device allows.
    #[error("the work-group {local:?} exceeds the largest one of {device}, {max:?}")]
    LocalDimension {
        /// The work-group.
        local: Vec<usize>,
        /// The largest number of work-items in each dimension.
        max: Vec<usize>,
        /// The device.
        device: String,
    },
}

impl LaunchProblem {
    /// Creates the problem of a contract that is `broken` by the arguments called `names`, or by the range.
    pub(crate) fn contract(broken: Broken, names: &[&'static str]) -> Self {
        let argument = broken.argument();
        let argument = argument.and_then(|index| Some((index, *names.get(index)?)));
        if let Some((index, name)) = argument
            && let Some((alignment, known)) = broken.alignment()
        {
            return Self::Unaligned {
                index,
                name,
                alignment,
                known,
            };
        }
        Self::Contract { argument, broken }
    }
}

/// Returns the advice for a kernel that must count more than `max` work-items.
fn counting(max: usize) -> &'static str {
    if max == usize::MAX {
        ""
    } else {
        ", or compile with -fsycl-id-queries-range=size_t"
    }
}

/// Names the cause of a broken contract.
fn at_fault(argument: &Option<(usize, &'static str)>) -> String {
    match argument {
        Some((index, name)) => format!("argument {index} ({name})"),
        None => "the launch".to_owned(),
    }
}

/// Returns the advice for an argument whose memory is aligned to `known` bytes only.
fn aligning(known: u64) -> &'static str {
    // All drivers align memory to more than that, so this is a part that begins in between.
    if known < 64 {
        "pass memory from its beginning, or a part that begins at a multiple of that; if the kernel is right with less, \
         say so in its contract by `x.align() >= N`"
    } else {
        "use a DeviceArray, HostArray or SharedArray of a type with this alignment, such as the one that \
         include_syclbin! writes, or of more elements and pass an aligned part"
    }
}

/// Formats sizes as C++ does.
fn numbers(sizes: &[usize]) -> String {
    join(&sizes.iter().map(usize::to_string).collect::<Vec<_>>())
}

/// Explains why the number of arguments may differ from the number of names.
fn counted(arguments: usize, names: usize) -> &'static str {
    if arguments == names {
        ""
    } else {
        "; each accessor counts as 4"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn launch_problems_carry_both_numbers() {
        let names = &["a", "x"];
        let problem = LaunchProblem::ArgumentCount {
            takes: 4,
            given: 2,
            names,
        };
        assert_eq!(
            Error::launch("saxpy", problem).to_string(),
            "kernel saxpy: it takes 4 arguments, 2 were given (a, x)"
        );
        let problem = LaunchProblem::ArgumentDevice {
            index: 1,
            name: "x",
            buffer: "A".to_owned(),
            queue: "B".to_owned(),
        };
        assert_eq!(
            Error::launch("saxpy", problem).to_string(),
            "kernel saxpy: argument 1 (x) is on A, queue is on B"
        );
    }
}
