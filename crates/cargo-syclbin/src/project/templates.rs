// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that are written. `NAME` stands for the name of the kernel's source.

/// The kernel.
pub(super) const KERNEL: &str = "\
#include <syclbin/kernel.hpp>

// Work-item i computes y[i].
SYCLBIN_KERNEL(1)
void saxpy(float a, const float *x, float *y, unsigned n) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  if (i < n) y[i] = a * x[i] + y[i];
}
";

/// The build script.
pub(super) const BUILD: &str = "\
fn main() {
    syclbin_build::Build::new()
        .source(\"kernels/NAME.cpp\")
        .compile(\"NAME\");
}
";

/// The program.
pub(super) const MAIN: &str = "\
syclbin_rt::include_syclbin! {
    mod kernels = \"NAME\";
    // SAFETY: work-item i reads x[i] and y[i] and writes y[i], for i < n. Each launch checks the lengths.
    unsafe extern \"SYCL\" {
        safe fn saxpy where x.len() >= n, y.len() >= n;
    }
}

const N: usize = 1 << 20;

fn main() -> syclbin_rt::Result<()> {
    let queue = kernels::Module::best_device()?.queue()?;
    let kernels = kernels::Module::load(&queue)?;

    let x = queue.upload(&vec![1.0f32; N])?;
    let mut y = queue.upload(&vec![2.0f32; N])?;
    kernels.saxpy(2.0, &x, &mut y, N as u32).launch(N)?;

    println!(\"{}: y[0] = {}\", queue.device(), queue.download(&y)?[0]);
    Ok(())
}
";

/// The module with the kernels of a crate that has other code too.
pub(super) const MODULE: &str = "\
//! The SYCL kernels that the build script compiles.

syclbin_rt::include_syclbin! {
    pub mod NAME = \"NAME\";
    // SAFETY: work-item i reads x[i] and y[i] and writes y[i], for i < n. Each launch checks the lengths.
    unsafe extern \"SYCL\" {
        safe fn saxpy where x.len() >= n, y.len() >= n;
    }
}
";

/// What a crate with [`MODULE`] adds to its own code.
pub(super) const CALL: &str = "\
mod kernels;

fn saxpy() -> syclbin_rt::Result<()> {
    let queue = kernels::NAME::Module::best_device()?.queue()?;
    let kernels = kernels::NAME::Module::load(&queue)?;
    let x = queue.upload(&[1.0f32; 64])?;
    let mut y = queue.upload(&[2.0f32; 64])?;
    kernels.saxpy(2.0, &x, &mut y, 64).launch(64)?;
    println!(\"{}: y[0] = {}\", queue.device(), queue.download(&y)?[0]);
    Ok(())
}
";

/// The workflow of GitHub Actions. `REPOSITORY` stands for the repository with the action.
pub(super) const WORKFLOW: &str = "\
name: ci
on:
  push:
  pull_request:
jobs:
  test:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      # The SYCL compiler, and a device that runs kernels on the CPU.
      - uses: REPOSITORY/.github/actions/toolchain@main
      - run: cargo build
      - run: cargo test
      - run: cargo run
";

/// The files that Git ignores.
pub(super) const GITIGNORE: &str = "/target\n";
