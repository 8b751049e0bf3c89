//! What the user sees while something takes long: lines, and a bar on a terminal.
//!
//! All of it goes to standard error. Standard output carries answers only, so that
//! `$(cargo syclbin toolchain path)` works in a script.

use std::cell::RefCell;
use std::fmt;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

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
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    fn begin(&self, what: &str, total: u64) {
        if !std::io::stderr().is_terminal() {
            eprintln!("{what} ({})", Size(total));
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
            0..1_000 => return write!(f, "{bytes} bytes"),
            1_000..1_000_000 => (1_000, "kB"),
            1_000_000..1_000_000_000 => (1_000_000, "MB"),
            _ => (1_000_000_000, "GB"),
        };
        write!(f, "{}.{} {name}", bytes / unit, bytes % unit * 10 / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_in_decimal_units() {
        let written = [0, 999, 1_000, 285_906_680, 1_250_000_000].map(|n| Size(n).to_string());
        assert_eq!(
            written,
            ["0 bytes", "999 bytes", "1.0 kB", "285.9 MB", "1.2 GB"]
        );
    }
}
