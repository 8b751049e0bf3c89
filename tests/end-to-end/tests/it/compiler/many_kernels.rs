// SPDX-License-Identifier: MIT OR Apache-2.0
//! A source with many kernels: the first launch of one compiles that kernel only.
#![allow(unsafe_code)] // loading a file and launching a kernel are unsafe

use std::fmt::Write as _;
use std::time::Instant;

use syclbin_rt::{Arg, Launch, Module, Queue, Result};

use crate::common;
use crate::common::clang::{clang, said};

const KERNELS: usize = 100;

/// Returns a source whose kernel `workN` adds N and a polynomial to each element.
fn source() -> String {
    let mut source = String::from(
        "#include <syclbin/kernel.hpp>\n#include <syclbin/math.hpp>\n\
         namespace syclexp = sycl::ext::oneapi::experimental;\n",
    );
    for number in 0..KERNELS {
        write!(
            source,
            r#"
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void work{number}(float *out, int n) {{
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  float x = out[i], t[16];
  for (int k = 0; k < 16; ++k) t[k] = sycl::sin(x + k) * {number};
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < 16; ++k)
      t[k] = sycl::fma(t[k], t[(k + j + {number}) % 16], sycl::exp(x - k)) + sycl::pow(x, t[k * 3 % 16]);
  for (int k = 0; k < 16; ++k) x += n > 0 ? t[k] : 0;
  out[i] = x + {number};
}}
"#
        )
        .unwrap();
    }
    source
}

fn run(queue: &Queue, module: &Module, number: usize) -> Result<Vec<f32>> {
    let kernel = module.kernel(&format!("work{number}"));
    let mut out = queue.upload(&[0.5f32, 1.5])?;
    let args = [Arg::write(&mut out), Arg::scalar(0i32)];
    // SAFETY: one work-item per element.
    unsafe { Launch::new(&kernel, &["out", "n"], args).launch(2)? };
    queue.download(&out)
}

/// Prints how long the first launch takes, and how long it takes to compile everything.
#[test]
fn first_launch_compiles_its_own_kernel() {
    let Some(queue) = common::queue() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("many.cpp"), source()).unwrap();
    let arguments = [
        "-fsycl",
        "-fsyclbin=object",
        "-O2",
        "-o",
        "many",
        "many.cpp",
    ];
    let output = clang(&arguments, folder.path());
    assert!(output.status.success(), "{}", said(&output));
    let bytes = std::fs::read(folder.path().join("many")).unwrap();
    let start = Instant::now();
    // SAFETY: a compiler made it.
    let module = unsafe { Module::load(&queue, &bytes) }.unwrap();
    let loaded = start.elapsed();
    assert_eq!(module.kernel_names().count(), KERNELS);
    assert_eq!(run(&queue, &module, 57).unwrap(), [57.5, 58.5]);
    let launched = start.elapsed();
    module.build().unwrap();
    let built = start.elapsed();
    eprintln!(
        "loaded after {loaded:.0?}, a kernel has run after {launched:.0?}, all are built after {built:.0?}"
    );
    for number in [0, 56, 57, 99] {
        let number = number % KERNELS;
        let added = f32::from(u8::try_from(number).unwrap());
        assert_eq!(
            run(&queue, &module, number).unwrap(),
            [0.5 + added, 1.5 + added]
        );
    }
}
