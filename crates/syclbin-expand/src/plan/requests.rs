// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the kernels that the items refer to: kernels with a new name or a contract, and selected kernels.

use std::collections::{BTreeMap, BTreeSet};

use crate::file::File;
use crate::input::Input;
use crate::input::items::KernelItem;
use crate::names::cpp_name::{self, CppName};
use crate::names::default_names::RustName;
use crate::names::known;

/// Returns the indices of the selected kernels, each with the kernel's item, if it has one.
pub(crate) fn requests<'i>(
    input: &'i Input,
    file: &File,
    names: &[Option<RustName>],
    errors: &mut Vec<syn::Error>,
) -> BTreeMap<usize, Option<&'i KernelItem>> {
    let kernels = &file.signatures.kernels;
    let all = (0..kernels.len()).map(|index| (index, None));
    let mut requests: BTreeMap<usize, Option<&KernelItem>> = all.collect();
    for item in &input.items.kernels {
        match item.cpp.among(kernels, names).as_slice() {
            [] => errors.extend(unknown_kernel(&item.cpp, file, names)),
            [_] if item.is_idle() => errors.push(item.cpp.error(
                "this item has no effect: write `as NEW_NAME` after it, or `safe` or \
                 `pub(crate)` before `fn`",
            )),
            [index] => match requests.entry(*index).or_default() {
                Some(_) => errors.push(item.cpp.error(
                    "this kernel is already named in an item above; combine both items: `safe fn NAME as \
                    NEW_NAME where CONDITIONS;`",
                )),
                request => *request = Some(item),
            },
            several => {
                let called = |at: &usize| cpp_name::called(&kernels[*at], names[*at].as_ref());
                let each: Vec<String> = several.iter().map(called).collect();
                let known = known("", each.iter().map(String::as_str)).unwrap_or_default();
                let message = format!("several kernels have this name; write one of {known}");
                errors.push(item.cpp.error(message));
            }
        }
    }
    let Some(selection) = &input.items.selection else {
        return requests;
    };
    let mut named = BTreeSet::new();
    for name in &selection.names {
        let found = name.among(kernels, names);
        if found.is_empty() {
            errors.extend(unknown_kernel(name, file, names));
        }
        named.extend(found);
    }
    requests.retain(|index, _| named.contains(index) != selection.skips);
    for item in &input.items.kernels {
        if let [index] = item.cpp.among(kernels, names).as_slice()
            && !requests.contains_key(index)
        {
            errors.push(item.cpp.error("`only` or `skip` excludes this kernel"));
        }
    }
    requests
}

/// Returns the error for an unknown kernel, or `None` if the kernels in the file are unknown.
fn unknown_kernel(name: &CppName, file: &File, names: &[Option<RustName>]) -> Option<syn::Error> {
    file.path.as_ref()?;
    let kernels = file.signatures.kernels.iter().zip(names);
    let kernels = kernels.filter(|(kernel, _)| !cpp_name::is_of_runtime(kernel));
    let names = kernels.map(|(kernel, name)| cpp_name::called(kernel, name.as_ref()));
    let names: Vec<String> = names.collect();
    let kernels = match known(name.text(), names.iter().map(String::as_str)) {
        None => "contains no kernels: in its C++ source, write SYCLBIN_KERNEL(1) before a function"
            .into(),
        Some(known) => format!("has {known}"),
    };
    let (file, wanted) = (&file.name, name.text());
    Some(name.error(format!("`{file}` has no kernel `{wanted}`; it {kernels}")))
}
