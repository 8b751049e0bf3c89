// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looks up options in a table that records where each option's value is, and how the option is treated.
//!
//! An option that is not listed is passed to clang without a separate value. Clang then accepts or rejects it.

/// Where an option's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The option has no value.
    Flag,
    /// The value is in the same argument.
    Joined,
    /// The value is the next argument.
    Separate,
    /// The value is the rest of the same argument, or the next argument if nothing follows the name.
    Either,
}

/// What this program does with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Passed to clang as one argument: the name, directly followed by the value.
    Join,
    /// Passed to clang unchanged.
    Pass,
    /// Passed to clang's frontend: the option, written with one dash, and its value are each preceded by `-Xclang`.
    /// Otherwise, the library would lose the value.
    Inner,
    /// Accepted and ignored, because it requests the default behavior.
    Nothing,
    /// Ignored with a warning, as in clang, because it configures a step that does not exist for SYCLBIN files.
    Unused,
    /// Rejected, with this reason in the message.
    Refused(&'static str),
    /// Handled by this program.
    Ours,
}

/// The option table. Its first lines explain the format.
const TABLE: &str = include_str!("options.txt");

/// Returns the form and treatment of each option in the table.
fn rows() -> impl Iterator<Item = (Form, Treatment, &'static str)> {
    let mut treatment = Treatment::Ours;
    let lines = TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rows = lines.filter_map(move |line| {
        let (first, names) = line.split_once(' ').unwrap_or((line, ""));
        let form = match first {
            "flag" => Form::Flag,
            "joined" => Form::Joined,
            "separate" => Form::Separate,
            "either" => Form::Either,
            title => {
                treatment = match title {
                    "join" => Treatment::Join,
                    "pass" => Treatment::Pass,
                    "inner" => Treatment::Inner,
                    "nothing" => Treatment::Nothing,
                    "unused" => Treatment::Unused,
                    "refused:" => Treatment::Refused(names),
                    _ => Treatment::Ours,
                };
                return None;
            }
        };
        Some(names.split(' ').map(move |name| (form, treatment, name)))
    });
    rows.flatten()
}

/// A row of the table, and the value in the argument that matched it.
pub(crate) struct Known<'a> {
    pub(crate) name: &'static str,
    pub(crate) treatment: Treatment,
    /// The option's value, which is empty for a flag. `None` if it is the next argument.
    pub(crate) value: Option<&'a str>,
}

/// Returns the row that matches `argument`. The longest matching name wins.
pub(crate) fn find(argument: &str) -> Option<Known<'_>> {
    let matching = rows().filter_map(|(form, treatment, name)| {
        let rest = argument.strip_prefix(name)?;
        let value = match form {
            Form::Separate | Form::Either if rest.is_empty() => None,
            Form::Flag | Form::Separate if !rest.is_empty() => return None,
            _ => Some(rest),
        };
        Some(Known {
            name,
            treatment,
            value,
        })
    });
    matching.max_by_key(|known| known.name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_is_in_two_rows() {
        let mut names: Vec<_> = rows().map(|(.., name)| name).collect();
        let all = names.len();
        assert!(all > 160, "{all}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_longest_name_counts_and_values_are_found() {
        let found = |argument| find(argument).map(|known| (known.name, known.value));
        assert_eq!(found("-include"), Some(("-include", None)));
        assert_eq!(found("-includea.hpp"), Some(("-include", Some("a.hpp"))));
        assert_eq!(found("-include-pchx"), Some(("-include-pch", Some("x"))));
        assert_eq!(found("-isystemx"), Some(("-isystem", Some("x"))));
        assert_eq!(found("-Ix"), Some(("-I", Some("x"))));
        assert_eq!(found("-lm"), Some(("-l", Some("m"))));
        assert_eq!(found("-MD"), Some(("-MD", Some(""))));
        assert_eq!(found("-undef"), Some(("-undef", Some(""))));
        assert_eq!(found("-Wall"), None);
        assert_eq!(found("-static-pie"), None);
        assert_eq!(found("-fsycl-unnamed-lambda"), None);
        assert_eq!(found("--include=x"), Some(("--include=", Some("x"))));
        assert_eq!(found("--include-directory=x"), None);
    }
}
