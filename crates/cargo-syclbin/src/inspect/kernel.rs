// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels of a file, with everything that is required to launch them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};
use syclbin::metadata::ModuleMetadata;
use syclbin::signature::{
    self, Access, Argument, DeclaredParameter, Element, KernelName, KernelSignature, Layouts,
    Pointee, Scalar, Type,
};
use syclbin::{__private::mangled, Syclbin};
use syclbin_tools::__private as names;

use crate::ui::Shown;

/// A kernel, as it appears in the JSON output.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Kernel {
    /// The symbol in the code.
    pub symbol: String,
    /// The qualified C++ name, if the symbol can be demangled.
    pub name: Option<String>,
    /// The C++ declaration, if known.
    pub declaration: Option<String>,
    /// The source location, as `file:line`.
    pub location: Option<String>,
    /// The path of the function that `include_syclbin!` generates, such as `fill::iota`.
    pub stub: Option<String>,
    /// Why `include_syclbin!` generates no function.
    pub no_stub: Option<String>,
    /// The parameters, if known.
    pub parameters: Option<Vec<Parameter>>,
    /// Why the parameters are unknown.
    pub reason: Option<String>,
    /// The required work-group size in SYCL order: the last dimension varies fastest.
    pub required_work_group_size: Option<Vec<u32>>,
    /// The maximum work-group size along each dimension, in SYCL order.
    pub maximum_work_group_size: Option<Vec<u32>>,
    /// The number of dimensions of the kernel's ranges, if the file records it; 0 for a single task.
    pub work_group_dimensions: Option<usize>,
    /// The required sub-group size in work-items, if the kernel specifies one.
    pub required_sub_group_size: Option<u32>,
    /// The zero-based indices of the arguments that the compiler removed.
    pub eliminated_arguments: Vec<usize>,
    /// The indices of the abstract modules that contain the kernel.
    pub modules: Vec<usize>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// The name, if known.
    pub name: Option<String>,
    /// The type, as a JSON object. Its member `cpp` is the C++ spelling, as far as the file records it.
    #[serde(rename = "type")]
    pub ty: Value,
    /// Whether the file records the signedness of integers. If not, `type` shows all integers as signed.
    pub sign_known: bool,
    /// The state of each argument in the code: `passed`, or `removed` by the compiler.
    pub arguments: Vec<&'static str>,
}

/// Returns each kernel of a file once. Leaves the launch requirements unset. `bytes` is the whole file. If the SPIR-V
/// is unreadable, the `reason` of each kernel reports it.
pub fn kernels(file: &Syclbin<'_>, bytes: &[u8]) -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = match signature::kernels(file) {
        Ok(signatures) => {
            let of = |kernel| Kernel::of(kernel, &signatures.layouts);
            signatures.kernels.iter().map(of).collect()
        }
        Err(error) => {
            let mut seen = BTreeSet::new();
            let symbols = file.kernel_names().filter(|symbol| seen.insert(*symbol));
            let unread = |symbol: &str| Kernel {
                name: mangled::parse(symbol).as_ref().map(KernelName::qualified),
                reason: Some(error.to_string()),
                symbol: symbol.to_owned(),
                ..Kernel::default()
            };
            symbols.map(unread).collect()
        }
    };
    let mut places = BTreeMap::<&str, Vec<usize>>::new();
    for (index, module) in file.modules.iter().enumerate() {
        for symbol in module.kernel_names() {
            places.entry(symbol).or_default().push(index);
        }
    }
    // Ignore errors: the `reason` of each kernel already reports an unreadable file.
    let stubs = syclbin_expand::stubs(bytes).unwrap_or_default().into_iter();
    let mut stubs: BTreeMap<_, _> = stubs.map(|stub| (stub.symbol, stub.function)).collect();
    for kernel in &mut kernels {
        match stubs.remove(&kernel.symbol) {
            Some(Ok(path)) => kernel.stub = Some(path),
            Some(Err(reason)) => kernel.no_stub = Some(reason),
            None => {}
        }
        kernel.modules = places.remove(kernel.symbol.as_str()).unwrap_or_default();
    }
    kernels
}

impl Kernel {
    fn of(signature: &KernelSignature, layouts: &Layouts) -> Self {
        let parameters = signature.parameters.as_ref();
        let of = |parameter| Parameter::of(parameter, layouts);
        Self {
            symbol: signature.symbol.clone(),
            name: signature.name.as_ref().map(KernelName::qualified),
            declaration: signature.declaration.as_ref().map(ToString::to_string),
            location: signature.location.clone(),
            required_work_group_size: signature.required_local_size.clone(),
            work_group_dimensions: signature.dimensions.map(usize::from),
            reason: parameters.err().map(ToString::to_string),
            parameters: parameters.ok().map(|all| all.iter().map(of).collect()),
            ..Self::default()
        }
    }

    pub(super) fn add_launch_requirements(&mut self, metadata: &ModuleMetadata) {
        let sizes = metadata.program.kernels.get(&self.symbol).cloned();
        let sizes = metadata.requirements.complete(sizes.unwrap_or_default());
        self.maximum_work_group_size = sizes.maximum.map(|size| size.to_sycl(sizes.dimensions));
        self.required_sub_group_size = sizes.required_sub_group;
        if let Some(mask) = metadata.argument_masks.get(&self.symbol) {
            let arguments = 0..mask.removed.len();
            self.eliminated_arguments = arguments.filter(|index| mask.is_removed(*index)).collect();
        }
    }

    /// Returns the C++ declaration, as far as it is known.
    pub(super) fn signature(&self) -> String {
        let name = self.name.as_ref().unwrap_or(&self.symbol);
        let text = match (&self.declaration, &self.parameters) {
            (Some(declaration), _) => declaration,
            (None, None) => name,
            (None, Some(parameters)) => {
                let parameters: Vec<_> = parameters.iter().map(Parameter::declaration).collect();
                // A kernel named after a type is a function object. Its parameters are data members, and it has no
                // return type.
                let is_object = self.symbol.starts_with("_ZTS");
                let void = if is_object { "" } else { "void " };
                &format!("{void}{name}({})", parameters.join(", "))
            }
        };
        Shown(text).to_string()
    }
}

impl Parameter {
    fn of(parameter: &signature::Parameter, layouts: &Layouts) -> Self {
        let arguments = parameter.arguments.iter().map(|argument| match argument {
            Argument::Passed => "passed",
            Argument::Removed => "removed",
        });
        Self {
            name: parameter.name.clone(),
            ty: described(parameter, layouts),
            sign_known: parameter.sign_known,
            arguments: arguments.collect(),
        }
    }

    fn declaration(&self) -> String {
        let ty = self.ty["cpp"].as_str().unwrap_or_default().to_owned();
        let name = self.name.clone().unwrap_or_default();
        DeclaredParameter { ty, name }.to_string()
    }
}

/// Describes the type of a parameter as a JSON object with the fields that apply.
fn described(parameter: &signature::Parameter, layouts: &Layouts) -> Value {
    let ty = &parameter.ty;
    let pointed = match ty.pointee() {
        Some(Pointee::Element(element)) => number(element),
        _ => None,
    };
    let (kind, of) = match ty {
        Type::Value(Element::Scalar(of)) => ("scalar", Some(*of)),
        Type::Value(Element::Enum(of)) => ("enum", Some(of.of)),
        Type::Value(Element::Vector { of, .. }) => ("vector", Some(*of)),
        Type::Value(Element::Array { of, .. }) => ("array", number(of)),
        Type::Value(_) => ("struct", None),
        Type::Pointer { .. } => ("pointer", pointed),
        Type::LocalMemory { .. } => ("local_memory", pointed),
        Type::LocalAccessor { .. } => ("local_accessor", pointed),
        Type::Accessor { .. } => ("accessor", pointed),
        Type::Image { element, .. } => ("image", *element),
        Type::Sampler => ("sampler", None),
        Type::KernelHandler => ("kernel_handler", None),
        Type::Unused => ("unused", None),
    };
    let access = ty.access().map(|access| match (access, ty) {
        (Access::Read, _) => "read",
        (Access::ReadWrite, Type::Image { .. }) => "write",
        (Access::ReadWrite, _) => "read_write",
    });
    let (count, size) = match ty {
        Type::Value(Element::Vector { count, .. }) => (Some(u64::from(*count)), None),
        Type::Value(Element::Array { count, .. }) => (Some(*count), None),
        Type::LocalMemory { size, .. } => (None, *size),
        _ => (None, None),
    };
    let mut described = json!({
        "kind": kind,
        "scalar": of.map(scalar),
        "access": access,
        "cpp": layouts.spell_type(ty, parameter.sign_known),
        "count": count,
        "dimensions": ty.dimensions(),
        "size": size,
        "layout": ty.structure().map(|id| layouts.describe(id)),
    });
    if let Value::Object(fields) = &mut described {
        fields.retain(|_, value| !value.is_null());
    }
    described
}

fn number(element: &Element) -> Option<Scalar> {
    match element {
        Element::Scalar(of) => Some(*of),
        _ => None,
    }
}

/// Returns the Rust name of a numeric type: the name of the variant in lower case.
fn scalar(scalar: Scalar) -> String {
    format!("{scalar:?}").to_ascii_lowercase()
}

/// Returns the qualified C++ name of a symbol, or the symbol itself if it cannot be demangled.
pub fn qualified(symbol: &str) -> String {
    Shown(&names::qualified(symbol)).to_string()
}

/// Returns the demangled name of a symbol. The name of a function includes its parameters.
pub(super) fn declared(symbol: &str) -> String {
    Shown(&names::spelled(symbol)).to_string()
}
