//! What is checked of the arguments of a launch, before the driver sees any of them.

use std::sync::Arc;

use syclbin::signature::spirv::ParameterType;

use crate::arg::Arg;
use crate::backend::opencl::Argument;
use crate::backend::slice::Place;
use crate::device::Device;
use crate::error::LaunchProblem;
use crate::kernel::Kernel;
use crate::launch::Launch;
use crate::range::NdRange;

/// Checks number, kinds, sizes and whereabouts of the arguments.
pub(crate) fn check<const N: usize, R: Into<NdRange>>(
    launch: &Launch<'_, N, R>,
    kernel: &Kernel,
) -> Result<(), LaunchProblem> {
    // The mask of removed arguments may be longer than the list; only what stands in the list
    // counts.
    if launch.passed(kernel).count() != kernel.raw().arguments() {
        return Err(LaunchProblem::ArgumentCount {
            takes: kernel.takes(),
            given: launch.args.iter().map(Arg::lowered).sum(),
            names: launch.names,
        });
    }
    for (index, (arg, name)) in launch.args.iter().zip(launch.names).enumerate() {
        if let Some((range, elements)) = arg.accessor_range() {
            range
                .check(elements)
                .map_err(|problem| LaunchProblem::Accessor {
                    index,
                    name,
                    problem,
                })?;
        }
    }
    let context = kernel.queue().raw().context();
    let mut local = kernel.raw().local_memory();
    for (position, (index, value)) in launch.passed(kernel).enumerate() {
        let name = launch.names[index];
        if let Some(takes) = kernel.parameter(position) {
            check_kind(index, name, value, takes)?;
        }
        let lies_in = match value {
            Argument::Memory(place, written) => {
                check_part(kernel, index, name, place)?;
                if place.memory.is_mapped(written) {
                    return Err(LaunchProblem::Mapped { index, name });
                }
                place.memory.context()
            }
            Argument::Sampler(sampler) => sampler.context(),
            Argument::Local(bytes) => {
                local = check_local(kernel, index, name, bytes, local)?;
                continue;
            }
            Argument::Bytes(_) | Argument::Pointer(_) | Argument::Null => continue,
        };
        if !Arc::ptr_eq(lies_in, context) {
            return Err(LaunchProblem::ArgumentDevice {
                index,
                name,
                buffer: Device::new(lies_in.device()).to_string(),
                queue: kernel.queue().device().to_string(),
            });
        }
    }
    Ok(())
}

/// Checks that the kernel takes such an argument at all: a driver reads the bytes of a number as a
/// handle where it expects one. The size of a value is checked by the driver.
fn check_kind(
    index: usize,
    name: &'static str,
    value: Argument<'_>,
    takes: &ParameterType,
) -> Result<(), LaunchProblem> {
    let fits = match (value, takes) {
        (Argument::Local(_), takes) => matches!(takes, ParameterType::LocalPointer { .. }),
        (Argument::Sampler(_), takes) => *takes == ParameterType::Sampler,
        // What is not known may be anything else.
        (_, ParameterType::Other) => true,
        (Argument::Memory(..) | Argument::Pointer(_), takes) => {
            matches!(takes, ParameterType::GlobalPointer { .. })
        }
        (Argument::Bytes(_), takes) => matches!(
            takes,
            ParameterType::Int { .. } | ParameterType::Float { .. } | ParameterType::ByValue { .. }
        ),
        // Free functions take a handler as a struct; lambdas and functors take the pointer in it.
        (Argument::Null, takes) => matches!(
            takes,
            ParameterType::ByValue { .. } | ParameterType::GlobalPointer { .. }
        ),
    };
    if fits {
        return Ok(());
    }
    Err(LaunchProblem::ArgumentKind {
        index,
        name,
        given: match value {
            Argument::Local(_) => "work-group memory",
            Argument::Memory(..) => "a buffer",
            Argument::Bytes(_) => "a value",
            Argument::Sampler(_) => "a sampler",
            Argument::Pointer(_) => "a pointer",
            Argument::Null => "a kernel handler",
        },
        takes: match takes {
            ParameterType::Int { .. } | ParameterType::Float { .. } => "a number",
            ParameterType::GlobalPointer { .. } => "a buffer",
            ParameterType::LocalPointer { .. } => "work-group memory",
            ParameterType::ByValue { .. } => "a struct by value",
            ParameterType::Sampler => "a sampler",
            ParameterType::Other => "something else",
        },
    })
}

/// Checks that a part of a buffer begins where the device lets one begin.
fn check_part(
    kernel: &Kernel,
    index: usize,
    name: &'static str,
    place: &Place<[()]>,
) -> Result<(), LaunchProblem> {
    // None of it is used if it has no elements.
    if place.offset == 0 || place.len == 0 {
        return Ok(());
    }
    let alignment = place.memory.part_alignment();
    match alignment.filter(|alignment| !place.offset.is_multiple_of(*alignment)) {
        None => Ok(()),
        Some(alignment) => Err(LaunchProblem::Misaligned {
            index,
            name,
            offset: place.offset,
            alignment,
            device: kernel.queue().device().to_string(),
        }),
    }
}

/// How much work-group memory is in use with `bytes` more.
fn check_local(
    kernel: &Kernel,
    index: usize,
    name: &'static str,
    bytes: usize,
    used: u64,
) -> Result<u64, LaunchProblem> {
    let device = kernel.queue().device();
    let max = device.local_memory_bytes();
    let requested = bytes as u64;
    let total = used.saturating_add(requested);
    if total <= max {
        return Ok(total);
    }
    Err(LaunchProblem::LocalMemory {
        index,
        name,
        requested,
        used,
        max,
        device: device.to_string(),
    })
}
