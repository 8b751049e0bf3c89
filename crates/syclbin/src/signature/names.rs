// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structs and enumerations in a file, by C++ name. Each name identifies one type.

use core::cell::Cell;

use super::cpp_type::CppType;
use super::types::{Element, Enum, Field, Layout, Layouts, Pointee, StructId};
use super::{Unsupported, recorded};
use crate::model::AbstractModule;
use crate::prelude::*;

/// The maximum number of members of a struct in the reason for a conflict.
const MEMBERS: usize = 16;
/// The maximum length of a struct or its name there, in characters.
const MAX_TEXT: usize = 1000;

/// State that the modules of a file share.
#[derive(Default)]
pub(super) struct Names {
    pub(super) layouts: Layouts,
    /// The number of memory comparison steps so far.
    pub(super) steps: Cell<usize>,
    described: BTreeMap<String, StructId>,
    /// The strictest alignment in any description of a struct, by name and size.
    strictest: BTreeMap<(String, u64), u64>,
    /// Structs that no kernel can take because a different struct has the same name, with the reason.
    conflicts: BTreeMap<StructId, Rc<Unsupported>>,
    /// The number of members copied to rename structs so far.
    pub(super) copied: usize,
}

impl Names {
    /// Creates the state with `layouts`, in which no two structs have the same name.
    pub(super) fn new(layouts: Layouts) -> Self {
        Self {
            layouts,
            ..Self::default()
        }
    }

    /// Collects the alignments of structs from all modules. A kernel's description records a struct's `alignas` only
    /// if the kernel takes the struct or a pointer to it.
    pub(super) fn align(&mut self, modules: &[AbstractModule<'_>]) {
        for layout in modules.iter().flat_map(recorded::structs) {
            if layout.described {
                let key = (layout.name, layout.size);
                let strictest = self.strictest.entry(key).or_default();
                *strictest = layout.align.max(*strictest);
            }
        }
    }

    /// Adds a struct from a recorded description.
    pub(super) fn import(&mut self, mut layout: Layout) -> StructId {
        if !layout.described {
            return self.layouts.insert(layout);
        }
        let key = (layout.name.clone(), layout.size);
        let strictest = self.strictest.get(&key).copied().unwrap_or(1);
        layout.align = layout.align.max(strictest);
        self.insert(layout)
    }

    pub(super) fn is_empty(&self, id: StructId) -> bool {
        self.layouts.fields(id).is_empty()
    }

    /// Adds a struct with a C++ description.
    pub(super) fn insert(&mut self, layout: Layout) -> StructId {
        let name = layout.name.clone();
        let id = self.layouts.insert(layout);
        let first = *self.described.entry(name.clone()).or_insert(id);
        if first != id && !self.conflicts.contains_key(&id) {
            // A hostile file may define many structs of one name, so only the first two are described.
            let reason = self.conflicts.get(&first).cloned().unwrap_or_else(|| {
                let cut = |text: String| text.chars().take(MAX_TEXT).collect::<String>();
                let describe = |id| cut(self.layouts.describe_members(id, MEMBERS));
                let (name, a, b) = (cut(name), describe(first), describe(id));
                Rc::new(Unsupported::new(format!(
                    "two structs are named `{name}`; rename one in C++: `{a}` and `{b}`"
                )))
            });
            self.conflicts
                .entry(first)
                .or_insert_with(|| Rc::clone(&reason));
            self.conflicts.insert(id, reason);
        }
        id
    }

    /// Returns the layouts, and the reason for each struct that cannot be passed because of a conflict.
    pub(super) fn conflicts(mut self) -> (Layouts, BTreeMap<StructId, Rc<Unsupported>>) {
        // A struct follows the structs that it contains, so a single pass is sufficient.
        for (id, layout) in self.layouts.iter() {
            let fields = layout.fields.iter().rev();
            let mut inner = fields.filter_map(|field| field.ty.structure());
            if let Some(reason) = inner.find_map(|inner| self.conflicts.get(&inner).cloned()) {
                self.conflicts.entry(id).or_insert(reason);
            }
        }
        (self.layouts, self.conflicts)
    }
}

/// Structs and enumerations by C++ name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    /// The structs.
    pub layouts: Layouts,
    /// The structs and enumerations, by name.
    pub named: BTreeMap<String, Element>,
    /// The names of unions, and of structs that could not be defined.
    pub(super) undefined: BTreeSet<String>,
    /// Names made up for unnamed structs. Different structs may share one.
    pub(super) unnamed: BTreeSet<String>,
}

impl Definitions {
    /// Defines an enumeration with the underlying type `of`, and returns its name, as [`Self::define_struct`] does.
    /// Returns `None` if `of` is not an integer, or if ten different types already have the name.
    pub fn define_enum(&mut self, name: &str, of: &CppType) -> Option<String> {
        let of = of.scalar().filter(|of| !of.is_float())?;
        let is_same = |known: &Element| matches!(known, Element::Enum(known) if known.of == of);
        let name = self.free_name(name, is_same)?;
        let new = Element::Enum(Enum {
            name: name.clone(),
            of,
        });
        self.named.entry(name.clone()).or_insert(new);
        Some(name)
    }

    /// Returns the first of the names `S`, `S_2` ... `S_10` that no type has, or whose definition `is_same`. Types with
    /// the same name can be local to different functions or blocks.
    fn free_name(&self, name: &str, is_same: impl Fn(&Element) -> bool) -> Option<String> {
        let numbered = (2..=10).map(|number| format!("{name}_{number}"));
        let mut names = core::iter::once(name.to_string()).chain(numbered);
        names.find(|name| {
            !self.undefined.contains(name) && self.named.get(name).is_none_or(&is_same)
        })
    }

    /// Defines a struct, and returns its name: `name`, or a numbered one such as `S_2` if a different type already has
    /// it. The members must be sorted by offset. Returns `None` if they do not fit, if `align` is not a power of two,
    /// or if ten different types already have the name.
    pub fn define_struct(
        &mut self,
        name: &str,
        size: u64,
        align: u64,
        members: impl IntoIterator<Item = Field>,
    ) -> Option<String> {
        let (mut end, mut fields) = (0, Vec::new());
        for member in members {
            while member.offset < end {
                // C++ may place members in the padding after a base class, which Rust fields cannot express. So
                // the members of the base class become members of the struct.
                end = take_apart(&mut fields, &self.layouts)?;
            }
            end = member.offset.checked_add(self.layouts.size(&member.ty)?)?;
            fields.push(member);
        }
        if end > size || !align.is_power_of_two() {
            return None;
        }
        let is_same = |known: &Element| {
            let known = known.structure().and_then(|id| self.layouts.get(id));
            known.is_some_and(|known| known.size == size && are_same(&known.fields, &fields))
        };
        let name = self.free_name(name, is_same)?;
        // Another module compiled from the same source may already define the struct.
        if let Some(Element::Struct(id)) = self.named.get(&name) {
            self.layouts.align_as(*id, align);
            return Some(name);
        }
        let id = self.layouts.insert(Layout {
            described: !self.unnamed.contains(&name),
            ..Layout::of_code(&name, size, align, fields)
        });
        self.named.insert(name.clone(), Element::Struct(id));
        Some(name)
    }
}

/// Returns whether two lists of members can belong to the same struct. What one of them does not describe may differ.
fn are_same(a: &[Field], b: &[Field]) -> bool {
    fn is_same(a: &Element, b: &Element) -> bool {
        match (a, b) {
            (Element::Bytes(_), _) | (_, Element::Bytes(_)) => true,
            (Element::Pointer(a), Element::Pointer(b)) => {
                a == b || [a, b].iter().any(|to| matches!(***to, Pointee::Unknown(_)))
            }
            (Element::Array { of: a, count: m }, Element::Array { of: b, count: n }) => {
                m == n && is_same(a, b)
            }
            (a, b) => a == b,
        }
    }
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| (a.offset, &a.name) == (b.offset, &b.name) && is_same(&a.ty, &b.ty))
}

/// Replaces the last field, a struct, with the fields of that struct. Returns the offset after the last new field.
fn take_apart(fields: &mut Vec<Field>, layouts: &Layouts) -> Option<u64> {
    let last = fields.pop_if(|last| matches!(last.ty, Element::Struct(_)))?;
    let layout = layouts.get(last.ty.structure()?)?;
    for field in &layout.fields {
        let mut field = field.clone();
        field.offset = field.offset.checked_add(last.offset)?;
        fields.push(field);
    }
    fields.last().map_or(Some(0), |field| {
        field.offset.checked_add(layouts.size(&field.ty)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::types::Scalar;
    use alloc::boxed::Box;

    fn field(offset: u64, ty: Element) -> Field {
        Field {
            name: None,
            offset,
            ty,
            sign_known: true,
        }
    }

    #[test]
    fn members_that_do_not_fit_define_nothing() {
        let int = || Element::Scalar(Scalar::I32);
        let huge = Element::Array {
            of: Box::new(int()),
            count: u64::MAX,
        };
        for (size, align, members) in [
            (8, 4, [field(0, int()), field(2, int())]),
            (8, 4, [field(0, int()), field(8, int())]),
            (8, 3, [field(0, int()), field(4, int())]),
            (8, 4, [field(0, int()), field(4, huge)]),
        ] {
            let mut definitions = Definitions::default();
            assert_eq!(definitions.define_struct("S", size, align, members), None);
            assert_eq!(definitions.named.get("S"), None);
        }
        assert_eq!(
            Definitions::default().define_enum("E", &CppType::named("float")),
            None
        );
    }

    #[test]
    fn modules_of_one_source_share_their_structs() {
        let mut all = Definitions::default();
        for align in [4, 64] {
            let member = field(0, Element::Scalar(Scalar::F32));
            all.define_struct("P", 64, align, [member]).unwrap();
            let inner = CppType::named("P").array(Some(2));
            let inner = all.element(&inner).unwrap();
            all.define_struct("O", 128, 4, [field(0, inner)]).unwrap();
        }
        assert_eq!(all.layouts.iter().count(), 2);
        let Some(Element::Struct(id)) = all.named.get("P") else {
            panic!("{all:?}")
        };
        assert_eq!(all.layouts.get(*id).unwrap().align, 64);
    }

    #[test]
    fn different_types_of_one_name_are_numbered() {
        let member = |name: &str, offset| Field {
            name: Some(name.into()),
            ..field(offset, Element::Scalar(Scalar::F32))
        };
        let mut all = Definitions::default();
        let mut define = |size, members: &[Field]| {
            let name = all.define_struct("S", size, 4, members.iter().cloned());
            name.unwrap()
        };
        let (xy, yx) = (
            [member("x", 0), member("y", 4)],
            [member("y", 0), member("x", 4)],
        );
        assert_eq!([define(8, &xy), define(8, &yx)], ["S", "S_2"]);
        assert_eq!([define(12, &xy), define(8, &xy[..1])], ["S_3", "S_4"]);
        assert_eq!([define(8, &yx), define(8, &xy)], ["S_2", "S"]);
        // The same struct, of which a module describes less.
        let unknown = Field {
            ty: Element::Bytes(4),
            ..member("y", 4)
        };
        assert_eq!(define(8, &[member("x", 0), unknown]), "S");
        // A pointee may be unknown, but not different, and so are arrays.
        let int = || Element::Scalar(Scalar::I32);
        let pointer = |to| Element::Pointer(Box::new(to));
        let array = |count| Element::Array {
            of: Box::new(int()),
            count,
        };
        for (known, other, is_same) in [
            (int(), int(), true),
            (int(), Element::Scalar(Scalar::F32), false),
            (pointer(Pointee::Void), pointer(Pointee::Void), true),
            (
                pointer(Pointee::Void),
                pointer(Pointee::Unknown(None)),
                true,
            ),
            (
                pointer(Pointee::Unknown(None)),
                pointer(Pointee::Void),
                true,
            ),
            (
                pointer(Pointee::Void),
                pointer(Pointee::Element(int())),
                false,
            ),
            (array(2), array(2), true),
            (array(2), array(1), false),
            (array(2), Element::Bytes(8), true),
        ] {
            let mut all = Definitions::default();
            let names = [&known, &other].map(|ty| {
                let ty = ty.clone();
                all.define_struct("T", 8, 8, [field(0, ty)]).unwrap()
            });
            let second = if is_same { "T" } else { "T_2" };
            assert_eq!(names, ["T", second], "{known:?} {other:?}");
        }
        let mut define = |of| all.define_enum("E", &CppType::named(of)).unwrap();
        let names = ["int", "char", "int"].map(&mut define);
        assert_eq!(names, ["E", "E_2", "E"]);
        assert_eq!(define("char"), "E_2");
    }

    /// As in `struct B { int a; char b; }; struct D : B { char c; };`, with a base before `B`.
    #[test]
    fn members_in_padding_of_a_base_are_kept() {
        let (int, char) = (Element::Scalar(Scalar::I32), Element::Scalar(Scalar::I8));
        let mut all = Definitions::default();
        let base = [field(0, int.clone()), field(4, char.clone())];
        all.define_struct("B", 8, 4, base).unwrap();
        let base = all.named["B"].clone();
        let members = [field(4, base), field(9, char.clone())];
        all.define_struct("D", 12, 4, members).unwrap();
        let id = all.named["D"].structure().unwrap();
        let expected = [field(4, int), field(8, char.clone()), field(9, char)];
        assert_eq!(all.layouts.fields(id), expected);
    }
}
