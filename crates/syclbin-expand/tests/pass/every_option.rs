// SPDX-License-Identifier: MIT OR Apache-2.0
//! Uses every documented option, in a crate with strict lints.
#![deny(
    warnings,
    missing_docs,
    unreachable_pub,
    rust_2018_idioms,
    unused_qualifications
)]

use syclbin_rt::bytemuck::{Pod, Zeroable};
use syclbin_rt::{Buffer, Launch, LocalMemory, NdRange, Queue, Range, Result, SafeLaunch};

syclbin_rt::include_syclbin! {
    /// Docs of its own.
    #[allow(clippy::pedantic)]
    #[cfg(not(windows))]
    pub mod kernels = "declared.syclbin";

    types {
        Particle => crate::Particle,
        ns::Pair<int, 2> as Pair,
        World as Universe,
    }
    skip { nothing, fill::* }
    unsafe extern "SYCL" {
        safe fn saxpy as axpy where x.len() >= n, y.len() >= n, range.dimensions() == 1,
            if n == 0 { return true } else { range.items() > 0 };
        safe fn step where particles.len() >= world.count, world.grid.b != 3, world.grid.a[1] > -4,
            range.dimensions() == 2;
    }
    pub(crate) fn scale<int> as scale_ints;
    fn scale<double> as r#match;
    fn f(float *, int) as fill_f;
    fn f(int) as only_n;
    fn "_ZTSZ4hostvEUlvE_" as lambda;
    unsafe extern "SYCL" {
        pub(crate) safe fn block_sum where r#in.len() >= range.items(), out.len() * 64 >= range[0];
        safe fn pairs where in.len() > 4 || r#in.len() == 0, mode.min(LARGEST) < 2, !flag || in.len() < SOME.len(),
            range.dimensions() == 1;
        safe fn raw where from: Option, from.is_none() || from.len() >= bytes, to.len() >= bytes,
            range.dimensions() == 1;
        safe fn shared where scratch.len() >= 1, out.len() >= range[0] * range[1] * range[2],
            range.dimensions() == 3;
    }
}

const LARGEST: u8 = 7;
static SOME: [usize; 100] = [0; 100];

/// A particle.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[bytemuck(crate = "syclbin_rt::bytemuck")]
#[repr(C)]
pub struct Particle {
    /// Kilograms.
    pub mass: f32,
    id: i32,
    position: [f64; 3],
}

/// The kernels' arguments.
#[derive(Debug)]
pub struct Arguments {
    x: Buffer<f32>,
    y: Buffer<f32>,
    ints: Buffer<i32>,
    doubles: Buffer<f64>,
    particles: Buffer<Particle>,
    words: Buffer<u16>,
    pairs: Buffer<kernels::ns::Pair>,
}

/// Calls every kernel by its chosen name, and uses the other generated items.
pub fn calls(queue: &Queue, with: &mut Arguments) -> Result<()> {
    let kernels = kernels::Module::builder(queue)
        .radius(3)
        .ns_gain(0.5)
        .load()?;
    let axpy: SafeLaunch<'_, 4, NdRange<1>> = kernels.axpy(2.0, &with.x, &mut with.y, 3);
    axpy.launch(4)?;
    let world = kernels::Universe {
        gravity: 9.81,
        count: 3,
        ..Default::default()
    };
    kernels.step(world, &mut with.particles).launch([4, 4])?;
    let _: Launch<'_, 2> = kernels.scale_ints(&mut with.ints, 2);
    let _ = kernels.r#match(&mut with.doubles, 2.0);
    let _ = kernels.fill_f(&mut with.y, 2);
    let _ = kernels.only_n(2);
    let _ = kernels.lambda(&mut with.ints);
    let input = queue.zeroed(64)?;
    let sum: SafeLaunch<'_, 2, Range<1>> = kernels.block_sum(&input, &mut with.ints);
    sum.launch(64)?;
    let _ = kernels
        .pairs(1, &with.pairs, true)
        .launch(NdRange::new(4).local(2))?;
    let _ = kernels.raw(Some(&with.words), &mut with.y, 3).launch(1);
    let none = None::<&Buffer<u8>>.map(|buffer| &**buffer);
    let raw = kernels.raw(none, &mut with.y, 3);
    let _ = (raw.attributes()?.max_work_group_size, raw.kernel()?.symbol());
    let _ = kernels
        .shared(LocalMemory::of(3), &mut with.ints)
        .launch([1, 2, 3]);
    assert_eq!(kernels::Module::COORDS_LOCAL_SIZE, [2, 4, 8]);
    kernels.table()?.write(&[1, 2, 3, 4])?;
    let _: f32 = kernels.ns.bias()?.read()?;
    Ok(())
}

fn main() {
    assert!(!kernels::SYCLBIN.is_empty());
}
