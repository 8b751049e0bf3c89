// SPDX-License-Identifier: MIT OR Apache-2.0
//! Converts C++ names to Rust identifiers. Names are stable: other kernels affect a name only to distinguish overloads.

pub(crate) mod cpp_name;
pub(crate) mod default_names;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Span};
use syclbin::__private::listed;
use syclbin::signature::{KernelName, Parameter};

/// Returns the name of a parameter for messages and documentation.
pub(crate) fn label(index: usize, parameter: &Parameter) -> String {
    let name = parameter.name.clone().filter(|name| !name.is_empty());
    name.unwrap_or_else(|| format!("arg{index}"))
}

/// Returns the parameter that an item refers to as `name`: its C++ name, or its index, as in `arg2`.
pub(crate) fn parameter<'p>(
    parameters: &'p [Parameter],
    name: &str,
) -> Option<(usize, &'p Parameter)> {
    let named = |parameter: &Parameter| parameter.name.as_deref() == Some(name);
    let number = || name.strip_prefix("arg")?.parse().ok();
    let index = parameters.iter().position(named).or_else(number)?;
    Some((index, parameters.get(index)?))
}

/// Returns the qualified C++ name, or the symbol if it cannot be demangled.
pub(crate) fn qualified(name: Option<&KernelName>, symbol: &str) -> String {
    name.map_or_else(|| symbol.to_owned(), KernelName::qualified)
}

/// Splits a qualified name into parts that can become identifiers: `ns::Pair<int, 2>` becomes `ns` and `Pair_int_2`.
pub(crate) fn path(name: &str) -> Vec<String> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                parts.push(&name[start..at]);
                start = at; // `words` drops the colon
            }
            _ => {}
        }
    }
    parts.push(&name[start..]);
    let worded = parts.into_iter().map(words);
    worded.filter(|part| !part.is_empty()).collect()
}

/// Returns an identifier without `r#`.
pub(crate) fn plain(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}

/// Returns the raw identifier of a keyword, such as `r#in` for `in`. Returns `None` for other words, and for keywords
/// that cannot be raw.
pub(crate) fn raw_keyword(ident: &Ident) -> Option<Ident> {
    let text = ident.to_string();
    let raw = syn::parse_str::<Ident>(&format!("r#{text}"));
    raw.ok().filter(|_| syn::parse_str::<Ident>(&text).is_err())
}

pub(crate) fn spelled_path(path: &syn::Path) -> String {
    use quote::ToTokens as _;
    let text = path.to_token_stream().to_string();
    text.split_whitespace().collect()
}

/// Returns a C++ type as words: `const float *` becomes `const_float_ptr`, and `-4` becomes `minus_4`.
pub(crate) fn words(text: &str) -> String {
    let text = text.replace('*', " ptr ").replace('-', " minus ");
    let parts = text.split(|c: char| c != '_' && !c.is_alphanumeric());
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

/// Keywords of the current edition that `syn` accepts as identifiers.
const KEYWORDS: [&str; 1] = ["gen"];

/// The types and the inner module that a generated module may define itself.
const OWN: [&str; 4] = ["Module", "Kernels", "Builder", "left_out"];

/// Types that a generated module uses. An item of the same name would shadow the type.
const TYPES: [&str; 12] = [
    "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "usize", "f32", "f64",
];

/// Crates that an item of the same name would shadow in programs that import `kernels::*`.
const CRATES: [&str; 4] = ["std", "core", "alloc", "syclbin_rt"];

/// Constants and variants in scope. A parameter with one of these names would become a constant pattern.
const CONSTANTS: [&str; 6] = ["SYCLBIN", "KERNELS", "None", "Some", "Ok", "Err"];

/// Returns an identifier for `name`: unchanged, raw if it is a keyword, or with a trailing underscore if the keyword
/// cannot be raw. Returns `None` if `name` cannot become an identifier.
pub(crate) fn identifier(name: &str) -> Option<Ident> {
    let parsed = |text: &str| syn::parse_str::<Ident>(text).ok();
    let plain = parsed(name).filter(|_| !KEYWORDS.contains(&name));
    let raw = || parsed(&format!("r#{name}"));
    let padded = || parsed(&format!("{name}_"));
    let mut ident = plain.or_else(raw).or_else(padded)?;
    ident.set_span(Span::call_site());
    Some(ident)
}

/// The maximum length of a name. A longer name is truncated, and ends in a hash of the full name.
const MAX_LENGTH: usize = 80;

/// Converts `name` to a valid item identifier of at most [`MAX_LENGTH`] characters.
pub(crate) fn rust(name: &str) -> String {
    let ascii = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let own = identifier(name).or_else(|| identifier(&words(name)));
    let escaped = || format!("_{}", name.chars().map(ascii).collect::<String>());
    let text = own.map_or_else(escaped, |ident| plain(&ident));
    if text.chars().count() <= MAX_LENGTH {
        return text;
    }
    // FNV-1a, written out so that names stay the same forever.
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let start: String = text.chars().take(MAX_LENGTH - 9).collect();
    format!("{start}_{hash:08x}")
}

/// Returns the names to try for an item: `x`, `x_`, `x__`, `x_3`, `x_4` and so on. `last` is the last number that was
/// tried for the same name, so that many items of one name in a hostile file do not try the names of the others.
pub(crate) fn candidates(name: &str, last: &mut usize) -> impl Iterator<Item = String> {
    let few = ["", "_", "__"].map(|end| format!("{name}{end}"));
    let numbered = std::iter::repeat_with(move || {
        *last = (*last).max(2) + 1;
        format!("{name}_{last}")
    });
    few.into_iter().chain(numbered)
}

#[derive(Default)]
pub(crate) struct Scope {
    taken: BTreeSet<String>,
    /// The last number that was tried for each name.
    last: BTreeMap<String, usize>,
}

impl Scope {
    /// Creates a scope in which `names` are taken.
    pub(crate) fn reserving<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self {
            taken: names.into_iter().map(String::from).collect(),
            ..Self::default()
        }
    }

    /// Creates the scope for the types and modules of a generated module.
    pub(crate) fn of_types() -> Self {
        Self::reserving(OWN.into_iter().chain(TYPES).chain(CRATES))
    }

    pub(crate) fn take(&mut self, ident: &Ident) {
        self.taken.insert(ident.to_string());
    }

    /// Creates the scope for the parameters of a function.
    pub(crate) fn of_variables() -> Self {
        Self::reserving(CONSTANTS)
    }

    /// Returns the first of the [`candidates`] for `name` that is not taken.
    pub(crate) fn claim(&mut self, name: &str) -> Option<Ident> {
        let last = self.last.entry(name.to_owned()).or_default();
        let mut idents = candidates(name, last).map_while(|name| identifier(&name));
        idents.find(|ident| self.taken.insert(ident.to_string()))
    }

    /// Claims a name for each item: its own name, or `prefix` and its index if it has no valid name. Unnamed items
    /// are named last.
    pub(crate) fn claim_each<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str>,
        prefix: &str,
    ) -> Vec<Option<Ident>> {
        let mut claimed: Vec<Option<Ident>> = names.map(|name| self.claim(name)).collect();
        for (index, ident) in claimed.iter_mut().enumerate() {
            if ident.is_none() {
                *ident = self.claim(&format!("{prefix}{index}"));
            }
        }
        claimed
    }
}

/// Formats a list of names, and abbreviates a long list. Returns `None` if there are no names. The names that share the
/// most pairs of adjacent letters with `wanted` come first, and equally similar names are in alphabetical order.
pub(crate) fn known<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    let mut names = Vec::from_iter(names);
    let pairs = |text: &'n str| text.as_bytes().windows(2);
    names.sort_by_cached_key(|name| {
        let wanted = wanted.as_bytes().windows(2);
        let shared = wanted.filter(|pair| pairs(name).any(|own| own == *pair));
        Reverse(shared.count())
    });
    let names = listed(names.iter().map(|name| format!("`{name}`")));
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_become_words() {
        assert_eq!(words("const float *"), "const_float_ptr");
        assert_eq!(words("unsigned char"), "unsigned_char");
        assert_eq!(words("ns::Pair<int, 4>"), "ns_Pair_int_4");
        assert_eq!(words("-4"), "minus_4");
    }

    #[test]
    fn qualified_names_split_outside_of_brackets() {
        for (name, expected) in [
            ("Pair", &["Pair"][..]),
            ("ns::Pair<int, 2>", &["ns", "Pair_int_2"]),
            ("ns::Pair<a::T, b<c::U>>", &["ns", "Pair_a_T_b_c_U"]),
            ("a<b::c>::d::e", &["a_b_c", "d", "e"]),
            ("f(a::b)::g", &["f_a_b", "g"]),
            ("a>b::c", &["a_b", "c"]),
            ("", &[]),
        ] {
            assert_eq!(path(name), expected, "{name}");
        }
    }

    #[test]
    fn taken_name_is_not_claimed_again() {
        let mut scope = Scope::default();
        scope.take(&Ident::new("k", Span::call_site()));
        assert_eq!(scope.claim("k").unwrap(), "k_");
    }

    #[test]
    fn only_keywords_become_raw() {
        for (word, expected) in [("in", Some("r#in")), ("self", None), ("n", None)] {
            let word = Ident::new(word, Span::call_site());
            let raw = raw_keyword(&word).map(|raw| raw.to_string());
            assert_eq!(raw.as_deref(), expected, "{word}");
        }
        assert_eq!(plain(&Ident::new_raw("in", Span::call_site())), "in");
    }

    #[test]
    fn unnamed_items_yield_to_named_ones() {
        let claimed = Scope::default().claim_each(["", "arg0", "x"].into_iter(), "arg");
        let claimed: Vec<String> = claimed.iter().flatten().map(Ident::to_string).collect();
        assert_eq!(claimed, ["arg0_", "arg0", "x"]);
    }

    #[test]
    fn keywords_are_raw_or_padded() {
        for (name, expected) in [
            ("saxpy", Some("saxpy")),
            ("move", Some("r#move")),
            ("gen", Some("r#gen")),
            ("self", Some("self_")),
            ("_", Some("__")),
            ("", None),
            ("a b", None),
            ("9a", None),
        ] {
            let found = identifier(name).map(|ident| ident.to_string());
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_an_underscore() {
        let mut scope = Scope::reserving(["load"]);
        let mut claim = |name| scope.claim(name).unwrap().to_string();
        assert_eq!(claim("load"), "load_");
        assert_eq!(claim("x"), "x");
        assert_eq!(claim("x"), "x_");
        assert_eq!(claim("x"), "x__");
        assert_eq!(claim("x"), "x_3");
        assert_eq!(claim("x_4"), "x_4");
        assert_eq!(claim("x"), "x_5");
    }

    #[test]
    fn similar_names_come_first_and_lists_are_cut() {
        assert_eq!(known("a", [].into_iter()), None);
        assert_eq!(known("", [""].into_iter()), None);
        for (wanted, expected) in [
            ("", "`axpy`, `fill`, `ns_scale_int`"),
            ("sclae", "`ns_scale_int`, `axpy`, `fill`"),
            ("fil::*", "`fill`, `axpy`, `ns_scale_int`"),
        ] {
            let names = ["fill", "", "axpy", "ns_scale_int", "fill"].into_iter();
            assert_eq!(known(wanted, names).as_deref(), Some(expected));
        }
        let names: Vec<String> = (10..32).map(|number| number.to_string()).collect();
        let text = known("131", names.iter().map(String::as_str)).unwrap();
        assert!(text.starts_with("`13`, `31`, `10`"), "{text}");
        assert!(text.ends_with("`17`, `18` and 12 more"), "{text}");
    }
}
