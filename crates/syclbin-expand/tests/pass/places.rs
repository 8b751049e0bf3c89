// SPDX-License-Identifier: MIT OR Apache-2.0
//! The macro works wherever a module is allowed, and several times for the same file.
#![deny(warnings, unreachable_pub)]

use syclbin_rt::{Queue, Result};

syclbin_rt::include_syclbin! { mod private = "declared.syclbin"; }
syclbin_rt::include_syclbin! { pub(crate) mod shared = "declared.syclbin"; }
syclbin_rt::include_syclbin! { pub mod public = "declared.syclbin"; }
syclbin_rt::include_syclbin! { mod r#match = "declared.syclbin"; only { nothing } }

mod outer {
    pub(crate) mod inner {
        use syclbin_rt::include_syclbin;

        include_syclbin! {
            pub(in crate::outer) mod kernels = "declared.syclbin";
            types { World => crate::outer::inner::World }
        }

        include_syclbin! { pub(super) mod more = "vector_ops.object.syclbin"; skip { scale<int> } }

        #[derive(Clone, Copy, syclbin_rt::bytemuck::Pod, syclbin_rt::bytemuck::Zeroable)]
        #[bytemuck(crate = "syclbin_rt::bytemuck")]
        #[repr(C)]
        pub(crate) struct World {
            gravity: f32,
            count: u32,
            grid: kernels::ns::Pair_int_2,
        }
    }

    pub(crate) fn load(queue: &syclbin_rt::Queue) -> syclbin_rt::Result<()> {
        let _ = inner::kernels::Module::load(queue)?;
        let _ = inner::more::Module::load(queue)?;
        Ok(())
    }
}

macro_rules! kernels {
    ($(#[$attribute:meta])* $module:ident from $file:literal, $($kernel:ident)*) => {
        syclbin_rt::include_syclbin! {
            $(#[$attribute])*
            mod $module = $file;
            only { $($kernel),* }
        }
    };
}

kernels! { #[allow(unused)] of_a_macro from "declared.syclbin", saxpy step }

#[cfg(any())]
syclbin_rt::include_syclbin! { mod never = "declared.syclbin"; }

syclbin_rt::include_syclbin! {
    #[cfg(any())]
    mod never_either = "declared.syclbin";
}

const LEAST: usize = 4;

mod gpu {
    pub(crate) const MOST: usize = 1 << 20;

    syclbin_rt::include_syclbin! {
        mod with_conditions = "declared.syclbin";
        unsafe extern "SYCL" {
            safe fn saxpy where x.len() >= n, y.len() >= super::LEAST, n <= self::MOST,
                n >= self::super::LEAST,
                if n > 4 { x.len() <= y.len() } else { true } && n < crate::gpu::MOST,
                range.dimensions() == 1;
        }
    }
}

/// Embeds the file in a function, with a generic parameter.
pub fn function<T>(queue: &Queue, _: T) -> Result<()> {
    syclbin_rt::include_syclbin! {
        mod kernels = "declared.syclbin";
        unsafe extern "SYCL" {
            safe fn block_sum where r#in.len() >= range.items(), out.len() * 64 >= range.items();
        }
    }
    let module = kernels::Module::load(queue)?;
    let mut out = queue.zeroed(4)?;
    module
        .block_sum(&queue.zeroed(256)?, &mut out)
        .launch(256)?;
    let _ = private::Module::load(queue)?;
    let _ = shared::Module::load(queue)?;
    let _ = r#match::Module::load(queue)?.nothing();
    let _ = of_a_macro::Module::load(queue)?;
    outer::load(queue)
}

/// Embeds the file inside an expression.
pub const BYTES: usize = {
    syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; only { nothing } }
    kernels::SYCLBIN.len()
};

fn main() {
    assert_eq!(BYTES, public::SYCLBIN.len());
}
