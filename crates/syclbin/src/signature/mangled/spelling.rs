// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types and names as sources spell them.

use alloc::format;
use alloc::string::String;

/// Returns an array of `count` elements (empty: as many as there are) of what `element` spells: `int[2][8]`
/// is two arrays of eight.
pub(in crate::signature) fn array(element: &str, count: &str) -> String {
    // The brackets at the end are the inner dimensions; brackets of a template argument are not.
    let mut base = element;
    while let Some((rest, _)) = base
        .strip_suffix(']')
        .and_then(|inner| inner.rsplit_once('['))
    {
        base = rest;
    }
    format!("{base}[{count}]{}", &element[base.len()..])
}

/// A path of C++. SYCL's types stand in an inline namespace, which sources never write.
pub(super) fn join(path: &[String], base: &str) -> String {
    let mut text = String::new();
    for part in path.iter().map(String::as_str).chain([base]) {
        if part == "_V1" && text == "sycl" {
            continue;
        }
        if !text.is_empty() {
            text.push_str("::");
        }
        text.push_str(part);
    }
    match text.as_str() {
        "sycl::detail::half_impl::half" => "sycl::half".into(),
        _ => text,
    }
}

/// Returns an instance of a template, as people write it: arguments that are always the same are left out.
pub(super) fn instance(name: &str, arguments: &[String]) -> String {
    const EXPERIMENTAL: &str = "sycl::ext::oneapi::experimental::";
    let arguments = match (name.strip_prefix(EXPERIMENTAL), arguments) {
        (Some("work_group_memory" | "dynamic_work_group_memory"), [data, properties])
            if properties.ends_with("properties_type_list>") =>
        {
            data.clone()
        }
        (None, [data, dimensions, mode, target, _, ..]) if name == "sycl::accessor" => {
            let mode = MODES.iter().find(|(number, _)| number == mode);
            let target = TARGETS.iter().find(|(number, _)| number == target);
            match (mode, target) {
                (Some((_, mode)), Some((_, target))) => {
                    format!("{data}, {dimensions}, sycl::access_mode::{mode}{target}")
                }
                _ => arguments.join(", "),
            }
        }
        _ => arguments.join(", "),
    };
    format!("{name}<{arguments}>")
}

/// The targets of accessors that kernels take, by their numbers, and the argument that names them. The first is
/// the default of C++.
const TARGETS: [(&str, &str); 3] = [
    ("2014", ""),
    ("2017", ", sycl::target::image"),
    ("2020", ", sycl::target::image_array"),
];
/// The modes of access, by their numbers.
const MODES: [(&str, &str); 6] = [
    ("1024", "read"),
    ("1025", "write"),
    ("1026", "read_write"),
    ("1027", "discard_write"),
    ("1028", "discard_read_write"),
    ("1029", "atomic"),
];
