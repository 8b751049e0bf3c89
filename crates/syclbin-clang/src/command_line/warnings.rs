// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports command-line warnings with clang's wording, controlled by clang's options.

use crate::{Failure, Result};

/// The warnings so far, and how to report them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Warnings {
    texts: Vec<String>,
    unused: Vec<String>,
    none: bool,
    none_unused: bool,
    are_errors: bool,
}

impl Warnings {
    /// Updates the settings if `option` controls warnings. The caller also passes the option to clang.
    pub(crate) fn look_at(&mut self, option: &str) {
        match option {
            "-w" => self.none = true,
            "-Qunused-arguments" | "-Wno-unused-command-line-argument" => self.none_unused = true,
            "-Wunused-command-line-argument" => self.none_unused = false,
            "-Werror" => self.are_errors = true,
            "-Wno-error" => self.are_errors = false,
            _ => {}
        }
    }

    /// Adds a warning about an option that has no effect.
    pub(crate) fn unused(&mut self, option: &str) {
        let text = format!("argument unused during compilation: '{option}'");
        self.unused.push(text);
    }

    pub(crate) fn add(&mut self, text: impl Into<String>) {
        self.texts.push(text.into());
    }

    /// Returns a copy of these settings in which `texts` replaces all warnings.
    pub(crate) fn with_texts(&self, texts: Vec<String>) -> Self {
        Self {
            texts,
            unused: Vec::new(),
            ..*self
        }
    }

    pub(crate) fn texts(&self) -> Vec<&str> {
        let unused = self.unused.iter().filter(|_| !self.none_unused);
        let all = self.texts.iter().chain(unused).map(String::as_str);
        all.filter(|_| !self.none).collect()
    }

    /// Prints the warnings.
    ///
    /// # Errors
    ///
    /// Fails if there are warnings and `-Werror` turns them into errors.
    pub(crate) fn show(&self) -> Result<()> {
        self.write(&mut std::io::stderr().lock())
    }

    fn write(&self, stderr: &mut impl std::io::Write) -> Result<()> {
        let texts = self.texts();
        let is_error = self.are_errors && !texts.is_empty();
        let (kind, option) = if is_error {
            ("error", " [-Werror]")
        } else {
            ("warning", "")
        };
        for text in texts {
            let _ = writeln!(stderr, "syclbin-clang: {kind}: {text}{option}");
        }
        if is_error {
            Err(Failure::Reported(1))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clangs_options_decide_what_is_shown() {
        let shown = |options: &[&str]| {
            let mut warnings = Warnings::default();
            warnings.unused("-lm");
            warnings.add("other");
            options.iter().for_each(|option| warnings.look_at(option));
            warnings.texts().len()
        };
        assert_eq!(shown(&[]), 2);
        assert_eq!(shown(&["-Qunused-arguments"]), 1);
        assert_eq!(shown(&["-Wno-unused-command-line-argument"]), 1);
        assert_eq!(shown(&["-w"]), 0);
        let option = "-Wunused-command-line-argument";
        assert_eq!(shown(&["-Wno-unused-command-line-argument", option]), 2);
    }

    #[test]
    fn they_are_errors_where_clangs_would_be() {
        let mut warnings = Warnings::default();
        warnings.look_at("-Werror");
        assert_eq!(warnings.show(), Ok(()));
        warnings.unused("-lm");
        warnings.add("other");
        let mut said = Vec::new();
        assert_eq!(warnings.write(&mut said), Err(Failure::Reported(1)));
        let expected = "syclbin-clang: error: other [-Werror]\n\
            syclbin-clang: error: argument unused during compilation: '-lm' [-Werror]\n";
        assert_eq!(String::from_utf8(said).unwrap(), expected);
        warnings.look_at("-Wno-error");
        assert_eq!(warnings.write(&mut Vec::new()), Ok(()));
        warnings.look_at("-Werror");
        warnings.texts.clear();
        warnings.look_at("-Qunused-arguments");
        assert_eq!(warnings.show(), Ok(()));
    }
}
