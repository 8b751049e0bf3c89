// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses mangled names: plain names, nested names, and names of lambdas and classes in functions.

use super::join;
use super::parser::Parser;
use super::{KernelName, Lambda, MAX_DEPTH, check_depth};
use crate::prelude::*;
use crate::signature::cpp_type::{CppType, list};

/// The start of a lambda's spelling.
pub(super) const LAMBDA: &str = "{lambda(";

enum Part {
    Named(String),
    /// A constructor or destructor. Its symbol contains no result type, even for a template.
    Constructor(String),
    Lambda(Lambda),
}

impl Parser<'_> {
    /// Parses `<name>`: plain, nested or local, with template arguments.
    pub(super) fn name(&mut self, depth: usize) -> Option<KernelName> {
        check_depth(depth)?;
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
        let has_arguments = self.rest.starts_with('I');
        if has_arguments {
            self.substitute(name.as_type())?;
            name.template_arguments = self.arguments(depth + 1)?;
        }
        self.has_result = has_arguments;
        Some(name)
    }

    /// Parses the leading identifiers of a name.
    pub(super) fn identifiers(&mut self) -> Option<KernelName> {
        if self.eat("N") {
            self.eat("K");
        }
        let mut name = KernelName::default();
        while let Some(text) = self.source_name() {
            name.path.push(text.into());
        }
        name.base = name.path.pop()?;
        (name.path.len() <= MAX_DEPTH).then_some(name)
    }

    /// Parses `<nested-name>`, after its `N`.
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
                // The rest of the name is inside this template instance, which becomes a part of the path.
                let base = parts.pop()?;
                parts.push(CppType::instance(base, arguments).to_string());
                self.substitute(whole(&parts))?;
                continue;
            }
            if parts.is_empty() && name.lambdas.is_empty() && self.rest.starts_with(['S', 'T']) {
                parts.push(if self.eat("St") {
                    "std".into()
                } else if let Some(text) = self.of_standard_library() {
                    text.into()
                } else if self.eat("S") {
                    self.substitution()?.to_string()
                } else {
                    self.eat("T");
                    let ty = self.template_parameter()?;
                    self.substitute(ty)?.to_string()
                });
                continue;
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
            // Every prefix is a substitution candidate, but the whole name is not: a function name never is,
            // and `ty` adds type names.
            if !self.rest.starts_with('E') {
                self.substitute(whole(&parts))?;
            }
        }
        name.base = parts.pop()?;
        name.path = parts;
        self.has_result = has_result;
        Some(name)
    }

    /// Parses `<unqualified-name>` in `scope`: an identifier, an operator, a constructor or a lambda.
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
            self.source_name()?; // an ABI tag of the standard library
        }
        // A lambda in the initializer of a variable follows.
        if self.rest.starts_with("MUl") {
            self.eat("M");
        }
        Some(Part::Named(name))
    }

    /// Parses a lambda, after its `Ul`: its parameter types, and its index among lambdas with the same types.
    fn lambda(&mut self, depth: usize) -> Option<Lambda> {
        check_depth(depth)?;
        let outer = core::mem::replace(&mut self.in_lambda, true);
        while self.eat("Ty") {}
        let parameters = self.types(depth);
        self.in_lambda = outer;
        let parameters = parameters?;
        self.expect("E")?;
        Some(Lambda {
            parameters,
            index: self.sequence()?,
            ..Lambda::default()
        })
    }

    /// Parses `<local-name>`, after its `Z`: an entity in a function.
    fn local(&mut self, depth: usize) -> Option<KernelName> {
        let mut function = self.function_name(depth + 1)?;
        self.expect("E")?;
        let mut name = self.name(depth + 1)?;
        self.discriminator()?;
        // The parts that are not lambdas. If only call operators remain, the entity is a lambda.
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

    /// Parses `<encoding>` of a function: its name, and its parameter types unless the function is `main` or
    /// `extern "C"`.
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
        // For a lambda, `types` are the parameters of its call operator, not of the enclosing function.
        if name.lambdas.is_empty() {
            name.parameters = Some(types);
        }
        Some(name)
    }

    /// Parses parameter types, up to an `E` or the end.
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

    /// Skips the discriminator of a local name, which distinguishes equal names in one function: `_2`, `__12_`.
    fn discriminator(&mut self) -> Option<()> {
        if self.eat("__") {
            self.until('_')?;
        } else if self.eat("_") {
            self.rest = self.rest.strip_prefix(|c: char| c.is_ascii_digit())?;
        }
        Some(())
    }
}

impl KernelName {
    /// Returns the type with this name, which may be local to a function.
    pub(super) fn as_type(&self) -> CppType {
        let mut name = join(&self.path, &self.base);
        // The path of a name nested in a lambda already contains the lambda.
        let lambdas = self.lambdas.iter().map(Lambda::spelled);
        let lambdas: Vec<String> = lambdas.filter(|lambda| !name.contains(lambda)).collect();
        let mut arguments = self.template_arguments.clone();
        if !lambdas.is_empty() {
            name = CppType::instance(name, core::mem::take(&mut arguments)).to_string();
        }
        let function = self.function.as_ref();
        let function = function.map(|function| function.as_type().to_string());
        let mut parts = Vec::from([function.unwrap_or_default(), name]);
        parts.extend(lambdas);
        parts.retain(|part| !part.is_empty());
        CppType::instance(parts.join("::"), arguments)
    }
}

impl Lambda {
    fn spelled(&self) -> String {
        format!("{{lambda({})#{}}}", list(&self.parameters), self.index + 1)
    }
}

fn whole(parts: &[String]) -> CppType {
    match parts {
        [path @ .., last] => CppType::named(join(path, last)),
        [] => CppType::named(""),
    }
}

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
