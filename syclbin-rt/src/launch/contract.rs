// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contracts, which make launches safe: a launch that violates its contract fails before it reaches the driver.
//! Checking a contract does not allocate unless it is violated.
//!
//! This module is for generated code only.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, Index};

use bytemuck::Pod;

use crate::backend::{AnyRange, Extent, guard};
use crate::launch::arg::Arg;
use crate::launch::invocation::argument;
use crate::launch::number::{Fault, Integer, Number};

/// A contract's view of a launch: the values of its arguments, and its range.
#[derive(Debug)]
pub struct LaunchView<'g> {
    args: &'g [Arg<'g>],
    range: AnyRange,
    /// The fault in the current condition, if any.
    fault: Cell<Option<Fault>>,
    /// The fault in the violated condition, if any. Reading values for the report may record further faults.
    cause: Cell<Option<Fault>>,
}

/// A violated condition of a contract.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    argument: Option<usize>,
    problem: String,
}

/// The memory behind a pointer or an accessor, or work-group memory.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'g> {
    view: &'g LaunchView<'g>,
    arg: Option<&'g Arg<'g>>,
    element_bytes: usize,
}

/// The memory of an accessor, with its size in each dimension.
#[derive(Clone, Copy, Debug)]
pub struct Accessor<'g>(Memory<'g>);

/// The range of a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRange<'g> {
    view: &'g LaunchView<'g>,
    sizes: [Number<'g>; 3],
}

impl<'g> LaunchView<'g> {
    pub(crate) fn new(args: &'g [Arg<'g>], range: &AnyRange) -> Self {
        Self {
            args,
            range: *range,
            fault: Cell::new(None),
            cause: Cell::new(None),
        }
    }

    /// Returns the memory of argument `index`, which consists of elements of `element_bytes` bytes.
    pub fn memory(&'g self, index: usize, element_bytes: usize) -> Memory<'g> {
        Memory {
            view: self,
            arg: self.args.get(index),
            element_bytes,
        }
    }

    /// Returns the memory of argument `index`, which is an accessor with elements of `element_bytes` bytes.
    pub fn accessor(&'g self, index: usize, element_bytes: usize) -> Accessor<'g> {
        Accessor(self.memory(index, element_bytes))
    }

    /// Returns the integer at byte `offset` of argument `index`, which is passed by value.
    pub fn number<T: Pod + Integer>(&'g self, index: usize, offset: usize) -> Number<'g> {
        self.natural(self.value::<T>(index, offset).parts().0)
    }

    /// Works like [`number`](Self::number), for an integer of unknown signedness. Records a fault if the sign matters.
    pub fn unsure<T: Pod + Integer>(&'g self, index: usize, offset: usize) -> Number<'g> {
        let number = self.number::<T>(index, offset);
        if number < 0 {
            Fault::UnknownSign.record(&self.fault);
        }
        number
    }

    /// Returns the `T` at byte `offset` of argument `index`, which is passed by value. For integers, use
    /// [`number`](Self::number).
    pub fn value<T: Pod>(&self, index: usize, offset: usize) -> T {
        self.read(index, offset).unwrap_or_else(|| {
            Fault::Overflow.record(&self.fault);
            T::zeroed()
        })
    }

    /// Returns the `bool` at byte `offset` of argument `index`, which is passed by value.
    pub fn bool(&self, index: usize, offset: usize) -> bool {
        self.value::<u8>(index, offset) != 0
    }

    /// Returns the range of the launch.
    pub fn range(&'g self) -> LaunchRange<'g> {
        self.sizes(&self.range.global)
    }

    fn sizes(&'g self, extent: &Extent) -> LaunchRange<'g> {
        let sizes = extent.sizes().map(|size: usize| self.natural(size as i128));
        LaunchRange { view: self, sizes }
    }

    /// Returns whether `condition` is true and was evaluated without a fault, such as an overflow.
    pub fn holds(&self, condition: bool) -> bool {
        self.cause.set(self.fault.take());
        condition && self.cause.get().is_none()
    }

    /// Creates the report of a violated condition.
    #[cold]
    pub fn broken(
        &self,
        condition: &'static str,
        argument: Option<usize>,
        values: &[(&'static str, &dyn fmt::Display)],
    ) -> Broken {
        // Without a work-group size, these values mean nothing.
        let has_value = |text: &str| self.range.local.is_some() || !text.contains("range.local()");
        let values: Vec<String> = (values.iter())
            .filter(|(text, _)| has_value(text))
            .map(|(text, value)| format!("{text} is {value}"))
            .collect();
        let colon = if values.is_empty() { "" } else { ": " };
        let fault = match self.cause.take() {
            None => "",
            Some(Fault::Overflow) => "; the condition overflows or divides by zero",
            Some(Fault::UnknownSign) => {
                "; a value would be negative if it were signed, and the file does not record whether it is"
            }
            Some(Fault::NoLocalSize) => "; the launch leaves the work-group size to the driver",
            Some(Fault::NegativeLength) => {
                "; the condition compares a length with a negative number"
            }
        };
        let values = values.join(", ");
        Broken {
            argument,
            problem: format!("breaks the contract `{condition}`{colon}{values}{fault}"),
        }
    }

    /// Checks that the memory of argument `index` is aligned to `bytes` bytes. If `bytes` is `None`, checks for the
    /// alignment that the device guarantees for every allocation.
    ///
    /// # Errors
    ///
    /// Fails if the memory is not known to be aligned.
    pub fn aligned(&self, index: usize, bytes: Option<u64>) -> Result<(), Broken> {
        let arg = self.args.get(index);
        let Some(known) = arg.and_then(Arg::alignment) else {
            return Ok(()); // not a slice or an accessor, such as a null pointer
        };
        let required = bytes.or_else(|| arg.and_then(Arg::whole_alignment));
        match required.filter(|required| known < *required) {
            Some(required) => Err(unaligned(index, required, known, bytes.is_none())),
            None => Ok(()),
        }
    }

    fn read<T: Pod>(&self, index: usize, offset: usize) -> Option<T> {
        let bytes = self.args.get(index)?.value_bytes()?;
        let bytes = bytes.get(offset..)?.get(..size_of::<T>())?;
        bytemuck::try_pod_read_unaligned(bytes).ok()
    }

    fn natural(&'g self, value: i128) -> Number<'g> {
        Number::new(value, false, &self.fault)
    }
}

impl Broken {
    pub(crate) fn describe(&self, names: &[&'static str]) -> String {
        let culprit = match self.argument {
            Some(index) => argument(names, index),
            None => "the launch".to_owned(),
        };
        format!("{culprit} {}", self.problem)
    }
}

#[cold]
fn unaligned(index: usize, required: u64, known: u64, may_be_smaller: bool) -> Broken {
    // Drivers align allocations to at least 64 bytes, so memory with a smaller alignment is a part that starts at an
    // offset.
    let remedy = if guard::requested() == Ok(Some(guard::Mode::End)) {
        "with SYCLBIN_GUARD=end, a buffer is only as aligned as its size, so use a buffer whose size in bytes is a \
         multiple of this alignment"
    } else if known < 64 && may_be_smaller {
        "pass the whole buffer or array, or a part that starts at a multiple of this alignment; if a smaller \
         alignment suffices, declare it in the kernel's contract with `x.align() >= N`"
    } else if known < 64 {
        "pass the whole buffer or array, or a part that starts at a multiple of this alignment"
    } else {
        "use a DeviceArray, HostArray or SharedArray of a type with this alignment, such as the type that \
         include_syclbin! generates, or allocate more elements and pass an aligned part"
    };
    let s = if known == 1 { "" } else { "s" };
    let argument = Some(index);
    let problem =
        format!("is aligned to {known} byte{s}, but the kernel requires {required}; {remedy}");
    Broken { argument, problem }
}

impl<'g> Memory<'g> {
    /// Returns the number of elements that the kernel can access: in a buffer, in the range of an accessor, or in
    /// work-group memory. For a null pointer, this is 0.
    pub fn len(self) -> Number<'g> {
        let elements = |arg: &Arg<'_>| arg.elements(self.element_bytes);
        self.length(self.arg.map_or(0, elements))
    }

    /// Returns the largest known power of two that divides the address. For an empty slice, this is a very large
    /// number; for a null pointer, it is 0.
    pub fn align(self) -> Number<'g> {
        self.length(self.arg.and_then(Arg::alignment).map_or(0, i128::from))
    }

    /// Returns whether the pointer is null.
    pub fn is_none(self) -> bool {
        self.arg.is_some_and(Arg::is_null)
    }

    /// Returns whether the pointer is not null.
    pub fn is_some(self) -> bool {
        !self.is_none()
    }

    fn length(self, value: i128) -> Number<'g> {
        Number::new(value, true, &self.view.fault)
    }
}

impl<'g> Accessor<'g> {
    /// Returns the size of a dimension, or 0 if the accessor has fewer dimensions. Dimension 0 is SYCL's first.
    pub fn size(self, dimension: impl Integer) -> Number<'g> {
        let dimension = usize::try_from(dimension.parts().0).ok();
        let size = self.arg.zip(dimension);
        self.length(size.map_or(0, |(arg, dimension)| arg.extent(dimension)))
    }
}

impl<'g> Deref for Accessor<'g> {
    type Target = Memory<'g>;

    fn deref(&self) -> &Memory<'g> {
        &self.0
    }
}

impl<'g> LaunchRange<'g> {
    /// Returns the number of work-items.
    pub fn items(self) -> Number<'g> {
        let [a, b, c] = self.sizes;
        a * b * c
    }

    /// Returns the work-group size as a range. Records a fault if the driver chooses the size.
    pub fn local(self) -> Self {
        match &self.view.range.local {
            Some(local) => self.view.sizes(local),
            None => {
                Fault::NoLocalSize.record(&self.view.fault);
                self
            }
        }
    }

    /// Returns the number of dimensions.
    pub fn dimensions(self) -> Number<'g> {
        self.view
            .natural(self.view.range.global.dimensions() as i128)
    }
}

impl<'g, I: Integer> Index<I> for LaunchRange<'g> {
    type Output = Number<'g>;

    /// Returns the size of a dimension; 1 beyond the range's dimensions. An index that is negative or above 2 counts
    /// as 2.
    fn index(&self, dimension: I) -> &Number<'g> {
        let dimension = usize::try_from(dimension.parts().0);
        let dimension = dimension.unwrap_or(usize::MAX).min(self.sizes.len() - 1);
        &self.sizes[dimension]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::NdRange;
    use crate::common;
    use crate::launch::accessor::AccessorRange;

    fn given<'g>(args: &'g [Arg<'g>], range: impl Into<AnyRange>) -> LaunchView<'g> {
        LaunchView::new(args, &range.into())
    }

    #[test]
    fn a_value_is_read_back_wherever_it_lies() {
        let large = [7u32; 20];
        let args = [
            Arg::scalar(-2i8),
            Arg::scalar(u64::MAX),
            Arg::bool(true),
            Arg::value(large),
            Arg::value_ref(&large[1]),
            Arg::scalar(0.5f32),
        ];
        let given = given(&args, 1);
        assert!(given.number::<i8>(0, 0) == -2);
        assert!(given.number::<u64>(1, 0) == u64::MAX);
        assert!(given.number::<u8>(2, 0) == 1 && given.bool(2, 0));
        assert!(given.number::<u32>(3, 76) == 7);
        assert!(given.number::<u16>(3, 5) == 0, "between two elements");
        assert!(given.number::<u32>(4, 0) == 7);
        assert_eq!(given.value::<f32>(5, 0), 0.5);
        assert!(given.holds(true) && !given.holds(false));
    }

    #[test]
    fn condition_with_unreadable_number_is_false() {
        let args = [Arg::scalar(-1i32), Arg::local(4), Arg::kernel_handler()];
        for read in [
            (|given| given.number::<u64>(0, 0) == 0) as fn(&LaunchView<'_>) -> bool,
            |given| given.number::<u8>(0, 4) == 0,
            |given| given.number::<u8>(0, usize::MAX) == 0,
            |given| given.number::<i32>(1, 0) == 0,
            |given| given.value::<f32>(2, 0) == 0.0,
            |given| !given.bool(3, 0),
            |given| given.unsure::<i32>(0, 0) < 0,
        ] {
            let given = given(&args, 1);
            let condition = read(&given);
            assert!(condition && !given.holds(condition));
        }
        let given = given(&args, 1);
        assert!(
            [0, 2, 3]
                .iter()
                .all(|index| given.memory(*index, 4).len() == 0)
        );
        assert!(
            [0, 1, 3]
                .iter()
                .all(|index| given.accessor(*index, 4).size(0) == 0)
        );
    }

    #[test]
    fn local_memory_length_counts_whole_elements() {
        let args = [
            Arg::local(10),
            Arg::local_accessor::<f32>([3, 5]),
            crate::LocalMemory::<u64>::of(usize::MAX).into(),
        ];
        let given = given(&args, 1);
        assert!(given.memory(0, 1).len() == 10);
        assert!(given.memory(0, 4).len() == 2);
        let accessor = given.accessor(1, 4);
        assert!(accessor.len() == 15);
        let sizes = [3, 5, 0, 0];
        assert!((0..4).all(|dimension| accessor.size(dimension) == sizes[dimension]));
        assert!(accessor.size(-1) == 0);
        assert!(given.memory(0, 0).len() == 0, "elements without bytes");
        assert!(given.memory(2, 1).len() == usize::MAX);
    }

    #[test]
    fn null_pointer_has_no_elements_and_any_alignment() {
        let args = [Arg::read_or_null::<f32>(None), Arg::local(4)];
        let given = given(&args, 1);
        let (mask, local) = (given.memory(0, 4), given.memory(1, 1));
        assert!(mask.is_none() && !mask.is_some() && mask.len() == 0);
        assert!(local.is_some() && !local.is_none());
        assert_eq!(given.aligned(0, Some(128)), Ok(()));
    }

    #[test]
    fn buffer_and_accessor_lengths_come_from_rust() -> crate::Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let buffer = queue.upload(&[0.5f32; 100])?;
        let mut empty = queue.zeroed::<u64>(0)?;
        let part = AccessorRange::new([10, 10]).part([5, 0], [5, 10]);
        let args = [
            Arg::read(&buffer),
            Arg::write(&mut empty),
            Arg::read_accessor(&buffer, [4, 8]),
            Arg::read_accessor(&buffer, part),
        ];
        let given = given(&args, 1);
        assert!(given.memory(0, 4).len() == 100);
        assert!(given.memory(0, 1).len() == 400, "a pointer to void");
        assert!(given.memory(1, 8).len() == 0 && given.memory(1, 8).is_some());
        assert!(given.memory(2, 4).len() == 32);
        let part = given.accessor(3, 4);
        assert!(part.len() == 50 && part.size(0) == 5 && part.size(1) == 10 && part.size(2) == 0);
        Ok(())
    }

    #[test]
    fn slice_alignment_follows_its_offset() -> crate::Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let buffer = queue.zeroed::<u8>(4096)?;
        let (whole, part, none) = (&buffer, buffer.slice(4..)?, buffer.slice(7..7)?);
        let args = [Arg::read(whole), Arg::read(&part), Arg::read(&none)];
        let given = given(&args, 1);
        assert!(given.memory(0, 1).align() >= 64);
        assert_eq!(given.aligned(0, None), Ok(()));
        assert!(given.memory(1, 1).align() == 4);
        assert_eq!(given.aligned(1, Some(4)), Ok(()));
        let broken = given.aligned(1, Some(8)).unwrap_err();
        let problem = broken.describe(&["a", "b"]);
        assert!(
            problem
                .starts_with("argument 1 (b) is aligned to 4 bytes, but the kernel requires 8; "),
            "{problem}"
        );
        if guard::requested() == Ok(None) {
            assert!(
                problem.contains("; pass the whole buffer or array, or a part"),
                "{problem}"
            );
        }
        // A contract can lower only the alignment that it implies for any type.
        let any = given.aligned(1, None).unwrap_err().describe(&["a", "b"]);
        if guard::requested() == Ok(None) {
            assert!(any.contains("in the kernel's contract"), "{any}");
            assert!(!problem.contains("contract"), "{problem}");
        }
        // Drivers align all memory to so many bytes, so only another type helps.
        let part = buffer.slice(64..)?;
        let args = [Arg::read(&part)];
        let view = self::given(&args, 1);
        let problem = view.aligned(0, Some(128)).unwrap_err().describe(&["a"]);
        if guard::requested() == Ok(None) {
            assert!(problem.contains("; use a DeviceArray"), "{problem}");
        }
        assert_eq!(
            given.aligned(2, Some(4096)),
            Ok(()),
            "an empty slice is never read"
        );
        Ok(())
    }

    #[test]
    fn zero_may_have_an_unknown_sign() {
        let args = [Arg::scalar(0i32)];
        let view = given(&args, 1);
        assert!(view.holds(view.unsure::<i32>(0, 0) == 0));
    }

    #[test]
    fn reading_values_adds_no_cause() {
        let args = [Arg::scalar(3i32)];
        let view = given(&args, 8);
        let n = view.number::<i32>(0, 0);
        assert!(!view.holds(n > 3));
        // The report reads all numbers of the condition, even in branches that were not taken.
        let local = view.range().local()[0];
        let broken = view.broken("c", None, &[("n", &n), ("range.local()[0]", &local)]);
        assert_eq!(
            broken.describe(&[]),
            "the launch breaks the contract `c`: n is 3"
        );
        assert!(!view.holds(view.range().local()[0] == 8));
        let broken = view.broken("c", None, &[("range.local()[0]", &local)]);
        let expected = "the launch breaks the contract `c`; the launch leaves the work-group size to the driver";
        assert_eq!(broken.describe(&[]), expected);
    }

    #[test]
    fn range_is_in_sycl_order() {
        let args = [];
        let view = given(&args, NdRange::new([4, 8, 16]).local([1, 8, 2]));
        let range = view.range();
        assert!(range.items() == 512 && range.dimensions() == 3);
        assert!(range[0] == 4 && range[1] == 8 && range[2] == 16 && range[view.range()[0]] == 16);
        let local = view.range().local();
        assert!(local.items() == 16 && local[1] == 8 && local[2] == 2 && view.holds(true));
        let view = given(&args, 7);
        let range = view.range();
        assert!(range.items() == 7 && range.dimensions() == 1 && range[0] == 7 && range[1] == 1);
        // The driver chooses the size of work-groups.
        assert!(range.local()[0] == 7 && !view.holds(true));
    }

    #[test]
    fn broken_condition_shows_its_values() {
        let args = [Arg::scalar(10u32), Arg::scalar(-16i32)];
        let view = given(&args, 1);
        let (n, m) = (view.number::<u32>(0, 0), view.number::<i32>(1, 0));
        let broken = view.broken("n < m", Some(0), &[("n", &n), ("m", &m)]);
        assert_eq!(
            broken.describe(&["n"]),
            "argument 0 (n) breaks the contract `n < m`: n is 10, m is -16"
        );
        let condition = n * m / 0 < 3 || n == 10;
        assert!(condition && !view.holds(condition));
        assert_eq!(
            view.broken("n * m / 0 < 3 || n == 10", None, &[("n", &n)])
                .describe(&[]),
            "the launch breaks the contract `n * m / 0 < 3 || n == 10`: n is 10; the condition overflows or divides \
            by zero"
        );
        let condition = view.memory(0, 1).len() >= m;
        assert!(!view.holds(condition));
        assert_eq!(
            view.broken("x.len() >= m", None, &[("m", &m)])
                .describe(&[]),
            "the launch breaks the contract `x.len() >= m`: m is -16; the condition compares a length with a negative \
            number"
        );
        assert!(view.holds(true), "the fault was reported");
        let length = view.memory(0, 1).len();
        assert!(
            !view.holds(length >= view.unsure::<i32>(1, 0)),
            "the first fault counts"
        );
        assert_eq!(
            view.broken("m != 3", None, &[("m", &m)]).describe(&[]),
            "the launch breaks the contract `m != 3`: m is -16; a value would be negative if it were signed, and the file does not record whether it is"
        );
    }
}
