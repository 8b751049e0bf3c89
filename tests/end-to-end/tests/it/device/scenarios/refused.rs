// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is refused, and in which words.

use syclbin::Container;
use syclbin::property::{Value, key, set};
use syclbin_rt::{Arg, ErrorKind, Launch, Module, Queue};

use super::link::importing_object;
use super::load::basic_object;
use crate::common::{queue, spirv_queue};

fn load(queue: &Queue, bytes: &[u8]) -> syclbin_rt::Result<Module> {
    // SAFETY: the code is what a compiler made.
    unsafe { Module::load(queue, bytes) }
}

#[test]
fn bytes_of_another_format_are_refused() {
    let Some(queue) = queue() else { return };
    let good = basic_object::SYCLBIN;
    let mut foreign = good.to_vec();
    foreign[0] ^= 0xff;
    for bytes in [&[][..], b"no file", &foreign, &good[..good.len() / 2]] {
        let error = load(&queue, bytes).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidFile, "{error}");
        let text = error.to_string();
        assert!(text.starts_with("cannot read the SYCLBIN file: "), "{text}");
    }
}

#[test]
fn wrong_state_does_not_prevent_loading() {
    let Some(queue) = spirv_queue() else { return };
    let mut file = syclbin::read::parse(basic_object::SYCLBIN).unwrap();
    for state in [Some(7), None] {
        match state {
            Some(state) => file
                .global
                .insert(set::GLOBAL, key::STATE, Value::U32(state)),
            None => {
                file.global.remove_set(set::GLOBAL);
            }
        }
        let bytes = syclbin::write::to_vec(&file, Container::default()).unwrap();
        let findings = syclbin_tools::verify::verify(&bytes);
        let told = findings
            .iter()
            .any(|finding| finding.to_string().contains("state"));
        assert!(told, "{findings:?}");
        // Nothing of a state decides over what is built: every file is made executable.
        let module = load(&queue, &bytes).unwrap();
        assert!(module.kernel("iota").is_ok());
    }
}

#[test]
fn unlinked_file_error_names_the_missing_function() {
    let Some(queue) = spirv_queue() else { return };
    let text = load(&queue, importing_object::SYCLBIN)
        .unwrap_err()
        .to_string();
    assert!(text.contains("fill(int *, int) [_Z4fillPii]"), "{text}");
}

#[test]
fn an_argument_too_few_is_refused() {
    let Some(queue) = spirv_queue() else { return };
    let kernel = load(&queue, basic_object::SYCLBIN).unwrap().kernel("iota");
    let launch = Launch::new(&kernel, &["start"], [Arg::scalar(1.0f32)]);
    // SAFETY: nothing runs.
    let error = unsafe { launch.launch(1) }.unwrap_err().to_string();
    assert!(error.contains("iota"), "{error}");
}
