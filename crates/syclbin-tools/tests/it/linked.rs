// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links real modules. `spirv-val` of SPIRV-Tools, an independent tool, judges the results where it is installed.

use std::io::Write as _;
use std::process::{Command, Stdio};

use syclbin::__private::spirv::Module;
use syclbin::metadata::DeviceRequirements;
use syclbin::property::set;
use syclbin::{AbstractModule, Aspect, Image, IrType};
use syclbin_tools::__private::link::{LinkError, Object, link, link_modules};

/// Returns the SPIR-V of the only module in a file.
fn spirv(name: &str) -> Vec<u8> {
    let bytes = test_files::read(name);
    let file = syclbin::read::parse(&bytes).unwrap();
    let [module] = file.modules.as_slice() else {
        panic!("{name} has {} modules", file.modules.len());
    };
    module.images[0].spirv().unwrap().to_vec()
}

fn object<'o>(name: &'o str, spirv: &'o [u8]) -> Object<'o> {
    Object { name, spirv }
}

/// Returns what `spirv-val` says of a module: nothing if the module is valid. `None` if the tool is not installed.
pub(super) fn said_by_validator(spirv: &[u8]) -> Option<String> {
    let started = Command::new("spirv-val")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut validator) = started else {
        println!("spirv-val is not installed (Debian: spirv-tools): the module is not validated");
        return None;
    };
    validator.stdin.take()?.write_all(spirv).unwrap();
    let output = validator.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.success(), said.is_empty(), "{said}");
    Some(said)
}

/// Checks that the validator says nothing about a module that it did not say about its parts.
pub(super) fn check(linked: &[u8], parts: &[&[u8]]) {
    let known: Vec<_> = parts.iter().map(|part| said_by_validator(part)).collect();
    if known.iter().all(|said| said.as_deref() == Some("")) {
        assert_eq!(said_by_validator(linked).as_deref(), Some(""));
    }
}

#[test]
fn import_is_replaced_by_its_definition() {
    let program = spirv("import_side.object.syclbin");
    let library = spirv("export_side.object.syclbin");
    let linked = link(object("a.cpp", &program), &[object("b.cpp", &library)]).unwrap();
    let module = Module::parse(&linked).unwrap();
    assert_eq!(
        module.kernels().collect::<Vec<_>>(),
        ["__sycl_kernel_apply"]
    );
    assert_eq!(module.imports().collect::<Vec<_>>(), [""; 0]);
    assert_eq!(module.exports().collect::<Vec<_>>(), [""; 0]);
    let before = Module::parse(&program).unwrap();
    let kernel = "__sycl_kernel_apply";
    let types = |module: &Module| module.parameters(kernel).unwrap().len();
    assert_eq!(types(&module), types(&before));
    check(&linked, &[&program, &library]);
    // Nothing is left of the import.
    let text = String::from_utf8_lossy(&linked).into_owned();
    assert_eq!(text.matches("_Z5shapef").count(), 1, "its name alone");
}

#[test]
fn missing_definition_stays_an_import() {
    let program = spirv("import_side.object.syclbin");
    let linked = link(object("a.cpp", &program), &[]).unwrap();
    let module = Module::parse(&linked).unwrap();
    assert_eq!(module.imports().collect::<Vec<_>>(), ["_Z5shapef"]);
    check(&linked, &[&program]);
}

#[test]
fn library_without_kernels_keeps_its_exports() {
    let library = spirv("export_side.object.syclbin");
    let linked = link(object("b.cpp", &library), &[]).unwrap();
    let module = Module::parse(&linked).unwrap();
    assert_eq!(module.exports().collect::<Vec<_>>(), ["_Z5shapef"]);
    check(&linked, &[&library]);
    let error = link(object("b.cpp", &library), &[object("c.cpp", &library)]).unwrap_err();
    let expected = "_Z5shapef is defined by both b.cpp and c.cpp; remove one of the definitions";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn every_module_links_with_a_library() {
    let library = spirv("export_side.object.syclbin");
    let mut modules = 0;
    for (name, bytes) in [
        test_files::all("", ".syclbin"),
        test_files::all("described", ".syclbin"),
    ]
    .concat()
    {
        let file = syclbin::read::parse(&bytes).unwrap();
        for code in file
            .modules
            .iter()
            .flat_map(|module| &module.images)
            .filter_map(|image| image.spirv())
        {
            let linked = match link(object(&name, code), &[object("library", &library)]) {
                Ok(linked) => linked,
                Err(LinkError::Duplicate { symbol, .. }) if symbol == "_Z5shapef" => continue,
                Err(error) => panic!("{name}: {error}"),
            };
            let [before, after] = [code, &linked].map(|code| Module::parse(code).unwrap());
            assert!(before.kernels().eq(after.kernels()), "{name}");
            for kernel in before.kernels() {
                let parameters = |module: &Module| {
                    format!("{:?}", module.parameters(kernel).map(|all| all.len()))
                };
                assert_eq!(parameters(&before), parameters(&after), "{name}");
            }
            check(&linked, &[code]);
            modules += 1;
        }
    }
    assert!(modules > 10, "{modules}");
}

#[test]
fn damaged_modules_are_errors_without_a_panic() {
    let program = spirv("import_side.object.syclbin");
    let library = spirv("export_side.object.syclbin");
    let mut refused = 0;
    let mut linked = 0;
    for at in 0..program.len() / 4 {
        for value in [0, 1, 7, 14, 0xffff, u32::MAX] {
            let mut damaged = program.clone();
            damaged[at * 4..at * 4 + 4].copy_from_slice(&u32::to_le_bytes(value));
            for [a, b] in [[&damaged, &library], [&library, &damaged]] {
                match link(object("a", a), &[object("b", b)]) {
                    Ok(_) => linked += 1,
                    Err(_) => refused += 1,
                }
            }
        }
        let cut = &program[..at * 4];
        refused += usize::from(link(object("a", cut), &[object("b", &library)]).is_err());
    }
    assert!(refused > 100 && linked > 100, "{refused} {linked}");
}

/// Returns a module that calls `shape`, and the module that defines it.
fn modules() -> Vec<AbstractModule<'static>> {
    let names = ["import_side.object.syclbin", "export_side.object.syclbin"];
    let read = |name| syclbin::read::parse(test_files::bytes(name)).unwrap();
    names
        .into_iter()
        .flat_map(|name| read(name).modules)
        .collect()
}

/// Links the modules of a file, and returns what stays unlinked.
fn link_all(modules: &mut Vec<AbstractModule<'static>>) -> Vec<String> {
    let unlinked = link_modules(modules).into_iter();
    unlinked.map(|module| module.to_string()).collect()
}

#[test]
fn linked_module_requires_what_its_libraries_require() {
    let mut modules = modules();
    let mut requirements = DeviceRequirements::default();
    requirements.aspects.push(Aspect::FP64);
    requirements.write(&mut modules[1].metadata);
    let before = modules[1].clone();
    assert_eq!(link_all(&mut modules), [""; 0]);
    assert_eq!(modules.len(), 2);
    assert_eq!(modules[0].aspects().unwrap(), [Aspect::FP64]);
    assert_eq!(modules[0].metadata.set(set::IMPORTED_SYMBOLS), None);
    assert_eq!(modules[1], before);
    let code = Module::parse(modules[0].images[0].spirv().unwrap()).unwrap();
    assert_eq!(code.imports().count(), 0);
    // Now there is nothing left to link.
    let linked = modules.clone();
    assert_eq!(link_all(&mut modules), [""; 0]);
    assert_eq!(modules, linked);
}

#[test]
fn ptx_of_a_linked_module_stays_apart() {
    let mut modules = modules();
    let ptx = test_files::read("made/entries.ptx");
    let image = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", ptx.clone());
    modules[0].images.push(image);
    assert_eq!(link_all(&mut modules), [""; 0]);
    let [spirv, apart, _] = modules.as_slice() else {
        panic!("{} modules", modules.len());
    };
    assert_eq!((spirv.images.len(), apart.images.len()), (1, 1));
    assert!(spirv.metadata.set(set::IMPORTED_SYMBOLS).is_none());
    assert!(apart.metadata.set(set::IMPORTED_SYMBOLS).is_some());
    assert!(apart.kernel_names().eq(spirv.kernel_names()));
    assert!(apart.images[0].native && *apart.images[0].bytes == *ptx);
}

#[test]
fn modules_that_only_a_loader_links_stay() {
    for (changed, name, expected) in [
        (
            1,
            set::DEVICE_GLOBALS,
            "kernel apply: kernel shape(float) has device globals",
        ),
        (
            0,
            set::VIRTUAL_FUNCTIONS,
            "kernel apply: it uses virtual functions",
        ),
    ] {
        let mut modules = modules();
        modules[changed].metadata.insert(name, "x", 1u32);
        let before = modules.clone();
        let unlinked = link_all(&mut modules);
        assert!(
            unlinked.len() == 1 && unlinked[0].starts_with(expected),
            "{unlinked:?}"
        );
        assert_eq!(modules, before);
    }
    let mut twice = modules();
    twice.push(twice[1].clone());
    assert_eq!(link_all(&mut twice.clone()), [""; 0]);
    let code = twice[1].images[0].spirv().unwrap();
    let mut other = code.to_vec();
    other[8] ^= 1; // the generator
    twice[2].images[0].bytes = other.into();
    let unlinked = link_all(&mut twice);
    assert_eq!(unlinked.len(), 1);
    assert!(
        unlinked[0]
            .starts_with("kernel apply: _Z5shapef is defined by both kernel shape(float) and "),
        "{unlinked:?}"
    );
}
