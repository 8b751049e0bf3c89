// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parser of mangled names: plain, nested, and those of lambdas and classes inside of functions.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::join;
use super::parser::Parser;
use super::{KernelName, Lambda, MAX_DEPTH};
use crate::signature::cpp_type::{CppType, list};

/// How a lambda is spelled begins so.
pub(super) const LAMBDA: &str = "{lambda(";

/// A part of a nested name.
enum Part {
    Named(String),
    /// A constructor, which has no result even if it is a template.
    Constructor(String),
    Lambda(Lambda),
}

impl Parser<'_> {
    /// `<name>`: plain, nested or local, with template arguments.
    pub(super) fn name(&mut self, depth: usize) -> Option<KernelName> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.eat("Z") {
            return self.local(depth + 1);
        }
        if self.eat("N") {
            return self.nested(depth + 1);
        }
        let mut name = KernelName::default();
        if self.eat("St") {
            name.path.push("std".into());
        }
        match self.part(&[], depth)? {
            Part::Named(text) | Part::Constructor(text) => name.base = text,
            Part::Lambda(lambda) => name.lambdas.push(lambda),
        }
        if self.rest.starts_with('I') {
            self.substitute(name.as_type())?;
            name.template_arguments = self.arguments(depth + 1)?;
            self.has_result = true;
        } else {
            self.has_result = false;
        }
        Some(name)
    }

    /// The identifiers that a name begins with.
    pub(super) fn identifiers(&mut self) -> Option<KernelName> {
        if self.eat("N") {
            self.eat("K");
        }
        let mut name = KernelName::default();
        while name.path.len() < MAX_DEPTH
            && let Some(text) = self.source_name()
        {
            name.path.push(text.into());
        }
        name.base = name.path.pop()?;
        Some(name)
    }

    /// `<nested-name>`, after its `N`.
    fn nested(&mut self, depth: usize) -> Option<KernelName> {
        let (mut name, mut has_result) = (KernelName::default(), false);
        // Qualifiers of a member function.
        while ["r", "V", "K", "R", "O"].iter().any(|code| self.eat(code)) {}
        let mut parts: Vec<String> = Vec::new();
        while !self.eat("E") {
            if self.rest.starts_with('I') {
                let arguments = self.arguments(depth + 1)?;
                if self.rest.starts_with('E') {
                    name.template_arguments = arguments;
                    has_result = true;
                    continue;
                }
                // What is inside of an instance: the instance is a part of the path.
                let base = parts.pop()?;
                parts.push(CppType::instance(base, arguments).to_string());
                self.substitute(whole(&parts))?;
                continue;
            }
            if parts.is_empty() && name.lambdas.is_empty() {
                if self.eat("St") {
                    parts.push("std".into());
                    continue;
                }
                if let Some(text) = self.of_standard_library() {
                    parts.push(text.into());
                    continue;
                }
                if self.eat("S") {
                    parts.push(self.substitution()?.to_string());
                    continue;
                }
                if self.eat("T") {
                    let ty = self.template_parameter()?;
                    parts.push(self.substitute(ty)?.to_string());
                    continue;
                }
            }
            match self.part(&parts, depth)? {
                Part::Named(text) => parts.push(text),
                Part::Constructor(text) => {
                    parts.push(text);
                    if self.rest.starts_with('I') {
                        name.template_arguments = self.arguments(depth + 1)?;
                    }
                }
                Part::Lambda(lambda) => {
                    parts.push(lambda.spelled());
                    name.lambdas.push(lambda);
                }
            }
            // Every prefix is a candidate, but not the whole name. The name of a function never is a
            // candidate, and `ty` makes the name of a type one.
            if !self.rest.starts_with('E') {
                self.substitute(whole(&parts))?;
            }
        }
        name.base = parts.pop()?;
        name.path = parts;
        self.has_result = has_result;
        Some(name)
    }

    /// `<unqualified-name>`: an identifier, an operator, a constructor or a lambda of what `scope` names.
    fn part(&mut self, scope: &[String], depth: usize) -> Option<Part> {
        if self.eat("Ul") {
            return self.lambda(depth + 1).map(Part::Lambda);
        }
        if self.eat("Ut") {
            let index = self.sequence()?;
            return Some(Part::Named(format!("{{unnamed#{}}}", index + 1)));
        }
        let class = || {
            let own = scope.last()?;
            Some(String::from(own.split('<').next().unwrap_or(own)))
        };
        if ["C1", "C2", "C3"].iter().any(|code| self.eat(code)) {
            return class().map(Part::Constructor);
        }
        if ["D0", "D1", "D2"].iter().any(|code| self.eat(code)) {
            return Some(Part::Constructor(format!("~{}", class()?)));
        }
        if let Some((_, symbol)) = OPERATORS.iter().find(|(code, _)| self.eat(code)) {
            return Some(Part::Named(format!("operator{symbol}")));
        }
        let name = self.source_name()?.into();
        while self.eat("B") {
            self.source_name()?; // a tag of the standard library
        }
        // The initializer of a variable, which a lambda stands in.
        if self.rest.starts_with("MUl") {
            self.eat("M");
        }
        Some(Part::Named(name))
    }

    /// A lambda, after its `Ul`: the types of its parameters, and its number among those of the same types.
    fn lambda(&mut self, depth: usize) -> Option<Lambda> {
        if depth > MAX_DEPTH {
            return None;
        }
        let outer = core::mem::replace(&mut self.in_lambda, true);
        while self.eat("Ty") {}
        let parameters = self.types(depth);
        self.in_lambda = outer;
        let parameters = parameters?;
        if !self.eat("E") {
            return None;
        }
        Some(Lambda {
            parameters,
            index: self.sequence()?,
            ..Lambda::default()
        })
    }

    /// What stands in a function, after the `Z`.
    fn local(&mut self, depth: usize) -> Option<KernelName> {
        let mut function = self.function_name(depth + 1)?;
        if !self.eat("E") {
            return None;
        }
        let mut name = self.name(depth + 1)?;
        self.discriminator()?;
        // The parts that are not lambdas, nor the function that every lambda has.
        let mut parts: Vec<String> = name.path.clone();
        parts.push(name.base.clone());
        parts.retain(|part| !part.starts_with(LAMBDA) && !part.is_empty());
        if let Some(innermost) = name.lambdas.last_mut()
            && parts.iter().all(|part| part == "operator()")
        {
            innermost.template_arguments = name.template_arguments;
            function.lambdas.append(&mut name.lambdas);
            return Some(function);
        }
        name.function = Some(Box::new(function));
        Some(name)
    }

    /// `<encoding>` of a function: its name, and the types of its parameters unless it is `main` or of C.
    pub(super) fn function_name(&mut self, depth: usize) -> Option<KernelName> {
        let mut name = self.name(depth)?;
        if self.rest.starts_with('E') {
            return Some(name);
        }
        if !name.template_arguments.is_empty() {
            self.template_arguments = name.template_arguments.clone();
        }
        if self.has_result {
            self.ty(depth)?;
        }
        let types = self.types(depth)?;
        // Those of a lambda inside of the function are not those of the function.
        if name.lambdas.is_empty() {
            name.parameters = Some(types);
        }
        Some(name)
    }

    /// The types of parameters, up to an `E` or the end.
    pub(super) fn types(&mut self, depth: usize) -> Option<Vec<CppType>> {
        if self.eat("v") {
            return Some(Vec::new());
        }
        let mut types = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with('E') {
            types.push(self.ty(depth)?);
        }
        Some(types)
    }

    /// The number of a class among those of the same name in a function: `_2`, `__12_`.
    fn discriminator(&mut self) -> Option<()> {
        let rest = match self.rest.strip_prefix("__") {
            Some(long) => long.split_once('_')?.1,
            None => match self.rest.strip_prefix('_') {
                Some(short) => short.strip_prefix(|c: char| c.is_ascii_digit())?,
                None => self.rest,
            },
        };
        self.rest = rest;
        Some(())
    }
}

impl KernelName {
    /// Returns the name of a type, which may stand in a function.
    pub(super) fn as_type(&self) -> CppType {
        let mut name = join(&self.path, &self.base);
        // Names that are nested in a function's lambda have it in their path.
        let lambdas = self.lambdas.iter().map(Lambda::spelled);
        let lambdas: Vec<String> = lambdas.filter(|lambda| !name.contains(lambda)).collect();
        let mut arguments = self.template_arguments.clone();
        if !lambdas.is_empty() {
            name = CppType::instance(name, core::mem::take(&mut arguments)).to_string();
        }
        let function = self.function.as_ref();
        let function = function.map(|function| function.as_type().to_string());
        let parts = [function.unwrap_or_default(), name]
            .into_iter()
            .chain(lambdas);
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        CppType::instance(parts.join("::"), arguments)
    }
}

impl Lambda {
    fn spelled(&self) -> String {
        format!("{{lambda({})#{}}}", list(&self.parameters), self.index + 1)
    }
}

fn whole(parts: &[String]) -> CppType {
    let (last, path) = parts
        .split_last()
        .map_or((None, parts), |(last, path)| (Some(last), path));
    CppType::named(join(path, last.map_or("", String::as_str)))
}

/// The overloadable operators.
const OPERATORS: [(&str, &str); 32] = [
    ("cl", "()"),
    ("ix", "[]"),
    ("aS", "="),
    ("pL", "+="),
    ("mI", "-="),
    ("mL", "*="),
    ("dV", "/="),
    ("rM", "%="),
    ("aN", "&="),
    ("oR", "|="),
    ("eO", "^="),
    ("lS", "<<="),
    ("rS", ">>="),
    ("pl", "+"),
    ("mi", "-"),
    ("ng", "-"),
    ("ml", "*"),
    ("de", "*"),
    ("dv", "/"),
    ("rm", "%"),
    ("an", "&"),
    ("or", "|"),
    ("eo", "^"),
    ("ls", "<<"),
    ("rs", ">>"),
    ("eq", "=="),
    ("ne", "!="),
    ("lt", "<"),
    ("gt", ">"),
    ("pp", "++"),
    ("mm", "--"),
    ("nt", "!"),
];
