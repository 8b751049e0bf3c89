// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names, many of which Rust reserves, and what Rust calls them.

use crate::Random;

/// Of members and parameters. C++ takes them all.
const VARIABLES: [&str; 36] = [
    "a",
    "b",
    "x",
    "count",
    "type",
    "match",
    "self",
    "fn",
    "in",
    "move",
    "crate",
    "r",
    "_0",
    "Self",
    "value",
    "len",
    "SYCLBIN",
    "None",
    "padding",
    "_padding4",
    "field0",
    "async",
    "dyn",
    "box",
    "gen",
    "ref",
    "mut",
    "loop",
    "u8",
    "String",
    "core",
    "super",
    "impl",
    "queue",
    "module",
    "launch",
];

/// Of kernels in namespaces.
const KERNELS: [&str; 12] = [
    "load",
    "builder",
    "best_device",
    "move",
    "self",
    "k",
    "launch",
    "Module",
    "Kernels",
    "trait",
    "gen",
    "left_out",
];

const PATHS: [&[&str]; 8] = [
    &["geo"],
    &["geo", "inner"],
    &["type"],
    &["u8"],
    &["core", "mod"],
    &["ns"],
    &["left_out"],
    &["kernels"],
];

/// Namespaces, or none.
pub(crate) fn path(random: &mut Random) -> Vec<String> {
    if random.percent(40) {
        Vec::new()
    } else {
        random
            .pick(&PATHS)
            .iter()
            .map(|part| (*part).to_owned())
            .collect()
    }
}

/// A name for a member or parameter that is not in `taken`.
pub(crate) fn variable(
    random: &mut Random,
    prefix: &str,
    number: usize,
    taken: &mut Vec<String>,
) -> String {
    let special = *random.pick(&VARIABLES);
    if random.percent(40) && !taken.iter().any(|name| name == special) {
        taken.push(special.to_owned());
        return special.to_owned();
    }
    format!("{prefix}{number}")
}

/// A name for a kernel in the namespaces `path`, to which a new one is added where the name is not new.
pub(crate) fn kernel(random: &mut Random, number: usize, path: &mut Vec<String>) -> String {
    if random.percent(25) {
        path.push(format!("n{number}"));
        return (*random.pick(&KERNELS)).to_owned();
    }
    format!("k{number}")
}

/// The identifier of Rust for a name: raw where it is reserved, with an underscore where it cannot be raw.
pub(crate) fn rust(name: &str) -> String {
    const RAW: [&str; 15] = [
        "type", "match", "fn", "in", "move", "async", "dyn", "box", "gen", "ref", "mut", "loop",
        "impl", "mod", "trait",
    ];
    match name {
        "self" | "Self" | "crate" | "super" => format!("{name}_"),
        name if RAW.contains(&name) => format!("r#{name}"),
        name => name.to_owned(),
    }
}

/// The module of a namespace: types and crates of Rust, and what the generated module has, keep their names.
pub(crate) fn module(namespace: &str) -> String {
    match namespace {
        "core" | "u8" | "left_out" => format!("{namespace}_"),
        name => rust(name),
    }
}

/// The method of a kernel.
pub(crate) fn method(kernel: &str) -> String {
    match kernel {
        "load" | "builder" | "best_device" => format!("{kernel}_"),
        name => rust(name),
    }
}

/// A type of C++ as words.
pub(crate) fn words(text: &str) -> String {
    let text = text.replace('*', " ptr ");
    let parts = text.split(|c: char| c != '_' && !c.is_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("_")
}
