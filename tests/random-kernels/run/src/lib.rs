// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the generated tests share: random values, what kernels must make of them, and a report.
#![forbid(unsafe_code)]

mod numbers;
mod report;
mod values;

pub use numbers::{Bits, Divide, Tame, Variable, agree};
pub use report::{Outcome, Report};
pub use values::{Values, same, values};
