// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contracts: a launch that keeps its contract is safe, and checking that does not allocate.
//!
//! Generated code uses this module. It is not meant for hand-written code.

pub(crate) mod broken;
mod checked_integer;

use bytemuck::Pod;

pub use crate::contract::broken::{Broken, Condition, Relation};
pub use crate::contract::checked_integer::Number;
use crate::launch::arg::Arg;
use crate::launch::range::{Extent, NdRange};

/// A contract's view of a launch: its arguments, read back, and its range.
#[derive(Clone, Copy, Debug)]
pub struct LaunchView<'g> {
    args: &'g [Arg<'g>],
    range: Extent,
}

impl<'g> LaunchView<'g> {
    pub(crate) fn new(args: &'g [Arg<'g>], range: &NdRange) -> Self {
        let range = range.global_extent();
        Self { args, range }
    }

    /// Returns how many `T` the kernel can reach through argument `index`: in a buffer, in the range of an
    /// accessor, or in work-group memory. 0 for other arguments.
    #[must_use]
    pub fn len<T: Pod>(&self, index: usize) -> i128 {
        let arg = self.args.get(index);
        arg.map_or(0, |arg| arg.elements(size_of::<T>()))
    }

    /// Returns the largest known power of two that divides the address of argument `index`. Where there are no
    /// elements, it is a very large number. It is 0 if the argument is not device memory.
    #[must_use]
    pub fn align(&self, index: usize) -> i128 {
        let arg = self.args.get(index);
        arg.and_then(Arg::alignment).map_or(0, i128::from)
    }

    /// Returns the alignment of the whole memory that argument `index` is a part of. It is at most the
    /// alignment that the device gives to all memory.
    #[must_use]
    pub fn device_align(&self, index: usize) -> i128 {
        let arg = self.args.get(index);
        arg.and_then(Arg::whole_alignment).map_or(0, i128::from)
    }

    /// Returns the size of a dimension of accessor `index`, in SYCL's order. It is 0 beyond the accessor's
    /// dimensions, and if the argument is not an accessor.
    #[must_use]
    pub fn extent(&self, index: usize, dimension: usize) -> i128 {
        let arg = self.args.get(index);
        arg.map_or(0, |arg| arg.extent(dimension))
    }

    /// Returns the number at byte `offset` of the value of argument `index`, if the value has such a number.
    #[must_use]
    pub fn number<T: Pod + Into<Number>>(&self, index: usize, offset: usize) -> Number {
        let bytes = self.args.get(index).and_then(Arg::value_bytes);
        let bytes = bytes.and_then(|bytes| bytes.get(offset..)?.get(..size_of::<T>()));
        let number = bytes.and_then(|bytes| bytemuck::try_pod_read_unaligned::<T>(bytes).ok());
        number.map_or(Number(None), Into::into)
    }

    /// Returns the number of work-items of the range.
    #[must_use]
    pub fn items(&self) -> i128 {
        let sizes = self.range.driver_order().iter();
        sizes.fold(1, |items: i128, size| items.saturating_mul(*size as i128))
    }

    /// Returns the number of dimensions of the range. The kernel may have been written for another number: its
    /// last dimension is the last dimension of the range.
    #[must_use]
    pub fn dimensions(&self) -> i128 {
        self.range.dimensions() as i128
    }

    /// Returns the size of a dimension of the range, 1 beyond the last.
    #[must_use]
    pub fn size(&self, dimension: usize) -> i128 {
        self.range.size(dimension) as i128
    }

    /// Tests whether `condition` holds for its two sides. No condition holds with a side that overflows or
    /// divides by zero.
    ///
    /// # Errors
    ///
    /// When the condition does not hold.
    pub fn holds(
        &self,
        condition: &'static Condition,
        left: impl Into<Number>,
        right: impl Into<Number>,
    ) -> Result<(), Broken> {
        let (Number(left), Number(right)) = (left.into(), right.into());
        match (left, right) {
            (Some(left), Some(right)) if condition.relation.holds(left, right) => Ok(()),
            _ => Err(Broken::new(condition, left, right)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common;
    use crate::launch::accessor::AccessorRange;

    const LONG_ENOUGH: Condition = Condition {
        text: "x.len() >= n",
        left: "x.len()",
        relation: Relation::GreaterOrEqual,
        right: "n",
        argument: Some(1),
    };

    fn given<'g>(args: &'g [Arg<'g>], range: impl Into<NdRange>) -> LaunchView<'g> {
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
        ];
        let given = given(&args, 1);
        let number = |value: i128| Number::from(value);
        assert_eq!(given.number::<i8>(0, 0), number(-2));
        assert_eq!(given.number::<u64>(1, 0), number(u64::MAX.into()));
        assert_eq!(given.number::<u8>(2, 0), number(1));
        assert_eq!(given.number::<u32>(3, 76), number(7));
        assert_eq!(given.number::<u16>(3, 5), number(0), "between two elements");
        assert_eq!(given.number::<u32>(4, 0), number(7));
    }

    #[test]
    fn what_is_no_such_value_is_no_number() {
        let args = [Arg::scalar(-1i32), Arg::local(4), Arg::kernel_handler()];
        let given = given(&args, 1);
        assert_eq!(given.number::<u64>(0, 0), Number(None), "more than it");
        assert_eq!(given.number::<u8>(0, 4), Number(None), "behind it");
        assert_eq!(given.number::<u8>(0, usize::MAX), Number(None));
        let numbers = [1, 2, 3].map(|index| given.number::<i32>(index, 0));
        assert_eq!(numbers, [Number(None); 3]);
        assert_eq!([0, 2, 3].map(|index| given.len::<i32>(index)), [0; 3]);
        assert_eq!([0, 1, 3].map(|index| given.extent(index, 0)), [0; 3]);
    }

    #[test]
    fn local_memory_length_counts_whole_elements() {
        let args = [
            Arg::local(10),
            Arg::local_accessor::<f32>([3, 5]),
            crate::LocalMemory::<u64>::of(usize::MAX).into(),
        ];
        let given = given(&args, 1);
        assert_eq!(given.len::<u8>(0), 10);
        assert_eq!(given.len::<i32>(0), 2);
        assert_eq!(given.len::<f32>(1), 15);
        assert_eq!([0, 1, 2, 3].map(|d| given.extent(1, d)), [3, 5, 0, 0]);
        assert_eq!(
            given.len::<()>(0),
            0,
            "elements without bytes are not counted"
        );
        assert_eq!(given.len::<u8>(2), usize::MAX as i128);
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
        assert_eq!(given.len::<f32>(0), 100);
        assert_eq!(given.len::<u8>(0), 400, "a pointer to void");
        assert_eq!(given.len::<u64>(1), 0, "OpenCL has no buffer of no bytes");
        assert_eq!(given.len::<f32>(2), 32);
        assert_eq!(given.len::<f32>(3), 50);
        assert_eq!([0, 1, 2].map(|d| given.extent(3, d)), [5, 10, 0], "a part");
        Ok(())
    }

    #[test]
    fn slice_alignment_follows_its_offset() -> crate::Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let buffer = queue.zeroed::<u8>(4096)?;
        let (whole, part, none) = (&buffer, buffer.slice(4..)?, buffer.slice(7..7)?);
        let args = [
            Arg::read(whole),
            Arg::read(&part),
            Arg::read(&none),
            Arg::scalar(1),
        ];
        let given = given(&args, 1);
        assert!(given.align(0) >= 64 && given.align(0) >= given.device_align(0));
        assert_eq!(given.align(1), 4);
        assert!(given.device_align(1) >= 64);
        assert!(given.align(2) > 1 << 40, "nothing of it is read");
        assert_eq!((given.align(3), given.device_align(3)), (0, 0));
        Ok(())
    }

    #[test]
    fn the_range_is_seen_in_sycls_order() {
        let range = NdRange::new([4, 8, 16]).local([1, 8, 2]);
        let given = given(&[], range);
        assert_eq!((given.items(), given.dimensions()), (512, 3));
        assert_eq!([0, 1, 2, 3].map(|d| given.size(d)), [4, 8, 16, 1]);
        let given = self::given(&[], 7);
        assert_eq!((given.items(), given.dimensions()), (7, 1));
        assert_eq!([0, 1, 2].map(|d| given.size(d)), [7, 1, 1]);
        let beyond = self::given(&[], [usize::MAX; 3]);
        assert_eq!(beyond.items(), i128::MAX);
    }

    #[test]
    fn each_relation_is_the_one_of_rust() {
        use Relation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let holding = |left, right| {
            let all = [Less, LessOrEqual, Equal, NotEqual, GreaterOrEqual, Greater];
            let holding = all.into_iter().filter(|r| r.holds(left, right));
            holding.collect::<Vec<_>>()
        };
        assert_eq!(holding(-1, 2), [Less, LessOrEqual, NotEqual]);
        assert_eq!(holding(2, 2), [LessOrEqual, Equal, GreaterOrEqual]);
        assert_eq!(
            holding(i128::from(u64::MAX), -1),
            [NotEqual, GreaterOrEqual, Greater]
        );
    }

    #[test]
    fn no_condition_holds_of_a_side_without_value() {
        let given = given(&[], 1);
        const DIFFERENT: Condition = Condition {
            relation: Relation::NotEqual,
            ..LONG_ENOUGH
        };
        for (left, right) in [(None, Some(0)), (Some(0), None), (None, None)] {
            assert!(given.holds(&LONG_ENOUGH, left, right).is_err());
            assert!(given.holds(&DIFFERENT, left, right).is_err());
        }
        assert_eq!(given.holds(&LONG_ENOUGH, Some(1), Some(1)), Ok(()));
        assert_eq!(given.holds(&DIFFERENT, Some(0), Some(1)), Ok(()));
    }

    #[test]
    fn what_is_broken_is_told_with_both_values() {
        let broken = |condition: &'static Condition, left, right| {
            let broken = given(&[], 1).holds(condition, left, right).unwrap_err();
            (broken.to_string(), broken)
        };
        let (text, problem) = broken(&LONG_ENOUGH, Some(10), Some(16));
        assert_eq!(text, "`x.len() >= n`: x.len() is 10, n is 16");
        assert_eq!(problem.condition(), "x.len() >= n");
        assert_eq!((problem.left(), problem.right()), (Some(10), Some(16)));
        let (text, _) = broken(&LONG_ENOUGH, Some(10), None);
        assert_eq!(
            text,
            "`x.len() >= n`: x.len() is 10, n overflows or divides by zero"
        );
        const POSITIVE: Condition = Condition {
            text: "n > 0",
            left: "n",
            relation: Relation::Greater,
            right: "0",
            argument: Some(0),
        };
        assert_eq!(broken(&POSITIVE, Some(-3), Some(0)).0, "`n > 0`: n is -3");
    }
}
