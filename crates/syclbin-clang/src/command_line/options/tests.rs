// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::command_line::targets::Target;

fn parse(line: &str) -> Result<Request> {
    Request::parse(line.split_whitespace().map(str::to_owned).collect())
}

fn options(line: &str) -> Options {
    match parse(line).unwrap() {
        Request::Make(options) => *options,
        other => panic!("{other:?}"),
    }
}

fn said(line: &str) -> String {
    match parse(line) {
        Err(Failure::Own(text)) => text,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn clangs_command_line_is_understood() {
    let options = options(
        "-fsycl -fsyclbin=object -I inc -Iinc2 -D N=3 -O3 -std=c++20 -MD -MF k.d -o k.syclbin k.cpp",
    );
    assert_eq!(options.inputs, [PathBuf::from("k.cpp")]);
    assert_eq!(options.output, PathBuf::from("k.syclbin"));
    assert_eq!(options.state, State::Object);
    let depfile = options.depfile.unwrap();
    assert_eq!(depfile.path, PathBuf::from("k.d"));
    assert_eq!(depfile.targets, "k.syclbin");
    let expected = ["-Iinc", "-Iinc2", "-DN=3", "-O3", "-std=c++20"];
    assert_eq!(options.clang, expected);
    assert_eq!(options.warnings, Warnings::default());
}

#[test]
fn joined_and_separate_spellings_mean_the_same() {
    let joined = options("-fsyclbin -ok.syclbin -MD -MFk.d -MTt -includea.hpp -isysteminc k.cpp");
    let separate =
        options("-fsyclbin -o k.syclbin -MD -MF k.d -MT t -include a.hpp -isystem inc k.cpp");
    assert_eq!(joined, separate);
    let expected = ["-Xclang", "-include", "-Xclang", "a.hpp", "-isysteminc"];
    assert_eq!(separate.clang, expected);
}

#[test]
fn the_defaults_are_clangs() {
    let options = options("-fsyclbin k.cpp -MD");
    assert_eq!(options.output, PathBuf::from("a.syclbin"));
    assert_eq!(options.state, State::Executable);
    assert_eq!(options.depfile.unwrap().path, PathBuf::from("a.d"));
    assert_eq!(options.targets.all(), [Target::Spirv]);
    assert!(options.clang.is_empty());
}

#[test]
fn inputs_keep_order_also_after_double_dash() {
    let options = options("-fsyclbin b.cpp -O2 a.syclbin -x c++ -- -odd.cpp @file");
    let expected = ["b.cpp", "a.syclbin", "-odd.cpp", "@file"].map(PathBuf::from);
    assert_eq!(options.inputs, expected);
    assert_eq!(options.clang, ["-O2"]);
}

#[test]
fn preprocessor_options_are_read_like_any_other() {
    let options = options(
        "-fsyclbin -Wp,-MMD,k.d,-DX=1 -Xsycl-target-frontend -DY -Xsycl-target-frontend=spir64 -DZ -undef k.cpp",
    );
    let depfile = options.depfile.unwrap();
    assert_eq!((depfile.option, depfile.path), ("-MMD", "k.d".into()));
    assert_eq!(options.clang, ["-DX=1", "-DY", "-DZ", "-undef"]);
}

#[test]
fn separate_option_value_is_not_an_input() {
    for option in [
        "-iframework",
        "-iframeworkwithsysroot",
        "-iwithsysroot",
        "--include-directory",
        "--include-directory-after",
        "--define-macro",
        "--undefine-macro",
        "--include",
        "--imacros",
        "--prefix",
        "-resource-dir",
        "-serialize-diagnostics",
        "--system-header-prefix",
        "-ftrapv-handler",
        "-mthread-model",
        "-Xanalyzer",
        "-Xcuda-ptxas",
        "-Xopenmp-target",
    ] {
        let options = options(&format!("-fsyclbin {option} value k.cpp"));
        assert_eq!(options.inputs, [PathBuf::from("k.cpp")], "{option}");
    }
    for line in ["--output k.out", "--output=k.out", "-o k.out"] {
        let options = options(&format!("-fsyclbin {line} --language c++ k.cpp"));
        assert_eq!(options.inputs, [PathBuf::from("k.cpp")], "{line}");
        assert_eq!(options.output, PathBuf::from("k.out"), "{line}");
        assert!(options.clang.is_empty(), "{line}");
    }
    let options = options("-fsyclbin -Wp, -Wp,,-DX, --include a.hpp --imacros=b.hpp k.cpp");
    assert_eq!(options.inputs, [PathBuf::from("k.cpp")]);
    let expected = "-DX -Xclang -include -Xclang a.hpp -Xclang -imacros -Xclang b.hpp".split(' ');
    assert_eq!(options.clang, expected.collect::<Vec<_>>());
}

#[test]
fn depfile_targets_are_quoted_on_request() {
    let options = options("-fsyclbin -MD -MP -MT $(OUT) -MQ a$b k.cpp");
    let depfile = options.depfile.unwrap();
    assert_eq!(depfile.targets, "$(OUT) a$$b");
    assert!(depfile.phony);
}

#[test]
fn unused_arguments_get_clangs_warning() {
    let line = "-fsyclbin -L/usr/lib -L /opt -lm -Wl,-s -shared -Xlinker x -MF k.d k.cpp";
    let options = options(line);
    let unused = [
        "-L/usr/lib",
        "-L /opt",
        "-lm",
        "-Wl,-s",
        "-shared",
        "-Xlinker x",
        "-MF",
    ];
    let unused = unused.map(|option| format!("argument unused during compilation: '{option}'"));
    assert_eq!(options.warnings.texts(), unused);
    assert!(options.clang.is_empty());
}

#[test]
fn steps_are_shown_or_shown_alone() {
    assert_eq!(options("-fsyclbin -v k.cpp").show, Show::Steps);
    assert_eq!(options("-fsyclbin -### -v k.cpp").show, Show::StepsOnly);
    assert_eq!(options("-fsyclbin -v -### k.cpp").show, Show::StepsOnly);
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    for (line, expected) in [
        ("-fsyclbin", "no input file"),
        ("a.cpp", "-fsyclbin is missing"),
        ("-fsyclbin=final a.cpp", "invalid value 'final'"),
        ("-fsyclbin a.cpp -o", "argument to '-o' is missing"),
        (
            "-fsyclbin a.cpp -Xsycl-target-backend=spir64_gen",
            "is missing",
        ),
        ("-fsyclbin a.cpp -o -", "specify a file"),
        (
            "-fsyclbin a.cpp -fsycl-targets=amdgcn-amd-amdhsa",
            "'amdgcn-amd-amdhsa' is not supported",
        ),
        ("-fsyclbin -x c a.cpp", "option '-x c' is not supported"),
        ("-fsyclbin -E a.cpp", "option '-E' is not supported"),
        ("-fsyclbin -M a.cpp", "use -MD or -MMD"),
        ("-fsyclbin -m32 a.cpp", "64-bit"),
        ("-fsyclbin -ivfsoverlay x a.cpp", "ignores it"),
        ("-fsyclbin --config x a.cpp", "as @FILE"),
        ("-fsyclbin -dependency-file x a.cpp", "use -MD or -MMD"),
        ("-fsyclbin -Xdevice-post-link x a.cpp", "no such step"),
        ("-fsyclbin -Xoffload-linker-spir64 x a.cpp", "no such step"),
        (
            "-fsyclbin --language c a.cpp",
            "'--language c' is not supported",
        ),
        (
            "-fsyclbin -fsycl-device-only a.cpp",
            "cargo syclbin extract",
        ),
        (
            "-fsyclbin -include-pch x a.cpp",
            "'-include-pch' is not supported",
        ),
        (
            "-fsyclbin=object -fsycl-link a.syclbin",
            "-fsycl-link creates an executable",
        ),
        (
            "-fsyclbin=input -fsycl-targets=spir64_x86_64 a.cpp",
            "cannot read native code",
        ),
    ] {
        let text = said(line);
        assert!(text.contains(expected), "{line}: {text}");
    }
    assert!(matches!(parse("--version x"), Ok(Request::Print(text)) if text.contains(VERSION)));
}

#[test]
fn relocatable_code_is_the_default() {
    for line in ["", "-fgpu-rdc", "--offload-rdc", "-fno-gpu-rdc -fsycl-rdc"] {
        let options = options(&format!("-fsyclbin {line} k.cpp"));
        assert_eq!(options.dependencies, Dependencies::Unsaid, "{line}");
        assert!(options.clang.is_empty(), "{line}");
    }
    for line in [
        "-fno-sycl-rdc",
        "-fno-gpu-rdc",
        "-fgpu-rdc --no-offload-rdc",
    ] {
        let options = options(&format!("-fsyclbin {line} k.cpp"));
        let option = line.rsplit(' ').next().unwrap().to_owned();
        assert_eq!(options.dependencies, Dependencies::Forbidden(option));
    }
    let text = said("-fsyclbin=object -fno-gpu-rdc k.cpp");
    assert!(
        text.contains("'-fno-gpu-rdc' not allowed with '-fsyclbin=object'"),
        "{text}"
    );
    let last = options("-fsyclbin -fno-gpu-rdc -fsycl-allow-device-image-dependencies k.cpp");
    assert_eq!(last.dependencies, Dependencies::Allowed);
}

#[test]
fn frontend_options_of_both_targets_are_taken() {
    for target in ["spir64", "spir64_gen", "nvptx64-nvidia-cuda"] {
        let line = format!("-fsyclbin -Xsycl-target-frontend={target} -DZ k.cpp");
        assert_eq!(options(&line).clang, ["-DZ"]);
    }
    let text = said("-fsyclbin -Xsycl-target-frontend=amdgcn -DZ k.cpp");
    assert!(text.contains("must begin with spir64 or nvptx64"), "{text}");
}
