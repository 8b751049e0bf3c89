// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares signatures, to explain why stubs generated from one file cannot launch the kernels in another file.
//!
//! Parameter names may differ, because calls do not use them. Struct and member names must match, because programs
//! use them.

use core::fmt;
use core::mem::discriminant;

use super::mangled::KernelName;
use super::types::{Element, Layout, Layouts, Pointee, Scalar, StructId, Type};
use super::{KernelSignature, Parameter, Signatures, Unsupported};
use crate::prelude::*;
use crate::text::counted;

/// A requirement of the stubs that a file does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The differing item, such as ``kernel scale: parameter 1 `factor` ``.
    pub subject: String,
    /// What the file contains, such as the type `` `double` ``, or `None` if the file lacks the subject.
    pub file: Option<String>,
    /// What the stubs expect: the contents of the file that they were generated from.
    pub stubs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (subject, stubs) = (&self.subject, &self.stubs);
        match &self.file {
            Some(file) => write!(f, "{subject}: expected {stubs}, found {file}"),
            None => write!(f, "{subject} is missing; expected {stubs}"),
        }
    }
}

impl Signatures {
    /// Returns all differences that prevent stubs for these signatures from launching the kernels in `file`. The
    /// file may contain additional kernels and variables. Kernels and variables whose signature or type is unknown in
    /// `self` have no stub, and are not compared.
    ///
    /// Signedness is compared only if both sides record it.
    #[must_use]
    pub fn differences(&self, file: &Self) -> Vec<Difference> {
        let mut comparison = Comparison {
            stubs: &self.layouts,
            file: &file.layouts,
            compared: BTreeMap::new(),
            found: Vec::new(),
        };
        let own: BTreeSet<&str> = self.kernels.iter().map(|own| own.symbol.as_str()).collect();
        let symbols = BTreeMap::from_iter(file.kernels.iter().map(|other| (&*other.symbol, other)));
        // The symbol of a function may contain its parameter types and change with them, so kernels also match
        // by name.
        let others = file.kernels.iter();
        let others = others.filter(|other| !own.contains(other.symbol.as_str()));
        let names: BTreeMap<String, _> = others.map(|other| (called(other), other)).collect();
        for kernel in &self.kernels {
            let same = symbols.get(kernel.symbol.as_str());
            let other = same.or_else(|| names.get(&called(kernel)));
            if let Ok(parameters) = &kernel.parameters {
                comparison.kernel(kernel, parameters, other.copied());
            }
        }
        for (name, key, own) in self.variables() {
            let mut others = file.variables();
            let other = others.find(|(_, other, _)| *other == key);
            comparison.variable(name, own, other.map(|(_, _, other)| other));
        }
        comparison.found
    }

    /// Returns the display name, key and type of each variable.
    fn variables(&self) -> impl Iterator<Item = (String, (bool, &str), Typed<'_>)> {
        let name = |kind: &str, name: &Option<KernelName>, key: &str| {
            let name = name.as_ref().map(KernelName::qualified);
            format!("{kind} {}", name.as_deref().unwrap_or(key))
        };
        let constants = self.constants.iter().map(move |of| {
            let subject = name("specialization constant", &of.name, &of.symbol);
            (subject, (true, &*of.symbol), (&of.ty, of.sign_known))
        });
        let globals = self.globals.iter().map(move |of| {
            let subject = name("device global", &of.name, &of.id);
            (subject, (false, &*of.id), (&of.ty, of.sign_known))
        });
        constants.chain(globals)
    }
}

/// The type of a variable, and whether the signedness of its integers is known.
type Typed<'s> = (&'s Result<Element, Unsupported>, bool);

/// Returns the name that identifies a kernel in messages, and in comparisons if the symbols differ.
fn called(kernel: &KernelSignature) -> String {
    let Some(name) = &kernel.name else {
        return kernel.symbol.clone();
    };
    match &kernel.location {
        Some(location) if !name.lambdas.is_empty() => format!("{} ({location})", name.qualified()),
        _ => name.qualified(),
    }
}

/// The result of a comparison. An error means that the types differ. If both files define a type with the same name,
/// but differently, the error contains both definitions, with the stubs' definition first.
type Compared = Result<(), Option<[String; 2]>>;

fn equal(equal: bool) -> Compared {
    equal.then_some(()).ok_or(None)
}

/// Compares two files. In each pair of arguments, the first argument belongs to the stubs.
struct Comparison<'s> {
    stubs: &'s Layouts,
    file: &'s Layouts,
    /// The cached result for each pair of structs, because a struct may occur many times.
    compared: BTreeMap<(StructId, StructId), Compared>,
    found: Vec<Difference>,
}

impl Comparison<'_> {
    fn add(&mut self, subject: String, file: Option<String>, stubs: String) {
        self.found.push(Difference {
            subject,
            file,
            stubs,
        });
    }

    fn kernel(
        &mut self,
        stubs: &KernelSignature,
        parameters: &[Parameter],
        file: Option<&KernelSignature>,
    ) {
        let before = self.found.len();
        let kernel = format!("kernel {}", called(stubs));
        let mut differing: Vec<fn(&KernelSignature) -> String> = Vec::new();
        let others = file.map(|file| file.parameters.as_deref());
        match others {
            Some(Ok(others)) if others.len() == parameters.len() => {
                for (index, (own, other)) in parameters.iter().zip(others).enumerate() {
                    let name = own.name.as_ref().map(|name| format!(" `{name}`"));
                    let name = name.unwrap_or_default();
                    self.parameter(format!("{kernel}: parameter {index}{name}"), own, other);
                }
            }
            _ => differing.push(declared),
        }
        if file.is_some_and(|file| file.required_local_size != stubs.required_local_size) {
            differing.push(work_groups);
        }
        if let (Some(own), Some(other)) = (stubs.dimensions, file.and_then(|file| file.dimensions))
            && own != other
        {
            differing.push(|kernel| counted(kernel.dimensions.unwrap_or(0), "dimension"));
        }
        let is_same = self.found.len() == before && differing.is_empty();
        if is_same && file.is_some_and(|file| file.symbol != stubs.symbol) {
            differing.push(|kernel: &KernelSignature| format!("`{}`", kernel.symbol));
        }
        for text in differing {
            self.add(kernel.clone(), file.map(text), text(stubs));
        }
    }

    fn parameter(&mut self, subject: String, stubs: &Parameter, file: &Parameter) {
        let sign_known = stubs.sign_known && file.sign_known;
        if let Err(defined) = self.ty(&stubs.ty, &file.ty, sign_known) {
            let spelled = [(self.stubs, stubs), (self.file, file)].map(|(layouts, parameter)| {
                layouts.spell_type(&parameter.ty, parameter.sign_known)
            });
            self.mismatch(subject, defined.unwrap_or(spelled));
        } else if stubs.ty.access() < file.ty.access() {
            let [file, stubs] = ["write access", "read-only access"].map(String::from);
            self.add(subject, Some(file), stubs);
        }
    }

    fn variable(&mut self, subject: String, (stubs, known): Typed<'_>, file: Option<Typed<'_>>) {
        let Ok(stubs) = stubs else { return };
        let spelled = self.stubs.spell(stubs);
        if let Some((Ok(file), also)) = file {
            if let Err(defined) = self.element(stubs, file, known && also) {
                let spelled = [spelled, self.file.spell(file)];
                self.mismatch(subject, defined.unwrap_or(spelled));
            }
        } else {
            let reason = file.and_then(|(ty, _)| ty.as_ref().err());
            self.add(subject, reason.map(unknown), format!("`{spelled}`"));
        }
    }

    fn mismatch(&mut self, subject: String, [stubs, file]: [String; 2]) {
        self.add(subject, Some(format!("`{file}`")), format!("`{stubs}`"));
    }

    fn ty(&mut self, stubs: &Type, file: &Type, sign_known: bool) -> Compared {
        if let (Some(a), Some(b)) = (stubs.value(), file.value()) {
            return self.element(a, b, sign_known);
        }
        equal(discriminant(stubs) == discriminant(file))?;
        if let (Some(a), Some(b)) = (stubs.pointee(), file.pointee()) {
            self.pointee(a, b, sign_known)?;
        }
        equal(match (stubs, file) {
            (Type::LocalMemory { size: m, .. }, Type::LocalMemory { size: n, .. }) => m == n,
            (Type::Image { element: a, .. }, Type::Image { element: b, .. }) if a != b => false,
            _ => stubs.dimensions() == file.dimensions(),
        })
    }

    fn pointee(&mut self, stubs: &Pointee, file: &Pointee, sign_known: bool) -> Compared {
        match (stubs, file) {
            (Pointee::Element(a), Pointee::Element(b)) => self.element(a, b, sign_known),
            // Both pointees may have the same spelling, so messages mark each pointee whose definition is unknown.
            (a @ Pointee::Unknown(_), b) | (a, b @ Pointee::Unknown(_)) if a != b => {
                Err(Some([pointer(a, self.stubs), pointer(b, self.file)]))
            }
            (a, b) => equal(a == b),
        }
    }

    fn element(&mut self, stubs: &Element, file: &Element, sign_known: bool) -> Compared {
        match (stubs, file) {
            (Element::Scalar(a), Element::Scalar(b)) => number(*a, *b, sign_known),
            (Element::Vector { of: a, count: m }, Element::Vector { of: b, count: n })
                if m == n =>
            {
                number(*a, *b, sign_known)
            }
            (Element::Enum(a), Element::Enum(b)) if a.name == b.name => {
                let defined = |of: Scalar| format!("enum {} : {}", a.name, of.cpp());
                let same = number(a.of, b.of, sign_known);
                same.map_err(|_| Some([defined(a.of), defined(b.of)]))
            }
            (Element::Array { of: a, count: m }, Element::Array { of: b, count: n }) if m == n => {
                self.element(a, b, sign_known)
            }
            (Element::Pointer(a), Element::Pointer(b)) => self.pointee(a, b, sign_known),
            (Element::Bytes(a), Element::Bytes(b)) => equal(a == b),
            (Element::Struct(a), Element::Struct(b)) => {
                if let Some(compared) = self.compared.get(&(*a, *b)) {
                    return compared.clone();
                }
                let compared = self.structure(*a, *b);
                self.compared.insert((*a, *b), compared.clone());
                compared
            }
            _ => Err(None),
        }
    }

    /// Compares two structs. A difference in a nested struct is reported with the definition of that struct.
    fn structure(&mut self, stubs: StructId, file: StructId) -> Compared {
        let (Some(own), Some(other)) = (self.stubs.get(stubs), self.file.get(file)) else {
            return Err(None);
        };
        equal(own.name == other.name)?;
        let (own_layouts, other_layouts) = (self.stubs, self.file);
        let definitions = || Some([own_layouts.describe(stubs), other_layouts.describe(file)]);
        let same = self.members(own, other);
        same.map_err(|inner| inner.or_else(definitions))
    }

    fn members(&mut self, stubs: &Layout, file: &Layout) -> Compared {
        equal(stubs.size == file.size && stubs.fields.len() == file.fields.len())?;
        for (own, other) in stubs.fields.iter().zip(&file.fields) {
            equal(own.name == other.name && own.offset == other.offset)?;
            self.element(&own.ty, &other.ty, own.sign_known && other.sign_known)?;
        }
        Ok(())
    }
}

fn number(stubs: Scalar, file: Scalar, sign_known: bool) -> Compared {
    let integers = !stubs.is_float() && !file.is_float();
    // Stubs for another integer type could pass a `bool` parameter a value other than 0 or 1.
    let unsure = !sign_known && integers && file != Scalar::Bool && stubs.size() == file.size();
    equal(stubs == file || unsure)
}

fn pointer(pointee: &Pointee, layouts: &Layouts) -> String {
    match pointee {
        Pointee::Unknown(Some(name)) => format!("{name} * /* definition unknown */"),
        Pointee::Unknown(None) => "void * /* pointee unknown */".into(),
        known => layouts.spell(&Element::Pointer(Box::new(known.clone()))),
    }
}

fn unknown(reason: &Unsupported) -> String {
    format!("an unreadable declaration ({reason})")
}

fn declared(kernel: &KernelSignature) -> String {
    match (&kernel.parameters, &kernel.declaration) {
        (Err(reason), _) => unknown(reason),
        (Ok(_), Some(declaration)) => format!("`{declaration}`"),
        (Ok(parameters), None) => {
            let parameters = counted(parameters.len(), "parameter");
            format!("a function with {parameters}")
        }
    }
}

fn work_groups(kernel: &KernelSignature) -> String {
    let Some(size) = &kernel.required_local_size else {
        return "work-groups of any size".into();
    };
    let size: Vec<String> = size.iter().map(ToString::to_string).collect();
    format!("work-groups of {}", size.join(" x "))
}
