// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arguments of a kernel as the driver takes them: bytes at their places, and how much memory
//! each work-group gets.

use crate::backend::cuda::errors::INVALID_VALUE;
use crate::backend::cuda::kernel::LAUNCH;
use crate::backend::failure::Failure;
use crate::backend::slot::Slot;

/// What the driver aligns memory of work-groups for at most: the largest type of SYCL, a vector of 16
/// doubles.
const LARGEST_ALIGNMENT: usize = 128;

/// The arguments of a kernel.
pub(in crate::backend::cuda) struct Values {
    parameters: Vec<Slot>,
    bytes: Vec<u8>,
    /// How many bytes of work-group memory each parameter stands for, of those that do.
    local: Vec<Option<usize>>,
    /// What comes before all of them.
    scratch: usize,
    /// All of it.
    local_bytes: usize,
}

impl Values {
    /// None is given yet: all bytes are zero.
    pub(in crate::backend::cuda) fn new(parameters: Vec<Slot>) -> Self {
        let ends = parameters
            .iter()
            .map(|parameter| parameter.offset.saturating_add(parameter.size));
        let size = ends.max().unwrap_or_default();
        Self {
            bytes: vec![0; size],
            local: vec![None; parameters.len()],
            parameters,
            scratch: 0,
            local_bytes: 0,
        }
    }

    /// Returns the number of parameters.
    pub(in crate::backend::cuda) fn count(&self) -> usize {
        self.parameters.len()
    }

    /// Gives parameter `index` these bytes.
    ///
    /// # Errors
    ///
    /// When it has another number of them.
    #[inline]
    pub(in crate::backend::cuda) fn set(
        &mut self,
        index: usize,
        value: &[u8],
    ) -> Result<(), Failure> {
        let Slot { offset, size } = *self.parameters.get(index).ok_or(REFUSED)?;
        if size != value.len() {
            return Err(REFUSED);
        }
        self.bytes[offset..offset + size].copy_from_slice(value);
        self.no_memory(index);
        Ok(())
    }

    /// Has parameter `index` stand for no work-group memory, if it did.
    #[inline]
    fn no_memory(&mut self, index: usize) {
        if self.local[index].take().is_some() {
            self.lay_out();
        }
    }

    /// Gives parameter `index` zeros: a null pointer, or a struct of a null pointer.
    pub(in crate::backend::cuda) fn set_null(&mut self, index: usize) -> Result<(), Failure> {
        let Slot { offset, size } = *self.parameters.get(index).ok_or(REFUSED)?;
        self.bytes[offset..offset + size].fill(0);
        self.no_memory(index);
        Ok(())
    }

    /// Gives parameter `index` so many bytes of work-group memory. One past the last is the scratch
    /// memory of the kernel, which no parameter tells of.
    pub(in crate::backend::cuda) fn set_local(
        &mut self,
        index: usize,
        bytes: usize,
    ) -> Result<(), Failure> {
        match self.parameters.get(index) {
            Some(Slot { size: 4 | 8, .. }) => self.local[index] = Some(bytes),
            None if index == self.parameters.len() => self.scratch = bytes,
            _ => return Err(REFUSED),
        }
        self.lay_out();
        Ok(())
    }

    /// Gives work-group memory its offsets: the scratch memory comes first, then parameter by
    /// parameter.
    fn lay_out(&mut self) {
        let mut end = self.scratch;
        for (parameter, local) in self.parameters.iter().zip(&self.local) {
            let Some(bytes) = *local else {
                continue;
            };
            // A multiple of what the elements are aligned for: that divides their size.
            let alignment = match bytes {
                0 => 1,
                bytes => LARGEST_ALIGNMENT.min(bytes.checked_next_power_of_two().unwrap_or(1)),
            };
            let offset = end.next_multiple_of(alignment);
            end = offset.saturating_add(bytes);
            let place = parameter.offset..parameter.offset + parameter.size;
            // More than four bytes can say is more than a device has.
            let offset = (offset as u64).to_le_bytes();
            self.bytes[place].copy_from_slice(&offset[..parameter.size]);
        }
        self.local_bytes = end;
    }

    /// Returns the size of a launch's work-group memory in bytes.
    #[inline]
    pub(in crate::backend::cuda) fn local_bytes(&self) -> usize {
        self.local_bytes
    }

    /// Where each argument is, in the order of the parameters. Each is good for reading as many bytes
    /// as its parameter has, as long as this is borrowed.
    #[inline]
    pub(in crate::backend::cuda) fn pointers(&self) -> impl Iterator<Item = *const u8> {
        let bytes = &self.bytes;
        self.parameters
            .iter()
            .map(move |parameter| bytes[parameter.offset..].as_ptr())
    }
}

/// What a value of another size or kind is.
pub(in crate::backend::cuda) const REFUSED: Failure = Failure::cuda(LAUNCH, INVALID_VALUE);

#[cfg(test)]
mod tests {
    use super::*;

    /// A pointer, two places of work-group memory, and an `int`.
    fn values() -> Values {
        let parameter = |offset, size| Slot { offset, size };
        Values::new(vec![
            parameter(0, 8),
            parameter(8, 4),
            parameter(16, 8),
            parameter(24, 4),
        ])
    }

    #[test]
    fn arguments_lie_where_the_kernel_has_them() {
        let mut values = values();
        values
            .set(0, &0x1122_3344_5566_7788u64.to_le_bytes())
            .unwrap();
        values.set(3, &7i32.to_le_bytes()).unwrap();
        assert_eq!(values.bytes[..8], 0x1122_3344_5566_7788u64.to_le_bytes());
        assert_eq!(values.bytes[24..], 7i32.to_le_bytes());
        values.set_null(0).unwrap();
        assert_eq!(values.bytes[..8], [0; 8]);
        let base = values.bytes.as_ptr();
        let places: Vec<usize> = values
            .pointers()
            .map(|pointer| pointer.addr() - base.addr())
            .collect();
        assert_eq!(places, [0, 8, 16, 24]);
    }

    #[test]
    fn a_value_of_another_size_is_refused() {
        let mut values = values();
        assert_eq!(values.set(0, &[0; 4]), Err(REFUSED));
        assert_eq!(values.set(3, &[0; 8]), Err(REFUSED));
        assert_eq!(values.set(4, &[0; 8]), Err(REFUSED));
        assert_eq!(values.set_null(4), Err(REFUSED));
        assert_eq!(values.set_local(5, 16), Err(REFUSED));
        assert_eq!(Values::new(Vec::new()).set(0, &[]), Err(REFUSED));
    }

    #[test]
    fn local_memory_is_aligned_after_scratch_memory() {
        let mut values = values();
        let offsets = |values: &Values| {
            let first = u32::from_le_bytes(values.bytes[8..12].try_into().unwrap());
            let second = u64::from_le_bytes(values.bytes[16..24].try_into().unwrap());
            (first, second)
        };
        values.set_local(1, 12).unwrap();
        values.set_local(2, 1000).unwrap();
        assert_eq!((offsets(&values), values.local_bytes()), ((0, 128), 1128));
        values.set_local(4, 20).unwrap();
        assert_eq!((offsets(&values), values.local_bytes()), ((32, 128), 1128));
        values.set_local(1, 0).unwrap();
        assert_eq!((offsets(&values), values.local_bytes()), ((20, 128), 1128));
        // The other argument is not memory any more.
        values.set(2, &[0; 8]).unwrap();
        assert_eq!(values.local_bytes(), 20);
    }
}
