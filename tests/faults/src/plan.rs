// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to fail: which call of which function, and how.

use std::fmt;
use std::str::FromStr;

use opencl_sys::cl_int;

/// A call that fails, written as words.
///
/// | words | what fails |
/// |---|---|
/// | `clCreateBuffer 2` | the second call of that function, with a code that it may return |
/// | `clCreateBuffer 2 -4` | the same, with that code |
/// | `clCreateBuffer 2+ -4` | the second call and all later ones |
/// | `clCreateBuffer 2 null` | it says that all is well, and gives null |
/// | `clEnqueueNDRangeKernel 1 later -5` | the command: the call is fine, its event ends with that code |
/// | `* 100+ -2` | all calls from the hundredth on, but for those that release something |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The function; none means all.
    pub function: Option<String>,
    /// Which of its calls, counted from 1.
    pub nth: u64,
    /// And all after it.
    pub onward: bool,
    /// In which way.
    pub how: How,
}

/// The way in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// With a code that fits the function.
    Usual,
    /// With this code.
    Code(cl_int),
    /// It reports success and gives null.
    Null,
    /// It is accepted, and the event of its command ends with this code.
    Later(cl_int),
}

/// Words that are no [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(String);

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(words: &str) -> Result<Self, PlanError> {
        let fail = || PlanError(words.to_owned());
        let mut rest = words.split_whitespace();
        let function = rest.next().ok_or_else(fail)?;
        let nth = rest.next().ok_or_else(fail)?;
        let onward = nth.ends_with('+');
        let nth = nth.trim_end_matches('+').parse().map_err(|_| fail())?;
        let code = |word: &str| word.parse::<cl_int>().map_err(|_| fail());
        let how = match (rest.next(), rest.next()) {
            (None, None) => How::Usual,
            (Some("null"), None) => How::Null,
            (Some("later"), Some(word)) => How::Later(code(word)?),
            (Some(word), None) => How::Code(code(word)?),
            _ => return Err(fail()),
        };
        if rest.next().is_some() {
            return Err(fail());
        }
        let function = (function != "*").then(|| function.to_owned());
        Ok(Self {
            function,
            nth,
            onward,
            how,
        })
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` names no fault: it is FUNCTION NTH [CODE | null | later CODE]",
            self.0
        )
    }
}

impl std::error::Error for PlanError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_function_count_and_way() {
        let plan = |words: &str| words.parse::<Plan>().map(|plan| plan.how);
        assert_eq!(plan("clFlush 1"), Ok(How::Usual));
        assert_eq!(plan("clFlush 1 -5"), Ok(How::Code(-5)));
        assert_eq!(plan("clFlush 1 null"), Ok(How::Null));
        assert_eq!(plan("clFlush 1 later -5"), Ok(How::Later(-5)));
        let vanished: Plan = "* 100+ -2".parse().unwrap();
        assert_eq!(
            (vanished.function, vanished.nth, vanished.onward),
            (None, 100, true)
        );
    }

    #[test]
    fn other_words_are_refused_and_shown() {
        for words in [
            "",
            "clFlush",
            "clFlush x",
            "clFlush 1 soon",
            "clFlush 1 -5 6",
            "a 1 later",
        ] {
            let error = words.parse::<Plan>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{words}` names no fault")),
                "{error}"
            );
        }
    }
}
