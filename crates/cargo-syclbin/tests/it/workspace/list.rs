// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin list`.

use serde_json::{Value, json};

use super::{World, stderr, stdout};

/// What the script of package `one` leaves: a file of each of two names, and a note of a third.
fn world() -> World {
    let world = World::new();
    let made = test_files::path("vector_ops.object.syclbin");
    for name in ["made", "forgotten"] {
        let to = world.write(&format!("one/out/syclbin/{name}.syclbin"), "");
        std::fs::copy(&made, to).unwrap();
    }
    world.write(
        "one/out/syclbin/.sources-made",
        "source=k/a.cpp\0source=k/b.cpp",
    );
    world.write("one/out/syclbin/.sources-fails", "source=k/c.cpp");
    world
}

fn listed(world: &World, script: &str) -> (Option<i32>, Value) {
    let output = world.run(&["list", "--format", "json"], script);
    let schema = include_str!("../../../schema/list.schema.json");
    let schema = serde_json::from_str(schema).unwrap();
    let answer = serde_json::from_str(&stdout(&output)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&answer).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    (output.status.code(), answer)
}

#[test]
fn compiled_files_are_listed_with_their_details() {
    let world = world();
    let script = [world.executed("one"), world.executed("two")].concat();
    let (code, answer) = listed(&world, &script);
    assert_eq!(code, Some(1), "one file is not built");
    assert_eq!(answer["complete"], json!(true));
    let files = answer["files"].as_array().unwrap();
    let names: Vec<_> = files.iter().map(|file| &file["name"]).collect();
    assert_eq!(
        names,
        ["fails", "made"],
        "files that no script builds any more are left out"
    );
    assert_eq!(files[0]["state"], json!("not built"));
    assert_eq!(files[0]["sources"], json!(["k/c.cpp"]));
    let made = &files[1];
    assert_eq!(made["state"], json!("up to date"));
    assert_eq!(made["sources"], json!(["k/a.cpp", "k/b.cpp"]));
    let path = world.path("one/out/syclbin/made.syclbin");
    assert_eq!(made["path"], json!(path));
    assert_eq!(made["size"], json!(path.metadata().unwrap().len()));
    assert!(!made["kernels"].as_array().unwrap().is_empty());
    // The rest of a package may not compile.
    let (code, answer) = listed(&world, &(script + "exit 101"));
    assert_eq!((code, &answer["complete"]), (Some(1), &json!(true)));
    let (code, answer) = listed(&world, &(world.executed("one") + "exit 101"));
    assert_eq!((code, &answer["complete"]), (Some(1), &json!(false)));
}

#[test]
fn the_text_has_a_line_for_each_fact() {
    let world = world();
    std::fs::remove_file(world.path("one/out/syclbin/.sources-fails")).unwrap();
    let script = [world.executed("one"), world.executed("two")].concat();
    let output = world.run(&["list"], &script);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        !stderr(&output).contains("Cargo failed"),
        "{}",
        stderr(&output)
    );
    let said = stdout(&output);
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("one  made  up to date  "), "{said}");
    assert!(lines[0].ends_with("k/a.cpp k/b.cpp"), "{said}");
    assert!(lines[1].starts_with("    kernels  "), "{said}");
    assert_eq!(lines[2], "    file     one/out/syclbin/made.syclbin");
    let asked = world.read("asked");
    assert!(asked.contains("--message-format=json"), "{asked}");
}

#[test]
fn files_in_cargo_toml_are_listed_unbuilt() {
    let world = world();
    let manifest = world.read("two/Cargo.toml");
    let table = "[package.metadata.syclbin.b]\nsources = [\"b.cpp\"]\n";
    world.write("two/Cargo.toml", &format!("{manifest}{table}"));
    let script = format!("{}exit 101", world.executed("one"));
    let (code, answer) = listed(&world, &script);
    assert_eq!((code, &answer["complete"]), (Some(1), &json!(false)));
    let files = answer["files"].as_array().unwrap();
    let last = files.last().unwrap();
    assert_eq!(last["package"], json!("two"));
    assert_eq!(last["state"], json!("not built"));
    assert_eq!(last["path"], Value::Null);
}

#[test]
fn cargo_toml_mistakes_are_reported_before_cargo_runs() {
    let world = World::new();
    let manifest = world.read("one/Cargo.toml");
    let table = "[package.metadata.syclbin.a]\nsourcse = [\"b.cpp\"]\n";
    world.write("one/Cargo.toml", &format!("{manifest}{table}"));
    let output = world.run(&["list"], "");
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    let place = format!("one/Cargo.toml:{}: ", manifest.lines().count() + 2);
    assert!(
        said.contains(&place) && said.contains("`sourcse`"),
        "{said}"
    );
    assert!(!world.path("asked").exists());
}
