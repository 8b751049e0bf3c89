// SPDX-License-Identifier: MIT OR Apache-2.0
//! Re-exports the `alloc` names that most modules need. The standard library's prelude would provide most of them.

pub(crate) use alloc::borrow::{Cow, ToOwned};
pub(crate) use alloc::boxed::Box;
pub(crate) use alloc::collections::{BTreeMap, BTreeSet};
pub(crate) use alloc::rc::Rc;
pub(crate) use alloc::string::{String, ToString};
pub(crate) use alloc::vec::Vec;
pub(crate) use alloc::{format, vec};
