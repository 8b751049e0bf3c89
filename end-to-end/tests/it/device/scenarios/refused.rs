//! What is refused, and in which words.

use syclbin::Container;
use syclbin::property::{Value, key, set};
use syclbin_rt::{Arg, ErrorKind, Launch, Module, Queue};

use crate::clang;
use crate::common::queue;
use crate::link::importing_object;
use crate::load::basic_object;

fn load(queue: &Queue, bytes: &[u8]) -> syclbin_rt::Result<Module> {
    // SAFETY: the code is what a compiler made.
    unsafe { Module::load(queue, bytes) }
}

#[test]
fn bytes_that_are_no_file_of_this_format_are_refused_with_the_reason() {
    let Some(queue) = queue() else { return };
    let good = basic_object::SYCLBIN;
    let mut foreign = good.to_vec();
    foreign[0] ^= 0xff;
    for bytes in [&[][..], b"no file", &foreign, &good[..good.len() / 2]] {
        let error = load(&queue, bytes).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::File(_)), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("cannot read the SYCLBIN file: "), "{text}");
    }
}

#[test]
fn a_state_that_is_wrong_or_missing_is_told_and_stands_in_no_kernels_way() {
    let Some(queue) = queue() else { return };
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
        let findings = syclbin::verify::verify(&bytes);
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
fn a_file_that_is_not_linked_names_what_it_lacks() {
    let Some(queue) = queue() else { return };
    let text = load(&queue, importing_object::SYCLBIN)
        .unwrap_err()
        .to_string();
    assert!(text.contains("fill(int *, int) [_Z4fillPii]"), "{text}");
}

#[test]
fn an_argument_too_few_is_refused() {
    let Some(queue) = queue() else { return };
    let kernel = load(&queue, basic_object::SYCLBIN).unwrap().kernel("iota");
    let launch = Launch::new(&kernel, &["start"], [Arg::scalar(1.0f32)]);
    // SAFETY: nothing runs.
    let error = unsafe { launch.launch(1) }.unwrap_err().to_string();
    assert!(error.contains("iota"), "{error}");
}

#[test]
fn native_code_of_what_is_still_to_be_linked_is_refused_when_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/importing.cpp");
    let line = ["-fsyclbin=object", "-fsycl-targets=spir64_x86_64", source];
    let output = clang::clang(&line, folder.path());
    let said = clang::said(&output);
    assert!(!output.status.success());
    assert!(
        said.contains("no native code") && said.contains("fill(int *, int)"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_call_through_a_function_pointer_is_refused_by_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <syclbin/kernel.hpp>\n\
        extern \"C\" SYCLBIN_PROPERTY(single_task_kernel)\n\
        void call(int *out, int (**f)(int)) { *out = (*f)(4); }\n";
    std::fs::write(folder.path().join("k.cpp"), source).unwrap();
    let output = clang::clang(&["-fsyclbin", "k.cpp"], folder.path());
    let said = clang::said(&output);
    assert!(
        said.contains("cannot call through a function pointer"),
        "{said}"
    );
    assert!(!folder.path().join("a.syclbin").exists());
}
