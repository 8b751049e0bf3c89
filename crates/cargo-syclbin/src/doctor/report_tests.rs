// SPDX-License-Identifier: MIT OR Apache-2.0
use std::path::PathBuf;
use std::time::Duration;

use syclbin_build::search::{Candidate, Detected};
use syclbin_toolchain::{Component, INSTALL_COMMAND, Installed};

use super::*;
use crate::doctor::Ran;
use crate::doctor::facts::Facts;
use crate::toolchain::list::Row;
use crate::toolchain::manifest::Manifest;

fn detected(origin: Origin, program: &str, version: &str) -> Detected {
    Detected {
        candidate: Candidate {
            origin,
            program: program.into(),
            leading: Vec::new(),
            wrapped: None,
        },
        version: version.to_owned(),
    }
}

/// Returns the facts of a machine that has everything.
fn complete() -> Facts {
    Facts {
        home: "/cache/syclbin".to_owned(),
        unsupported: None,
        taken: Ok(detected(
            Origin::Installed(Installed {
                component: Component::Compiler,
                folder: PathBuf::from("/cache/syclbin"),
                version: "2026.2.0".to_owned(),
            }),
            "/cache/syclbin/bin/syclbin-clang",
            "syclbin-clang version 0.1.0 (DPC++ 2026.2.0)",
        )),
        skipped: Vec::new(),
        compiler: Some(Row {
            component: Component::Compiler,
            version: "2026.2.0".to_owned(),
            folder: PathBuf::from("/cache/syclbin/compiler/2026.2.0"),
            state: Ok(Manifest::default()),
        }),
        trial: Some(Ok(Compiled {
            time: Duration::from_millis(400),
            file: Vec::new(),
        })),
        cache: "/cache/syclbin/kernels (3.1 MB)".to_owned(),
        cpp_headers: Ok(PathBuf::from("/usr/include/c++/12")),
        pip: Ok("/usr/bin/python3 -m pip (pip 23)".to_owned()),
        cpu_device: None,
        nvidia: None,
        device_variable: None,
        devices: Ok(vec![good("device", "0: Some GPU (chosen: it is first)")]),
        intel_gpu: None,
        run: Ok(Ran {
            device: "Some GPU".to_owned(),
            reason: "it is first".to_owned(),
            skipped: Vec::new(),
            is_right: true,
        }),
    }
}

fn remedies(report: &Report) -> Vec<&str> {
    let items = report.sections.iter().flat_map(|(_, items)| items);
    items.filter_map(|item| item.remedy.as_deref()).collect()
}

#[test]
fn complete_machine_has_nothing_to_do() {
    let report = Report::of(&complete());
    assert!((report.compiles && report.runs), "{report}");
    assert_eq!(remedies(&report), [""; 0]);
    let text = report.to_string();
    assert!(
        text.ends_with("kernels can be compiled and run here\n"),
        "{text}"
    );
    assert!(text.contains("(chosen: it is first)"), "{text}");
    assert!(text.contains("/cache/syclbin/kernels (3.1 MB)"), "{text}");
}

#[test]
fn bare_machine_lists_every_missing_component() {
    let bare = Facts {
        taken: Err("none found".to_owned()),
        skipped: vec![SKIPPED.to_owned()],
        compiler: None,
        trial: None,
        cpp_headers: Err(PathBuf::from("/usr/include/c++")),
        pip: Err("`pip`: not found".to_owned()),
        devices: Err("no OpenCL library found".to_owned()),
        intel_gpu: Some(note("Intel GPU", "it has no driver").with_remedy("install it")),
        run: Err("no device found".to_owned()),
        ..complete()
    };
    let report = Report::of(&bare);
    assert!(!report.compiles && !report.runs);
    let remedies = remedies(&report).join("\n");
    for expected in [
        "pip or uv",
        "install it",
        "--component compiler",
        "runs kernels on the CPU",
    ] {
        assert!(remedies.contains(expected), "{expected} in {remedies}");
    }
}

const SKIPPED: &str = "CXX=g++ (/usr/bin/g++): g++ 12 does not support -fsyclbin";

#[test]
fn configured_compiler_replaces_the_installed_compiler() {
    let mut facts = complete();
    facts.compiler = None;
    facts.cpp_headers = Err(PathBuf::from("/usr/include/c++"));
    let program = "/opt/dpcpp/clang++";
    let origin = Origin::Variable {
        name: "SYCLBIN_CLANG".to_owned(),
        value: program.into(),
    };
    facts.taken = Ok(detected(origin, program, "clang version 22.0.0"));
    assert!(Report::of(&facts).compiles);
    facts.compiler = complete().compiler;
    facts.taken =
        Err("SYCLBIN_CLANG=/opt/dpcpp/clang++: not found; unset SYCLBIN_CLANG to".to_owned());
    facts.trial = None;
    let report = Report::of(&facts);
    assert!(
        !report.compiles,
        "a wrong variable is not skipped: {report}"
    );
    assert!(report.to_string().contains("unset SYCLBIN_CLANG"));
    assert_eq!(remedies(&report), [""; 0], "the reason has it");
}

#[test]
fn skipped_compilers_precede_the_chosen_one() {
    let mut facts = complete();
    facts.skipped = vec![SKIPPED.to_owned()];
    let text = Report::of(&facts).to_string();
    let lines: Vec<_> = [
        "skipped      CXX=g++ (/usr/bin/g++): g++ 12 does not support -fsyclbin",
        "ok compiler     /cache/syclbin/bin/syclbin-clang (installed, 2026.2.0)",
        "   version      syclbin-clang version 0.1.0 (DPC++ 2026.2.0)",
    ]
    .map(|line| {
        text.find(line)
            .unwrap_or_else(|| panic!("{line} in {text}"))
    })
    .into();
    assert!(lines.is_sorted(), "{text}");
}

#[test]
fn a_damaged_compiler_does_not_count() {
    let mut facts = complete();
    facts.compiler.as_mut().unwrap().state = Err("lib/libimf.so: gone".to_owned());
    let report = Report::of(&facts);
    assert!(!report.compiles && report.to_string().contains("lib/libimf.so: gone"));
}

#[test]
fn nvidia_gpus_are_noted_and_decide_nothing() {
    let mut facts = complete();
    let report = Report::of(&facts);
    assert!((report.compiles && report.runs));
    assert!(
        report.to_string().contains("--component nvidia"),
        "{report}"
    );
    let mut nvidia = Row {
        component: Component::Nvidia,
        version: "13.5.37".to_owned(),
        folder: "/cache/syclbin/nvidia/13.5.37".into(),
        state: Ok(Manifest::default()),
    };
    facts.nvidia = Some(nvidia.clone());
    let text = Report::of(&facts).to_string();
    assert!(
        text.contains("13.5.37, /cache/syclbin/nvidia/13.5.37"),
        "{text}"
    );
    nvidia.state = Err("bin/ptxas: gone".to_owned());
    facts.nvidia = Some(nvidia);
    let report = Report::of(&facts);
    assert!(
        (report.compiles && report.runs) && remedies(&report)[0].contains("--component nvidia")
    );
}

#[test]
fn failed_trial_blames_missing_headers() {
    let mut facts = complete();
    facts.trial = Some(Err(
        "exit status: 1\nfatal error: 'climits' not found".to_owned()
    ));
    assert!(remedies(&Report::of(&facts))[0].contains("--force"));
    facts.cpp_headers = Err(PathBuf::from("/usr/include/c++"));
    let report = Report::of(&facts);
    assert!(!report.compiles && report.runs);
    assert!(remedies(&report)[0].contains("install g++"));
}

#[test]
fn only_a_right_result_counts_as_running() {
    let mut facts = complete();
    facts.run.as_mut().unwrap().is_right = false;
    let report = Report::of(&facts);
    assert!(report.compiles && !report.runs);
    assert!(
        report
            .to_string()
            .contains("produced a wrong result on Some GPU"),
        "{report}"
    );
    facts.run = Err("the driver terminated the process: signal: 11".to_owned());
    let report = Report::of(&facts);
    assert!(!report.runs);
    assert!(
        report
            .to_string()
            .ends_with("kernels can be compiled here, but not run\n"),
        "{report}"
    );
}

#[test]
fn skipped_devices_are_shown_with_reasons() {
    let mut facts = complete();
    let skipped = "H200 (gpu, 580.1): CUDA devices do not support SPIR-V".to_owned();
    facts.run.as_mut().unwrap().skipped.push(skipped);
    let report = Report::of(&facts);
    assert!((report.compiles && report.runs));
    assert!(
        report
            .to_string()
            .contains("skipped      H200 (gpu, 580.1): CUDA"),
        "{report}"
    );
}

#[test]
fn wrong_device_variable_is_named_as_cause() {
    let mut facts = complete();
    facts.device_variable = Some("7".to_owned());
    facts.devices = Ok(Vec::new());
    facts.run = Err("SYCLBIN_DEVICE=7: no such device".to_owned());
    let report = Report::of(&facts);
    assert!(!report.runs);
    assert!(remedies(&report)[0].contains("unset SYCLBIN_DEVICE"));
}

#[test]
fn on_another_platform_no_wheel_is_offered() {
    let facts = Facts {
        unsupported: Some("x86-64 Linux only".to_owned()),
        taken: Err("none found".to_owned()),
        skipped: vec![SKIPPED.to_owned()],
        compiler: None,
        ..complete()
    };
    let remedies = remedies(&Report::of(&facts)).join("\n");
    assert!(remedies.contains("SYCLBIN_CLANG"), "{remedies}");
    assert!(!remedies.contains(INSTALL_COMMAND), "{remedies}");
}
