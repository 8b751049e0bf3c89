// SPDX-License-Identifier: MIT OR Apache-2.0
//! Installing, finding it installed, mending it, listing and removing it.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use cargo_syclbin::error::Error;
use cargo_syclbin::toolchain::install::Outcome::{Installed, Present, Refreshed};
use cargo_syclbin::toolchain::install::Source;
use cargo_syclbin::toolchain::list;
use cargo_syclbin::ui::{Progress, Size};
use syclbin_toolchain::{Component, MANIFEST};

#[cfg(unix)]
use super::world::stem;
use super::world::{LICENCE, Silent, VERSION, World};

#[test]
fn only_pinned_members_are_unpacked() {
    let world = World::new();
    assert_eq!(world.install().unwrap(), [Installed, Installed]);
    let compiler = world.folder(Component::Compiler);
    let read = |path: &str| fs::read(compiler.join(path)).unwrap();
    assert_eq!(read("lib/libsycl-jit.so"), b"the compiler library");
    assert_eq!(read("lib/libimf.so"), [7; 300_000]);
    assert_eq!(read("licenses/fake-sycl/LICENSE.txt"), LICENCE);
    assert_eq!(read("bin/syclbin-clang"), b"driver 1");
    for (header, text) in syclbin_build::headers::ALL {
        let path = format!("include/{header}");
        assert_eq!(read(&path), text.as_bytes(), "{path}");
    }
    let names = fs::read_dir(compiler.join("lib")).unwrap().count();
    assert_eq!(names, 2, "unwanted members stay in the wheel");
    assert_eq!(world.in_home().len(), 2, "the staging directory is gone");
    for component in [Component::Compiler, Component::CpuDevice] {
        assert_eq!(world.home.newest(component).unwrap().version, VERSION);
    }
}

/// Keeps each line that an installation shows.
#[derive(Default)]
struct Lines(RefCell<Vec<String>>);

impl Progress for Lines {
    fn line(&self, text: &str) {
        self.0.borrow_mut().push(text.to_owned());
    }
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}

#[test]
fn announced_size_includes_the_driver() {
    let world = World::new();
    fs::write(world.driver(), vec![0; 500_000]).unwrap();
    let source = Source::Folder(world.wheels());
    let lines = Lines::default();
    world.install_from(&source, false, &lines).unwrap();
    let lines = lines.0.into_inner();
    let [compiler, cpu] = [Component::Compiler, Component::CpuDevice].map(|one| world.folder(one));
    for expected in [
        format!(
            "compiler {VERSION} needs 800.0 kB in {}",
            compiler.display()
        ),
        format!("cpu-device {VERSION} needs 300.0 kB in {}", cpu.display()),
    ] {
        assert!(lines.contains(&expected), "{lines:#?}");
    }
}

#[test]
fn complete_installation_needs_neither_wheels_nor_lock() {
    let world = World::new();
    world.install().unwrap();
    let lock = world.home.path().join(".lock");
    fs::remove_file(&lock).unwrap();
    let again = world.install_from(&world.no_source(), false, &Silent);
    assert_eq!(again.unwrap(), [Present, Present]);
    assert!(!lock.exists(), "nothing was written, so nothing was locked");
}

#[test]
fn only_the_damaged_component_is_reinstalled() {
    let world = World::new();
    world.install().unwrap();
    let compiler = world.folder(Component::Compiler);
    let library = compiler.join("lib/libsycl-jit.so");
    let manifest = compiler.join(MANIFEST);
    let damages: [&dyn Fn(); 4] = [
        &|| fs::write(&library, "short").unwrap(),
        &|| fs::remove_file(&library).unwrap(),
        &|| fs::write(&manifest, "no manifest").unwrap(),
        &|| fs::remove_file(&manifest).unwrap(),
    ];
    for damage in damages {
        damage();
        let rows = list::rows(&world.home);
        assert!(rows[0].state.is_err() && rows[1].state.is_ok());
        assert_eq!(world.install().unwrap(), [Installed, Present]);
        assert_eq!(fs::read(&library).unwrap(), b"the compiler library");
        assert_eq!(world.in_home().len(), 2);
    }
}

#[test]
fn force_reinstalls_and_removes_stray_files() {
    let world = World::new();
    world.install().unwrap();
    let stray = world.folder(Component::Compiler).join("stray");
    fs::write(&stray, "").unwrap();
    let again = world.install_from(&Source::Folder(world.wheels()), true, &Silent);
    assert_eq!(again.unwrap(), [Installed, Installed]);
    assert!(!stray.exists());
}

#[test]
fn changed_pins_are_reinstalled() {
    let mut world = World::new();
    world.install().unwrap();
    world.change_pin("fake-opencl", |pin| pin.licence = "Made-up Licence 2.0");
    assert_eq!(world.install().unwrap(), [Present, Installed]);
}

#[test]
fn newer_driver_is_copied_without_wheels() {
    let world = World::new();
    world.install().unwrap();
    let copy = world.folder(Component::Compiler).join("bin/syclbin-clang");
    let refresh = || {
        world
            .install_from(&world.no_source(), false, &Silent)
            .unwrap()
    };
    // Of another size; of the same size; and gone from the installation.
    for (content, keep) in [
        ("driver 22", true),
        ("driver 33", true),
        ("driver 33", false),
    ] {
        fs::write(world.driver(), content).unwrap();
        if !keep {
            fs::remove_file(&copy).unwrap();
        }
        assert_eq!(refresh(), [Refreshed, Present]);
        assert_eq!(fs::read_to_string(&copy).unwrap(), content);
        assert_eq!(refresh(), [Present, Present]);
        assert!(list::rows(&world.home)[0].state.is_ok());
    }
}

#[test]
fn headers_of_another_version_are_replaced_without_wheels() {
    let world = World::new();
    world.install().unwrap();
    let folder = world.folder(Component::Compiler);
    let (name, text) = syclbin_build::headers::ALL[0];
    let header = folder.join("include").join(name);
    let refresh = || {
        world
            .install_from(&world.no_source(), false, &Silent)
            .unwrap()
    };
    let others: [&dyn Fn(); 3] = [
        // Of the same size, of another size, and of a version that had none.
        &|| fs::write(&header, text.to_uppercase()).unwrap(),
        &|| fs::write(&header, "").unwrap(),
        &|| fs::remove_dir_all(folder.join("include")).unwrap(),
    ];
    for other in others {
        other();
        assert_eq!(refresh(), [Refreshed, Present]);
        assert_eq!(fs::read_to_string(&header).unwrap(), text);
        assert_eq!(refresh(), [Present, Present]);
        assert!(list::rows(&world.home)[0].state.is_ok());
    }
}

#[test]
fn interrupted_driver_refresh_is_completed() {
    let world = World::new();
    world.install().unwrap();
    fs::write(world.driver(), "a longer driver").unwrap();
    let copy = world.folder(Component::Compiler).join("bin/syclbin-clang");
    fs::write(&copy, "a longer driver").unwrap();
    let outcomes = world.install_from(&world.no_source(), false, &Silent);
    assert_eq!(outcomes.unwrap(), [Refreshed, Present]);
    assert!(list::rows(&world.home)[0].state.is_ok());
}

#[test]
fn missing_driver_stops_installation_before_any_write() {
    let world = World::new();
    fs::rename(world.driver(), world.root().join("aside")).unwrap();
    let error = world.install().unwrap_err();
    assert!(matches!(error, Error::NoDriver { .. }), "{error}");
    assert!(error.to_string().contains("cargo install cargo-syclbin"));
    assert!(
        !world.home.path().exists(),
        "it is found out before anything is written"
    );

    fs::rename(world.root().join("aside"), world.driver()).unwrap();
    world.install().unwrap();
    fs::remove_file(world.driver()).unwrap();
    assert_eq!(world.install().unwrap(), [Present, Present]);
}

#[cfg(unix)]
#[test]
fn the_installed_driver_can_be_executed() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    fs::set_permissions(world.driver(), PermissionsExt::from_mode(0o755)).unwrap();
    world.install().unwrap();
    let copy = world.home.newest(Component::Compiler).unwrap().entry();
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o111, 0o111);
}

#[cfg(unix)]
#[test]
fn program_from_a_wheel_is_executable() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut world = World::new();
    let licence = format!("{}.dist-info/LICENSE.txt", stem("fake-opencl"));
    let program = "nvidia/cu13/bin/ptxas".to_owned();
    world.repin("fake-opencl", &[(program, b"program"), (licence, LICENCE)]);
    world.change_pin("fake-opencl", |wheel| {
        wheel.members = [("nvidia/cu13/bin/ptxas", 7)].into();
    });
    world.install().unwrap();
    let program = world.folder(Component::CpuDevice).join("bin/ptxas");
    let rights = program.metadata().unwrap().permissions().mode();
    assert_eq!(rights & 0o111, 0o111);
    assert_eq!(fs::read(program).unwrap(), b"program");
}

#[test]
fn removing_one_component_leaves_the_other() {
    let world = World::new();
    list::remove(&world.home, &Component::ALL, &Silent).unwrap();
    assert!(
        !world.home.path().exists(),
        "removing creates no home directory"
    );

    world.install().unwrap();
    list::remove(&world.home, &[Component::Compiler], &Silent).unwrap();
    assert_eq!(world.in_home(), ["cpu-device"]);
    assert!(list::path(&world.home, Some(Component::CpuDevice)).is_ok());
    let error = list::path(&world.home, Some(Component::Compiler)).unwrap_err();
    assert!(
        error.to_string().contains("--component compiler"),
        "{error}"
    );

    // Damaged ones too, and once more without complaint.
    fs::remove_file(world.folder(Component::CpuDevice).join(MANIFEST)).unwrap();
    for _ in 0..2 {
        list::remove(&world.home, &Component::ALL, &Silent).unwrap();
        assert_eq!(world.in_home(), [""; 0]);
    }
}

/// Returns the bytes of a file, or of all files in a directory.
fn size_of(path: &Path) -> u64 {
    if !path.is_dir() {
        return fs::metadata(path).unwrap().len();
    }
    let entries = fs::read_dir(path).unwrap();
    entries.map(|entry| size_of(&entry.unwrap().path())).sum()
}

#[test]
fn list_shows_components_or_their_damage() {
    let world = World::new();
    let render = || list::render(&world.home, &list::rows(&world.home), &world.pins);
    assert!(render().starts_with("nothing is installed in "));
    world.install().unwrap();
    let cl_cfg = world.folder(Component::CpuDevice).join("lib/cl.cfg");
    fs::remove_file(cl_cfg).unwrap();
    let text = render();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("component   version  size"), "{text}");
    let compiler = world.folder(Component::Compiler);
    let size = size_of(&compiler) - size_of(&compiler.join(MANIFEST));
    let columns = format!("compiler    1.2.3    {}", Size(size));
    assert!(lines[1].starts_with(&columns), "{columns}: {text}");
    assert!(lines[1].ends_with("Made-up Licence 1.0"), "{text}");
    assert!(
        lines[2].contains("damaged") && lines[2].contains("lib/cl.cfg"),
        "{text}"
    );
    let remedy = "run `cargo syclbin toolchain install --component cpu-device`)";
    assert!(lines[2].ends_with(remedy), "{text}");
    // The command would not replace another version.
    fs::create_dir(compiler.with_file_name("1.2.2")).unwrap();
    let text = render();
    let old = text.lines().find(|line| line.contains("1.2.2")).unwrap();
    assert!(
        old.contains("; delete ") && old.ends_with("/1.2.2)"),
        "{text}"
    );
}
