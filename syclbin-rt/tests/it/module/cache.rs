// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cache of built programs, as processes of one user share it. Each case runs in children: this
//! test program again, told to run one test.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use syclbin_rt::{Arg, Launch, Result};

use crate::common;

/// Set in the child.
const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";

fn folder(name: &str) -> PathBuf {
    let name = format!("syclbin-rt-shared-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn start(cache: &str) -> Child {
    start_with(cache, &[])
}

fn start_with(cache: &str, environment: &[(&str, &str)]) -> Child {
    common::child(module_path!(), "a_child_runs_a_kernel")
        .env("SYCLBIN_CACHE", cache)
        .env(CHILD, "1")
        .envs(environment.iter().copied())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the test program starts")
}

/// What a child says of the images it loads.
fn said(child: Child) -> String {
    let output = child.wait_with_output().expect("the child ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn entries(cache: &Path) -> usize {
    let files = std::fs::read_dir(cache.join("programs")).expect("the folder");
    let files = files.map(|file| file.expect("a file").path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "program"))
        .count()
}

#[test]
fn a_child_runs_a_kernel() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the others
    }
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile("functor.object.syclbin"))?;
    for choice in common::choices(&module) {
        eprintln!("{choice}");
    }
    let kernel = module.kernel("_ZTS6AddOne");
    let mut data = queue.upload(&[1i32; 16])?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    // SAFETY: one work-item per element.
    unsafe { Launch::new(&kernel, &["data", "amount"], args).launch(16)? };
    assert_eq!(queue.download(&data)?, [4; 16]);
    Ok(())
}

#[test]
fn second_process_uses_the_first_ones_program() {
    if common::opencl_queue().is_none() {
        return;
    }
    let folder = folder("second");
    let cache = folder.to_str().expect("UTF-8").to_owned();
    let first = said(start(&cache));
    assert!(first.contains("chosen: the driver compiles it"), "{first}");
    let kept = entries(&folder);
    assert!(kept > 0, "{first}");
    let second = said(start(&cache));
    assert!(second.contains("compiled it in an earlier run"), "{second}");
    assert!(!second.contains("compiles it"), "{second}");
    assert_eq!(entries(&folder), kept);
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn driver_settings_separate_cache_entries() {
    if common::opencl_queue().is_none() {
        return;
    }
    let folder = folder("settings");
    let cache = folder.to_str().expect("UTF-8").to_owned();
    // The CPU device then makes code for any x86-64.
    let settings = [("CL_CONFIG_CPU_TARGET_ARCH", "corei7")];
    said(start(&cache));
    let kept = entries(&folder);
    let other = said(start_with(&cache, &settings));
    assert!(other.contains("chosen: the driver compiles it"), "{other}");
    assert_eq!(entries(&folder), 2 * kept);
    let again = said(start_with(&cache, &settings));
    assert!(!again.contains("compiles it"), "{again}");
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn four_processes_at_once_leave_whole_entries() {
    if common::opencl_queue().is_none() {
        return;
    }
    let folder = folder("at-once");
    let cache = folder.to_str().expect("UTF-8").to_owned();
    let children: Vec<Child> = (0..4).map(|_| start(&cache)).collect();
    for child in children {
        said(child);
    }
    let next = said(start(&cache));
    assert!(!next.contains("compiles it"), "{next}");
    let names = std::fs::read_dir(folder.join("programs")).expect("the folder");
    for name in names {
        let name = name.expect("a file").file_name();
        let name = name.to_string_lossy();
        let is_known = ["lock", "size"].contains(&&*name) || name.ends_with(".program");
        assert!(is_known, "{name}");
    }
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn disabled_or_unwritable_cache_is_not_used() {
    if common::opencl_queue().is_none() {
        return;
    }
    for cache in ["off", "relative", "/dev/null/no"] {
        for _ in 0..2 {
            let said = said(start(cache));
            assert!(said.contains("chosen: the driver compiles it"), "{said}");
        }
    }
    assert!(!Path::new("off").exists() && !Path::new("relative").exists());
}
