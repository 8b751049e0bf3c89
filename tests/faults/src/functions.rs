// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table of functions, a line each, as exported functions that pass calls on.

/// Writes exported functions, and the table of them.
///
/// A line is `name: type(parameters) -> result, role;`. The type is the one that `opencl-sys`
/// transcribes from the headers, against which the parameters are checked. The [`Role`] says what
/// the call does to objects and queues. What is called is the function of the driver, with the same
/// arguments; a third part, `|real| ...`, does something else with it.
///
/// [`Role`]: crate::pass::Role
macro_rules! functions {
    ($($name:ident: $ty:ident($($arg:ident: $arg_ty:ty),* $(,)?) -> $result:ty,
        $role:expr $(, |$real:ident| $call:expr)?;)*) => {
        mod slots {
            use crate::slot::Slot;
            $(pub(super) static $name: Slot = Slot::new(stringify!($name));)*
        }

        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// As of that function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $arg_ty),*) -> $result {
                type Function = unsafe extern "C" fn($($arg_ty),*) -> $result;
                // SAFETY: the function of this name has this type, and gets the arguments that the
                // caller vouches for, with places to write to among them.
                unsafe {
                    crate::pass::pass(&slots::$name, $role, |real: Function| {
                        functions!(@call real ($($arg),*) $(|$real| $call)?)
                    })
                }
            }
            const _: $ty = Some($name);
        )*

        /// The functions of this table.
        pub(crate) const TABLE: &[crate::slot::Entry] = &[$(crate::slot::Entry {
            slot: &slots::$name,
            here: || $name as *mut std::ffi::c_void,
        },)*];
    };
    (@call $function:ident ($($arg:ident),*)) => {
        $function($($arg),*)
    };
    (@call $function:ident ($($arg:ident),*) |$real:ident| $call:expr) => {{
        let $real = $function;
        $call
    }};
}

pub(crate) use functions;
