// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C++ of a kernel: it copies all that it takes to `bytes_out`, and `bytes_in` to all that it may write.

use super::kernel::{Grid, Kernel, Parameter, Passing, Style};
use super::spelling::{declared, spelled, structure_path};
use super::types::{Bits, Struct, Type};

/// What stands above all kernels of a source.
pub(crate) fn prelude(full: bool) -> String {
    let sycl = if full {
        "#include <sycl/sycl.hpp>\n"
    } else {
        ""
    };
    format!(
        "{sycl}#include <cstddef>
#include <cstdint>
#include <syclbin/kernel.hpp>
#include <syclbin/local_memory.hpp>
#include <syclbin/vector.hpp>
#define PUT(AT, SIZE, ...) __builtin_memcpy(bytes_out + AT, (const void *)&(__VA_ARGS__), SIZE);
#define GET(AT, SIZE, ...) __builtin_memcpy((void *)&(__VA_ARGS__), bytes_in + AT, SIZE);
"
    )
}

/// All that belongs to one kernel.
pub(crate) fn kernel(kernel: &Kernel) -> String {
    let mut text = format!("\n// kernel {}\n", kernel.number);
    for item in &kernel.enums {
        let class = if item.scoped { "class " } else { "" };
        let definition = format!("enum {class}{} : {} {{}};", item.name, item.of.cpp);
        text += &inside(&item.path, &definition);
    }
    for item in &kernel.unions {
        let (name, size) = (&item.name, item.size);
        text += &match size {
            4 => format!("union {name} {{ int number; float real; }};\n"),
            8 => format!("union {name} {{ double real; int numbers[2]; }};\n"),
            _ => format!("union {name} {{ unsigned char bytes[{size}]; char text[{size}]; }};\n"),
        };
    }
    let used = kernel.structs_in_use();
    let structs = kernel.structs.iter().zip(used);
    for (item, _) in structs.filter(|(item, used)| *used && item.outer.is_none()) {
        text += &inside(&item.path, &definition(kernel, item));
    }
    text + &inside(&kernel.path, &function(kernel)) + &host(kernel)
}

fn inside(path: &[String], text: &str) -> String {
    if path.is_empty() {
        return format!("{text}\n");
    }
    format!("namespace {} {{\n{text}\n}}\n", path.join("::"))
}

/// `alignas` is an error where a type is aligned to more; the attribute is not, and no type is aligned to more
/// than 64.
fn aligned(align: usize) -> String {
    match align {
        64 => "alignas(64) ".into(),
        align => format!("__attribute__((aligned({align}))) "),
    }
}

fn definition(kernel: &Kernel, item: &Struct) -> String {
    let mut text = String::new();
    if item.template.is_some() {
        text += "template <class T, int N> ";
    }
    text += "struct ";
    if item.packed {
        text += "__attribute__((packed)) ";
    }
    if let Some(align) = item.align {
        text += &aligned(align);
    }
    text += &item.name;
    if let Some(base) = item.base {
        text += &format!(" : {}", structure_path(kernel, base));
    }
    text += " {\n";
    let own = kernel
        .structs
        .iter()
        .position(|other| std::ptr::eq(other, item));
    for inner in kernel
        .structs
        .iter()
        .filter(|s| s.outer.is_some() && s.outer == own)
    {
        text += &definition(kernel, inner);
        text += "\n";
    }
    if item.template.is_some() {
        text += "  T first[N];\n  T second;\n";
    }
    for member in &item.members {
        let align = member.align.map(aligned);
        let bits = member
            .bits
            .as_ref()
            .map(|bits| format!(" : {}", bits.width));
        let (align, bits) = (align.unwrap_or_default(), bits.unwrap_or_default());
        text += &format!(
            "  {align}{}{bits};\n",
            declared(kernel, &member.ty, &member.name)
        );
    }
    text + "};"
}

/// The arguments of the template, for kernels that are instances of one.
pub(crate) fn template_arguments(kernel: &Kernel) -> (&'static str, i64) {
    let number = kernel.number as u64;
    let index = usize::try_from(number % super::types::INTEGERS as u64).unwrap_or(0);
    (
        super::types::SCALARS[index].cpp,
        (number % 7).cast_signed() - 3,
    )
}

fn function(kernel: &Kernel) -> String {
    let name = &kernel.name;
    let property = match kernel.range {
        Grid::SingleTask => "SYCLBIN_PROPERTY(single_task_kernel)".to_owned(),
        Grid::NdRange(dimensions) => format!("SYCLBIN_PROPERTY(nd_range_kernel<{dimensions}>)"),
        Grid::Required(dimensions) => format!(
            "SYCLBIN_PROPERTY(nd_range_kernel<{dimensions}>)\nSYCLBIN_WORK_GROUP_SIZE({})",
            vec!["2"; dimensions].join(", ")
        ),
    };
    let parameters = parameters(kernel);
    let list = parameters.join(", ");
    let body = body(kernel);
    match kernel.style {
        Style::ExternC => format!("extern \"C\" {property}\nvoid {name}({list}) {{\n{body}}}"),
        Style::Function => format!("{property}\nvoid {name}({list}) {{\n{body}}}"),
        Style::Template => {
            let (of, number) = template_arguments(kernel);
            let general: Vec<String> = parameters
                .iter()
                .map(
                    |parameter| match parameter.strip_prefix(&format!("{of} ")) {
                        // Not the first word of `long long`.
                        Some(rest) if !rest.starts_with("long ") => format!("T {rest}"),
                        _ => parameter.clone(),
                    },
                )
                .collect();
            format!(
                "template <class T, int N> {property}\nvoid {name}({}) {{\n{body}}}\n\
                 template void {name}<{of}, {number}>({list});",
                general.join(", ")
            )
        }
        Style::Overload => format!(
            "SYCLBIN_PROPERTY(nd_range_kernel<1>)\nvoid {name}(const double *) {{}}\n\
             {property}\nvoid {name}({list}) {{\n{body}}}"
        ),
        Style::Functor => {
            let members: String = parameters.iter().map(|p| format!("  {p};\n")).collect();
            format!(
                "struct {name} {{\n{members}  void operator()(sycl::nd_item<1>) const {{\n{body}  }}\n}};"
            )
        }
        Style::Lambda => format!("class {name};"),
    }
}

/// What submits a functor or a lambda.
fn host(kernel: &Kernel) -> String {
    let number = kernel.number;
    let own = [&kernel.path[..], std::slice::from_ref(&kernel.name)]
        .concat()
        .join("::");
    match kernel.style {
        Style::Functor => format!(
            "void host_{number}(sycl::queue &q, const ::{own} &f) {{\n  q.submit([&](sycl::handler &h) {{ \
             h.parallel_for(sycl::nd_range<1>(1, 1), f); }});\n}}\n"
        ),
        Style::Lambda => {
            let mut names: Vec<&str> = kernel.parameters.iter().map(|p| &*p.name).collect();
            if !kernel.parameters.is_empty() {
                names.extend(["bytes_out", "bytes_in"]);
            }
            let is_accessor = |text: &String| text.contains("accessor<");
            let (accessors, locals): (Vec<String>, Vec<String>) =
                parameters(kernel).into_iter().partition(is_accessor);
            let accessors: String = accessors.iter().map(|p| format!(", {p}")).collect();
            let locals: String = locals.iter().map(|p| format!("  {p};\n")).collect();
            format!(
                "void host_{number}(sycl::queue &q{accessors}) {{\n{locals}  q.submit([&](sycl::handler &h) {{\n    \
                 h.parallel_for<::{own}>(sycl::nd_range<1>(1, 1), [{}](sycl::nd_item<1>) {{\n{}    }});\n  }});\n}}\n",
                names.join(", "),
                body(kernel)
            )
        }
        _ => String::new(),
    }
}

/// The declarations of all parameters. A kernel that takes something takes two buffers of bytes, too.
pub(crate) fn parameters(kernel: &Kernel) -> Vec<String> {
    let own = kernel.parameters.iter().map(|parameter| {
        let Parameter { name, ty, .. } = parameter;
        let of = spelled(kernel, ty);
        match parameter.passing {
            Passing::Value => declared(kernel, ty, name),
            Passing::Read(_) => format!("const {of} *{name}"),
            Passing::Write(_) => format!("{of} *{name}"),
            Passing::ReadAny(_) => format!("const void *{name}"),
            Passing::WriteAny(_) => format!("void *{name}"),
            Passing::Local => format!("syclbin::work_group_memory<{of}> {name}"),
            Passing::LocalArray(n) => format!("syclbin::work_group_memory<{of}[{n}]> {name}"),
            Passing::LocalOpen(_) => format!("syclbin::work_group_memory<{of}[]> {name}"),
            Passing::ReadAccessor(d) => {
                format!("sycl::accessor<const {of}, {d}, sycl::access_mode::read> {name}")
            }
            Passing::WriteAccessor(d) => format!("sycl::accessor<{of}, {d}> {name}"),
            Passing::LocalAccessor(d) => format!("sycl::local_accessor<{of}, {d}> {name}"),
            Passing::Handler => format!("sycl::kernel_handler {name}"),
        }
    });
    let mut all: Vec<String> = own.collect();
    if !all.is_empty() {
        all.push("unsigned char *bytes_out".into());
        all.push("const unsigned char *bytes_in".into());
    }
    all
}

fn body(kernel: &Kernel) -> String {
    let mut body = Body {
        kernel,
        text: String::new(),
        out: 0,
        given: 0,
        sizes: true,
    };
    if let Grid::Required(dimensions) = kernel.range {
        body.text += &format!(
            "  if (syclbin::get_nd_item<{dimensions}>().get_global_linear_id() != 0) return;\n"
        );
    }
    for parameter in kernel.parameters.iter().filter(|parameter| parameter.used) {
        body.parameter(parameter);
    }
    if !kernel.parameters.is_empty() {
        // What is there already. A kernel that writes nothing would take a shared reference.
        body.text += &format!("  bytes_out[{}] = 0xa5;\n", body.out);
    }
    body.text
}

/// Statements, and how many bytes they have written and read.
struct Body<'k> {
    kernel: &'k Kernel,
    text: String,
    out: usize,
    given: usize,
    /// Whether it writes the size of each struct, too.
    sizes: bool,
}

impl Body<'_> {
    fn parameter(&mut self, parameter: &Parameter) {
        let Parameter {
            name, ty, passing, ..
        } = parameter;
        for at in 0..passing.count() {
            let of = spelled(self.kernel, ty);
            let index = |dimensions: usize| {
                let places = (0..dimensions)
                    .rev()
                    .map(|place| (at >> place & 1).to_string());
                places.collect::<Vec<_>>().join(", ")
            };
            let value = match *passing {
                Passing::Value => name.clone(),
                Passing::ReadAny(_) => format!("((const {of} *){name})[{at}]"),
                Passing::WriteAny(_) => format!("(({of} *){name})[{at}]"),
                Passing::Local => format!("static_cast<{of} &>({name})"),
                Passing::Read(_)
                | Passing::Write(_)
                | Passing::LocalArray(_)
                | Passing::LocalOpen(_) => {
                    format!("{name}[{at}]")
                }
                Passing::ReadAccessor(d)
                | Passing::WriteAccessor(d)
                | Passing::LocalAccessor(d) => {
                    format!("{name}[sycl::id<{d}>({})]", index(d))
                }
                Passing::Handler => continue,
            };
            self.sizes = !passing.is_local();
            if passing.is_local() {
                self.value(ty, &value, None, false);
            }
            self.value(ty, &value, None, true);
            if passing.is_written() {
                self.value(ty, &value, None, false);
            }
        }
    }

    /// Copies a value to `bytes_out`, or else from `bytes_in`. `class` is the base that `value` is seen as.
    fn value(&mut self, ty: &Type, value: &str, class: Option<usize>, put: bool) {
        match ty {
            Type::Struct(index) => {
                let item = &self.kernel.structs[*index];
                if class.is_none() && put && self.sizes {
                    let at = self.take(4, true);
                    let of = spelled(self.kernel, ty);
                    self.text +=
                        &format!("  {{ unsigned size = sizeof({of}); PUT({at}, 4, size) }}\n");
                }
                if let Some(base) = item.base {
                    self.value(&Type::Struct(base), value, Some(base), put);
                }
                let prefix = match class {
                    Some(class) => format!("{value}.{}::", structure_path(self.kernel, class)),
                    None => format!("{value}."),
                };
                if let Some((of, count)) = item.template {
                    self.bytes(of.size * count, &format!("{prefix}first"), put);
                    self.bytes(of.size, &format!("{prefix}second"), put);
                }
                let (plain, bits): (Vec<_>, Vec<_>) = item
                    .members
                    .iter()
                    .partition(|member| member.bits.is_none());
                for member in plain.into_iter().chain(bits) {
                    let place = format!("{prefix}{}", member.name);
                    match &member.bits {
                        None => self.value(&member.ty, &place, None, put),
                        Some(bits) => self.bits(&member.ty, bits, &place, put),
                    }
                }
            }
            Type::Array { of, count } if !self.kernel.is_flat(of) => {
                for at in 0..*count {
                    self.value(of, &format!("{value}[{at}]"), None, put);
                }
            }
            ty => self.bytes(self.kernel.size(ty), value, put),
        }
    }

    fn bytes(&mut self, size: usize, value: &str, put: bool) {
        let (at, name) = (self.take(size, put), if put { "PUT" } else { "GET" });
        self.text += &format!("  {name}({at}, {size}, {value})\n");
    }

    fn bits(&mut self, ty: &Type, _: &Bits, place: &str, put: bool) {
        let size = self.kernel.size(ty);
        let (at, of) = (self.take(size, put), spelled(self.kernel, ty));
        self.text += &if put {
            format!("  {{ {of} copied = {place}; PUT({at}, {size}, copied) }}\n")
        } else {
            format!("  {{ {of} copied; GET({at}, {size}, copied) {place} = copied; }}\n")
        };
    }

    fn take(&mut self, size: usize, put: bool) -> usize {
        let end = if put { &mut self.out } else { &mut self.given };
        *end += size;
        *end - size
    }
}
