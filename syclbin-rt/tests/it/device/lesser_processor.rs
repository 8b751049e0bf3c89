// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native code for a lesser processor: what a process does after it has loaded such. Each case runs in
//! children, this test program again, as Intel's CPU driver stays as it is then.

use std::path::{Path, PathBuf};

use syclbin_rt::{Module, Queue, Result};

use crate::common;

/// What a child does.
const ROLE: &str = "SYCLBIN_RT_TEST_CHILD";
/// The file with code for the lesser processor.
const LESSER: &str = "SYCLBIN_RT_TEST_LESSER";
/// Where a child saves the module that it loads.
const SAVED: &str = "SYCLBIN_RT_TEST_SAVED";
/// What the driver is to compile for; of `save` only.
const TARGET: &str = "CL_CONFIG_CPU_TARGET_ARCH";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("syclbin-rt-lesser-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Runs a child; with what it says of the images it loads, and with what it saves.
    fn child(&self, role: &str, target: Option<&str>) -> (String, Vec<u8>) {
        let saved = self.file("saved");
        let mut command = common::child(module_path!(), "a_child_loads_and_saves");
        command
            .env("SYCLBIN_CACHE", &self.0)
            .env(ROLE, role)
            .env(LESSER, self.file("lesser"))
            .env(SAVED, &saved)
            .env_remove(TARGET)
            .envs(target.map(|target| (TARGET, target)));
        let output = command.output().expect("the test program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        (said, std::fs::read(saved).unwrap_or_default())
    }

    /// Saves a file of code for the least processor of all; with one for this one, where that is
    /// another.
    fn lesser(&self) -> Option<Vec<u8>> {
        let queue = common::opencl_queue()?;
        // A quirk: code for a chosen processor is a setting of Intel's driver alone.
        let own = common::load(&queue, &common::testfile("functor.object.syclbin"))
            .and_then(|module| module.to_syclbin());
        let is_intels = own.is_ok_and(|own| code(&own).get(16..20) == Some(&[4, 0xff, 62, 0]));
        if !is_intels {
            common::say_skipped(TARGET);
            return None;
        }
        let (_, own) = self.child("save", None);
        let (_, lesser) = self.child("save", Some("corei7"));
        std::fs::write(self.file("lesser"), &lesser).expect("it can be written");
        if code(&own)[16..20] != [4, 0xff, 62, 0] || flags(&own) == flags(&lesser) {
            common::say_skipped("the driver compiles for no better processor than the least one");
            return None;
        }
        Some(own)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn code(file: &[u8]) -> Vec<u8> {
    let file = syclbin::read::parse(file).expect("a good file");
    file.modules[0].images[0].bytes.to_vec()
}

/// Of the ELF header. There Intel's CPU driver notes the processor.
fn flags(file: &[u8]) -> Vec<u8> {
    code(file)[48..52].to_vec()
}

fn path(variable: &str) -> PathBuf {
    PathBuf::from(std::env::var_os(variable).expect("it is set for each child"))
}

fn load_lesser(queue: &Queue) -> Result<Module> {
    common::load(queue, &std::fs::read(path(LESSER)).expect("the file"))
}

#[test]
fn a_child_loads_and_saves() -> Result<()> {
    let Ok(role) = std::env::var(ROLE) else {
        return Ok(()); // it is there for the others
    };
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    match role.as_str() {
        "mix" => return before_and_after(&queue),
        "lesser first" => load_lesser(&queue)?.build()?,
        _ => {}
    }
    let module = common::load(&queue, &common::testfile("functor.object.syclbin"))?;
    for choice in common::choices(&module) {
        eprintln!("{choice}");
    }
    let bytes = module.to_syclbin()?;
    common::load(&queue, &bytes)?.build()?;
    std::fs::write(path(SAVED), bytes).expect("it can be written");
    Ok(())
}

fn before_and_after(queue: &Queue) -> Result<()> {
    let bytes = common::testfile("vector_ops.object.syclbin");
    let mut first = syclbin::read::parse(&bytes).expect("a good file");
    first.modules.truncate(1);
    let before = common::load(queue, &common::written(&first))?;
    let saved_before = before.to_syclbin()?;
    common::load(queue, &saved_before)?.build()?;

    load_lesser(queue)?.build()?;
    assert_eq!(before.to_syclbin()?, saved_before, "others take it still");
    let refused = common::load(queue, &saved_before)?.build();
    let refused = refused.expect_err("the driver is lowered");
    let refused = refused.to_string();
    assert!(
        refused.contains("for the most capable processor first"),
        "{refused}"
    );

    // The first module is the program from before.
    let mixed = common::load(queue, &bytes)?;
    let error = mixed
        .to_syclbin()
        .expect_err("the driver takes no such file");
    let text = error.to_string();
    assert!(
        text.starts_with(
            "cannot save modules 0 and 1 together: they are native code for different processors"
        ),
        "{text}"
    );
    drop((before, mixed));
    let after = common::load(queue, &bytes)?;
    common::load(queue, &after.to_syclbin()?)?.build()
}

#[test]
fn processors_do_not_share_a_saved_file() {
    let folder = Folder::new("mix");
    if folder.lesser().is_some() {
        folder.child("mix", None);
    }
}

#[test]
fn processors_do_not_share_cache_entries() {
    let folder = Folder::new("cache");
    let Some(own) = folder.lesser() else {
        return;
    };
    let taken = "compiled it in an earlier run";
    let entries = |folder: &Path| {
        let files = std::fs::read_dir(folder.join("programs")).expect("the folder");
        let names = files.map(|file| file.expect("a file").file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    let before = entries(&folder.0);
    let (said, after) = folder.child("lesser first", None);
    assert!(!said.contains(taken), "{said}");
    assert_ne!(flags(&after), flags(&own));
    let with_after = entries(&folder.0);
    assert_eq!(with_after.len(), before.len() + 1);
    assert!(before.iter().all(|name| with_after.contains(name)));
    for (role, file) in [("save", &own), ("lesser first", &after), ("save", &own)] {
        let (said, saved) = folder.child(role, None);
        assert!(said.contains(taken), "{role}: {said}");
        assert_eq!(saved, *file, "{role}");
    }
}
