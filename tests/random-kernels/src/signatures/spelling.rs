// SPDX-License-Identifier: MIT OR Apache-2.0
//! How C++ and Rust write a type.

use super::kernel::Kernel;
use super::names;
use super::types::Type;

/// A type in C++, if it is not an array.
pub(crate) fn spelled(kernel: &Kernel, ty: &Type) -> String {
    match ty {
        Type::Scalar { of, alias: true } => of.alias.to_owned(),
        Type::Scalar { of, alias: false } => of.cpp.to_owned(),
        Type::Enum(index) => {
            let item = &kernel.enums[*index];
            item.path
                .iter()
                .chain([&item.name])
                .map(|part| format!("::{part}"))
                .collect()
        }
        Type::Union(index) => format!("::{}", kernel.unions[*index].name),
        Type::Struct(index) => structure_path(kernel, *index),
        Type::Vector { of, count } => format!("sycl::vec<{}, {count}>", of.cpp),
        Type::Marray { of, count } => format!("sycl::marray<{}, {count}>", of.cpp),
        Type::Index { name, dimensions } => format!("{name}<{dimensions}>"),
        Type::Array { of, .. } => spelled(kernel, of),
        Type::Pointer { to, .. } => format!("{to} *"),
    }
}

pub(crate) fn structure_path(kernel: &Kernel, index: usize) -> String {
    let item = &kernel.structs[index];
    if let Some(outer) = item.outer {
        return format!("{}::{}", structure_path(kernel, outer), item.name);
    }
    let path: String = item.path.iter().map(|part| format!("::{part}")).collect();
    match &item.template {
        Some((of, count)) => format!("{path}::{}<{}, {count}>", item.name, of.cpp),
        None => format!("{path}::{}", item.name),
    }
}

/// The declaration of a variable.
pub(crate) fn declared(kernel: &Kernel, ty: &Type, name: &str) -> String {
    let (mut counts, mut inner) = (String::new(), ty);
    while let Type::Array { of, count } = inner {
        counts += &format!("[{count}]");
        inner = of;
    }
    format!("{} {name}{counts}", spelled(kernel, inner))
}

/// A type in memory in Rust; the generated module is `file`.
pub(crate) fn rust(kernel: &Kernel, ty: &Type, file: &str) -> String {
    match ty {
        Type::Scalar { of, .. } => of.rust.to_owned(),
        Type::Enum(index) => kernel.enums[*index].of.rust.to_owned(),
        Type::Union(index) => format!("[u8; {}]", kernel.unions[*index].size),
        Type::Struct(index) => format!("{file}::{}", rust_path(kernel, *index).join("::")),
        Type::Vector { of, count } => {
            format!("[{}; {}]", of.rust, if *count == 3 { 4 } else { *count })
        }
        Type::Marray { of, count } => format!("[{}; {count}]", of.rust),
        Type::Index { dimensions, .. } => format!("[u64; {dimensions}]"),
        Type::Array { of, count } => format!("[{}; {count}]", rust(kernel, of, file)),
        Type::Pointer { rust, .. } => format!("syclbin_rt::DevicePointer<{rust}>"),
    }
}

/// Modules and name of a struct.
fn rust_path(kernel: &Kernel, index: usize) -> Vec<String> {
    let item = &kernel.structs[index];
    let mut path: Vec<String> = match item.outer {
        Some(outer) => {
            // The struct around it has the name, so the module gets an underscore.
            let mut path = rust_path(kernel, outer);
            if let Some(last) = path.last_mut() {
                last.push('_');
            }
            path
        }
        None => item.path.iter().map(|part| names::module(part)).collect(),
    };
    path.push(match &item.template {
        Some((of, count)) => format!("{}_{}_{count}", item.name, names::words(of.cpp)),
        None => item.name.clone(),
    });
    path
}
