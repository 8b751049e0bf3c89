// SPDX-License-Identifier: MIT OR Apache-2.0
//! Draws a kernel.

use super::draw_type::DrawType;
use super::kernel::{Grid, Kernel, Parameter, Passing, Style};
use super::names;
use super::types::{SCALARS, Type};
use crate::{Random, Setting};

/// A kernel copies at most so many parts, which bounds the time it takes to compile.
const MOST_LEAVES: usize = 120;

/// By value. Devices promise 1024 bytes for all parameters together, padding included.
const MOST_BYTES: usize = 480;

/// One of ten kernels includes `<sycl/sycl.hpp>`, which takes longer to compile.
pub(crate) fn is_full(number: usize) -> bool {
    number % 10 == 9
}

/// The kernel `number` of `setting`.
pub(crate) fn kernel(setting: &Setting, number: usize) -> Kernel {
    let mut random = Random::new(setting.seed, number as u64);
    let full = is_full(number);
    let style = style(&mut random, full);
    let mut path = match style {
        Style::ExternC if random.percent(60) => Vec::new(),
        _ => names::path(&mut random),
    };
    let name = match style {
        // C linkage: namespaces do not tell them apart.
        Style::ExternC => format!("kernel_{number}"),
        _ => names::kernel(&mut random, number, &mut path),
    };
    let mut kernel = Kernel {
        number,
        style,
        range: range(&mut random, style),
        full,
        path,
        name,
        parameters: Vec::new(),
        enums: Vec::new(),
        unions: Vec::new(),
        structs: Vec::new(),
    };
    let wanted = match random.below(100) {
        0..5 => 0,
        5..80 => random.between(1, 8),
        80..95 => random.between(9, 20),
        _ => random.between(21, 40),
    };
    let (mut leaves, mut bytes) = (0, 0);
    let mut taken = Vec::new();
    for number in 0..wanted {
        let parameter = parameter(&mut random, &mut kernel, number, &mut taken);
        let count = parameter.passing.count();
        leaves += kernel.leaves(&parameter.ty) * count;
        if parameter.passing == Passing::Value {
            bytes += kernel.size(&parameter.ty);
        }
        if leaves > MOST_LEAVES || bytes > MOST_BYTES {
            break;
        }
        if setting.keeps(number) {
            kernel.parameters.push(parameter);
        }
    }
    kernel
}

fn style(random: &mut Random, full: bool) -> Style {
    if full && random.percent(60) {
        return *random.pick(&[Style::Functor, Style::Lambda]);
    }
    match random.below(10) {
        0..5 => Style::ExternC,
        5..7 => Style::Function,
        7..9 => Style::Template,
        _ => Style::Overload,
    }
}

fn range(random: &mut Random, style: Style) -> Grid {
    match (style, random.below(10)) {
        (Style::Functor | Style::Lambda, _) | (_, 0..5) => Grid::NdRange(1),
        (_, 5..7) => Grid::SingleTask,
        (_, 7..9) => Grid::NdRange(random.between(2, 3)),
        _ => Grid::Required(random.between(1, 3)),
    }
}

fn parameter(
    random: &mut Random,
    kernel: &mut Kernel,
    number: usize,
    taken: &mut Vec<String>,
) -> Parameter {
    let is_class = matches!(kernel.style, Style::Functor | Style::Lambda);
    let mut passing = passing(random, kernel.full, is_class);
    let simple = kernel.style == Style::Overload;
    let (full, path) = (kernel.full, kernel.path.clone());
    let mut draw = DrawType::new(random, kernel, full, path);
    let ty = if simple {
        // Names of overloads spell types out, which is predictable for numbers.
        draw.integer()
    } else {
        draw.any(0)
    };
    let ty = match (passing, ty) {
        // Behind `void *` lie bytes.
        (Passing::ReadAny(_) | Passing::WriteAny(_), _) => Type::Scalar {
            of: draw.random.pick(&SCALARS[..10]),
            alias: false,
        },
        // Clang passes an enumeration of `bool` by value as a type that kernels cannot take.
        (Passing::Value, Type::Enum(index)) if kernel.enums[index].of.is_bool() => Type::Scalar {
            of: kernel.enums[index].of,
            alias: false,
        },
        (_, ty) => ty,
    };
    if simple
        && !matches!(
            passing,
            Passing::Value | Passing::Read(_) | Passing::Write(_)
        )
    {
        passing = Passing::Value;
    }
    // The file does not tell what unions hold, so nothing points to one.
    if matches!(ty, Type::Union(_)) || passing == Passing::Handler && is_class {
        passing = Passing::Value;
    }
    // An instance of a template that nothing looks into is never made, so nothing describes it.
    let template = matches!(ty, Type::Struct(index) if kernel.structs[index].template.is_some());
    let used = match passing {
        Passing::Read(_) if template => true,
        Passing::Value | Passing::Read(_) => !random.percent(8),
        Passing::Handler => false,
        _ => true,
    };
    let unnamed = !used && !is_class && random.percent(30);
    Parameter {
        number,
        name: if unnamed {
            String::new()
        } else {
            names::variable(random, "p", number, taken)
        },
        ty,
        passing,
        used,
    }
}

fn passing(random: &mut Random, full: bool, is_class: bool) -> Passing {
    if full && random.percent(35) {
        let dimensions = random.between(1, 3);
        return match random.below(if is_class { 3 } else { 4 }) {
            0 => Passing::ReadAccessor(dimensions),
            1 => Passing::WriteAccessor(dimensions),
            2 => Passing::LocalAccessor(dimensions),
            _ => Passing::Handler,
        };
    }
    let count = random.between(1, 3);
    match random.below(100) {
        0..50 => Passing::Value,
        50..68 => Passing::Read(count),
        68..86 => Passing::Write(count),
        86..88 => Passing::ReadAny(count),
        88..90 => Passing::WriteAny(count),
        _ if is_class => Passing::Value,
        90..93 => Passing::Local,
        93..96 => Passing::LocalArray(count),
        _ => Passing::LocalOpen(count),
    }
}
