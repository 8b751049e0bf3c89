// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules that are described by C++ text, in place of debug information.
//!
//! | text | describes |
//! |---|---|
//! | `void fill::iota(float start, float *out, int count)` | a kernel |
//! | `struct Pair { float a; /* 0 */ int b; /* 4 */ } /* size 8, align 4 */` | a struct and the offsets of its members |
//! | `enum ns::Mode : unsigned char;` | an enumeration |

use syclbin::__private::debug_info::{Described, DescribedKernel};
use syclbin::__private::{CppParameter, record};
use syclbin::AbstractModule;
use syclbin::signature::{CppType, Declaration, DeclaredParameter, Field};

/// C++ text that describes kernels and variables.
#[derive(Clone, Debug, Default)]
pub struct Declared(pub Described);

impl Declared {
    /// Describes the kernel `symbol` by its declaration.
    #[must_use]
    pub fn kernel(mut self, symbol: &str, declaration: &str) -> Self {
        let parameters = parse(declaration).parameters.into_iter();
        let parameters = parameters.map(|parameter| CppParameter {
            ty: cpp_type(&parameter.ty),
            name: parameter.name,
        });
        let kernel = DescribedKernel {
            parameters: Some(parameters.collect()),
            ..DescribedKernel::default()
        };
        self.0.kernels.insert(symbol.to_owned(), kernel);
        self
    }

    /// Describes structs and enumerations.
    #[must_use]
    pub fn types(mut self, definitions: &[&str]) -> Self {
        let mut left = definitions.to_vec();
        left.sort_by_key(|text| !text.starts_with("enum "));
        while !left.is_empty() {
            let before = left.len();
            // Those inside come before those around them.
            left.retain(|text| self.define(text).is_none());
            assert!(left.len() < before, "{left:?}");
        }
        self
    }

    fn define(&mut self, text: &str) -> Option<()> {
        let definitions = &mut self.0.definitions;
        if let Some(rest) = text.strip_prefix("enum ") {
            let (name, of) = rest.strip_suffix(';')?.rsplit_once(" : ")?;
            return definitions.define_enum(name, &cpp_type(of)).map(drop);
        }
        let (name, rest) = text.strip_prefix("struct ")?.split_once(" {")?;
        let (mut rest, sizes) = rest.strip_suffix(" */")?.rsplit_once(" } /* size ")?;
        let (size, align) = sizes.split_once(", align ")?;
        let mut members = Vec::new();
        while !rest.is_empty() {
            let (text, after) = rest.strip_prefix(' ')?.split_once("; /* ")?;
            let (offset, after) = after.split_once(" */")?;
            let (ty, name) = member(text)?;
            members.push(Field {
                name: Some(name.to_owned()).filter(|name| name != "_"),
                offset: offset.parse().ok()?,
                ty: definitions.element(&cpp_type(&ty)).ok()?,
                sign_known: true,
            });
            rest = after;
        }
        let align = align.parse().ok()?;
        let defined = definitions.define_struct(name, size.parse().ok()?, align, members);
        defined.map(drop)
    }

    /// Describes a variable by its type.
    #[must_use]
    pub fn variable(mut self, name: &str, ty: &str) -> Self {
        self.0.variables.insert(name.to_owned(), cpp_type(ty));
        self
    }

    /// Records the description in `module`, as `syclbin-build` does.
    pub fn record(&self, module: &mut AbstractModule<'_>) {
        record(module, &self.0).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Reads a declaration.
pub fn parse(text: &str) -> Declaration {
    parse_declaration(text).unwrap_or_else(|| panic!("`{text}` is not a declaration"))
}

fn parse_declaration(text: &str) -> Option<Declaration> {
    let rest = text.strip_prefix("void ")?.strip_suffix(')')?;
    // From the end: a template argument in the name may have parentheses of its own.
    let mut depth = 0usize;
    let open = rest.char_indices().rev().find_map(|(index, c)| match c {
        ')' => {
            depth += 1;
            None
        }
        '(' if depth == 0 => Some(index),
        '(' => {
            depth -= 1;
            None
        }
        _ => None,
    })?;
    let (name, parameters) = (&rest[..open], &rest[open + 1..]);
    let parameters = match parameters.trim() {
        "" => Vec::new(),
        list => split_list(list).into_iter().map(parameter).collect(),
    };
    Some(Declaration {
        name: name.to_owned(),
        parameters,
    })
}

fn parameter(text: &str) -> DeclaredParameter {
    let text = text.trim();
    let word = |c: char| c == '_' || c.is_alphanumeric();
    let start = text.trim_end_matches(word).len();
    let (ty, name) = text.split_at(start);
    // `unsigned int` has no name: its last word is one of the type.
    let (ty, name) = if ty.trim().is_empty() || ty.ends_with("::") || TYPE_WORDS.contains(&name) {
        (text, "")
    } else {
        (ty.trim_end(), name)
    };
    DeclaredParameter {
        ty: ty.to_owned(),
        name: name.to_owned(),
    }
}

/// Reads a type.
fn cpp_type(text: &str) -> CppType {
    let text = text.trim();
    if let Some(to) = text.strip_suffix("&") {
        let (to, is_rvalue) = (Box::new(cpp_type(to)), false);
        return CppType::Reference { to, is_rvalue };
    }
    if let Some(of) = text.strip_suffix("*const") {
        return cpp_type(of).pointer().constant();
    }
    if let Some(to) = text.strip_suffix('*') {
        return cpp_type(to).pointer();
    }
    if text.ends_with(']') {
        let end = text.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '[' | ']'));
        let counts = text[end.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
        let of = cpp_type(&text[..text.len() - counts.len()]);
        let counts = counts.split(['[', ']']).skip(1).step_by(2);
        let counts: Vec<_> = counts.map(|count| count.parse().ok()).collect();
        return { counts.into_iter().rev() }.fold(of, CppType::array);
    }
    if let Some(of) = text.strip_prefix("const ") {
        return cpp_type(of).constant();
    }
    match text.strip_suffix('>').and_then(|text| text.split_once('<')) {
        Some((name, arguments)) => {
            let arguments = split_list(arguments).into_iter().map(cpp_type);
            CppType::instance(name, arguments.collect())
        }
        None => CppType::named(text),
    }
}

const TYPE_WORDS: [&str; 12] = [
    "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "const",
    "void", "__bf16",
];

/// Returns the parts between the commas that are outside of all brackets.
fn split_list(list: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let parts = list.split(move |c: char| {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.collect()
}

/// Returns the type and the name of a member.
fn member(text: &str) -> Option<(String, &str)> {
    // `double position[3]`: the counts stand behind the name.
    let declared = text.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '[' | ']'));
    let declared = match text[declared.len()..].find('[') {
        Some(bracket) => &text[..declared.len() + bracket],
        None => text,
    };
    let word = |c: char| c == '_' || c.is_alphanumeric();
    let (ty, name) = declared.split_at(declared.trim_end_matches(word).len());
    let ty = ty.strip_suffix(' ').unwrap_or(ty);
    let ty = [ty, &text[declared.len()..]].concat();
    (!ty.is_empty() && !name.is_empty()).then_some((ty, name))
}
