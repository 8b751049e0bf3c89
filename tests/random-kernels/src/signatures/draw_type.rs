// SPDX-License-Identifier: MIT OR Apache-2.0
//! Draws types.

use super::kernel::Kernel;
use super::names;
use super::types::{
    BFLOAT16, Bits, Enum, IN_VECTORS, INTEGERS, Member, SCALARS, Scalar, Struct, Type, Union,
};
use crate::Random;

/// Structs nest so deep.
const DEEPEST: usize = 3;

pub(crate) struct DrawType<'d> {
    pub(crate) random: &'d mut Random,
    kernel: &'d mut Kernel,
    full: bool,
    path: Vec<String>,
}

impl<'d> DrawType<'d> {
    /// What it draws goes into the lists of `kernel`, in namespaces `path` now and then.
    pub(crate) fn new(
        random: &'d mut Random,
        kernel: &'d mut Kernel,
        full: bool,
        path: Vec<String>,
    ) -> Self {
        Self {
            random,
            kernel,
            full,
            path,
        }
    }

    pub(crate) fn integer(&mut self) -> Type {
        Type::Scalar {
            of: self.random.pick(&SCALARS[..INTEGERS]),
            alias: false,
        }
    }

    /// A type in a struct of so many structs.
    pub(crate) fn any(&mut self, depth: usize) -> Type {
        match self.random.below(100) {
            0..45 => self.scalar(),
            45..53 => self.enumeration(),
            53..63 => self.vector(),
            63..67 => Type::Marray {
                of: self.random.pick(&SCALARS[..15]),
                count: self.random.between(1, 5),
            },
            67..71 => Type::Index {
                name: ["sycl::id", "sycl::range"][self.random.below(2)],
                dimensions: self.random.between(1, 3),
            },
            _ if depth < DEEPEST => Type::Struct(self.structure(depth)),
            _ => self.scalar(),
        }
    }

    fn scalar(&mut self) -> Type {
        if self.full && self.random.percent(10) {
            return Type::Scalar {
                of: &BFLOAT16,
                alias: false,
            };
        }
        Type::Scalar {
            of: self.random.pick(&SCALARS),
            alias: self.random.percent(30),
        }
    }

    fn vector(&mut self) -> Type {
        let index = *self.random.pick(&IN_VECTORS);
        Type::Vector {
            of: &SCALARS[index],
            count: *self.random.pick(&[2, 3, 4, 4, 8, 16]),
        }
    }

    fn enumeration(&mut self) -> Type {
        let index = self.kernel.enums.len();
        let path = self.some_path();
        let of: &'static Scalar = if self.random.percent(10) {
            &SCALARS[11]
        } else {
            self.random.pick(&SCALARS[..INTEGERS])
        };
        self.kernel.enums.push(Enum {
            path,
            name: format!("E{}_{index}", self.kernel.number),
            of,
            scoped: self.random.percent(50),
        });
        Type::Enum(index)
    }

    fn union(&mut self) -> Type {
        let index = self.kernel.unions.len();
        self.kernel.unions.push(Union {
            name: format!("U{}_{index}", self.kernel.number),
            size: *self.random.pick(&[1, 2, 4, 8, 16]),
        });
        Type::Union(index)
    }

    fn some_path(&mut self) -> Vec<String> {
        if self.random.percent(50) {
            self.path.clone()
        } else {
            names::path(self.random)
        }
    }

    fn structure(&mut self, depth: usize) -> usize {
        let template = self.random.percent(12).then(|| {
            let of: &'static Scalar = self.random.pick(&SCALARS[..INTEGERS]);
            (of, self.random.between(1, 4))
        });
        let base = (template.is_none() && self.random.percent(8)).then(|| self.base());
        let path = self.some_path();
        let bits = template.is_none() && base.is_none() && self.random.percent(20);
        let packed = self.random.percent(15);
        let mut taken = Vec::new();
        let wanted = self.random.between(usize::from(base.is_none()), 6);
        let mut members: Vec<Member> = (0..wanted)
            .map(|number| {
                let name = names::variable(self.random, "m", number, &mut taken);
                let ty = if bits {
                    self.of_bits()
                } else {
                    self.member(depth)
                };
                let align = (!packed && !bits && self.random.percent(5))
                    .then(|| *self.random.pick(&[8, 16, 32]));
                Member {
                    name,
                    ty,
                    align,
                    bits: None,
                }
            })
            .collect();
        if bits {
            self.place_bits(&mut members, packed);
        }
        let index = self.kernel.structs.len();
        // Members that are defined in it; not of a template, whose members have names of templates.
        let defined_inside = template.is_none() && self.random.percent(15);
        if defined_inside && let Some(inner) = self.only_inner(&members) {
            self.kernel.structs[inner].outer = Some(index);
            self.kernel.structs[inner].path.clone_from(&path);
        }
        let align = self
            .random
            .percent(10)
            .then(|| *self.random.pick(&[16, 32, 64]));
        self.kernel.structs.push(Struct {
            path,
            outer: None,
            name: format!("S{}_{index}", self.kernel.number),
            template,
            base,
            packed,
            align,
            members,
        });
        index
    }

    /// A base class of numbers. Members of other classes may stand in the padding behind their bases, which
    /// then have no field of their own.
    fn base(&mut self) -> usize {
        let path = self.some_path();
        let members = (0..self.random.between(1, 3)).map(|number| Member {
            name: format!("b{number}"),
            ty: self.of_bits(),
            align: None,
            bits: None,
        });
        let members = members.collect();
        let index = self.kernel.structs.len();
        self.kernel.structs.push(Struct {
            path,
            outer: None,
            name: format!("S{}_{index}", self.kernel.number),
            template: None,
            base: None,
            packed: false,
            align: None,
            members,
        });
        index
    }

    /// A struct that a member is, and that is defined in nothing else.
    fn only_inner(&self, members: &[Member]) -> Option<usize> {
        members.iter().find_map(|member| match member.ty {
            Type::Struct(inner) => {
                let structure = &self.kernel.structs[inner];
                let plain = structure.template.is_none() && structure.outer.is_none();
                // What it inherits must be defined before.
                (plain && structure.base.is_none() && self.holds_no_struct(structure))
                    .then_some(inner)
            }
            _ => None,
        })
    }

    fn holds_no_struct(&self, structure: &Struct) -> bool {
        let is_struct = |ty: &Type| match ty {
            Type::Struct(_) => true,
            Type::Array { of, .. } => matches!(**of, Type::Struct(_) | Type::Array { .. }),
            _ => false,
        };
        !structure.members.iter().any(|member| is_struct(&member.ty))
    }

    fn member(&mut self, depth: usize) -> Type {
        match self.random.below(100) {
            0..70 => self.any(depth + 1),
            70..82 => {
                let of = self.any(depth + 1);
                let inner = Type::Array {
                    of: Box::new(of),
                    count: self.random.between(1, 3),
                };
                if self.random.percent(25) {
                    Type::Array {
                        of: Box::new(inner),
                        count: self.random.between(1, 3),
                    }
                } else {
                    inner
                }
            }
            82..90 => self.union(),
            _ => {
                let (to, rust) = *self.random.pick(&[
                    ("int", "i32"),
                    ("const float", "f32"),
                    ("void", "()"),
                    ("const unsigned char", "u8"),
                    ("sycl::half", "syclbin_rt::half::f16"),
                ]);
                Type::Pointer { to, rust }
            }
        }
    }

    /// A member of a struct with bit-fields, whose layout this crate computes.
    fn of_bits(&mut self) -> Type {
        match self.random.below(10) {
            0..2 => self.enumeration(),
            2 => Type::Scalar {
                of: &SCALARS[11],
                alias: false,
            },
            _ => self.integer(),
        }
    }

    /// Makes bit-fields of most members, and says where they are.
    fn place_bits(&mut self, members: &mut [Member], packed: bool) {
        let (mut at, mut run): (usize, usize) = (0, 0);
        for member in members {
            let of = match &member.ty {
                Type::Scalar { of, .. } => *of,
                Type::Enum(index) => self.kernel.enums[*index].of,
                _ => continue,
            };
            let (bits, align) = (of.size * 8, if packed { 8 } else { of.size * 8 });
            let plain = self.random.percent(25);
            let width = if of.is_bool() {
                1
            } else {
                self.random.between(1, bits)
            };
            // Of more than 64 bits without a gap, clang makes an integer that kernels cannot take.
            if plain || packed && run + width > 64 {
                at = at.next_multiple_of(align) + bits;
                run = 0;
                continue;
            }
            // A bit-field does not reach over a boundary of its type.
            if !packed && at % bits + width > bits {
                at = at.next_multiple_of(bits);
            }
            member.bits = Some(Bits {
                width,
                offset: at,
                signed: of.rust.starts_with('i'),
            });
            at += width;
            run += width;
        }
    }
}
