// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of all kinds of parameters, in two files that `syclbin-clang -g` made; see tests/files/PROVENANCE.md.

use std::fmt::Write as _;
use std::path::PathBuf;

use syclbin::__private::debug_info::Described;
use syclbin::__private::mangled;
use syclbin::Syclbin;
use syclbin::property::set;
use syclbin::signature::{
    self, Argument, Declaration, DeclaredParameter, Element, KernelName, Signatures, Type,
};

fn path(name: &str) -> PathBuf {
    test_files::path("described").join(name)
}

fn file(name: &str) -> Syclbin<'static> {
    let bytes = std::fs::read(path(&format!("{name}.syclbin"))).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap().into_owned();
    assert_eq!(file.modules.len(), 1);
    file
}

fn describe(file: &Syclbin<'_>) -> Described {
    Described::of(file).unwrap()
}

/// The same file with what debug information tells, as `syclbin-build` records it.
fn recorded(name: &str) -> Syclbin<'static> {
    let mut file = file(name);
    let described = describe(&file);
    syclbin::__private::record(&mut file.modules[0], &described).unwrap();
    file
}

/// Compares with a file of `tests/files/described`, which `BLESS=1` writes anew.
#[track_caller]
fn assert_as_before(name: &str, found: &str) {
    let path = path(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found, expected);
}

fn description(described: &Described) -> String {
    let mut text = String::new();
    for (symbol, kernel) in &described.kernels {
        let Some(parameters) = &kernel.parameters else {
            continue;
        };
        let parameters = parameters.iter().map(|parameter| DeclaredParameter {
            ty: parameter.ty.to_string(),
            name: parameter.name.clone(),
        });
        let declaration = Declaration {
            name: mangled::parse(symbol).unwrap().qualified(),
            parameters: parameters.collect(),
        };
        let dimensions = kernel.dimensions;
        writeln!(text, "{symbol} {dimensions:?}\n    {declaration}").unwrap();
    }
    for (name, ty) in &described.variables {
        writeln!(text, "{name}\n    {ty}").unwrap();
    }
    let definitions = &described.definitions;
    for (name, element) in &definitions.named {
        match element {
            Element::Struct(id) => writeln!(text, "{}", definitions.layouts.describe(*id)),
            element => writeln!(text, "{name}: {element:?}"),
        }
        .unwrap();
    }
    text
}

fn signatures(file: &Signatures) -> String {
    let mut text = String::new();
    for kernel in &file.kernels {
        let name = kernel.name.as_ref();
        let name = name.map_or_else(|| kernel.symbol.clone(), KernelName::qualified);
        writeln!(text, "{name} {:?}", kernel.required_local_size).unwrap();
        for parameter in kernel.parameters.iter().flatten() {
            let arguments = parameter.arguments.iter().map(|argument| match argument {
                Argument::Passed => '+',
                Argument::Removed => '-',
            });
            let arguments = arguments.collect::<String>();
            let ty = match &parameter.ty {
                Type::Value(value) => format!("{value:?}"),
                ty => format!("{ty:?}"),
            };
            let sign = if parameter.sign_known { "" } else { "?" };
            let name = parameter.name.as_deref().unwrap_or("_");
            writeln!(
                text,
                "    {arguments} {name}: {ty}{sign} {:?}",
                parameter.align
            )
            .unwrap();
        }
        if let Err(reason) = &kernel.parameters {
            writeln!(text, "    {reason}").unwrap();
        }
    }
    for constant in &file.constants {
        writeln!(text, "{constant:?}").unwrap();
    }
    for global in &file.globals {
        writeln!(text, "{global:?}").unwrap();
    }
    for (id, _) in file.layouts.iter() {
        writeln!(text, "{id:?} {}", file.layouts.describe(id)).unwrap();
    }
    text
}

/// The sources have assertions of the sizes and offsets.
#[test]
fn debug_information_describes_kernels_and_structs() {
    for name in ["described", "functors"] {
        let found = description(&describe(&file(name)));
        assert_as_before(&format!("{name}.txt"), &found);
    }
}

#[test]
fn recorded_declarations_give_whole_signatures() {
    for name in ["described", "functors"] {
        let found = signatures(&signature::kernels(&recorded(name)).unwrap());
        assert_as_before(&format!("{name}.recorded.txt"), &found);
    }
}

#[test]
fn code_alone_gives_signatures_of_what_it_knows() {
    for name in ["described", "functors"] {
        let found = signatures(&signature::kernels(&file(name)).unwrap());
        assert_as_before(&format!("{name}.code.txt"), &found);
    }
}

#[test]
fn scratch_memory_is_not_a_member() {
    const FUNCTOR: &str = "_ZTS7Functor";
    let mut file = file("functors");
    let expected = describe(&file);
    assert!(expected.kernels[FUNCTOR].parameters.is_some());
    // No argument has this index.
    let sets = &mut file.modules[0].metadata;
    sets.insert(set::IMPLICIT_LOCAL_ARG, FUNCTOR, u32::MAX);
    assert_eq!(describe(&file), expected);
    let sets = &mut file.modules[0].metadata;
    sets.insert(set::IMPLICIT_LOCAL_ARG, FUNCTOR, 1u32);
    assert_eq!(describe(&file).kernels[FUNCTOR].parameters, None);
}

#[test]
fn damaged_debug_information_does_not_panic() {
    let file = file("described");
    let code = &file.modules[0].images[0].bytes;
    let mut other = file.clone();
    let mut read = 0;
    for at in (20..code.len()).step_by(1999) {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = code.to_vec();
            damaged[at] ^= change;
            other.modules[0].images[0].bytes = damaged.into();
            if let Ok(described) = Described::of(&other) {
                let mut kernels = described.kernels.values();
                read += usize::from(kernels.any(|kernel| kernel.parameters.is_some()));
            }
        }
    }
    assert!(read > 0);
}
