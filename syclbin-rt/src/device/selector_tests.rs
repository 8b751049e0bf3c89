// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::backend::facts::PtxFacts;
use crate::device::best::tests::{device, machine};

fn chosen(selector: &str, devices: &[Facts]) -> Option<String> {
    let devices: Vec<&Facts> = devices.iter().collect();
    let selector = parse(selector).unwrap();
    let index = selector.iter().find_map(|term| term.choose(&devices));
    index.map(|index| devices[index].name.clone())
}

#[test]
fn a_kind_picks_its_best_device() {
    let machine = machine();
    assert_eq!(chosen("gpu", &machine).unwrap(), "Arc A750");
    assert_eq!(chosen(" CPU ", &machine).unwrap(), "Xeon CPU");
    assert_eq!(chosen("accelerator", &machine), None);
}

#[test]
fn index_counts_all_devices_or_one_kind() {
    let machine = machine();
    assert_eq!(chosen("2", &machine).unwrap(), "Old GPU");
    assert_eq!(chosen("gpu:2", &machine).unwrap(), "Arc B580");
    assert_eq!(chosen("cpu:9", &machine), None);
}

#[test]
fn text_matches_part_of_name_ignoring_case() {
    let machine = machine();
    assert_eq!(chosen("b580", &machine).unwrap(), "Arc B580");
    assert_eq!(chosen("gpu:ARC", &machine).unwrap(), "Arc A750");
    assert_eq!(chosen("cpu:arc", &machine), None);
    assert_eq!(chosen("maker", &machine).unwrap(), "Arc A750");
}

#[test]
fn the_first_alternative_that_matches_wins() {
    let machine = machine();
    assert_eq!(chosen("nvidia, xeon, gpu", &machine).unwrap(), "Xeon CPU");
}

#[test]
fn match_without_spirv_is_the_last_choice() {
    let machine = machine();
    assert_eq!(chosen("portable", &machine).unwrap(), "Portable CPU");
    assert_eq!(chosen("cpu", &machine).unwrap(), "Xeon CPU");
}

#[test]
fn only_possible_cpu_terms_load_installed_driver() {
    let selector = parse("gpu:arc,accelerator,cpu,intel,0").unwrap();
    let may: Vec<bool> = selector.iter().map(Term::may_be_cpu).collect();
    assert_eq!(may, [false, false, true, true, true]);
}

#[test]
fn a_backend_may_stand_in_front() {
    let machine = machine();
    for (selector, name) in [
        ("opencl:gpu", "Arc A750"),
        ("opencl:cpu:0", "Portable CPU"),
        ("OpenCL:gpu:b580", "Arc B580"),
        ("opencl:xeon", "Xeon CPU"),
        ("opencl:2", "Old GPU"),
        ("*:gpu", "Arc A750"),
        ("opencl:*", "Arc A750"),
        ("opencl", "Arc A750"),
        ("*", "Arc A750"),
        ("opencl:*:2", "Old GPU"),
        ("cpu:*", "Xeon CPU"),
    ] {
        assert_eq!(chosen(selector, &machine).unwrap(), name, "{selector}");
    }
    assert_eq!(
        parse("hip:gpu:0").unwrap_err().to_string(),
        "this version does not support hip devices; use opencl:gpu:0"
    );
    let message = parse("opencl:gpu:0:1").unwrap_err().to_string();
    assert!(message.contains("too many colons"), "{message}");
    assert!(parse("opencl:").is_err());
}

#[test]
fn backend_limits_the_choice_and_the_index() {
    let mut machine = machine();
    let cuda = PtxFacts {
        sm: 90,
        ptx: (8, 4),
        driver: 12040,
    };
    for name in ["H200", "L4"] {
        machine.push(Facts {
            ptx: Some(cuda),
            ..device(name, DeviceKind::Gpu, false)
        });
    }
    for (selector, name) in [
        ("cuda", "H200"),
        ("cuda:gpu", "H200"),
        ("cuda:gpu:1", "L4"),
        ("cuda:1", "L4"),
        ("CUDA:*", "H200"),
        ("cuda:l4", "L4"),
        ("gpu", "Arc A750"),
        ("gpu:3", "H200"),
        ("opencl:gpu", "Arc A750"),
        ("cuda:cpu,cpu", "Xeon CPU"),
    ] {
        assert_eq!(chosen(selector, &machine).unwrap(), name, "{selector}");
    }
    assert_eq!(chosen("cuda:cpu", &machine), None);
    assert_eq!(chosen("opencl:gpu:3", &machine), None);
    let selector = parse("cuda,cuda:0,cpu").unwrap();
    let may: Vec<bool> = selector.iter().map(Term::may_be_cpu).collect();
    assert_eq!(may, [false, false, true]);
}

#[test]
fn part_number_follows_the_device_index() {
    let part = |selector| {
        let selector = parse(selector).unwrap();
        (selector[0].part, selector[0].may_be_cpu())
    };
    assert_eq!(part("opencl:cpu:0.1"), (Some(1), true));
    assert_eq!(part("gpu:1.12"), (Some(12), false));
    assert_eq!(part("0.3"), (Some(3), true));
    assert_eq!(part("cpu:0"), (None, true));
    assert_eq!(part("pocl 3.1"), (None, true));
    assert_eq!(
        chosen("opencl:gpu:1.0", &machine()).unwrap(),
        "Arc A750".to_owned()
    );
    let message = parse("cpu:0.1.2").unwrap_err().to_string();
    assert!(message.contains("a part of a part"), "{message}");
}

#[test]
fn mistakes_are_told_in_words() {
    assert_eq!(
        parse("tpu:0").unwrap_err().to_string(),
        "\"tpu\" is not a device kind; use gpu, cpu or accelerator before the colon"
    );
    for empty in ["", "gpu,,cpu", "gpu:", ","] {
        let message = parse(empty).unwrap_err().to_string();
        assert!(message.starts_with("a term is empty"), "{message}");
    }
}
