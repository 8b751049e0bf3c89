// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text report: kernels first, then the file, then each module.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use syclbin::__private::{counted, listed, ranges};
use syclbin::metadata::{Dimensions, ModuleMetadata, Records, Target};
use syclbin::offload::Strings;
use syclbin::property::set;
use syclbin::{AbstractModule, Aspect, Container, Content, Image, ImageKind, PropertySets, State};
use syclbin_toolchain::store::hex;
use syclbin_tools::native;

use super::kernel::{Kernel, declared, qualified};
use super::{Contents, Module, constants, cuda_parts, globals};
use crate::ui::{ATTENTION, Page, Shown, Size, TITLE};

const NAME: Style = AnsiColor::Cyan.on_default();
const LABEL: Style = Style::new().dimmed();
/// The width of the labels in columns.
const WIDTH: usize = 10;
/// Signatures wider than this do not affect the alignment of the notes.
const WIDEST: usize = 72;

/// Formats the report with colors. With `native`, includes the statistics of kernels in native code.
pub(super) fn render(contents: &Contents<'_>, native: bool) -> String {
    let mut page = Page::default();
    page.kernels(&contents.kernels);
    page.file(contents);
    let modules = contents.file.modules.iter().zip(&contents.modules);
    for (index, (module, known)) in modules.enumerate() {
        page.module(index, module, known, native);
    }
    page.text
}

impl Page {
    fn title(&mut self, title: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        self.line(format_args!("{gap}{TITLE}{title}{TITLE:#}"));
    }

    fn field(&mut self, label: &str, text: impl Display) {
        self.line(format_args!("  {LABEL}{label:WIDTH$}{LABEL:#}  {text}"));
    }

    /// Adds a field unless its text is empty.
    fn field_if_any(&mut self, label: &str, text: &str) {
        if !text.is_empty() {
            self.field(label, text);
        }
    }

    fn kernels(&mut self, kernels: &[Kernel]) {
        let count = match kernels.len() {
            0 => "no kernels".to_owned(),
            count => counted(count, "kernel"),
        };
        let with_stub = kernels.iter().filter(|kernel| kernel.stub.is_some());
        let stubs = match with_stub.count() {
            _ if kernels.iter().all(|kernel| kernel.no_stub.is_none()) => String::new(),
            stubs => format!(", {stubs} with a Rust function"),
        };
        self.title(&format!("{count}{stubs}"));
        let signatures: Vec<_> = kernels.iter().map(Kernel::signature).collect();
        let widths = signatures.iter().map(|text| text.chars().count());
        let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
        for (kernel, signature) in kernels.iter().zip(&signatures) {
            let beside = beside(kernel).0;
            let width = if beside.is_empty() { 0 } else { width };
            let notes: String = beside.iter().map(|note| format!("  {note}")).collect();
            self.line(format_args!("  {NAME}{signature:width$}{NAME:#}{notes}"));
        }
        let unknown = kernels.iter().filter(|kernel| {
            let mut parameters = kernel.parameters.iter().flatten();
            parameters.any(|parameter| !parameter.sign_known)
        });
        if let unknown @ 1.. = unknown.count() {
            let unknown = counted(unknown, "kernel");
            self.line(format_args!(
                "  For {unknown}, the file does not record which integers are signed, so all are shown as signed."
            ));
        }
    }

    fn file(&mut self, contents: &Contents<'_>) {
        let file = &contents.file;
        self.title("file");
        self.field("path", Shown(&contents.input.name()));
        let size = contents.input.bytes.len();
        match Size(size as u64) {
            shown if size < 1_000 => self.field("size", shown),
            shown => self.field("size", format_args!("{shown} ({size} bytes)")),
        }
        let container = match contents.container {
            Container::Bare => "version 1, without a wrapper",
            Container::OffloadBinary1 => "version 1 in a version 1 OffloadBinary",
            Container::OffloadBinary2 => "version 1 in a version 2 OffloadBinary",
            Container::Images => "bare device images from LLVM's own SYCL compiler",
            _ => "version 2, an OffloadBinary with an entry for each part",
        };
        let name = contents.container.name();
        self.field("container", format_args!("{container} ({name})"));
        match file.state() {
            Some(State::Other(number)) => self.field("state", format_args!("unknown ({number})")),
            Some(state) => self.field("state", state),
            None => self.field("state", "not recorded"),
        }
        self.strings(&file.strings);
        if !file.foreign.is_empty() {
            let entries = counted(file.foreign.len(), "non-SYCLBIN entry");
            self.field("entries", format_args!("{entries} in the wrapper"));
        }
        self.unknown(&file.global);
    }

    fn module(&mut self, index: usize, module: &AbstractModule<'_>, known: &Module, native: bool) {
        self.title(&format!("abstract module {index}"));
        self.field_if_any("kernels", &listed(module.kernel_names().map(qualified)));
        for (image, offset) in module.images.iter().zip(&known.offsets) {
            self.image(image, *offset, native);
        }
        self.field_if_any("needs", &needed(&known.metadata).0.join(", "));
        self.field_if_any("built", &built(&known.metadata).0.join(", "));
        for constant in constants(&known.metadata) {
            let default = constant.default.map(hex);
            let default = default.map(|hex| format!(", default {}", Shown(&hex)));
            let (name, size) = (Shown(&constant.name), Size(constant.layout.size as u64));
            let text = format!("{name}: {size}{}", default.unwrap_or_default());
            self.field("constant", text);
        }
        for (name, symbol, memory) in globals(&known.metadata) {
            // Show the name from the source code, because it is familiar to the kernel's author.
            let name = declared(symbol.map_or(name, String::as_str));
            let (size, shared) = (Size(memory.size.into()), !memory.image_scope);
            let scope = if shared { "" } else { ", one for each image" };
            self.field("global", format_args!("{name}: {size}{scope}"));
        }
        let symbols = |name| listed(module.metadata.keys(name).map(declared));
        self.field_if_any("imports", &symbols(set::IMPORTED_SYMBOLS));
        self.field_if_any("exports", &symbols(set::EXPORTED_SYMBOLS));
        self.strings(&module.strings);
        for problem in &known.problems {
            let problem = problem.to_string();
            let text = format_args!("{ATTENTION}{}{ATTENTION:#}", Shown(&problem));
            self.field("problem", text);
        }
        self.unknown(&module.metadata);
    }

    fn image(&mut self, image: &Image<'_>, offset: u64, native: bool) {
        let (label, told, target) = match image.kind() {
            ImageKind::Ir { ty, target } => ("IR", ty.to_string(), target),
            ImageKind::Native { arch: "", target } => {
                ("native", "unnamed architecture".to_owned(), target)
            }
            ImageKind::Native { arch, target } => ("native", Shown(arch).to_string(), target),
        };
        let target = match target {
            "" => String::new(),
            target if Target::of_triple(target).is_fpga() => {
                let target = Shown(target);
                format!(" for {target} (an FPGA, which syclbin-rt does not support)")
            }
            target => format!(" for {}", Shown(target)),
        };
        let place = format!("{} at {offset:#x}", Size(image.bytes.len() as u64));
        let content = Content::of(&image.bytes).to_string();
        let cuda = cuda_parts(&image.bytes).join(", ");
        let holds = match (label, cuda.as_str()) {
            ("IR", _) if content != told => format!("; {ATTENTION}contains {content}{ATTENTION:#}"),
            ("IR", "") => String::new(),
            ("IR", cuda) => format!("; {cuda}"),
            (_, "") => format!("; contains {content}"),
            (_, cuda) if content == "PTX" => format!("; contains {cuda}"),
            (_, cuda) => format!("; contains {content}: {cuda}"),
        };
        self.field(label, format_args!("{told}{target}, {place}{holds}"));
        if native {
            for kernel in native::kernels(&image.bytes) {
                let statistics = statistics(&kernel).0.join(", ");
                let name = qualified(&kernel.symbol);
                self.field("", format_args!("{name}: {statistics}"));
            }
        }
        self.strings(&image.strings);
        self.unknown(&image.metadata);
    }

    fn strings(&mut self, strings: &Strings<'_>) {
        for (key, value) in strings {
            let key = Shown(key);
            match str::from_utf8(value) {
                Ok(text) => self.field("string", format_args!("{key} = \"{}\"", Shown(text))),
                Err(_) => self.field("string", format_args!("{key} = {}", Shown(&hex(value)))),
            }
        }
    }

    /// Shows the property sets with unknown names.
    fn unknown(&mut self, sets: &PropertySets<'_>) {
        for (name, set) in sets.iter().filter(|(name, _)| !set::ALL.contains(name)) {
            let (name, properties) = (Shown(name), counted(set.len(), "property"));
            let text =
                format_args!("property set `{name}` with {properties}; --format json shows it");
            self.field("unknown", text);
        }
    }
}

/// Short facts on one line.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    /// Adds a note for each value: `before`, the value, and `after`.
    fn add(&mut self, before: &str, values: impl IntoIterator<Item: Display>, after: &str) {
        let values = values.into_iter();
        let notes = values.map(|value| format!("{before}{value}{after}"));
        self.0.extend(notes);
    }

    fn add_if(&mut self, is_true: bool, note: &str) {
        self.0.extend(is_true.then(|| note.to_owned()));
    }

    /// Adds a note with a formatted list, unless the list is empty.
    fn add_list(&mut self, before: &str, list: &str) {
        self.add_if(!list.is_empty(), &format!("{before}{list}"));
    }
}

/// Returns the notes to show beside a kernel.
fn beside(kernel: &Kernel) -> Notes {
    let mut notes = Notes::default();
    let size = kernel.required_work_group_size.as_deref();
    notes.add("work-groups of ", size.map(extent), "");
    let size = kernel.maximum_work_group_size.as_deref();
    notes.add("work-groups of up to ", size.map(extent), "");
    notes.add("sub-groups of ", kernel.required_sub_group_size, "");
    let removed = ranges(kernel.eliminated_arguments.iter().copied());
    notes.add_list("the compiler removed arguments ", &removed);
    let stub = kernel.stub.as_deref();
    let stub = stub.map(|stub| format!("`{}`, ", Shown(stub)));
    let location = kernel.location.as_deref().map(Shown);
    notes.add(&stub.unwrap_or_default(), location, "");
    let (what, reason) = match (&kernel.reason, &kernel.no_stub) {
        (Some(reason), _) => ("no signature", Some(reason)),
        (None, reason) => ("no function", reason.as_ref()),
    };
    let reason = reason.map(|reason| Shown(reason));
    let after = format!("{ATTENTION:#}");
    notes.add(&format!("{ATTENTION}{what}: "), reason, &after);
    notes
}

/// Describes what a module requires from a device.
fn needed(metadata: &ModuleMetadata) -> Notes {
    let (needs, functions) = (&metadata.requirements, &metadata.virtual_functions);
    let mut notes = Notes::default();
    notes.add("", &needs.aspects, "");
    let size = needs.work_group_sycl();
    notes.add("work-groups of ", size.as_deref().map(extent), "");
    notes.add("sub-groups of ", needs.sub_group, "");
    notes.add("target ", needs.compile_target.as_deref().map(Shown), "");
    let records = |records: &Records| {
        let records = records.0.iter().map(|fields| fields.join(" "));
        listed(records.map(|record| Shown(&record).to_string()))
    };
    notes.add_list("matrix ", &records(&needs.matrices));
    notes.add_list("matrix product ", &records(&needs.matrix_products));
    let targets = needs.fixed_targets.iter();
    let targets: Vec<_> = targets.map(|number| Aspect(*number).to_string()).collect();
    notes.add_list("a device of kind ", &targets.join(" or "));
    let dimensions = needs.dimensions.map(Dimensions::get);
    let dimensions = dimensions.map(|count| counted(count, "dimension"));
    notes.add("launches in ", dimensions, "");
    let (used, defined) = (functions.uses.0.iter(), functions.defines.0.iter());
    let used = listed(used.map(|name| Shown(name)));
    notes.add_list("virtual functions of ", &used);
    let what = "function pointers for the virtual functions of ";
    notes.add_list(what, &listed(defined.map(|name| Shown(name))));
    let pipes = listed(metadata.host_pipes.names().map(Shown));
    notes.add_list("host pipe ", &pipes);
    let sanitizer = metadata.misc.sanitizer.as_ref().map(ToString::to_string);
    let sanitizer = sanitizer.as_deref().map(Shown);
    notes.add("the runtime of sanitizer ", sanitizer, "");
    notes
}

/// Describes how a module was compiled.
fn built(metadata: &ModuleMetadata) -> Notes {
    let settings = &metadata.misc;
    let mut notes = Notes::default();
    notes.add("-O", settings.opt_level, "");
    notes.add_if(settings.esimd == Some(true), "explicit SIMD");
    let registers = settings.grf_size.filter(|count| *count > 0);
    notes.add("", registers, " registers");
    let is_specialized = settings.specialized_with_defaults == Some(true);
    notes.add_if(is_specialized, "constants replaced by their defaults");
    notes.add("", settings.compile_options.as_deref().map(Shown), "");
    let link_options = settings.link_options.as_deref().map(Shown);
    notes.add("", link_options, " for linking");
    notes
}

/// Describes a kernel in native code. Spills are highlighted, because they cost time.
fn statistics(kernel: &native::Kernel) -> Notes {
    let mut notes = Notes::default();
    notes.add("GPU ", kernel.device.as_deref().map(Shown), "");
    notes.add("SIMD ", kernel.simd_width, "");
    notes.add("", kernel.registers, " registers");
    let size = |size: Option<u64>| size.filter(|size| *size > 0).map(Size);
    let spills = size(kernel.spill_size);
    let spills = spills.map(|size| format!("{ATTENTION}{size} spilled{ATTENTION:#}"));
    notes.add("", spills, "");
    notes.add("", size(kernel.private_size), " of private memory");
    notes.add("", size(kernel.local_size), " of local memory");
    let barriers = kernel.barriers.filter(|count| *count > 0);
    notes.add("", barriers.map(|count| counted(count, "barrier")), "");
    notes.add_if(kernel.stack_calls == Some(true), "calls through a stack");
    notes
}

fn extent(size: &[impl ToString]) -> String {
    let size: Vec<_> = size.iter().map(ToString::to_string).collect();
    size.join(" x ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_zero_are_left_out() {
        for (count, registers, barriers) in [(0, "", ""), (2, "2 registers", "2 barriers")] {
            let mut metadata = ModuleMetadata::default();
            metadata.misc.grf_size = Some(count);
            assert_eq!(built(&metadata).0.join(", "), registers);
            let mut kernel = native::Kernel::default();
            kernel.barriers = Some(count);
            assert_eq!(statistics(&kernel).0.join(", "), barriers);
        }
    }
}
