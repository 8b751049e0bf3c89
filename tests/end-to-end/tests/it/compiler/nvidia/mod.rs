// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code for NVIDIA's GPUs from source to files, as far as that goes without a GPU: PTX that `ptxas` takes,
//! native code, and what the compiler library needs help with.
#![allow(unsafe_code)] // loading a file and launching a kernel are unsafe

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

mod code;
mod commands;

use syclbin::property::set;
use syclbin::signature::{self, KernelSignature};
use syclbin::{AbstractModule, ImageKind, IrType, Syclbin};
use syclbin_rt::{Arg, Launch, Module};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

use crate::common;
use crate::common::clang::{self, clang, said};

/// Those that nothing else is needed for, and the one that wants a function of another.
const WHOLE: [&str; 7] = [
    "constants",
    "export_side",
    "functor",
    "globals",
    "structs",
    "vector_ops",
    "work_group",
];
const IMPORTING: &str = "import_side";

/// The directory of the component, or `None` where it is not installed; with SYCLBIN_REQUIRE_DEVICE=1 that
/// is a failure.
fn component() -> Option<PathBuf> {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).unwrap();
    let installed = home.newest(Component::Nvidia);
    if installed.is_none() {
        let required = std::env::var("SYCLBIN_REQUIRE_DEVICE").as_deref() == Ok("1");
        assert!(
            !required,
            "SYCLBIN_REQUIRE_DEVICE=1, and component nvidia is not installed"
        );
        common::say_skipped("component nvidia is not installed");
    }
    Some(installed?.folder)
}

fn ptxas(component: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(component.join(Component::Nvidia.entry()));
    command.args(arguments).output().unwrap()
}

fn built(name: &str) -> Vec<u8> {
    let path = format!("{}/syclbin/nvidia_{name}.syclbin", env!("OUT_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What each image of a module is.
fn images(module: &AbstractModule<'_>) -> Vec<String> {
    let images = module.images.iter().map(|image| match image.kind() {
        ImageKind::Ir { ty, .. } => format!("{ty:?}"),
        ImageKind::Native { arch, .. } => arch.to_owned(),
    });
    images.collect()
}

fn read(path: &Path) -> Syclbin<'static> {
    let bytes = std::fs::read(path).unwrap();
    syclbin::read::parse(&bytes).unwrap().into_owned()
}

fn ptx<'m>(module: &'m AbstractModule<'_>) -> &'m str {
    let mut images = module.images.iter();
    let image = images.find(|image| {
        matches!(
            image.kind(),
            ImageKind::Ir {
                ty: IrType::Ptx,
                ..
            }
        )
    });
    std::str::from_utf8(&image.unwrap().bytes).unwrap()
}

/// The head of a source, with headers that are fast to compile.
const HEAD: &str = "#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#define KERNEL extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY( \\
    (sycl::ext::oneapi::experimental::single_task_kernel)) void
";
/// A struct by value.
const STRUCT: &str = "struct Four { int of[4]; };
KERNEL k(Four four, int *to) { *to = four.of[1]; }
";

/// A directory with the source `k.cpp`.
fn folder(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.cpp"), format!("{HEAD}{source}")).unwrap();
    folder
}

#[track_caller]
fn well(arguments: &[&str], folder: &Path) -> Syclbin<'static> {
    let output = clang(arguments, folder);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output), "");
    read(&folder.join("a.syclbin"))
}
