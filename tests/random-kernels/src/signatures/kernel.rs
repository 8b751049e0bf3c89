// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel: its parameters, and the types that belong to it alone.

use super::types::{Enum, Struct, Type, Union};

/// How a kernel is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A function with C linkage.
    ExternC,
    /// A function in namespaces.
    Function,
    /// An instance of a template over a type and a number.
    Template,
    /// One of two functions with the same name.
    Overload,
    /// A class with `operator()`.
    Functor,
    /// A lambda, named by a class.
    Lambda,
}

/// What a kernel runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grid {
    SingleTask,
    /// Of so many dimensions.
    NdRange(usize),
    /// With a required work-group size of 2 in each dimension.
    Required(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Of all kernels of a seed.
    pub(crate) number: usize,
    pub(crate) style: Style,
    pub(crate) range: Grid,
    /// Whether it needs `<sycl/sycl.hpp>`.
    pub(crate) full: bool,
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) enums: Vec<Enum>,
    pub(crate) unions: Vec<Union>,
    pub(crate) structs: Vec<Struct>,
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// Of the parameters before shrinking.
    pub(crate) number: usize,
    /// Empty for an unnamed one.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) passing: Passing,
    /// Whether the kernel looks at it. If not, the compiler removes it.
    pub(crate) used: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    Value,
    /// `const T *` to so many elements.
    Read(usize),
    /// `T *`, which the kernel writes, to so many elements.
    Write(usize),
    /// `const void *`, behind which so many elements are.
    ReadAny(usize),
    /// `void *`, behind which so many elements are.
    WriteAny(usize),
    /// `work_group_memory<T>`.
    Local,
    /// `work_group_memory<T[N]>`.
    LocalArray(usize),
    /// `work_group_memory<T[]>`, with so many elements at launch.
    LocalOpen(usize),
    /// `sycl::accessor` for reading, of so many dimensions, each of 2.
    ReadAccessor(usize),
    /// `sycl::accessor` for reading and writing.
    WriteAccessor(usize),
    /// `sycl::local_accessor`.
    LocalAccessor(usize),
    /// `sycl::kernel_handler`.
    Handler,
}

impl Passing {
    /// How many elements there are.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Value | Self::Local | Self::Handler => 1,
            Self::Read(count)
            | Self::Write(count)
            | Self::ReadAny(count)
            | Self::WriteAny(count)
            | Self::LocalArray(count)
            | Self::LocalOpen(count) => count,
            Self::ReadAccessor(dimensions)
            | Self::WriteAccessor(dimensions)
            | Self::LocalAccessor(dimensions) => 1 << dimensions,
        }
    }

    /// Whether the elements are in memory of the work-group.
    pub(crate) fn is_local(self) -> bool {
        matches!(
            self,
            Self::Local | Self::LocalArray(_) | Self::LocalOpen(_) | Self::LocalAccessor(_)
        )
    }

    /// Whether the host reads the elements after the launch.
    pub(crate) fn is_written(self) -> bool {
        matches!(
            self,
            Self::Write(_) | Self::WriteAny(_) | Self::WriteAccessor(_)
        )
    }
}

impl Kernel {
    /// Whether a parameter is, holds or inherits each of the structs.
    pub(crate) fn structs_in_use(&self) -> Vec<bool> {
        let mut used = vec![false; self.structs.len()];
        for parameter in &self.parameters {
            self.mark(&parameter.ty, &mut used);
        }
        used
    }

    fn mark(&self, ty: &Type, used: &mut [bool]) {
        match ty {
            Type::Array { of, .. } => self.mark(of, used),
            Type::Struct(index) => {
                used[*index] = true;
                let item = &self.structs[*index];
                let inner = item.base.into_iter().chain(item.outer).map(Type::Struct);
                // A struct in another is defined there, with all that the other holds.
                let members = item.members.iter().map(|member| member.ty.clone());
                for ty in inner.chain(members) {
                    if !matches!(ty, Type::Struct(inner) if used[inner]) {
                        self.mark(&ty, used);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether copying all bytes of a value copies a value of `ty` and nothing else.
    pub(crate) fn is_flat(&self, ty: &Type) -> bool {
        match ty {
            Type::Struct(_) | Type::Vector { count: 3, .. } => false,
            Type::Array { of, .. } => self.is_flat(of),
            _ => true,
        }
    }

    /// The number of parts that a value is copied in.
    pub(crate) fn leaves(&self, ty: &Type) -> usize {
        match ty {
            Type::Struct(index) => {
                let structure = &self.structs[*index];
                let own: usize = structure.members.iter().map(|m| self.leaves(&m.ty)).sum();
                let base = structure.base.map(Type::Struct);
                own + base.map_or(0, |base| self.leaves(&base))
            }
            Type::Array { of, count } if !self.is_flat(of) => count * self.leaves(of),
            _ => 1,
        }
    }

    /// The bytes of a value without padding.
    pub(crate) fn size(&self, ty: &Type) -> usize {
        match ty {
            Type::Scalar { of, .. } => of.size,
            Type::Enum(index) => self.enums[*index].of.size,
            Type::Union(index) => self.unions[*index].size,
            Type::Vector { of, count } | Type::Marray { of, count } => of.size * count,
            Type::Index { dimensions, .. } => 8 * dimensions,
            Type::Array { of, count } => count * self.size(of),
            Type::Pointer { .. } => 8,
            Type::Struct(index) => {
                let structure = &self.structs[*index];
                let own: usize = structure.members.iter().map(|m| self.size(&m.ty)).sum();
                let base = structure.base.map(Type::Struct);
                own + base.map_or(0, |base| self.size(&base))
            }
        }
    }

    /// Whether every byte of a value is a `bool`.
    pub(crate) fn is_bool(&self, ty: &Type) -> bool {
        match ty {
            Type::Scalar { of, .. } | Type::Vector { of, .. } | Type::Marray { of, .. } => {
                of.is_bool()
            }
            Type::Enum(index) => self.enums[*index].of.is_bool(),
            Type::Array { of, .. } => self.is_bool(of),
            _ => false,
        }
    }
}
