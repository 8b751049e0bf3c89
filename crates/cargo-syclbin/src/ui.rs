//! What the user sees: answers, and while something takes long lines, and a bar on a terminal.
//!
//! Standard output carries answers only, so that `$(cargo syclbin toolchain path)` works in a
//! script. All else goes to standard error.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

/// How reports show what a user should look at.
pub(crate) const ATTENTION: Style = AnsiColor::Yellow.on_default();

/// Prints an answer. Its colours show on a terminal, unless NO_COLOR says no, and elsewhere if
/// CLICOLOR_FORCE says so. A reader that has seen enough, like `head`, is no failure.
///
/// # Errors
///
/// When standard output cannot be written.
pub fn answer(text: &str) -> io::Result<()> {
    print(anstream::stdout().lock(), text.as_bytes())
}

/// Writes an answer that is no text to standard output, with the same indulgence.
///
/// # Errors
///
/// When standard output cannot be written.
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

/// Says something on standard error, where text from files and names of files can do no harm. That
/// nobody reads it any more (`2>&1 | head`) is no reason to stop.
pub fn complain(text: impl fmt::Display) {
    let text = text.to_string();
    for line in text.split('\n') {
        let _ = writeln!(io::stderr(), "{}", Escaped(line));
    }
}

/// An answer for programs: JSON on lines, as people like to read it too, so what could steer a
/// terminal is escaped here as well.
///
/// # Errors
///
/// Never for the answers of this program; the signature is that of the serializer.
pub fn json(answer: &impl serde::Serialize) -> io::Result<String> {
    let json = serde_json::to_string_pretty(answer)?;
    let mut text = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        // The serializer has escaped all below; what is left there are its own line feeds.
        if c < '\u{7f}' || is_plain(c) {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // A String takes all there is.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text.push('\n');
    Ok(text)
}

/// For whom an answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people; it may change with any release
    #[default]
    Text,
    /// For programs, by the JSON Schemas in cargo-syclbin/schema
    Json,
}

/// The version of every JSON form. Fields are only added within a version; what is taken away,
/// renamed or changes its meaning makes the next.
pub const SCHEMA_VERSION: u32 = 1;

/// Where an operation tells how far it is.
pub trait Progress {
    /// Says one thing, on a line of its own.
    fn line(&self, text: &str);
    /// Begins something that will take `total` bytes of work.
    fn begin(&self, what: &str, total: u64);
    /// `bytes` more of the work are done.
    fn advance(&self, bytes: u64);
    /// What was begun is done or given up.
    fn end(&self);
}

/// Shows lines, and a bar when standard error is a terminal.
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
        let bar = ProgressBar::new(total);
        if let Ok(style) = ProgressStyle::with_template(
            "{msg} [{bar:24}] {decimal_bytes}/{decimal_total_bytes} {eta}",
        ) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what.to_owned());
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

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn line(&self, _: &str) {}
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}

/// A number of bytes, written for people: decimal units, as disks are sold and `df -H` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        let (unit, name) = match bytes {
            1 => return write!(f, "1 byte"),
            0..1_000 => return write!(f, "{bytes} bytes"),
            1_000..1_000_000 => (1_000, "kB"),
            1_000_000..1_000_000_000 => (1_000_000, "MB"),
            _ => (1_000_000_000, "GB"),
        };
        write!(f, "{}.{} {name}", bytes / unit, bytes % unit * 10 / unit)
    }
}

/// Text from a file, written for people: what could steer a terminal or reorder the line is spelled
/// out.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match is_plain(c) {
                true => f.write_char(c)?,
                false => write!(f, "{}", c.escape_unicode())?,
            }
        }
        Ok(())
    }
}

/// The same, cut where it is very long.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a str);

/// Characters of a [`Shown`] text.
const SHOWN: usize = 200;

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = *self;
        match text.char_indices().nth(SHOWN) {
            None => Escaped(text).fmt(f),
            Some((end, _)) => {
                Escaped(&text[..end]).fmt(f)?;
                write!(f, "... ({})", Size(text.len() as u64))
            }
        }
    }
}

/// Whether `c` stays in its place and is seen there: no control character, nothing invisible, and
/// none of those that turn the direction of the text.
#[must_use]
pub fn is_plain(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_file_can_neither_steer_the_terminal_nor_fill_it() {
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
