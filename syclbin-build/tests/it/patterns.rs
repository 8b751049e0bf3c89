// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources by a pattern, and sources with kernels of one name.

use std::fs;

use crate::script::{COMPILE, Package};

/// The symbols of the kernels in a file that a script made.
fn kernels(package: &Package, name: &str) -> Vec<String> {
    let bytes = fs::read(package.made(name)).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    file.kernel_names().map(str::to_owned).collect()
}

#[test]
fn pattern_compiles_each_match_and_watches_directory() {
    let package = Package::new();
    for name in [
        "kernels/a/functor.cpp",
        "kernels/a/.#functor.cpp",
        "kernels/structs.cpp",
        "kernels/notes.txt",
    ] {
        package.write(name, "");
    }
    let steps = "sources kernels/**/*.cpp\nsource kernels/vector_ops.cpp\ncompile all";
    let ran = package.script(steps, COMPILE).run().succeeded();
    assert!(ran.said("rerun-if-changed").contains(&"kernels"), "{ran:?}");
    let names = kernels(&package, "all");
    for symbol in [
        "_ZTS6AddOne",
        "__sycl_kernel_kinetic",
        "__sycl_kernel_saxpy",
    ] {
        let count = names.iter().filter(|name| *name == symbol).count();
        assert_eq!(count, 1, "{symbol} in {names:?}");
    }
    // The order does not depend on the file system.
    let noted = fs::read_to_string(package.out_dir().join("syclbin/.sources-all")).unwrap();
    let sources = "source=kernels/vector_ops.cpp\0matched=kernels/a/functor.cpp\0matched=kernels/structs.cpp\0";
    assert!(noted.starts_with(sources), "{noted}");
}

#[test]
fn included_match_is_not_a_source() {
    let package = Package::new();
    for name in ["functor", "structs"] {
        package.write(&format!("kernels/{name}.cpp"), "");
    }
    // A part does not compile alone, and its error is not shown.
    let compile = format!(
        "[ $name != structs ] || {{ echo 'kernels/structs.cpp:1:1: error: alone' >&2; exit 1; }}; \
         [ -z \"$depfile\" ] || echo \"x: kernels/$name.cpp kernels/./structs.cpp\" >\"$depfile\"; {COMPILE}"
    );
    let script = package.script("sources kernels/*.cpp\ncompile all", &compile);
    let ran = script.run().succeeded();
    assert_eq!(ran.said("warning"), [""; 0]);
    assert!(
        ran.said("rerun-if-changed")
            .contains(&"kernels/structs.cpp")
    );
    let names = kernels(&package, "all");
    assert!(names.contains(&"_ZTS6AddOne".to_owned()), "{names:?}");
    assert!(
        !names.contains(&"__sycl_kernel_kinetic".to_owned()),
        "{names:?}"
    );
    // A source that is named is one.
    let steps = "sources kernels/*.cpp\nsource kernels/structs.cpp\ncompile all";
    let ran = package.script(steps, &compile).run();
    assert!(
        ran.failed()
            .contains("kernels/structs.cpp:1:1: error: alone")
    );
}

#[test]
fn wrong_pattern_error_names_the_remedy() {
    let package = Package::new();
    for (pattern, problem) in [
        (
            "kernels/*.cxx",
            "matches no visible file; patterns are relative to the directory that contains Cargo.toml",
        ),
        (
            "*.cpp",
            "searches the whole package, so Cargo would rerun the build script on every build",
        ),
        (
            "kernels/../*.cpp",
            "searches the whole package, so Cargo would rerun the build script on every build",
        ),
        ("kernels/a**.cpp", "is not valid: "),
        ("none/*.cpp", "matches no visible file"),
    ] {
        let steps = format!("sources {pattern}\ncompile all");
        let ran = package.script(&steps, COMPILE).run();
        let expected = format!("pattern \"{pattern}\" {problem}");
        assert!(ran.failed().starts_with(&expected), "{ran:?}");
    }
}

#[test]
fn classes_of_one_name_have_their_source() {
    let package = Package::new();
    for name in ["first/functor", "second/functor"] {
        package.write(&format!("{name}.cpp"), "");
    }
    let steps = "source kernels/vector_ops.cpp\nsource first/functor.cpp\n\
        source second/functor.cpp\ncompile all";
    package.script(steps, COMPILE).run().succeeded();
    let names = kernels(&package, "all");
    for symbol in [
        "_ZTS6AddOne$first_functor",
        "_ZTS6AddOne$second_functor",
        "__sycl_kernel_saxpy",
    ] {
        assert!(names.contains(&symbol.to_owned()), "{symbol} in {names:?}");
    }
    let bytes = fs::read(package.made("all")).unwrap();
    assert_eq!(syclbin_tools::verify::verify(&bytes), []);
    let signatures = syclbin::signature::kernels(&syclbin::read::parse(&bytes).unwrap()).unwrap();
    let renamed = signatures
        .kernels
        .iter()
        .filter(|kernel| kernel.symbol.contains('$'));
    assert!(renamed.clone().count() >= 2);
    let mut unknown = renamed.filter(|kernel| kernel.parameters.is_err());
    assert!(unknown.all(syclbin::signature::KernelSignature::is_rounded_range));
}
