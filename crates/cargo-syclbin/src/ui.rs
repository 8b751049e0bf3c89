// SPDX-License-Identifier: MIT OR Apache-2.0
//! Output for the user: answers, messages, and a progress bar on a terminal.
//!
//! Standard output carries answers only, so that `$(cargo syclbin toolchain path)` works in a script. Everything
//! else goes to standard error.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use syclbin::__private::counted;

/// The style of titles.
pub(crate) const TITLE: Style = Style::new().bold();
/// The style of text that needs the user's attention.
pub(crate) const ATTENTION: Style = AnsiColor::Yellow.on_default();

/// Prints an answer. Colors appear on a terminal unless NO_COLOR is set, and elsewhere if CLICOLOR_FORCE is set. It is
/// not an error if a reader such as `head` closes the pipe early.
///
/// # Errors
///
/// Fails if standard output cannot be written to.
pub fn answer(text: &str) -> io::Result<()> {
    print(anstream::stdout().lock(), text.as_bytes())
}

/// Writes a binary answer to standard output. As in [`answer`], an early close of the pipe is not an error.
///
/// # Errors
///
/// Fails if standard output cannot be written to.
pub fn answer_bytes(bytes: &[u8]) -> io::Result<()> {
    print(io::stdout().lock(), bytes)
}

fn print(mut output: impl Write, bytes: &[u8]) -> io::Result<()> {
    let written = output.write_all(bytes);
    match written.and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Prints a message on standard error, and escapes characters that could control a terminal. A closed pipe
/// (`2>&1 | head`) does not stop the program.
pub fn complain(text: impl fmt::Display) {
    let text = text.to_string();
    for line in text.split('\n') {
        let _ = writeln!(io::stderr(), "{}", Escaped(line));
    }
}

/// Prints a compiler's diagnostics on standard error. Colors appear under the same conditions as in [`answer`].
pub fn pass_on(diagnostics: &str) {
    let _ = write!(anstream::stderr().lock(), "{diagnostics}");
}

/// A report in its JSON format.
#[derive(Serialize)]
struct Versioned<'r, R> {
    schema_version: u32,
    #[serde(flatten)]
    report: &'r R,
}

/// Formats an answer as indented JSON, and escapes characters that could control a terminal.
fn json(answer: &impl Serialize) -> io::Result<String> {
    let json = serde_json::to_string_pretty(answer)?;
    let mut text = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        // The serializer has escaped all control characters below this limit, except its own line feeds.
        if c < '\u{7f}' || is_plain(c) {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text.push('\n');
    Ok(text)
}

/// Prints a report as JSON, or as text formatted by `render`.
///
/// # Errors
///
/// Fails if standard output cannot be written to.
pub fn show<R: Serialize>(
    format: Format,
    report: &R,
    render: impl FnOnce(&R) -> String,
) -> io::Result<()> {
    answer(&match format {
        Format::Text => render(report),
        Format::Json => json(&Versioned {
            schema_version: SCHEMA_VERSION,
            report,
        })?,
    })
}

/// Formats a path relative to `root`, or a path outside of `root` as it is.
pub(crate) fn relative(path: &Path, root: &Path) -> String {
    let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
    Escaped(&shown).to_string()
}

#[derive(Default)]
pub(crate) struct Page {
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn line(&mut self, line: impl fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    /// Adds `lines`, all with the same indentation.
    pub(crate) fn list(&mut self, lines: &str) {
        for line in lines.lines() {
            self.line(format_args!("    {}", line.trim_start()));
        }
    }
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Human-readable; may change in any release
    #[default]
    Text,
    /// Machine-readable, following the JSON Schemas in cargo-syclbin/schema
    Json,
}

/// Creates a parser for an option value that must be one of `names`.
pub fn one_of<T: Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = &'static str>,
    from_name: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names)
        .try_map(move |name| from_name(&name).ok_or_else(|| format!("unknown name {name}")))
}

/// The version of every JSON format. Adding a field does not change the version. Removing, renaming or redefining a
/// field increments it.
const SCHEMA_VERSION: u32 = 1;

/// Receives progress updates from a long-running operation.
pub trait Progress {
    /// Shows a message on its own line.
    fn line(&self, text: &str);
    /// Starts an operation that will process `total` bytes.
    fn begin(&self, what: &str, total: u64);
    /// Reports that `bytes` more bytes were processed.
    fn advance(&self, bytes: u64);
    /// Ends the operation, whether it finished or was abandoned.
    fn end(&self);
}

/// Shows messages, and a progress bar if standard error is a terminal.
#[derive(Debug, Default)]
pub struct Terminal {
    bar: RefCell<Option<ProgressBar>>,
}

impl Progress for Terminal {
    fn line(&self, text: &str) {
        match &*self.bar.borrow() {
            Some(bar) => bar.suspend(|| complain(text)),
            None => complain(text),
        }
    }

    fn begin(&self, what: &str, total: u64) {
        if !std::io::stderr().is_terminal() {
            complain(format_args!("{what} ({})", Size(total)));
            return;
        }
        let bar = ProgressBar::new(total).with_message(what.to_owned());
        let template = "{msg} [{bar:24}] {decimal_bytes}/{decimal_total_bytes} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        *self.bar.borrow_mut() = Some(bar);
    }

    fn advance(&self, bytes: u64) {
        if let Some(bar) = &*self.bar.borrow() {
            bar.inc(bytes);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.bar.borrow_mut().take() {
            bar.finish_and_clear();
        }
    }
}

/// A number of bytes formatted for people, in decimal units like disk capacities and `df -H`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        let (unit, name) = match bytes {
            0..1_000 => return f.write_str(&counted(bytes, "byte")),
            1_000..1_000_000 => (1_000, "kB"),
            1_000_000..1_000_000_000 => (1_000_000, "MB"),
            _ => (1_000_000_000, "GB"),
        };
        write!(f, "{}.{} {name}", bytes / unit, bytes % unit * 10 / unit)
    }
}

/// Text from a file, formatted for people. Characters that could control a terminal or reorder the line are
/// escaped.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            _ if is_plain(c) => f.write_char(c),
            _ => c.escape_unicode().fmt(f),
        })
    }
}

/// Like [`Escaped`], but very long text is truncated.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a str);

/// The number of characters after which [`Shown`] truncates a text.
const SHOWN: usize = 200;

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = *self;
        let Some((end, _)) = text.char_indices().nth(SHOWN) else {
            return Escaped(text).fmt(f);
        };
        let (start, size) = (Escaped(&text[..end]), Size(text.len() as u64));
        write!(f, "{start}... ({size})")
    }
}

/// Returns whether `c` is visible and does not move other text. Control characters, invisible characters and those
/// that change the text direction are not plain.
pub fn is_plain(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_files_is_escaped_and_shortened() {
        let shown = Shown("a\u{1b}[31mb\u{202e}c\n").to_string();
        assert_eq!(shown, "a\\u{1b}[31mb\\u{202e}c\\u{a}");
        let long = Shown(&"x".repeat(5_000)).to_string();
        assert!(
            long.ends_with("xxx... (5.0 kB)") && long.len() < 220,
            "{long}"
        );
    }

    #[test]
    fn json_is_plain_text_and_means_the_same() {
        let hostile = "a\u{9b}31m\u{7f}\u{202e}\u{1b}\n\u{e0041}\u{e9}\"\\";
        let text = json(&[hostile]).unwrap();
        assert_eq!(
            text,
            "[\n  \"a\\u009b31m\\u007f\\u202e\\u001b\\n\\udb40\\udc41\u{e9}\\\"\\\\\"\n]\n"
        );
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, [hostile]);
    }

    #[test]
    fn sizes_are_written_in_decimal_units() {
        let written = [0, 1, 999, 1_000, 285_906_680, 1_250_000_000].map(|n| Size(n).to_string());
        assert_eq!(
            written,
            [
                "0 bytes",
                "1 byte",
                "999 bytes",
                "1.0 kB",
                "285.9 MB",
                "1.2 GB"
            ]
        );
    }
}
