// SPDX-License-Identifier: MIT OR Apache-2.0
//! `spirv-val` of SPIRV-Tools, an independent tool, judges the code of random kernels, as compiled and as rewritten
//! for drivers.

use std::path::{Path, PathBuf};
use std::process::Command;

use syclbin::__private::spirv::portable::{DriverSupport, Version, rewrite};
use syclbin::__private::spirv::{MAGIC_BYTES, strip_debug_info, trim};
use syclbin::Image;

/// The SPIR-V versions that drivers accept, with the names that `spirv-val` has for them.
const VERSIONS: [(Version, &str); 3] = [
    (Version::new(1, 0), "spv1.0"),
    (Version::new(1, 2), "spv1.2"),
    (Version::new(1, 4), "spv1.4"),
];

/// Judges the code in every file whose name starts with `prefix`.
pub(crate) fn judge(prefix: &str) {
    if let Err(error) = Command::new("spirv-val").arg("--version").output() {
        eprintln!("skipped: spirv-val (Debian: spirv-tools): {error}");
        return;
    }
    let mut judged = 0;
    for path in files(Path::new(env!("OUT_DIR")), prefix) {
        let bytes = std::fs::read(&path).expect("a file");
        let file = syclbin::read::parse(&bytes).expect("a SYCLBIN file");
        for module in &file.modules {
            let kernels: Vec<&str> = module.kernel_names().collect();
            let is_spirv = |image: &&Image<'_>| image.bytes.starts_with(&MAGIC_BYTES);
            for image in module.images.iter().filter(is_spirv) {
                let name = path.display();
                judged += judge_module(&image.bytes, &kernels, &|problem| {
                    panic!("{name}: {problem}")
                });
            }
        }
    }
    eprintln!("passed: {judged} modules are valid");
    assert!(judged > 0, "no code was judged");
}

/// Judges a module and what becomes of it. Returns how many modules these were.
fn judge_module(spirv: &[u8], kernels: &[&str], fail: &dyn Fn(String)) -> usize {
    let check = |spirv: &[u8], version: &str, what: &str| {
        if let Err(problem) = validate(spirv, version) {
            fail(format!("{what}, {version}: {problem}"));
        }
    };
    let mut modules = vec![("as compiled", spirv.to_vec())];
    modules.push((
        "without debug information",
        strip_debug_info(spirv).expect("SPIR-V"),
    ));
    for kernel in kernels {
        modules.push((kernel, trim(spirv, &[kernel]).expect("SPIR-V")));
    }
    let mut judged = 0;
    for (what, module) in &modules {
        check(module, "spv1.5", what);
        judged += 1;
        for (version, target) in VERSIONS {
            let reader = DriverSupport {
                versions: &[version],
                extensions: "cl_khr_spirv_linkonce_odr cl_intel_unified_shared_memory",
                loses_negations: true,
                ..DriverSupport::default()
            };
            // Drivers of an old version cannot run some kernels, which is an error.
            if let Ok(Some(rewritten)) = rewrite(module, &reader) {
                check(&rewritten, target, what);
                judged += 1;
            }
        }
    }
    judged
}

fn validate(spirv: &[u8], version: &str) -> Result<(), String> {
    let path = std::env::temp_dir().join(format!("syclbin-random-{}.spv", std::process::id()));
    std::fs::write(&path, spirv).expect("a file");
    let mut judge = Command::new("spirv-val");
    let output = judge.args(["--target-env", version]).arg(&path).output();
    std::fs::remove_file(&path).expect("the file");
    let output = output.expect("spirv-val");
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The SYCLBIN files below `directory` whose names start with `prefix`.
fn files(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            found.extend(files(&path, prefix));
        } else if name.starts_with(prefix) && name.ends_with(".syclbin") {
            found.push(path);
        }
    }
    found
}
