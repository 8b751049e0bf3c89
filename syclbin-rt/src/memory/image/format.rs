// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pixel formats: how images store pixels, and what kernels read.

use std::marker::PhantomData;

use bytemuck::Pod;

use crate::backend::{Order, Storage};

/// How an image stores its pixels: [`R`], [`Rg`] or [`Rgba`] of a [`Channel`].
///
/// ```
/// use syclbin_rt::format::{Format, R, Rgba, Unorm8};
///
/// let red: <Rgba<Unorm8> as Format>::Pixel = [255, 0, 0, 255];
/// let height: <R<f32> as Format>::Pixel = 1.5;
/// ```
pub trait Format: sealed::Format + 'static {
    /// A pixel in host memory: a number, or an array of numbers.
    type Pixel: Pod;
    /// The component type that kernels read and write: `f32` for `sycl::float4`, `i32` for `sycl::int4`, `u32` for
    /// `sycl::uint4`.
    type Element;
}

/// How an image stores a component of a pixel.
///
/// | channel | in host memory | in kernels |
/// |---|---|---|
/// | [`Unorm8`], [`Unorm16`] | `u8`, `u16` | `float` from 0 to 1 |
/// | [`Snorm8`], [`Snorm16`] | `i8`, `i16` | `float` from -1 to 1 |
/// | `f32`, `half::f16` | the same | `float` |
/// | `i8`, `i16`, `i32` | the same | `int` |
/// | `u8`, `u16`, `u32` | the same | `unsigned int` |
pub trait Channel: sealed::Channel + 'static {
    /// A component in host memory.
    type Number: Pod;
    /// A component in kernels.
    type Element;
}

/// Pixels with one component. Kernels read 0 for the second and third component, and 1 for the fourth.
pub struct R<C>(PhantomData<C>);

/// Pixels with two components. Kernels read 0 for the third component, and 1 for the fourth.
pub struct Rg<C>(PhantomData<C>);

/// Pixels with four components.
pub struct Rgba<C>(PhantomData<C>);

/// A `u8` that kernels read as a `float` from 0 to 1.
pub enum Unorm8 {}

/// A `u16` that kernels read as a `float` from 0 to 1.
pub enum Unorm16 {}

/// An `i8` that kernels read as a `float` from -1 to 1.
pub enum Snorm8 {}

/// An `i16` that kernels read as a `float` from -1 to 1.
pub enum Snorm16 {}

pub(crate) mod sealed {
    use super::{Order, Storage};

    pub trait Format {
        const ORDER: Order;
        const STORAGE: Storage;
    }

    pub trait Channel {
        const STORAGE: Storage;
    }
}

macro_rules! channels {
    ($($(#[$meta:meta])* $name:ty, $storage:ident, $number:ty, $element:ty;)*) => {
        $(
            $(#[$meta])*
            impl sealed::Channel for $name {
                const STORAGE: Storage = Storage::$storage;
            }

            $(#[$meta])*
            impl Channel for $name {
                type Number = $number;
                type Element = $element;
            }
        )*
    };
}

channels! {
    Unorm8, Unorm8, u8, f32;
    Unorm16, Unorm16, u16, f32;
    Snorm8, Snorm8, i8, f32;
    Snorm16, Snorm16, i16, f32;
    f32, F32, f32, f32;
    #[cfg(feature = "half")]
    half::f16, F16, half::f16, f32;
    i8, I8, i8, i32;
    i16, I16, i16, i32;
    i32, I32, i32, i32;
    u8, U8, u8, u32;
    u16, U16, u16, u32;
    u32, U32, u32, u32;
}

macro_rules! orders {
    ($($name:ident, $pixel:ty;)*) => {
        $(
            impl<C: Channel> sealed::Format for $name<C> {
                const ORDER: Order = Order::$name;
                const STORAGE: Storage = C::STORAGE;
            }

            impl<C: Channel> Format for $name<C> {
                type Pixel = $pixel;
                type Element = C::Element;
            }
        )*
    };
}

orders! {
    R, C::Number;
    Rg, [C::Number; 2];
    Rgba, [C::Number; 4];
}
