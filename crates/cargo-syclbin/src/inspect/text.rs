// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report as text: kernels first, then the file, then each module.

use std::fmt::{self, Write as _};

use anstyle::{AnsiColor, Style};
use syclbin::Aspect;
use syclbin::metadata::Target;
use syclbin_tools::native;

use super::kernel::{beside, declared, extent, qualified, signature};
use super::{Build, Image, Kernel, Module, PropertyValue, Report, Requirements, Set, StringEntry};
use crate::ui::{ATTENTION, Escaped, Shown, Size};

const TITLE: Style = Style::new().bold();
const NAME: Style = AnsiColor::Cyan.on_default();
const LABEL: Style = Style::new().dimmed();
/// The width of the labels in columns.
const WIDTH: usize = 10;
/// The widest signature in columns that still moves the notes beside it to the right.
const WIDEST: usize = 72;
/// The number of names shown from one list.
const NAMES: usize = 8;

/// Formats the report with colours. With `raw`, includes every property set; with `native`, the kernels of native code.
pub(super) fn render(report: &Report, raw: bool, native: bool) -> String {
    let mut page = Page {
        native,
        ..Page::default()
    };
    page.kernels(&report.kernels);
    page.file(report);
    for (index, module) in report.modules.iter().enumerate() {
        page.module(index, module);
    }
    if raw {
        page.raw(report);
    }
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
    /// Whether the kernels of native code are shown.
    native: bool,
}

impl Page {
    fn write(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }

    fn title(&mut self, title: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        self.write(format_args!("{gap}{TITLE}{title}{TITLE:#}\n"));
    }

    fn field(&mut self, label: &str, text: impl fmt::Display) {
        self.write(format_args!("  {LABEL}{label:WIDTH$}{LABEL:#}  {text}\n"));
    }

    fn kernels(&mut self, kernels: &[Kernel]) {
        let count = match kernels.len() {
            0 => "no kernels".to_owned(),
            1 => "1 kernel".to_owned(),
            count => format!("{count} kernels"),
        };
        let stubs = kernels
            .iter()
            .filter(|kernel| kernel.stub.is_some())
            .count();
        self.title(&if kernels.iter().any(|kernel| kernel.no_stub.is_some()) {
            format!("{count}, {stubs} with a function in Rust")
        } else {
            count
        });
        let signatures: Vec<_> = kernels.iter().map(signature).collect();
        let widths = signatures.iter().map(|text| text.chars().count());
        let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
        for (kernel, signature) in kernels.iter().zip(&signatures) {
            let beside = beside(kernel);
            let width = if beside.is_empty() { 0 } else { width };
            self.write(format_args!("  {NAME}{signature:width$}{NAME:#}{beside}\n"));
        }
    }

    fn file(&mut self, report: &Report) {
        let file = &report.file;
        self.title("file");
        self.field("path", Shown(&file.path));
        self.field("size", Bytes(file.size));
        let container = match file.container {
            "v1-bare" => "version 1, without a wrapper",
            "v1" => "version 1 in an OffloadBinary of version 1",
            "v1-offload2" => "version 1 in an OffloadBinary of version 2",
            "images" => "device images of LLVM's own SYCL compiler, without SYCLBIN",
            _ => "version 2, an OffloadBinary with an entry for each part",
        };
        self.field(
            "container",
            format_args!("{container} ({})", file.container),
        );
        match (file.state, file.state_number) {
            (Some(state), _) => self.field("state", state),
            (None, Some(number)) => self.field("state", format_args!("unknown, {number}")),
            (None, None) => self.field("state", "not told"),
        }
        self.strings(&file.strings);
        if !file.foreign_entries.is_empty() {
            let count = file.foreign_entries.len();
            let text = format_args!("{count} non-SYCLBIN entries in the wrapper");
            self.field("entries", text);
        }
        self.unknown(&file.property_sets);
    }

    fn module(&mut self, index: usize, module: &Module) {
        self.title(&format!("abstract module {index}"));
        self.names("kernels", &module.kernels, qualified);
        for image in &module.images {
            self.image(image);
        }
        let needed = needed(&module.requirements);
        if !needed.is_empty() {
            self.field("needs", needed.join(", "));
        }
        let built = built(&module.build);
        if !built.is_empty() {
            self.field("built", built.join(", "));
        }
        for constant in &module.specialization_constants {
            let default = constant.default.as_deref();
            let default = default.map(|hex| format!(", default {}", Shown(hex)));
            let text = format_args!(
                "{}: {}{}",
                Shown(&constant.name),
                Size(constant.size),
                default.unwrap_or_default()
            );
            self.field("constant", text);
        }
        for global in &module.device_globals {
            let scope = if global.image_scope {
                ", one for each image"
            } else {
                ""
            };
            let size = Size(global.size.into());
            // The author of the kernel knows the name in the code.
            let name = global.symbol.as_ref().unwrap_or(&global.name);
            self.field("global", format_args!("{}: {size}{scope}", declared(name)));
        }
        self.names("imports", &module.imports, declared);
        self.names("exports", &module.exports, declared);
        self.strings(&module.strings);
        for problem in &module.problems {
            let problem = Shown(problem);
            self.field("problem", format_args!("{ATTENTION}{problem}{ATTENTION:#}"));
        }
        self.unknown(&module.property_sets);
    }

    fn image(&mut self, image: &Image) {
        let target = match image.target.as_str() {
            "" => String::new(),
            target if Target::of_triple(target).is_fpga() => {
                format!(
                    " for {} (an FPGA, which syclbin-rt does not support)",
                    Shown(target)
                )
            }
            target => format!(" for {}", Shown(target)),
        };
        let told = match (&image.arch, image.ir_type, image.ir_type_number) {
            (Some(arch), ..) if arch.is_empty() => "unnamed architecture".to_owned(),
            (Some(arch), ..) => Shown(arch).to_string(),
            (None, Some("spirv"), _) => "SPIR-V".to_owned(),
            (None, Some("ptx"), _) => "PTX".to_owned(),
            (None, Some("amdgcn"), _) => "AMD GCN".to_owned(),
            (None, _, number) => format!("IR type {}", number.unwrap_or_default()),
        };
        let place = format!("{} at {:#x}", Size(image.size), image.offset);
        let holds = match (image.kind, image.content == told) {
            ("ir", true) if image.cuda.is_empty() => String::new(),
            ("ir", true) => format!("; {}", image.cuda.join(", ")),
            ("ir", false) => format!("; {ATTENTION}holds {}{ATTENTION:#}", image.content),
            _ if image.cuda.is_empty() => format!("; holds {}", image.content),
            _ if image.content == "PTX" => format!("; holds {}", image.cuda.join(", ")),
            _ => format!("; holds {}: {}", image.content, image.cuda.join(", ")),
        };
        let label = if image.kind == "ir" { "IR" } else { "native" };
        self.field(label, format_args!("{told}{target}, {place}{holds}"));
        if self.native {
            for kernel in &image.native_kernels {
                self.field("", native_line(kernel));
            }
        }
        self.strings(&image.strings);
        self.unknown(&image.property_sets);
    }

    fn names(&mut self, label: &str, symbols: &[String], name: fn(&str) -> String) {
        if symbols.is_empty() {
            return;
        }
        let shown: Vec<_> = symbols.iter().take(NAMES).map(|s| name(s)).collect();
        let more = match symbols.len().checked_sub(NAMES) {
            Some(more) if more > 0 => format!(" and {more} more"),
            _ => String::new(),
        };
        self.field(label, format_args!("{}{more}", shown.join(", ")));
    }

    fn strings(&mut self, strings: &[StringEntry]) {
        for string in strings {
            let key = Shown(&string.key);
            match &string.text {
                Some(text) => self.field("string", format_args!("{key} = \"{}\"", Shown(text))),
                None => self.field("string", format_args!("{key} = {}", Shown(&string.hex))),
            }
        }
    }

    /// Shows the sets whose meaning is unknown.
    fn unknown(&mut self, sets: &[Set]) {
        for set in sets.iter().filter(|set| !set.known) {
            let plural = if set.properties.len() == 1 {
                "y"
            } else {
                "ies"
            };
            let text = format_args!(
                "property set `{}` with {} propert{plural}; --raw shows it",
                Shown(&set.name),
                set.properties.len()
            );
            self.field("unknown", text);
        }
    }

    fn raw(&mut self, report: &Report) {
        self.sets("file", &report.file.property_sets);
        for (index, module) in report.modules.iter().enumerate() {
            self.sets(&format!("abstract module {index}"), &module.property_sets);
            for (number, image) in module.images.iter().enumerate() {
                let title = format!("abstract module {index}, image {number}");
                self.sets(&title, &image.property_sets);
            }
        }
    }

    fn sets(&mut self, owner: &str, sets: &[Set]) {
        if sets.is_empty() {
            return;
        }
        self.title(&format!("properties of {owner}"));
        for set in sets {
            self.write(format_args!("  [{}]\n", Escaped(&set.name)));
            for property in &set.properties {
                let key = Escaped(&property.key);
                let value = Raw(&property.value);
                self.write(format_args!("    {LABEL}{key}{LABEL:#} = {value}\n"));
            }
        }
    }
}

/// Describes the requirements on a device.
fn needed(needs: &Requirements) -> Vec<String> {
    let mut needed = Vec::new();
    needed.extend(needs.aspects.iter().map(|aspect| match aspect.name {
        Some(name) => name.to_owned(),
        None => format!("aspect {}", aspect.number),
    }));
    let size = needs.required_work_group_size.as_deref();
    needed.extend(size.map(|size| format!("work-groups of {}", extent(size))));
    let size = needs.required_sub_group_size;
    needed.extend(size.map(|size| format!("sub-groups of {size}")));
    let target = needs.compile_target.as_deref();
    needed.extend(target.map(|target| format!("target {}", Shown(target))));
    for (what, records) in [
        ("matrix", &needs.matrices),
        ("matrix product", &needs.matrix_products),
    ] {
        needed.extend(records.iter().map(|fields| {
            let fields = fields.join(" ");
            format!("{what} {}", Shown(&fields))
        }));
    }
    let targets = needs.fixed_targets.iter().map(|number| Aspect(*number));
    let targets: Vec<String> = targets.map(|aspect| aspect.to_string()).collect();
    if !targets.is_empty() {
        needed.push(format!("a device of kind {}", targets.join(" or ")));
    }
    let dimensions = needs.dimensions;
    needed.extend(dimensions.map(|count| match count {
        1 => "launches in 1 dimension".to_owned(),
        count => format!("launches in {count} dimensions"),
    }));
    for (what, names) in [
        ("virtual functions of", &needs.virtual_functions),
        (
            "function pointers for the virtual functions of",
            &needs.defined_virtual_functions,
        ),
        ("host pipe", &needs.host_pipes),
    ] {
        needed.extend(names.iter().map(|name| format!("{what} {}", Shown(name))));
    }
    let sanitizer = needs.sanitizer.as_deref();
    needed.extend(sanitizer.map(|name| format!("the runtime of sanitizer {}", Shown(name))));
    needed
}

/// Describes how the code was compiled.
fn built(build: &Build) -> Vec<String> {
    let mut built = Vec::new();
    built.extend(build.optimization_level.map(|level| format!("-O{level}")));
    built.extend(build.esimd.then(|| "explicit SIMD".to_owned()));
    let count = build.register_count.filter(|count| *count > 0);
    built.extend(count.map(|count| format!("{count} registers")));
    let defaults = build.specialized_with_defaults;
    built.extend(defaults.then(|| "constants replaced by their defaults".to_owned()));
    built
}

/// A number of bytes for people, with the exact count.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => Size(self.0).fmt(f),
            bytes => write!(f, "{} ({bytes} bytes)", Size(bytes)),
        }
    }
}

/// The complete value of a property.
struct Raw<'a>(&'a PropertyValue);

impl fmt::Display for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            PropertyValue::U32 { value } => write!(f, "{value}"),
            PropertyValue::Bytes { bits, hex, text } => {
                f.write_str(if hex.is_empty() {
                    "the file is empty"
                } else {
                    hex
                })?;
                if bits % 8 != 0 {
                    write!(f, " ({bits} bits)")?;
                }
                match text {
                    Some(text) => write!(f, " \"{}\"", Escaped(text)),
                    None => Ok(()),
                }
            }
            PropertyValue::Other { type_number, text } => {
                write!(f, "type {type_number}: {}", Escaped(text))
            }
        }
    }
}

/// Describes a kernel on one line. Spills stand out, because they cost time.
fn native_line(kernel: &native::Kernel) -> String {
    let mut facts = Vec::new();
    let device = kernel.device.as_deref();
    facts.extend(device.map(|device| format!("GPU {}", Shown(device))));
    facts.extend(kernel.simd_width.map(|width| format!("SIMD {width}")));
    facts.extend(kernel.registers.map(|count| format!("{count} registers")));
    let size = |size: Option<u64>| size.filter(|size| *size > 0).map(Size);
    facts.extend(
        size(kernel.spill_size).map(|size| format!("{ATTENTION}{size} of spills{ATTENTION:#}")),
    );
    facts.extend(size(kernel.private_size).map(|size| format!("{size} of private memory")));
    facts.extend(size(kernel.local_size).map(|size| format!("{size} of local memory")));
    facts.extend(match kernel.barriers {
        None | Some(0) => None,
        Some(1) => Some("1 barrier".to_owned()),
        Some(count) => Some(format!("{count} barriers")),
    });
    facts.extend((kernel.stack_calls == Some(true)).then(|| "calls through a stack".to_owned()));
    format!("{}: {}", qualified(&kernel.symbol), facts.join(", "))
}
