// SPDX-License-Identifier: MIT OR Apache-2.0
//! Defines which options each file state implies for a compile, and which states can be joined.

use syclbin::State;

use crate::command_line::warnings::Warnings;
use crate::{Result, own};

/// The option that lets modules use each other's functions.
pub(crate) const ALLOW: &str = "-fsycl-allow-device-image-dependencies";
pub(crate) const FORBID: &str = "-fno-sycl-allow-device-image-dependencies";

/// Whether the command line lets modules use each other's functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dependencies {
    /// Unspecified: the state decides.
    #[default]
    Unsaid,
    Allowed,
    /// Forbidden by this option.
    Forbidden(String),
}

impl Dependencies {
    /// Checks that the setting agrees with the file's state.
    pub(crate) fn check(&self, state: State, warnings: &mut Warnings) -> Result<()> {
        match self {
            Self::Forbidden(option) if state != State::Executable => {
                return own(format!(
                    "invalid argument '{option}' not allowed with '-fsyclbin={state}': a file in this state is linked \
                     later; remove the option, or create an executable"
                ));
            }
            Self::Allowed if state == State::Executable => warnings.add(format!(
                "'{ALLOW}' with '-fsyclbin=executable': an executable cannot be linked any further, so it can use \
                 only its own functions"
            )),
            _ => {}
        }
        Ok(())
    }

    /// Returns the option for compiling to `state`, if any. In the states input and object, modules may use each
    /// other's functions by default.
    pub(crate) fn option(&self, state: State) -> Option<&'static str> {
        match self {
            Self::Forbidden(_) => Some(FORBID),
            Self::Unsaid if state == State::Executable => None,
            Self::Allowed | Self::Unsaid => Some(ALLOW),
        }
    }

    /// Returns the option that repeats the setting when compiling to `state`, unless the state implies the setting.
    pub(crate) fn explicit(&self, state: State) -> Option<&'static str> {
        self.option(state).filter(|_| state == State::Executable)
    }

    /// Returns the state to which each input is compiled if the file combines several inputs.
    pub(crate) fn state_of_part(&self, whole: State) -> State {
        match (whole, self) {
            // A source may use functions from another source, so the imports of a single source are not checked yet.
            (State::Executable, Self::Unsaid | Self::Allowed) => State::Object,
            (state, _) => state,
        }
    }
}

/// Checks that a file in state `part` may become part of a file in state `whole`. A file cannot return to an earlier
/// state, and an executable cannot become part of any file.
pub(crate) fn check_join(path: &str, part: Option<State>, whole: State) -> Result<()> {
    match (part, whole) {
        (Some(State::Executable), _) => own(format!(
            "'{path}' is an executable, which is already linked; compile its sources with -fsyclbin=object to link \
             them with other files"
        )),
        (Some(from @ State::Object), State::Input) => own(format!(
            "'{path}' is in the {from} state and cannot be converted back to {whole}; use -fsyclbin={from} or \
             -fsyclbin=executable"
        )),
        (Some(State::Input | State::Object), _) => Ok(()),
        (Some(State::Other(_)) | None, _) => own(format!(
            "'{path}' has an unknown state; rebuild it from source"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executables_forbid_dependencies_by_default() {
        for state in [State::Input, State::Object] {
            assert_eq!(Dependencies::Unsaid.option(state), Some(ALLOW));
            let mut warnings = Warnings::default();
            assert!(
                Dependencies::Forbidden(FORBID.into())
                    .check(state, &mut warnings)
                    .is_err()
            );
            assert_eq!(Dependencies::Allowed.check(state, &mut warnings), Ok(()));
            assert!(warnings.texts().is_empty());
        }
        let state = State::Executable;
        assert_eq!(Dependencies::Unsaid.option(state), None);
        let mut warnings = Warnings::default();
        assert_eq!(
            Dependencies::Forbidden(FORBID.into()).check(state, &mut warnings),
            Ok(())
        );
        assert!(warnings.texts().is_empty());
        assert_eq!(Dependencies::Allowed.check(state, &mut warnings), Ok(()));
        assert_eq!(warnings.texts().len(), 1);
    }

    #[test]
    fn files_join_equal_or_later_states() {
        use State::{Executable, Input, Object};
        for (part, whole, may) in [
            (Input, Input, true),
            (Input, Object, true),
            (Input, Executable, true),
            (Object, Input, false),
            (Object, Object, true),
            (Object, Executable, true),
            (Executable, Executable, false),
            (Executable, Object, false),
        ] {
            let outcome = check_join("a.syclbin", Some(part), whole);
            assert_eq!(outcome.is_ok(), may, "{part:?} to {whole:?}: {outcome:?}");
        }
        assert!(check_join("a.syclbin", None, Object).is_err());
    }

    #[test]
    fn only_executables_repeat_the_setting() {
        let (object, executable) = (State::Object, State::Executable);
        assert_eq!(Dependencies::Allowed.explicit(executable), Some(ALLOW));
        let forbidden = Dependencies::Forbidden(FORBID.into());
        assert_eq!(forbidden.explicit(executable), Some(FORBID));
        assert_eq!(Dependencies::Unsaid.explicit(executable), None);
        assert_eq!(Dependencies::Allowed.explicit(object), None);
    }
}
