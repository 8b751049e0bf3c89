// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Rust that calls the stub of a kernel with random values, and compares what comes back.

use super::cpp::{parameters, template_arguments};
use super::kernel::{Grid, Kernel, Parameter, Passing, Style};
use super::names;
use super::spelling::rust;
use super::types::Type;

/// A function that calls the stub of `kernel`, which is in module `file`.
pub(crate) fn function(kernel: &Kernel, file: &str) -> String {
    let number = kernel.number;
    let writer = Writer { kernel, file };
    let (mut before, mut after) = (String::new(), String::new());
    let (mut types, mut arguments) = (Vec::new(), Vec::new());
    for (at, parameter) in kernel.parameters.iter().enumerate() {
        let passed = writer.parameter(at, parameter);
        before += &passed.before;
        after += &passed.after;
        types.extend(passed.ty);
        arguments.extend(passed.argument);
    }
    if !kernel.parameters.is_empty() {
        types.push("&'a mut DeviceSlice<u8>".into());
        types.push("&'a DeviceSlice<u8>".into());
        arguments.push("&mut out".into());
        arguments.push("&input".into());
        before += "    let mut out = queue.upload(&sent.place())?;\n";
        before += "    let input = queue.upload(&given.bytes())?;\n";
    }
    let (class, field) = writer.class();
    let count = parameters(kernel).len();
    let (range, launch) = match kernel.range {
        Grid::SingleTask => (", _".to_owned(), "()".to_owned()),
        Grid::NdRange(dimensions) => (", _".to_owned(), ones(dimensions, 1)),
        Grid::Required(dimensions) => (format!(", Range<{dimensions}>"), ones(dimensions, 2)),
    };
    let (types, arguments) = (list(&types), list(&arguments));
    let method = method(kernel);
    let mut text = format!(
        "fn kernel_{number}(queue: &Queue, module: &{file}::Module) -> Outcome {{\n    \
         let [mut sent, mut given, mut spare] = values({number});\n{before}    \
         let stub: for<'a> fn(&'a {class}{types}) -> Launch<'a, {count}{range}> = {class}::{method};\n    \
         // SAFETY: the kernel stays inside of the buffers.\n    \
         unsafe {{ stub(&module{field}{arguments}).launch({launch}) }}?;\n"
    );
    if kernel.parameters.is_empty() {
        text += "    let _ = (&mut sent, &mut given, &mut spare);\n    queue.wait()?;\n";
    } else {
        text += "    let _ = &mut spare;\n    sent.check(&queue.download(&out)?)?;\n";
    }
    text + &after + "    Ok(())\n}\n"
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!(", {item}")).collect()
}

fn ones(dimensions: usize, size: usize) -> String {
    match dimensions {
        1 => size.to_string(),
        _ => format!("[{size}; {dimensions}]"),
    }
}

/// The name of the stub.
fn method(kernel: &Kernel) -> String {
    match kernel.style {
        Style::Template => {
            let (of, number) = template_arguments(kernel);
            let sign = if number < 0 { "minus_" } else { "" };
            format!(
                "{}_{}_{sign}{}",
                kernel.name,
                names::words(of),
                number.abs()
            )
        }
        Style::Overload => {
            // The first parameter distinguishes it from the other function.
            let first = parameters(kernel).first().map(|parameter| {
                let end = parameter.rfind([' ', '*']).map_or(0, |at| at + 1);
                format!("_{}", names::words(&parameter[..end]))
            });
            names::method(&(kernel.name.clone() + &first.unwrap_or_default()))
        }
        _ => names::method(&kernel.name),
    }
}

/// What a parameter needs.
struct Passed {
    before: String,
    ty: Option<String>,
    argument: Option<String>,
    after: String,
}

struct Writer<'k> {
    kernel: &'k Kernel,
    file: &'k str,
}

impl Writer<'_> {
    /// The struct that has the stub, and the way to it from the module.
    fn class(&self) -> (String, String) {
        let path = &self.kernel.path;
        // C linkage knows no namespaces.
        if path.is_empty() || self.kernel.style == Style::ExternC {
            return (format!("{}::Module", self.file), String::new());
        }
        let modules = path.iter().map(|part| format!("{}::", names::module(part)));
        let fields = path.iter().map(|part| format!(".{}", names::rust(part)));
        let modules: String = modules.collect();
        (format!("{}::{modules}Kernels", self.file), fields.collect())
    }

    fn parameter(&self, at: usize, parameter: &Parameter) -> Passed {
        let ty = rust(self.kernel, &parameter.ty, self.file);
        let values = if parameter.used { "sent" } else { "spare" };
        let literals = |values: &str| {
            let count = parameter.passing.count();
            let all: Vec<String> = (0..count)
                .map(|_| self.literal(&parameter.ty, values))
                .collect();
            format!("[{}]", all.join(", "))
        };
        let upload = format!(
            "    let first{at}: [{ty}; {}] = {};\n    let mut buffer{at} = queue.upload(&first{at})?;\n",
            parameter.passing.count(),
            literals(values)
        );
        let name = match parameter.name.as_str() {
            "" => "without a name",
            name => name,
        };
        let read = |ty: String, argument: String| Passed {
            before: upload.replace("let mut buffer", "let buffer"),
            ty: Some(ty),
            argument: Some(argument),
            after: String::new(),
        };
        // All elements before, and what the kernel makes of them.
        let write = |ty: String, argument: String| Passed {
            before: format!(
                "{upload}    let last{at}: [{}; {}] = {};\n",
                rust(self.kernel, &parameter.ty, self.file),
                parameter.passing.count(),
                literals("given")
            ),
            ty: Some(ty),
            argument: Some(argument),
            after: format!("    same({name:?}, &queue.download(&buffer{at})?, &last{at})?;\n"),
        };
        let only = |before: String, ty: Option<String>, argument: Option<String>| Passed {
            before,
            ty,
            argument,
            after: String::new(),
        };
        // The kernel copies to memory of the work-group what it is given, and from there to what it sends.
        let local = format!(
            "    let at{at} = given.len();\n    let _: [{ty}; {}] = {};\n    sent.repeat(&given, at{at});\n",
            parameter.passing.count(),
            literals("given")
        );
        let extent = |dimensions: usize| match dimensions {
            1 => "2".to_owned(),
            _ => format!("[2; {dimensions}]"),
        };
        match parameter.passing {
            Passing::Value => {
                let (ty, value) = match &parameter.ty {
                    Type::Scalar { of, .. } if of.is_bool() => {
                        ("bool".to_owned(), format!("{values}.truth()"))
                    }
                    _ => (ty, self.literal(&parameter.ty, values)),
                };
                let before = format!("    let value{at}: {ty} = {value};\n");
                only(before, Some(ty), Some(format!("value{at}")))
            }
            Passing::Read(_) | Passing::ReadAny(_) | Passing::ReadAccessor(1) => {
                read(format!("&'a DeviceSlice<{ty}>"), format!("&buffer{at}"))
            }
            Passing::Write(_) | Passing::WriteAny(_) | Passing::WriteAccessor(1) => write(
                format!("&'a mut DeviceSlice<{ty}>"),
                format!("&mut buffer{at}"),
            ),
            Passing::ReadAccessor(d) => read(
                format!("(&'a DeviceSlice<{ty}>, [usize; {d}])"),
                format!("(&buffer{at}, {})", extent(d)),
            ),
            Passing::WriteAccessor(d) => write(
                format!("(&'a mut DeviceSlice<{ty}>, [usize; {d}])"),
                format!("(&mut buffer{at}, {})", extent(d)),
            ),
            Passing::Local | Passing::LocalArray(_) => only(
                format!(
                    "    let at{at} = given.len();\n{}    sent.repeat(&given, at{at});\n",
                    self.bytes(&parameter.ty).repeat(parameter.passing.count())
                ),
                None,
                None,
            ),
            Passing::LocalOpen(count) => only(
                local,
                Some(format!("LocalMemory<{ty}>")),
                Some(format!("LocalMemory::of({count})")),
            ),
            Passing::LocalAccessor(1) => only(local, Some("usize".into()), Some("2".into())),
            Passing::LocalAccessor(d) => {
                only(local, Some(format!("[usize; {d}]")), Some(extent(d)))
            }
            Passing::Handler => only(String::new(), None, None),
        }
    }

    /// An expression for a random value. It draws its parts in the order in which the kernel copies them.
    fn literal(&self, ty: &Type, values: &str) -> String {
        let spelled = rust(self.kernel, ty, self.file);
        match ty {
            Type::Struct(index) => self.structure(*index, values, false),
            Type::Array { of, count } if !self.kernel.is_flat(of) => {
                let all: Vec<String> = (0..*count).map(|_| self.literal(of, values)).collect();
                format!("[{}]", all.join(", "))
            }
            Type::Vector { of, count: 3 } => format!("{values}.three::<{}>()", of.rust),
            ty if self.kernel.is_bool(ty) => format!("{values}.truths::<{spelled}>()"),
            _ => format!("{values}.value::<{spelled}>()"),
        }
    }

    /// Statements that draw a value of a type that the stub does not name, so that Rust has no type for it.
    fn bytes(&self, ty: &Type) -> String {
        match ty {
            Type::Struct(index) => {
                let item = &self.kernel.structs[*index];
                let base = item.base.map(Type::Struct);
                let mut text = base.map_or_else(String::new, |base| self.bytes(&base));
                if let Some((of, count)) = item.template {
                    let size = of.size * (count + 1);
                    text += &format!("    given.value::<[u8; {size}]>();\n");
                }
                let (bits, plain): (Vec<_>, Vec<_>) = item
                    .members
                    .iter()
                    .partition(|member| member.bits.is_some());
                for member in plain {
                    text += &self.bytes(&member.ty);
                }
                for member in bits {
                    if let Some(field) = &member.bits {
                        let (size, width) = (self.kernel.size(&member.ty), field.width);
                        text += &format!(
                            "    given.bits(&mut [0; 16], 0, {width}, {size}, {});\n",
                            field.signed
                        );
                    }
                }
                text
            }
            Type::Array { of, count } if !self.kernel.is_flat(of) => self.bytes(of).repeat(*count),
            ty => {
                let values = if self.kernel.is_bool(ty) {
                    "truths"
                } else {
                    "value"
                };
                format!("    given.{values}::<[u8; {}]>();\n", self.kernel.size(ty))
            }
        }
    }

    fn structure(&self, index: usize, values: &str, is_base: bool) -> String {
        let item = &self.kernel.structs[index];
        let spelled = rust(self.kernel, &Type::Struct(index), self.file);
        let mut fields = String::new();
        if let Some(base) = item.base {
            let name = rust(self.kernel, &Type::Struct(base), "");
            let name = name.rsplit("::").next().unwrap_or_default();
            fields += &format!("{name}: {}, ", self.structure(base, values, true));
        }
        if let Some((of, count)) = item.template {
            fields += &format!("first: {values}.value::<[{}; {count}]>(), ", of.rust);
            fields += &format!("second: {values}.value::<{}>(), ", of.rust);
        }
        for member in item.members.iter().filter(|member| member.bits.is_none()) {
            let value = self.literal(&member.ty, values);
            fields += &format!("{}: {value}, ", names::rust(&member.name));
        }
        // The kernel tells how large it is before all else.
        let size = if is_base || values == "given" {
            String::new()
        } else {
            format!("{values}.size_of::<{spelled}>(); ")
        };
        let mut bits = String::new();
        for member in &item.members {
            if let Some(field) = &member.bits {
                let (size, width, offset) =
                    (self.kernel.size(&member.ty), field.width, field.offset);
                bits += &format!(
                    "{values}.bits(bytemuck::bytes_of_mut(&mut value), {offset}, {width}, {size}, {}); ",
                    field.signed
                );
            }
        }
        let literal = format!("{spelled} {{ {fields}..Default::default() }}");
        match (size.is_empty(), bits.is_empty()) {
            (true, true) => literal,
            (_, true) => format!("{{ {size}{literal} }}"),
            _ => format!("{{ {size}let mut value = {literal}; {bits}value }}"),
        }
    }
}
