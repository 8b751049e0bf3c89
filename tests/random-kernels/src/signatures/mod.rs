// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that take parameters of all kinds, and write back every byte that they receive.
//!
//! Left out, because syclbin documents that it cannot pass them:
//!
//! - samplers, which devices of CUDA do not take, and images,
//! - pointers to unions: their stubs take buffers of any type,
//! - enumerations of `bool` by value: clang passes a type that kernels cannot take,
//! - arrays that a lambda captures, or that a functor with accessors holds: nothing in the file says what
//!   they hold. The message names the parameter,
//! - bit-fields of more than 64 bits without a gap: the kernel is left out, and the message names the struct,
//! - base classes in whose padding members of the derived class stand; `end-to-end` has a test of them.
//!
//! Left out, because others test them: `dynamic_work_group_memory`, structs in unnamed namespaces.

mod cpp;
mod draw_type;
mod generate;
mod kernel;
mod names;
mod rust;
mod spelling;
mod types;

use crate::{Program, Setting, Source};
use kernel::Kernel;

/// So many kernels are in one source.
const IN_A_SOURCE: usize = 50;

/// Returns the numbers of the parameters of a kernel.
#[must_use]
pub fn parameters(setting: &Setting, number: usize) -> Vec<usize> {
    let kernel = generate::kernel(setting, number);
    kernel
        .parameters
        .iter()
        .map(|parameter| parameter.number)
        .collect()
}

/// Returns the program for `setting`.
#[must_use]
pub fn program(setting: &Setting) -> Program {
    let numbers = setting.first..setting.first + setting.count;
    let (full, slim): (Vec<usize>, Vec<usize>) =
        numbers.partition(|number| generate::is_full(*number));
    let groups = slim.chunks(IN_A_SOURCE).chain(full.chunks(IN_A_SOURCE));
    let mut program = Program {
        sources: Vec::new(),
        calls: String::new(),
    };
    let mut files = Vec::new();
    for (index, group) in groups.enumerate() {
        let name = format!("stubs_{index}");
        let kernels: Vec<Kernel> = group
            .iter()
            .map(|number| generate::kernel(setting, *number))
            .collect();
        let mut text = cpp::prelude(kernels.iter().any(|kernel| kernel.full));
        let mut calls = format!("syclbin_rt::include_syclbin! {{ pub mod {name} = {name:?}; }}\n");
        let mut table = String::new();
        for kernel in &kernels {
            text += &cpp::kernel(kernel);
            calls += &rust::function(kernel, &name);
            table += &format!("({0}, kernel_{0}), ", kernel.number);
        }
        program.calls += &format!(
            "{calls}fn run_{name}(queue: &Queue, report: &mut Report) {{\n    \
             report.run_all({name}::Module::load(queue), queue, &[{table}]);\n}}\n"
        );
        files.push(format!("run_{name}"));
        program.sources.push(Source { name, text });
    }
    program.calls += &format!(
        "const FILES: &[fn(&Queue, &mut Report)] = &[{}];\n",
        files.join(", ")
    );
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting = Setting {
        seed: 3,
        first: 0,
        count: 200,
        keep: None,
        stray: None,
    };

    #[test]
    fn a_seed_determines_the_program() {
        let (one, other) = (program(&SETTING), program(&SETTING));
        assert_eq!(one.calls, other.calls);
        assert_eq!(one.sources.len(), 5);
    }

    #[test]
    fn kernels_have_up_to_forty_parameters() {
        let counts: Vec<usize> = (0..2000)
            .map(|number| parameters(&SETTING, number).len())
            .collect();
        assert_eq!(counts.iter().min(), Some(&0));
        assert!(counts.iter().max() >= Some(&25), "{counts:?}");
    }

    #[test]
    fn shrinking_keeps_the_other_parameters() {
        let number = (0..).find(|number| parameters(&SETTING, *number).len() > 3);
        let number = number.unwrap_or_default();
        let smaller = Setting {
            keep: Some(vec![1, 3]),
            ..SETTING
        };
        assert_eq!(parameters(&smaller, number), [1, 3]);
    }
}
