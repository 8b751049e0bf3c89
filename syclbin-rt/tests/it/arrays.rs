// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tensors of DLPack, and arrays of the crate `ndarray`.

#[cfg(feature = "dlpack")]
mod dlpack {
    #![allow(unsafe_code, reason = "tensors are foreign pointers")]

    use std::ffi::c_void;
    use std::sync::Arc;

    use syclbin_rt::dlpack::dlpk::sys::DLDataType;
    use syclbin_rt::dlpack::dlpk::{DLDeviceType, DLPackTensor, GetDLPackDataType};
    use syclbin_rt::{Arg, Buffer, DeviceArray, ErrorKind, Launch, Result};

    use crate::common;

    /// Returns the data pointer and the offset of a tensor.
    fn place(tensor: &DLPackTensor) -> (*mut c_void, u64) {
        let raw = tensor.as_ref().raw;
        (raw.data, raw.byte_offset)
    }

    #[test]
    fn round_trip_keeps_the_address() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let buffer = queue.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
        let handle = buffer.native();
        let tensor = buffer.into_dlpack(&[2, 3])?;
        let device = tensor.device().device_type;
        assert_eq!(device == DLDeviceType::kDLCUDA, common::on_cuda());
        assert_eq!(
            (tensor.shape(), tensor.strides()),
            (&[2, 3][..], Some(&[3, 1][..]))
        );
        assert!(!place(&tensor).0.is_null());
        // SAFETY: the tensor is of this context, complete, and may be dropped anywhere.
        let (mut same, shape) = unsafe { queue.buffer_from_dlpack::<f32>(tensor) }?;
        assert_eq!(shape, [2, 3]);
        assert_eq!(same.native(), handle);
        queue.fill(&mut same.slice_mut(..1)?, 7.0)?.wait()?;
        let tensor = same.into_dlpack(&[6, 1])?;
        // SAFETY: as above.
        let (again, _) = unsafe { queue.buffer_from_dlpack::<f32>(tensor) }?;
        assert_eq!(again.native(), handle);
        assert_eq!(queue.download(&again)?, [7.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        Ok(())
    }

    #[test]
    fn dropped_tensor_drops_its_buffer() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let memory = queue.upload(&[1.0f32, 2.0])?;
        let owner = Arc::new(());
        // SAFETY: the memory is of this context, has this size, and is dropped last.
        let buffer =
            unsafe { queue.buffer_from_native::<f32, _>(memory.native(), 2, Arc::clone(&owner)) }?;
        let tensor = buffer.into_dlpack(&[2])?;
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(tensor);
        assert_eq!(Arc::strong_count(&owner), 1);
        Ok(())
    }

    #[test]
    fn prepared_memory_becomes_no_tensor() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let iota = "_ZN18__sycl_kernel_fill4iotaEfPfi";
        let kernel = common::kernel(&queue, "vector_ops.object.syclbin", iota);
        let prepare = |out: &mut Buffer<f32>| {
            let args = [Arg::scalar(0.0f32), Arg::write(out), Arg::scalar(4i32)];
            Launch::new(&kernel, &["start", "out", "count"], args).prepare(4)
        };
        let mut held = queue.zeroed(4)?;
        let prepared = prepare(&mut held)?;
        let error = held.into_dlpack(&[4]).unwrap_err();
        assert!(error.kind() == ErrorKind::MemoryInUse, "{error}");
        drop(prepared);
        let mut free = queue.zeroed(4)?;
        drop(prepare(&mut free)?);
        drop(free.into_dlpack(&[4])?);
        Ok(())
    }

    #[test]
    fn memory_of_forgotten_view_becomes_no_tensor() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let buffer = queue.zeroed::<f32>(4)?;
        let Ok(view) = queue.map(&buffer) else {
            common::say_skipped("the host cannot map buffers");
            return Ok(());
        };
        std::mem::forget(view);
        let error = buffer.into_dlpack(&[4]).unwrap_err();
        assert!(error.kind() == ErrorKind::MemoryInUse, "{error}");
        Ok(())
    }

    /// An element type with bytes `N`, which claims to be `f32`.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    struct Claims<const N: usize>([u8; N]);

    // SAFETY: an array of bytes has neither padding nor invalid values.
    unsafe impl<const N: usize> bytemuck::Zeroable for Claims<N> {}
    // SAFETY: as above.
    unsafe impl<const N: usize> bytemuck::Pod for Claims<N> {}

    impl<const N: usize> GetDLPackDataType for Claims<N> {
        fn get_dlpack_data_type() -> DLDataType {
            f32::get_dlpack_data_type()
        }
    }

    #[test]
    fn element_types_of_wrong_sizes_are_refused() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let tensor = || queue.zeroed::<f32>(4)?.into_dlpack(&[4]);
        let small = queue.zeroed::<Claims<2>>(4)?.into_dlpack(&[4]).unwrap_err();
        let nothing = queue.zeroed::<Claims<0>>(4)?.into_dlpack(&[4]).unwrap_err();
        // SAFETY: a tensor with another type is only dropped.
        let large = unsafe { queue.buffer_from_dlpack::<Claims<8>>(tensor()?) }.unwrap_err();
        for (error, bytes) in [(small, "2 bytes"), (nothing, "0 bytes"), (large, "8 bytes")] {
            assert!(error.to_string().ends_with(bytes), "{error}");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        }
        // SAFETY: the tensor is of this context, complete, and may be dropped anywhere.
        let (same, _) = unsafe { queue.buffer_from_dlpack::<Claims<4>>(tensor()?) }?;
        assert_eq!(same.len(), 4);
        Ok(())
    }

    #[test]
    fn unfit_tensors_are_refused_with_the_reason() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let tensor = |shape: &[usize]| queue.upload(&[0u32; 6])?.into_dlpack(shape);
        let message = tensor(&[7]).unwrap_err().to_string();
        assert!(
            message.ends_with("a tensor of shape [7] does not have 6 elements"),
            "{message}"
        );
        // SAFETY: a tensor with another type is only dropped.
        let other = unsafe { queue.buffer_from_dlpack::<f32>(tensor(&[6])?) };
        let message = other.unwrap_err().to_string();
        assert!(
            message.ends_with("its elements are u32, not f32"),
            "{message}"
        );

        let transposed = tensor(&[2, 3])?;
        let raw = transposed.into_raw();
        // SAFETY: the tensor is ours, and its two strides are in a vector.
        let transposed = unsafe {
            let strides = (*raw.as_ptr()).dl_tensor.strides;
            (*strides, *strides.add(1)) = (1, 2);
            DLPackTensor::from_raw(raw)
        };
        // SAFETY: as above.
        let message = unsafe { queue.buffer_from_dlpack::<u32>(transposed) };
        let message = message.unwrap_err().to_string();
        assert!(message.contains("strides [1, 2]"), "{message}");

        let host = DLPackTensor::try_from(vec![1u32, 2]).expect("a tensor of the host");
        // SAFETY: as above.
        let message = unsafe { queue.buffer_from_dlpack::<u32>(host) };
        let message = message.unwrap_err().to_string();
        assert!(message.contains("it is on device"), "{message}");
        assert!(message.contains(&queue.device().to_string()), "{message}");
        Ok(())
    }

    #[test]
    fn tensor_may_begin_inside_its_memory() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let raw = queue
            .upload(&[1u32, 2, 3, 4])?
            .into_dlpack(&[4])?
            .into_raw();
        // SAFETY: the tensor is ours, and its shape is in a vector. The last two elements remain.
        let part = unsafe {
            let tensor = &mut (*raw.as_ptr()).dl_tensor;
            tensor.byte_offset += 8;
            *tensor.shape = 2;
            DLPackTensor::from_raw(raw)
        };
        // SAFETY: the tensor is of this context, complete, and may be dropped anywhere.
        let (part, shape) = unsafe { queue.buffer_from_dlpack::<u32>(part) }?;
        assert_eq!(shape, [2]);
        assert_eq!(queue.download(&part)?, [3, 4]);
        Ok(())
    }

    #[test]
    fn tensor_of_another_cuda_device_is_refused() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        if !common::on_cuda() {
            common::say_skipped("the numbers of devices are those of CUDA");
            return Ok(());
        }
        let raw = queue.zeroed::<u32>(4)?.into_dlpack(&[4])?.into_raw();
        // SAFETY: the tensor is ours.
        let other = unsafe {
            (*raw.as_ptr()).dl_tensor.device.device_id += 1;
            DLPackTensor::from_raw(raw)
        };
        // SAFETY: a tensor of another device is only dropped.
        let refused = unsafe { queue.buffer_from_dlpack::<u32>(other) };
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("it is on device"), "{message}");
        Ok(())
    }

    #[test]
    fn addresses_of_arrays_are_shared() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        if !queue
            .device()
            .has(syclbin_rt::Aspect::USM_DEVICE_ALLOCATIONS)
        {
            common::say_skipped("usm_device_allocations");
            return Ok(());
        }
        let array = DeviceArray::upload(&queue, &[1i64, 2, 3])?;
        let handle = array.native();
        // SAFETY: the buffer owns the array.
        let buffer = unsafe { queue.buffer_from_native::<i64, _>(handle, 3, array) }?;
        let tensor = buffer.into_dlpack(&[3])?;
        // SAFETY: the tensor is of this context, complete, and may be dropped anywhere.
        let (mut same, _) = unsafe { queue.buffer_from_dlpack::<i64>(tensor) }?;
        assert_eq!(same.native(), handle);
        queue.write(&mut same, &[4, 5, 6])?;
        assert_eq!(queue.download(&same)?, [4, 5, 6]);
        Ok(())
    }
}

#[cfg(feature = "ndarray")]
mod ndarray {
    use ndarray::{Array2, Array3, ShapeBuilder as _, arr0, array, s};
    use syclbin_rt::{ErrorKind, Padding, Result};

    use crate::common;

    #[test]
    fn views_of_any_layout_are_uploaded() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let cube = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| 100 * i + 10 * j + k);
        for view in [
            cube.view(),
            cube.slice(s![.., 1.., ..;2]),
            cube.slice(s![..;-1, .., 1..3]),
            cube.view().reversed_axes(),
            cube.slice(s![0..0, .., ..]),
        ] {
            let buffer = queue.upload_array(&view)?;
            assert_eq!(queue.download_array(&buffer, view.raw_dim())?, view);
        }
        Ok(())
    }

    #[test]
    fn broadcast_views_end_or_are_errors() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let many = 1usize << 45;
        let byte = arr0(1u8);
        let view = byte.broadcast(many).expect("it is not too large");
        let error = queue.upload_array(&view).unwrap_err();
        assert!(
            error.kind() == ErrorKind::OutOfMemory
                && error.to_string().contains("bytes on the host"),
            "{error}"
        );
        let nothing = arr0(Padding::<0>::default());
        let view = nothing.broadcast(many).expect("it is not too large");
        assert_eq!(queue.upload_array(&view)?.len(), many);
        Ok(())
    }

    #[test]
    fn shapes_are_checked_and_orders_followed() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let buffer = queue.upload(&[1, 2, 3, 4, 5, 6])?;
        let rows: Array2<i32> = queue.download_array(&buffer, (2, 3))?;
        assert_eq!(rows, array![[1, 2, 3], [4, 5, 6]]);
        let columns = queue.download_array(&buffer, (2, 3).f())?;
        assert_eq!(columns, array![[1, 3, 5], [2, 4, 6]]);
        let error = queue
            .download_array(&buffer, (4, 2))
            .unwrap_err()
            .to_string();
        let expected =
            "cannot download 6 elements as an array of shape [4, 2]: element counts differ";
        assert_eq!(error, expected);
        let huge = queue.download_array(&buffer, (usize::MAX, 2));
        assert!(huge.is_err());
        Ok(())
    }
}
