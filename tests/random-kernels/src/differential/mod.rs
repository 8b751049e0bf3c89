// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that compute, and the same in Rust: every device must come to the same bits.
//!
//! Only what C++ and the devices define: integers wrap in types without a sign, floating-point numbers stay
//! in a range without infinities and subnormal numbers, and nothing is contracted (`-ffp-contract=off`).

mod expression;

use crate::{Program, Random, Setting, Side, Source};
use expression::{Both, Draw, Kind, NUMBERS, Number};

/// How many work-items run, and how many are in a work-group.
const ITEMS: usize = 64;
const GROUP: usize = 16;

const IN_A_SOURCE: usize = 50;

/// What stands above all kernels of a source.
const PRELUDE: &str = "#include <syclbin/atomic.hpp>
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/local_memory.hpp>
#include <syclbin/math.hpp>
template <class T> T quotient(T a, T b) {
  if (b == 0) return a;
  if (T(-1) < T(0) && b == T(-1)) return T(0 - (unsigned long)a);
  return a / b;
}
template <class T> T remainder(T a, T b) {
  if (b == 0) return a;
  if (T(-1) < T(0) && b == T(-1)) return 0;
  return a % b;
}
template <class T> T tame(T v) {
  T size = v < 0 ? -v : v;
  return size < T(1e-15) ? T(0) : size < T(1e15) ? v : T(1);
}
template <class T, class Work> void atomically(T &total, Work work) {
  work(sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                        sycl::access::address_space::global_space>(total));
}
";

/// Returns the numbers of the statements of a kernel.
#[must_use]
pub fn statements(setting: &Setting, number: usize) -> Vec<usize> {
    let (_, _, statements) = kernel(setting, number);
    (0..statements).filter(|at| setting.keeps(*at)).collect()
}

/// Returns the program for `setting`.
#[must_use]
pub fn program(setting: &Setting) -> Program {
    let numbers: Vec<usize> = (setting.first..setting.first + setting.count).collect();
    let mut program = Program {
        sources: Vec::new(),
        calls: String::new(),
    };
    let mut files = Vec::new();
    for (index, group) in numbers.chunks(IN_A_SOURCE).enumerate() {
        let name = format!("computed_{index}");
        let mut text = PRELUDE.to_owned();
        program.calls +=
            &format!("syclbin_rt::include_syclbin! {{ pub mod {name} = {name:?}; }}\n");
        let mut table = String::new();
        for number in group {
            let (cpp, rust, _) = kernel(setting, *number);
            text += &cpp;
            program.calls += &rust.replace("MODULE", &name);
            table += &format!("({number}, kernel_{number}), ");
        }
        program.calls += &format!(
            "fn run_{name}(queue: &Queue, report: &mut Report) {{\n    \
             report.run_all({name}::Module::load(queue), queue, &[{table}]);\n}}\n"
        );
        files.push(format!("run_{name}"));
        program.sources.push(Source { name, text });
    }
    program.calls += &format!(
        "pub(super) const STRAYS: bool = {};\n",
        setting.stray.is_some()
    );
    program.calls += &format!(
        "const FILES: &[fn(&Queue, &mut Report)] = &[{}];\n",
        files.join(", ")
    );
    program
}

/// A kernel in C++, the same in Rust, and of how many statements it is.
fn kernel(setting: &Setting, number: usize) -> (String, String, usize) {
    let mut random = Random::new(setting.seed ^ 0x6469_6666, number as u64);
    let mut variables: Vec<&'static Number> = Vec::new();
    let (mut parameters, mut cpp) = (Vec::new(), String::new());
    let (mut rust, mut arguments) = (String::new(), String::new());
    for at in 0..random.between(1, 5) {
        let of = random.pick(&NUMBERS);
        variables.push(of);
        parameters.push(format!("const {} *in{at}", of.cpp));
        cpp += &format!("  {} v{at} = in{at}[i];\n", of.cpp);
        let draw = if of.kind == Kind::Float {
            "float"
        } else {
            "integer"
        };
        rust += &format!(
            "    let v{at}: Vec<{0}> = (0..{ITEMS}).map(|_| values.{draw}::<{0}>()).collect();\n    \
             let in{at} = queue.upload(&v{at})?;\n",
            of.rust
        );
        arguments += &format!("&in{at}, ");
    }
    let mut totals = 0;
    let statements = random.between(3, 20);
    for statement in 0..statements {
        let at = variables.len();
        let mut of = random.pick(&NUMBERS);
        let kept = setting.keeps(statement);
        let source = random.below(at);
        let shape = random.below(10);
        if shape == 0 {
            // Another work-item's value, through memory of the work-group.
            of = variables[source];
            let by = random.between(1, GROUP - 1);
            if kept {
                cpp += &format!(
                    "  auto &s{at} = reinterpret_cast<{0} (&)[{GROUP}]>(shared);\n  sycl::group_barrier(item.get_group());\n  s{at}[l] = v{source};\n  \
                     sycl::group_barrier(item.get_group());\n  {0} v{at} = s{at}[(l + {by}) % {GROUP}];\n",
                    of.cpp
                );
                rust += &format!(
                    "    let v{at}: Vec<{}> = (0..{ITEMS}).map(|i| v{source}[i / {GROUP} * {GROUP} + (i + {by}) % {GROUP}]).collect();\n",
                    of.rust
                );
            }
        } else if shape == 1 && variables[source].kind != Kind::Float {
            // All work-items on one number.
            of = variables[source];
            let (method, fold) = *random.pick(&[
                ("fetch_add", "a.wrapping_add(b)"),
                ("fetch_sub", "a.wrapping_sub(b)"),
                ("fetch_xor", "a ^ b"),
                ("fetch_or", "a | b"),
                ("fetch_and", "a & b"),
                ("fetch_min", "a.min(b)"),
                ("fetch_max", "a.max(b)"),
            ]);
            let (atomic, element) = *random.pick(&[("int", "i32"), ("unsigned", "u32")]);
            if kept {
                cpp += &format!(
                    "  atomically(reinterpret_cast<{atomic} &>(totals[{totals}]), [&](auto total) {{ total.{method}(({atomic})v{source}); }});\n"
                );
                rust += &format!(
                    "    total.push(v{source}.iter().fold(7{element}, |a, b| {{ let b = *b as {element}; {fold} }}) as u32);\n"
                );
                totals += 1;
            }
            cpp += &format!("  {} v{at} = v{source};\n", of.cpp);
            rust += &format!("    let v{at} = v{source}.clone();\n");
            variables.push(of);
            continue;
        } else {
            let mut draw = Draw {
                random: &mut random,
                variables: &variables,
            };
            let Both { cpp: c, rust: r } = draw.expression(of);
            if kept {
                cpp += &format!("  {} v{at} = {c};\n", of.cpp);
                rust += &format!(
                    "    let v{at}: Vec<{}> = (0..{ITEMS}).map(|i| {r}).collect();\n",
                    of.rust
                );
            }
        }
        if !kept {
            cpp += &format!("  {} v{at} = 1;\n", of.cpp);
            rust += &format!(
                "    let v{at}: Vec<{0}> = vec![1 as {0}; {ITEMS}];\n",
                of.rust
            );
        }
        variables.push(of);
    }
    let count = variables.len();
    for (at, of) in variables.iter().enumerate() {
        cpp += &format!(
            "  {{ unsigned long bits = 0; __builtin_memcpy(&bits, &v{at}, {}); out[i * {count} + {at}] = bits; }}\n",
            of.bits / 8
        );
    }
    if let Some(side) = setting.stray {
        cpp = astray(&cpp, side, setting.seed, number);
    }
    let cpp = format!(
        "\n// kernel {number}\nSYCLBIN_KERNEL(1)\nvoid kernel_{number}({}, unsigned long *out, unsigned *totals, \
         syclbin::work_group_memory<unsigned long[{GROUP}]> memory) {{\n  \
         auto item = syclbin::get_nd_item<1>();\n  \
         size_t i = item.get_global_linear_id(), l = item.get_local_linear_id();\n  \
         unsigned long (&shared)[{GROUP}] = *&memory;\n{cpp}}}\n",
        parameters.join(", ")
    );
    let all: String = (0..count).map(|at| format!("&v{at}, ")).collect();
    let rust = format!(
        "fn kernel_{number}(queue: &Queue, module: &MODULE::Module) -> Outcome {{\n    \
         let [mut values, ..] = values({number});\n    let mut total: Vec<u32> = Vec::new();\n{rust}    \
         let mut out = queue.zeroed::<u64>({ITEMS} * {count})?;\n    \
         let mut totals = queue.upload(&[7u32; {}])?;\n    \
         let range = NdRange::new({ITEMS}).local({GROUP});\n    \
         // SAFETY: the kernel stays inside of the buffers.\n    \
         unsafe {{ module.kernel_{number}({arguments}&mut out, &mut totals).launch(range) }}?;\n    \
         agree(&queue.download(&out)?, &[{all}])?;\n    \
         same(\"totals\", &queue.download(&totals)?[..{totals}], &total)\n}}\n",
        totals + 1
    );
    (cpp, rust, statements)
}

/// Moves one access of the kernel so far that some work-items leave the buffer at `side`.
fn astray(cpp: &str, side: Side, seed: u64, number: usize) -> String {
    let mut random = Random::new(seed ^ 0x7374_7261, number as u64);
    let sign = if side == Side::End { '+' } else { '-' };
    // Reads of a parameter, or writes of a result.
    let indices: Vec<usize> = ["[i]", "out[i *"]
        .iter()
        .flat_map(|access| {
            cpp.match_indices(access)
                .map(|(at, access)| at + access.find('i').unwrap_or(0))
        })
        .collect();
    let at = *random.pick(&indices);
    let by = random.between(1, ITEMS);
    let (before, after) = cpp.split_at(at);
    format!(
        "{before}(i {sign} {by}){}",
        after.strip_prefix('i').unwrap_or(after)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_program() {
        let setting = Setting {
            seed: 3,
            first: 0,
            count: 60,
            keep: None,
            stray: None,
        };
        assert_eq!(program(&setting).calls, program(&setting).calls);
        assert_eq!(program(&setting).sources.len(), 2);
    }
}
