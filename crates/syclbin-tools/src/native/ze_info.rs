// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses the section `.ze_info`, which Intel's GPU compiler writes in YAML. Only the keys for [`Kernel`] are read.
//!
//! The compiler uses a small subset of YAML: one key and value on each line, nesting by indentation, and list items
//! that begin with `- `. Other lines are skipped.

use alloc::string::String;

use super::Kernel;

/// The compiler's entry for functions that kernels share, which is not a kernel.
const SHARED_FUNCTIONS: &str = "Intel_Symbol_Table_Void_Program";

struct Line<'a> {
    depth: usize,
    is_item: bool,
    key: &'a str,
    value: &'a str,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let item = text.strip_prefix("- ").map(str::trim_start);
        let (key, value) = item.unwrap_or(text).split_once(':')?;
        let value = value.trim();
        let unquoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
        Some(Self {
            depth: line.len() - text.len(),
            is_item: item.is_some(),
            key,
            value: unquoted('\'').or_else(|| unquoted('"')).unwrap_or(value),
        })
    }
}

pub(super) fn kernels(section: &[u8]) -> impl Iterator<Item = Kernel> {
    let lines = section.split(|byte| *byte == b'\n');
    let mut lines = lines.filter_map(|line| Line::of(core::str::from_utf8(line).ok()?));
    let mut is_in_list = false;
    // The depth of `execution_env` while its keys are read.
    let mut environment: Option<usize> = None;
    let mut kernel: Option<Kernel> = None;
    let is_kernel = |kernel: &Kernel| kernel.symbol != SHARED_FUNCTIONS;
    core::iter::from_fn(move || {
        loop {
            let Some(line) = lines.next() else {
                return kernel.take().filter(is_kernel);
            };
            let mut finished = None;
            if line.depth == 0 && !line.is_item {
                finished = kernel.take();
                is_in_list = line.key == "kernels";
            } else if is_in_list && line.is_item && line.key == "name" {
                finished = kernel.replace(started(line.value));
            } else if line.key == "execution_env" {
                environment = Some(line.depth);
            } else if environment.is_some_and(|depth| line.depth <= depth) {
                environment = None;
            } else if environment.is_some()
                && let Some(kernel) = &mut kernel
            {
                read(&line, kernel);
            }
            if line.is_item {
                environment = None;
            }
            if let Some(finished) = finished.filter(is_kernel) {
                return Some(finished);
            }
        }
    })
}

/// Returns a kernel whose statistics are zero, because the compiler omits keys with zero values.
fn started(name: &str) -> Kernel {
    Kernel {
        symbol: String::from(name),
        spill_size: Some(0),
        private_size: Some(0),
        local_size: Some(0),
        barriers: Some(0),
        stack_calls: Some(false),
        ..Kernel::default()
    }
}

fn read(line: &Line<'_>, kernel: &mut Kernel) {
    let small = line.value.parse::<u32>().ok();
    let large = line.value.parse::<u64>().ok();
    match line.key {
        "simd_size" => kernel.simd_width = small,
        "grf_count" => kernel.registers = small,
        "spill_size" => kernel.spill_size = large,
        "private_size" => kernel.private_size = large,
        "slm_size" => kernel.local_size = large,
        "barrier_count" => kernel.barriers = small,
        "has_stack_calls" => kernel.stack_calls = Some(line.value == "true"),
        _ => {}
    }
}
