// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wheels that are refused. Each leaves nothing, and what was installed before stays whole.

use std::fs::{self, OpenOptions};

use cargo_syclbin::error::Error;
use cargo_syclbin::toolchain::install::Outcome::Present;
use cargo_syclbin::toolchain::install::Source;

use super::world::{LICENCE, Silent, World, stem};

/// What installing says when it is refused, having left nothing.
fn refusal(world: &World) -> Error {
    let error = world.install().unwrap_err();
    assert_eq!(world.in_home(), [""; 0], "{error}");
    error
}

/// The members of `fake-sycl` with `library` in the place of its library.
fn sycl(library: &[u8]) -> Vec<(String, &[u8])> {
    let stem = stem("fake-sycl");
    vec![
        (format!("{stem}.data/data/lib/libsycl-jit.so"), library),
        (format!("{stem}.dist-info/LICENSE.txt"), LICENCE),
    ]
}

#[test]
fn wheel_with_wrong_hash_is_refused() {
    let world = World::new();
    let wheel = world.wheel("fake-math");
    let mut bytes = fs::read(&wheel).unwrap();
    bytes[100] ^= 1;
    fs::write(&wheel, bytes).unwrap();
    let error = refusal(&world);
    let text = error.to_string();
    let Error::WrongWheel {
        expected, found, ..
    } = error
    else {
        panic!("{text}");
    };
    assert!(text.contains(&expected) && text.contains(&found) && expected != found);
    assert!(text.contains(wheel.to_str().unwrap()), "{text}");
}

#[test]
fn a_truncated_wheel_is_refused_with_both_sizes() {
    let world = World::new();
    let wheel = world.wheel("fake-opencl");
    let whole = wheel.metadata().unwrap().len();
    OpenOptions::new()
        .write(true)
        .open(&wheel)
        .and_then(|file| file.set_len(whole - 1))
        .unwrap();
    let text = refusal(&world).to_string();
    assert!(text.contains(&format!(" {} bytes ", whole - 1)), "{text}");
    assert!(text.contains(&format!("wheel contains {whole}")), "{text}");
}

#[test]
fn every_missing_wheel_is_named_with_its_hash() {
    let world = World::new();
    for name in ["fake-sycl", "fake-opencl"] {
        fs::remove_file(world.wheel(name)).unwrap();
    }
    let text = refusal(&world).to_string();
    for (wheel, missing) in [
        (&world.pins[0].wheels[0], true),
        (&world.pins[0].wheels[1], false),
        (&world.pins[1].wheels[0], true),
    ] {
        assert_eq!(text.contains(wheel.file), missing, "{text}");
        assert_eq!(text.contains(wheel.sha256), missing, "{text}");
    }
}

#[test]
fn a_wheel_without_a_pinned_member_is_refused() {
    let mut world = World::new();
    world.repin("fake-sycl", &sycl(b"")[1..]);
    let text = refusal(&world).to_string();
    assert!(text.contains("lib/libsycl-jit.so"), "{text}");
}

#[test]
fn member_with_wrong_size_is_refused() {
    for (library, size) in [(&b"short"[..], "only 5"), (&[0; 1_000_000], "at least 21")] {
        let mut world = World::new();
        world.repin("fake-sycl", &sycl(library));
        let text = refusal(&world).to_string();
        let expected = format!("unpacks to {size} bytes, but the pin specifies 20");
        assert!(text.contains(&expected), "{text}");
    }
}

#[test]
fn unpinned_member_that_climbs_out_is_ignored() {
    for path in ["../climbed", "lib/../../climbed", "/climbed"] {
        let mut world = World::new();
        let mut content = sycl(b"the compiler library");
        content.push((format!("{}.data/data/{path}", stem("fake-sycl")), b"gotcha"));
        world.repin("fake-sycl", &content);
        world.install().unwrap();
        assert!(!world.home.path().join("climbed").exists());
    }
}

#[test]
fn a_file_that_is_no_zip_is_refused() {
    let mut world = World::new();
    fs::write(world.wheel("fake-math"), "<html>404</html>").unwrap();
    world.change_pin("fake-math", |_| {});
    let error = refusal(&world);
    assert!(matches!(error, Error::WheelContent { .. }), "{error}");
}

#[test]
fn refused_reinstallation_leaves_the_old_one_whole() {
    let world = World::new();
    world.install().unwrap();
    fs::write(world.wheel("fake-math"), "other").unwrap();
    let source = Source::Folder(world.wheels());
    assert!(world.install_from(&source, true, &Silent).is_err());
    assert_eq!(world.install().unwrap(), [Present, Present]);
}
