// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the builds that `[package.metadata.syclbin]` in Cargo.toml describes, so that build.rs needs only one call.
//!
//! Build scripts and `cargo syclbin list` share this module, so both report the same mistakes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::build::Build;
use crate::cargo;
use crate::error::{Error, Result};
use crate::request::is_pattern;

const TABLE: &str = "package.metadata.syclbin";

/// The keys that [`Build::from_manifest`] documents.
const KEYS: [&str; 10] = [
    "sources",
    "include",
    "define",
    "flags",
    "targets",
    "link-at-load",
    "link",
    "warnings",
    "compiler",
    "prebuilt",
];

/// The builds that Cargo.toml describes. Created by [`Build::from_manifest`].
#[derive(Clone, Debug)]
#[must_use = "nothing is compiled until `compile` is called"]
pub struct Manifest(());

/// The path of the manifest: build scripts run in the directory that contains it.
const MANIFEST: &str = "Cargo.toml";

/// A SYCLBIN file that Cargo.toml describes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The name to pass to `include_syclbin!`.
    pub name: String,
    /// The sources and source patterns, relative to the directory that contains Cargo.toml.
    pub sources: Vec<PathBuf>,
    /// The build that produces the file.
    pub build: Build,
}

impl Build {
    /// Reads the builds from Cargo.toml, one for each table `[package.metadata.syclbin.NAME]`:
    ///
    /// ```toml
    /// [package.metadata.syclbin.saxpy]
    /// sources = ["kernels/saxpy.cpp"]          # required; may contain patterns, such as "kernels/*.cpp"
    /// include = ["kernels/include"]            # Build::include
    /// define = { TILE = 4, FAST = true }       # Build::define; `true` defines without a value
    /// flags = ["-std=c++20"]                   # Build::flag
    /// targets = ["spir64"]                     # Build::targets
    /// link-at-load = true                      # Build::link_at_load
    /// link = true                              # Build::link
    /// warnings = false                         # Build::warnings
    /// compiler = "icpx"                        # Build::compiler
    /// prebuilt = "kernels/saxpy.syclbin"       # Build::prebuilt
    /// ```
    ///
    /// ```no_run
    /// // build.rs
    /// fn main() {
    ///     syclbin_build::Build::from_manifest().compile();
    /// }
    /// ```
    pub fn from_manifest() -> Manifest {
        Manifest(())
    }
}

impl Manifest {
    /// Builds every SYCLBIN file that Cargo.toml describes. On error, exits the build script like [`Build::compile`].
    pub fn compile(self) {
        if let Err(error) = self.try_compile() {
            crate::build::fail(&error);
        }
    }

    /// Builds every SYCLBIN file that Cargo.toml describes, and returns the paths of the built files, sorted by name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Manifest`] for a mistake in Cargo.toml, with its line. Otherwise fails for the same reasons as
    /// [`Build::try_compile`].
    pub fn try_compile(self) -> Result<Vec<PathBuf>> {
        let path = Path::new(MANIFEST);
        cargo::rerun_if_changed(path);
        let Some(entries) = read(path)? else {
            let remedy = "add one with sources = [\"kernels/NAME.cpp\"]";
            let problem = format!("has no table [{TABLE}.NAME]; {remedy}");
            return Err(error(path, None, problem));
        };
        let each = entries.into_iter();
        each.map(|entry| entry.build.try_compile(&entry.name))
            .collect()
    }
}

/// Returns the SYCLBIN files that the manifest at `path` describes, sorted by name, or `None` if it does not contain
/// `[package.metadata.syclbin]`.
///
/// # Errors
///
/// Fails if the manifest cannot be read or contains a mistake.
pub fn read(path: &Path) -> Result<Option<Vec<Entry>>> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| error(path, None, format!("cannot be read: {source}")))?;
    parse(&text).map_err(|(at, problem)| {
        let before = at.and_then(|at| text.get(..at.start));
        let line = before.map(|before| 1 + before.matches('\n').count());
        error(path, line, problem)
    })
}

fn error(path: &Path, line: Option<usize>, problem: String) -> Error {
    Error::Manifest {
        path: path.to_owned(),
        line,
        problem,
    }
}

/// The position of a mistake in Cargo.toml, if it is known, and the problem.
pub type Mistake = (Option<Range<usize>>, String);

fn mistake<T>(at: Range<usize>, problem: String) -> Result<T, Mistake> {
    Err((Some(at), problem))
}

type Value<'t> = Spanned<DeValue<'t>>;

/// Returns the SYCLBIN files that the manifest `text` describes, as [`read`] does.
///
/// # Errors
///
/// Fails if the text is not TOML or contains a mistake.
pub fn parse(text: &str) -> Result<Option<Vec<Entry>>, Mistake> {
    let whole = DeTable::parse(text);
    let whole = whole.map_err(|error| (error.span(), error.message().to_owned()))?;
    let mut table = whole.get_ref();
    let (mut span, mut name) = (0..0, String::new());
    for part in TABLE.split('.') {
        let Some(value) = table.get(part) else {
            return Ok(None);
        };
        name += part;
        table = as_table(value, &name)?;
        span = value.span();
        name.push('.');
    }
    if table.is_empty() {
        let problem = format!("[{TABLE}] is empty; add a table [{TABLE}.NAME] with sources");
        return mistake(span, problem);
    }
    let mut entries = Vec::new();
    for (key, value) in sorted(table) {
        let name = key.get_ref().as_ref();
        if KEYS.contains(&name) && value.get_ref().as_table().is_none() {
            let remedy = format!("move it to [{TABLE}.NAME]");
            let problem = format!("`{name}` must be in a table named after the file; {remedy}");
            return mistake(key.span(), problem);
        }
        entries.push(entry(name, value)?);
    }
    Ok(Some(entries))
}

fn entry(name: &str, value: &Value<'_>) -> Result<Entry, Mistake> {
    let place = format!("{TABLE}.{name}");
    let table = as_table(value, &place)?;
    let mut build = Build::new();
    let mut sources = Vec::new();
    for (key, value) in sorted(table) {
        let place = format!("{place}.{}", key.get_ref());
        match key.get_ref().as_ref() {
            "sources" => {
                for source in texts(value, &place)? {
                    build = if is_pattern(source) {
                        build.sources(source)
                    } else {
                        build.source(source)
                    };
                    sources.push(PathBuf::from(source));
                }
            }
            "include" => build = texts(value, &place)?.fold(build, Build::include),
            "flags" => build = texts(value, &place)?.fold(build, Build::flag),
            "targets" => build = build.targets(texts(value, &place)?),
            "link-at-load" => build = build.link_at_load(flag(value, &place)?),
            "link" => build = build.link(flag(value, &place)?),
            "warnings" => build = build.warnings(flag(value, &place)?),
            "define" => {
                for (macro_name, value) in sorted(as_table(value, &place)?) {
                    let macro_name = macro_name.get_ref();
                    let value = definition(value, &format!("{place}.{macro_name}"))?;
                    build = build.define(macro_name, value.as_deref());
                }
            }
            "compiler" => build = build.compiler(text(value, &place)?),
            "prebuilt" => build = build.prebuilt(text(value, &place)?),
            unknown => {
                let known = KEYS.join(", ");
                let problem = format!("has an unknown key `{unknown}`; the valid keys are {known}");
                return mistake(key.span(), format!("[{TABLE}.{name}] {problem}"));
            }
        }
    }
    if sources.is_empty() {
        let problem = format!("has no sources; add sources = [\"kernels/{name}.cpp\"]");
        return mistake(value.span(), format!("[{place}] {problem}"));
    }
    Ok(Entry {
        name: name.to_owned(),
        sources,
        build,
    })
}

/// Returns the value of a macro. `true` defines the macro without a value.
fn definition(value: &Value<'_>, place: &str) -> Result<Option<String>, Mistake> {
    match value.get_ref() {
        DeValue::String(text) => Ok(Some(text.to_string())),
        DeValue::Integer(number) => Ok(Some(number.to_string())),
        DeValue::Float(number) => Ok(Some(number.to_string())),
        DeValue::Boolean(true) => Ok(None),
        _ => wrong(value, place, "a string, a number or true"),
    }
}

fn as_table<'v, 't>(value: &'v Value<'t>, place: &str) -> Result<&'v DeTable<'t>, Mistake> {
    let table = value.get_ref().as_table();
    table.map_or_else(|| wrong(value, place, "a table"), Ok)
}

/// Returns the entries in the order of their keys, because the parser does not guarantee an order.
fn sorted<'v, 't>(table: &'v DeTable<'t>) -> Vec<(&'v Spanned<DeString<'t>>, &'v Value<'t>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by(|a, b| a.0.get_ref().cmp(b.0.get_ref()));
    entries
}

fn flag(value: &Value<'_>, place: &str) -> Result<bool, Mistake> {
    let yes = value.get_ref().as_bool();
    yes.map_or_else(|| wrong(value, place, "true or false"), Ok)
}

fn text<'v>(value: &'v Value<'_>, place: &str) -> Result<&'v str, Mistake> {
    let text = value.get_ref().as_str();
    text.map_or_else(|| wrong(value, place, "a string"), Ok)
}

fn texts<'v>(
    value: &'v Value<'_>,
    place: &str,
) -> Result<impl Iterator<Item = &'v str> + use<'v>, Mistake> {
    let DeValue::Array(array) = value.get_ref() else {
        return wrong(value, place, "an array of strings");
    };
    let all: Result<Vec<_>, _> = array.iter().map(|one| text(one, place)).collect();
    Ok(all?.into_iter())
}

fn wrong<T>(value: &Value<'_>, place: &str, wanted: &str) -> Result<T, Mistake> {
    let kind = value.get_ref().type_str();
    let problem = format!("{place} has type {kind}, but must be {wanted}");
    mistake(value.span(), problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Option<Vec<Entry>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Cargo.toml");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn each_table_is_a_file_with_its_sources() {
        let text = "[package]\nname = \"p\"\ndate = 2026-01-01\n\
            [package.metadata.syclbin.b]\nsources = [\"b.cpp\"]\n\
            [package.metadata.syclbin]\na.sources = [\"a.cpp\", \"k/c.cpp\"]\n";
        let entries = read_text(text).unwrap().unwrap();
        let found: Vec<_> = entries
            .iter()
            .map(|e| (&*e.name, e.sources.len()))
            .collect();
        assert_eq!(found, [("a", 2), ("b", 1)]);
        assert!(read_text("[package]\nname = \"p\"\n").unwrap().is_none());
        assert!(read_text("").unwrap().is_none());
    }

    #[test]
    fn macros_have_text_numbers_or_no_value() {
        let text = "[package.metadata.syclbin.a]\nsources = [\"a.cpp\"]\n\
            define = { F = 1.5, N = 4, ON = true, TEXT = \"a b\" }\n";
        let entries = read_text(text).unwrap().unwrap();
        let build = format!("{:?}", entries[0].build);
        let arguments = r#"["-DF=1.5", "-DN=4", "-DON", "-DTEXT=a b"]"#;
        assert!(build.contains(arguments), "{build}");
    }

    #[test]
    fn mistake_names_file_line_and_key() {
        let head = "[package]\nname = \"p\"\n\n[package.metadata.syclbin.a]\n";
        for (rest, expected) in [
            (
                "source = 1\n",
                ":5: [package.metadata.syclbin.a] has an unknown key `source`; the valid keys are sources, include, \
                 define,",
            ),
            (
                "sources = \"a.cpp\"\n",
                ":5: package.metadata.syclbin.a.sources has type string, but must be an array of strings",
            ),
            (
                "sources = [\n\"a\",\n7]\n",
                ":7: package.metadata.syclbin.a.sources has type integer, but must be a string",
            ),
            (
                "define = [1]\n",
                ":5: package.metadata.syclbin.a.define has type array, but must be a table",
            ),
            (
                "define = { N = [] }\n",
                ":5: package.metadata.syclbin.a.define.N has type array, but must be a string, a number or true",
            ),
            (
                "prebuilt = true\n",
                ":5: package.metadata.syclbin.a.prebuilt has type boolean, but must be a string",
            ),
            (
                "link-at-load = \"yes\"\n",
                ":5: package.metadata.syclbin.a.link-at-load has type string, but must be true or false",
            ),
            (
                "\n[package.metadata.syclbin.b]\nsources = []\n",
                ":4: [package.metadata.syclbin.a] has no sources",
            ),
            ("sources = [\n", ":"),
        ] {
            let error = read_text(&format!("{head}{rest}")).unwrap_err().to_string();
            assert!(
                error.contains(&format!("Cargo.toml{expected}")),
                "{rest}: {error}"
            );
        }
        for (text, expected) in [
            (
                "[package.metadata]\nsyclbin = 1\n",
                "Cargo.toml:2: package.metadata.syclbin has type integer",
            ),
            (
                "[package.metadata.syclbin]\n",
                "Cargo.toml:1: [package.metadata.syclbin] is empty; add a table",
            ),
            (
                "[package.metadata.syclbin]\nsources = [\"a.cpp\"]\n",
                "Cargo.toml:2: `sources` must be in a table named after the file",
            ),
            (
                "[package.metadata.syclbin]\na = 1\n",
                "Cargo.toml:2: package.metadata.syclbin.a has type integer, but must be a table",
            ),
        ] {
            let error = read_text(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
