// SPDX-License-Identifier: MIT OR Apache-2.0
//! Determines the number of dimensions of a kernel: 1 to 3, or 0 for a single task.

use super::cpp_type::CppType;

/// Returns the number of dimensions that a call operator's parameter types imply, or `None` if they are ambiguous.
pub(super) fn of_parameters(types: &[CppType]) -> Option<u8> {
    let mut found = 0;
    for mut ty in types {
        while let CppType::Const(of) | CppType::Pointer(of) | CppType::Reference { to: of, .. } = ty
        {
            ty = of;
        }
        found = match (ty.template(), ty.scalar()) {
            _ if ty.is("sycl::kernel_handler") => continue,
            (Some((name, [count, ..])), _) if OF_RANGE.contains(&name) => count.dimensions()?,
            // An integer can be a converted `id<1>` or `item<1>`.
            (_, Some(of)) if !of.is_float() => 1,
            _ => return None,
        };
    }
    Some(found)
}

const OF_RANGE: [&str; 4] = ["sycl::id", "sycl::item", "sycl::nd_item", "sycl::group"];

/// Returns the number of dimensions in a build annotation, which contains a property as written in the source,
/// such as `decltype((nd_range_kernel<2>))`.
pub(super) fn of_property(text: &str) -> Option<u8> {
    let text = text.strip_prefix("syclbin: ")?;
    match text.split_once("nd_range_kernel<") {
        Some((_, arguments)) => number(arguments),
        None => text.contains("single_task_kernel").then_some(0),
    }
}

/// Returns the number of dimensions of the work-item or work-group class that a function with this linkage name returns
/// or belongs to.
pub(super) fn of_member(linkage: &str) -> Option<u8> {
    const FUNCTIONS: [&str; 4] = [
        "_ZNK4sycl3_V17nd_itemILi",
        "_ZNK4sycl3_V15groupILi",
        "_ZN4sycl3_V13ext6oneapi14this_work_item11get_nd_itemILi",
        "_ZN4sycl3_V13ext6oneapi14this_work_item14get_work_groupILi",
    ];
    let arguments = FUNCTIONS
        .iter()
        .find_map(|name| linkage.strip_prefix(name))?;
    number(&arguments.get(..2)?.replace('E', ">"))
}

/// Parses the first template argument.
fn number(arguments: &str) -> Option<u8> {
    let end = arguments.find([',', '>'])?;
    let number = arguments[..end].trim().parse().ok();
    number.filter(|number| (1..=3).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_operators_tell_dimensions() {
        let named = |name: &str| CppType::named(name);
        let of = |name: &str, count: &str| CppType::instance(name, [named(count)].into());
        for (types, expected) in [
            (&[][..], Some(0)),
            (&[named("sycl::kernel_handler")], Some(0)),
            (&[of("sycl::id", "1")], Some(1)),
            (&[of("sycl::item", "3")], Some(3)),
            (
                &[of("sycl::nd_item", "2"), named("sycl::kernel_handler")],
                Some(2),
            ),
            (&[of("sycl::group", "2").constant().pointer()], Some(2)),
            (&[named("unsigned long")], Some(1)),
            (&[named("auto")], None),
            (&[of("sycl::id", "4")], None),
            (&[named("Index")], None),
            (&[named("double")], None),
        ] {
            assert_eq!(of_parameters(types), expected, "{types:?}");
        }
    }

    #[test]
    fn properties_of_functions_tell_dimensions() {
        for (text, expected) in [
            (
                "syclbin: Of<decltype((ns::nd_range_kernel<3>))>::name",
                Some(3),
            ),
            (
                "syclbin: Of<decltype((ns::single_task_kernel))>::name",
                Some(0),
            ),
            ("syclbin: Of<decltype((nd_range_kernel<D>))>::name", None),
            ("nd_range_kernel<1>", None),
            ("syclbin: Of<decltype((work_group_size<1>))>::name", None),
        ] {
            assert_eq!(of_property(text), expected, "{text}");
        }
    }

    #[test]
    fn members_of_work_items_tell_dimensions() {
        for (linkage, expected) in [
            ("_ZNK4sycl3_V17nd_itemILi2EE13get_global_idEi", Some(2)),
            ("_ZNK4sycl3_V15groupILi3EE12get_group_idEi", Some(3)),
            ("_ZNK4sycl3_V17nd_itemILi4EE13get_global_idEi", None),
            ("_ZNK4sycl3_V19sub_group12get_local_idEv", None),
            (
                "_ZN4sycl3_V13ext6oneapi14this_work_item11get_nd_itemILi1EEENS0_7nd_itemIXT_EEEv",
                Some(1),
            ),
            ("_ZNK4sycl3_V17nd_itemILi", None),
        ] {
            assert_eq!(of_member(linkage), expected, "{linkage}");
        }
    }
}
