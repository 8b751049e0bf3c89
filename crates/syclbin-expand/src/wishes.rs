//! What the items ask for: a name or a contract for a kernel, and which kernels at all.

use std::collections::BTreeSet;

use crate::contract::Contract;
use crate::cpp_name::{self, CppName};
use crate::file::File;
use crate::input::Input;
use crate::items::{KernelItem, SelectionKind};

/// What an item says of a kernel.
#[derive(Default)]
pub(crate) struct Wish<'i> {
    pub(crate) item: Option<&'i KernelItem>,
    pub(crate) contract: Option<Contract>,
}

/// What the items say of each kernel.
pub(crate) fn wishes<'i>(
    input: &'i Input,
    file: &File,
    errors: &mut Vec<syn::Error>,
) -> Vec<Wish<'i>> {
    let kernels = &file.signatures.kernels;
    let mut wishes: Vec<Wish<'i>> = kernels.iter().map(|_| Wish::default()).collect();
    for item in &input.items.kernels {
        let contract = item
            .safe
            .map(|_| Contract::parse(&item.conditions))
            .transpose();
        let contract = contract.unwrap_or_else(|error| {
            errors.push(error);
            Some(Contract::unreadable())
        });
        match item.cpp.among(kernels).as_slice() {
            [] => errors.extend(unknown_kernel(&item.cpp, file)),
            [_] if item.is_idle() => errors.push(item.cpp.error(
                "this says nothing of the kernel: write `as NEW_NAME` after it, or `safe` or \
                 `pub(crate)` before `fn`",
            )),
            [place] => match &mut wishes[*place] {
                wish if wish.item.is_some() => {
                    errors.push(item.cpp.error("this kernel has an item above; one says all: `safe fn NAME as NEW_NAME where CONDITIONS;`"));
                }
                wish => {
                    *wish = Wish {
                        item: Some(item),
                        contract,
                    }
                }
            },
            several => {
                let all = cpp_name::unique(kernels);
                let names = several.iter().map(|place| format!("`{}`", all[*place]));
                let names: Vec<String> = names.collect();
                let message = format!(
                    "several kernels are called this; write one of {}",
                    names.join(", ")
                );
                errors.push(item.cpp.error(message));
            }
        }
    }
    wishes
}

/// The kernels that get functions.
pub(crate) fn selected(
    input: &Input,
    file: &File,
    errors: &mut Vec<syn::Error>,
) -> BTreeSet<usize> {
    let kernels = &file.signatures.kernels;
    let all = 0..kernels.len();
    let Some(selection) = &input.items.selection else {
        return all.collect();
    };
    let mut named = BTreeSet::new();
    for name in &selection.names {
        let found = name.among(kernels);
        if found.is_empty() {
            errors.extend(unknown_kernel(name, file));
        }
        named.extend(found);
    }
    let selected: BTreeSet<usize> = match selection.kind {
        SelectionKind::Only => named,
        SelectionKind::Skip => all.filter(|place| !named.contains(place)).collect(),
    };
    for item in &input.items.kernels {
        if let [place] = item.cpp.among(kernels).as_slice()
            && !selected.contains(place)
        {
            errors.push(
                item.cpp
                    .error("this kernel is left out by `only` or `skip`"),
            );
        }
    }
    selected
}

/// `None` for the file that is not there, of which enough was said.
fn unknown_kernel(name: &CppName, file: &File) -> Option<syn::Error> {
    file.path.as_ref()?;
    let names = cpp_name::unique(&file.signatures.kernels);
    Some(name.error(match known(names.iter().map(String::as_str)) {
        None => format!("`{}` has no kernels", file.name),
        Some(known) => format!(
            "`{}` has no kernel `{}`; it has {known}",
            file.name,
            name.text()
        ),
    }))
}

/// A list of names, not too long.
pub(crate) fn known<'n>(names: impl Iterator<Item = &'n str>) -> Option<String> {
    const MOST: usize = 20;
    let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    let count = names.len();
    let shown: Vec<String> = names
        .into_iter()
        .take(MOST)
        .map(|name| format!("`{name}`"))
        .collect();
    match count {
        0 => None,
        _ if count > MOST => Some(format!("{} and {} more", shown.join(", "), count - MOST)),
        _ => Some(shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_of_names_are_cut() {
        assert_eq!(known([].into_iter()), None);
        assert_eq!(known([""].into_iter()), None);
        assert_eq!(
            known(["b", "", "a", "b"].into_iter()),
            Some("`a`, `b`".into())
        );
        let names: Vec<String> = (10..32).map(|number| number.to_string()).collect();
        let of = |count: usize| known(names.iter().take(count).map(String::as_str)).unwrap();
        assert!(of(20).ends_with("`28`, `29`"), "{}", of(20));
        assert!(of(21).ends_with("`28`, `29` and 1 more"), "{}", of(21));
        assert!(of(22).ends_with("`28`, `29` and 2 more"), "{}", of(22));
    }
}
