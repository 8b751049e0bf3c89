// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON forms and their published schemas, compared by an independent validator.

use serde_json::{Value, json};

use super::{all, answer, run, run_with, stdout};

fn read(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schema");
    let text = std::fs::read_to_string(format!("{folder}/{name}.schema.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The schema as a promise of ours: it leaves room for fields and values to be added, and today
/// there must be none that it does not name.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object) {
                fields.insert("additionalProperties".into(), json!(false));
            }
            if let Some(mut known) = fields.get("examples").cloned() {
                if fields["type"].is_array() {
                    known.as_array_mut().unwrap().push(Value::Null);
                }
                fields.insert("enum".into(), known);
            }
            fields.values_mut().for_each(strict);
        }
        Value::Array(items) => items.iter_mut().for_each(strict),
        _ => {}
    }
}

pub(crate) fn check(name: &str, text: &str) -> Value {
    let answer: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let published = read(name);
    jsonschema::meta::validate(&published).unwrap();
    let mut ours = published.clone();
    strict(&mut ours);
    for schema in [published, ours] {
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(&answer)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{text}");
    }
    answer
}

#[test]
fn reports_over_all_files_follow_their_schemas() {
    for name in all() {
        let output = run(&["inspect", &name, "--format", "json"]);
        let report = check("inspect", &stdout(&output));
        assert_eq!(report["file"]["path"], json!(name));
        let size = test_files::read(&name).len();
        assert_eq!(report["file"]["size"], json!(size));
        check(
            "verify",
            &stdout(&run(&["verify", &name, "--format", "json"])),
        );
        let listed = run(&["extract", &name, "--list", "--format", "json"]);
        check("extract", &stdout(&listed));
    }
}

#[test]
fn a_report_over_everything_follows_its_schema() {
    let output = run_with(
        &["inspect", "-", "--format", "json"],
        &super::inspect::everything(),
    );
    let report = check("inspect", &stdout(&output));
    let module = &report["modules"][0];
    assert_eq!(
        module["requirements"]["aspects"],
        json!([{"number": 6, "name": "fp64"}, {"number": 5, "name": "fp16"}, {"number": 4000, "name": null}])
    );
    assert_eq!(
        module["specialization_constants"],
        json!([{"name": "radius", "size": 4, "scalars": [{"id": 7, "offset": 0, "size": 4}],
            "default": "05000000"}])
    );
    assert_eq!(module["strings"][0]["text"], json!("kept"));
    let shared = &report["kernels"][0]["parameters"][1]["type"];
    assert_eq!(shared["size"], json!(256), "{shared}");
    assert_eq!(report["file"]["state_number"], json!(7));
    assert_eq!(module["problems"].as_array().unwrap().len(), 1);
}

#[test]
fn counts_and_locations_are_reported() {
    let values = |file: &str, pointer: &str| {
        let report = check("inspect", &answer(&["inspect", file, "--format", "json"]));
        let kernels = report["kernels"].as_array().unwrap().clone();
        let parameters = kernels
            .iter()
            .filter_map(|kernel| kernel["parameters"].as_array());
        let all = kernels.iter().chain(parameters.flatten());
        let found: Vec<_> = all
            .filter_map(|one| one.pointer(pointer))
            .cloned()
            .collect();
        found
            .into_iter()
            .filter(|value| !value.is_null())
            .collect::<Vec<_>>()
    };
    let vectors = values("made/entries.syclbin", "/type/count");
    assert!(vectors.contains(&json!(4)), "{vectors:?}");
    let arrays = values("described/functors.syclbin", "/type/count");
    assert!(arrays.contains(&json!(3)), "{arrays:?}");
    let locations = values("made/root_group.syclbin", "/location");
    assert!(
        locations[0].as_str().unwrap().contains(".cpp:"),
        "{locations:?}"
    );
}

#[test]
fn a_kernel_is_typed() {
    let output = run(&["inspect", "vector_ops.object.syclbin", "--format", "json"]);
    let report = check("inspect", &stdout(&output));
    assert_eq!(
        report["kernels"][1],
        json!({
            "symbol": "_ZN18__sycl_kernel_fill4iotaEfPfi",
            "name": "fill::iota",
            "declaration": "void fill::iota(float, float *, int)",
            "location": null,
            "stub": "fill::iota",
            "no_stub": null,
            "parameters": [
                {"name": null, "sign_known": true, "arguments": ["passed"],
                    "type": {"kind": "scalar", "scalar": "f32", "cpp": "float"}},
                {"name": null, "sign_known": true, "arguments": ["passed"],
                    "type": {"kind": "pointer", "scalar": "f32", "access": "read_write", "cpp": "float *"}},
                {"name": null, "sign_known": true, "arguments": ["passed"],
                    "type": {"kind": "scalar", "scalar": "i32", "cpp": "int"}},
            ],
            "reason": null,
            "required_work_group_size": null,
            "maximum_work_group_size": null,
            "work_group_dimensions": null,
            "required_sub_group_size": null,
            "eliminated_arguments": [],
            "modules": [0],
        })
    );
    let output = run(&["inspect", "work_group.object.syclbin", "--format", "json"]);
    let report = check("inspect", &stdout(&output));
    // `work_group_size<2, 4, 8>` in work_group.cpp.
    assert_eq!(
        report["kernels"][1]["required_work_group_size"],
        json!([2, 4, 8])
    );
    let output = run(&["inspect", "functor.object.syclbin", "--format", "json"]);
    let report = check("inspect", &stdout(&output));
    let removed = json!([1, 2, 3, 5, 6, 9, 10]);
    assert_eq!(report["kernels"][2]["eliminated_arguments"], removed);
}

#[test]
fn offset_size_and_hash_match_the_image() {
    let name = "vector_ops.executable.syclbin";
    let bytes = test_files::read(name);
    let report = check(
        "inspect",
        &stdout(&run(&["inspect", name, "--format", "json"])),
    );
    let mut images = 0;
    for module in report["modules"].as_array().unwrap() {
        for image in module["images"].as_array().unwrap() {
            let number = |key: &str| usize::try_from(image[key].as_u64().unwrap()).unwrap();
            let found = &bytes[number("offset")..][..number("size")];
            assert!(found.starts_with(b"\x7fELF"));
            assert_eq!(image["sha256"], json!(cargo_syclbin::input::sha256(found)));
            images += 1;
        }
    }
    assert_eq!(images, 2);
}

#[test]
fn fields_outside_the_schema_are_noticed() {
    let output = run(&["inspect", "globals.object.syclbin", "--format", "json"]);
    let report = check("inspect", &stdout(&output));
    let mut ours = read("inspect");
    strict(&mut ours);
    let validator = jsonschema::validator_for(&ours).unwrap();
    assert!(validator.is_valid(&report));
    let changes: [fn(&mut Value); 5] = [
        |report| report["new"] = json!(1),
        |report| report["modules"][0]["images"][0]["new"] = json!(null),
        |report| report["modules"][0]["property_sets"][0]["properties"][0]["new"] = json!(1),
        |report| report["kernels"][0]["parameters"][0]["type"]["kind"] = json!("union"),
        |report| report["file"]["container"] = json!("v3"),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut report = report.clone();
        change(&mut report);
        assert!(!validator.is_valid(&report), "change {index}");
    }
}
