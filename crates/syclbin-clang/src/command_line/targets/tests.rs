// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::Failure;

fn listed(value: &str) -> Result<Vec<Target>> {
    let mut targets = Targets::default();
    targets.list(value)?;
    targets.check(State::Executable)?;
    Ok(targets.all())
}

fn said<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(Failure::Own(text)) => text,
        other => panic!("{other:?}"),
    }
}

const CPU: Target = Target::Cpu(None);
const PVC: Target = Target::Gpu(Some("pvc"));

#[test]
fn targets_are_listed_once_with_spirv_first() {
    assert_eq!(Targets::default().all(), [Target::Spirv]);
    let all = listed("spir64_x86_64,spir64-unknown-unknown,spir64_x86_64-unknown-unknown");
    assert_eq!(all, Ok(vec![Target::Spirv, CPU]));
    assert_eq!(listed("intel_gpu_12_60_7,intel_gpu_pvc"), Ok(vec![PVC]));
    let mut targets = Targets::default();
    targets.list("spir64_x86_64").unwrap();
    targets.list("spir64").unwrap();
    targets.add("pvc,avx2").unwrap();
    let processor = Some("core-avx2");
    assert_eq!(
        targets.all(),
        [Target::Spirv, Target::Cpu(processor), PVC],
        "the last list counts, and what is added to it"
    );
}

#[test]
fn family_of_intel_gpus_stands_for_its_members() {
    let bmg = ["bmg_g21", "bmg_g31"].map(|device| Target::Gpu(Some(device)));
    assert_eq!(listed("intel_gpu_bmg"), Ok(bmg.to_vec()));
    assert!(bmg.iter().all(|gpu| gpu.is_named("intel_gpu_bmg")));
    assert!(!PVC.is_named("intel_gpu_bmg"));
}

#[test]
fn optional_ptx_is_added_once() {
    let mut targets = Targets::default();
    targets.add_optional("nvptx64-nvidia-cuda").unwrap();
    let text = said(targets.add_optional("spir64"));
    let expected = "--optional-target=spir64: only nvptx64-nvidia-cuda can be optional";
    assert!(text.starts_with(expected), "{text}");
    let any_gpu = Target::Nvidia(None);
    assert_eq!(targets.all(), [Target::Spirv, any_gpu]);
    targets.list("spir64,nvidia_gpu_sm_80").unwrap();
    let all = targets.all();
    assert_eq!(all.len(), 2, "{all:?}");
    assert_ne!(all[1], Target::Nvidia(None));
}

#[test]
fn unsupported_targets_are_refused_by_name() {
    for name in ["amdgcn-amd-amdhsa", "amd_gpu_gfx90a", "native_cpu", "x"] {
        let text = said(listed(&format!("spir64,{name}")));
        assert!(
            text.contains(&format!("'{name}' is not supported")),
            "{text}"
        );
        assert!(text.contains("SYCLBIN_CLANG"), "{text}");
    }
    for name in ["gfx90a", "zen5"] {
        let text = said(Targets::default().add(name));
        assert!(
            text.contains(&format!("'{name}' is not supported")),
            "{text}"
        );
    }
    assert!(said(listed("intel_gpu_xyz")).contains("unknown Intel GPU '"));
    assert!(said(listed("spir64,")).contains("is missing"));
}

#[test]
fn backend_options_need_a_matching_target() {
    let mut targets = Targets::default();
    targets.add_backend(None, "-device 'pvc,dg2'");
    assert!(said(targets.check(State::Executable)).contains("no target of this file"));
    targets.list("spir64,spir64_gen").unwrap();
    assert_eq!(targets.check(State::Executable), Ok(()));
    let gen_target = Target::Gpu(None);
    assert_eq!(targets.backend(&gen_target), ["-device", "pvc,dg2"]);
    targets.list("spir64_gen,spir64_x86_64").unwrap();
    assert!(
        said(targets.check(State::Executable))
            .contains("is ambiguous between spir64_x86_64, spir64_gen")
    );

    let mut targets = Targets::default();
    targets.add_backend(Some("spir64_x86_64-unknown-unknown"), "-march=avx2");
    assert!(
        said(targets.check(State::Executable)).contains("does not request target spir64_x86_64")
    );
    targets.list("spir64_x86_64,intel_gpu_pvc").unwrap();
    assert_eq!(targets.check(State::Executable), Ok(()));
    assert_eq!(targets.backend(&CPU), ["-march=avx2"]);
    assert!(targets.backend(&PVC).is_empty());
    targets.add_backend(Some("spir64"), "-x");
    assert!(said(targets.check(State::Executable)).contains("when the program runs"));
    assert!(said(listed("spir64_gen")).contains("does not specify a GPU"));
}

#[test]
fn gpu_options_match_targets_by_alias() {
    let mut targets = Targets::default();
    targets
        .list("spir64,intel_gpu_pvc,intel_gpu_bmg_g21")
        .unwrap();
    targets.add_backend(Some("intel_gpu_12_60_7"), "-q");
    assert_eq!(targets.check(State::Executable), Ok(()));
    assert_eq!(targets.backend(&PVC), ["-q"]);
    let other = Target::Gpu(Some("bmg_g21"));
    assert!(targets.backend(&other).is_empty());
    targets.add_backend(Some("intel_gpu_dg1"), "-q");
    assert!(
        said(targets.check(State::Executable)).contains("does not request target intel_gpu_dg1")
    );
}

fn nvidia(value: &str, backend: &[(Option<&str>, &str)]) -> Result<Option<NvidiaCode>> {
    let mut targets = Targets::default();
    targets.list(value)?;
    for (target, options) in backend {
        targets.add_backend(*target, options);
    }
    targets.check(State::Executable)?;
    targets.nvidia()
}

fn gpus(names: &[&str]) -> Vec<NvidiaGpu> {
    let named = |name: &&str| NvidiaGpu::named(name).unwrap();
    names.iter().map(named).collect()
}

#[test]
fn ptx_is_for_the_lowest_gpu() {
    assert_eq!(nvidia("spir64", &[]), Ok(None));
    let code = |value: &str, backend: &[_]| nvidia(value, backend).unwrap().unwrap();
    let plain = code("spir64,nvptx64-nvidia-cuda", &[]);
    assert_eq!((plain.ptx, plain.gpus), (NvidiaGpu::OLDEST, Vec::new()));
    for (value, backend) in [
        ("nvidia_gpu_sm_90a,nvidia_gpu_sm_80", vec![]),
        (
            "nvptx64",
            vec![(None, "--offload-arch=sm_80,sm_90a --cuda-gpu-arch=sm_80")],
        ),
        (
            "spir64,nvidia_gpu_sm_80,nvptx64",
            vec![(Some(NVIDIA), "--cuda-gpu-arch=sm_90a")],
        ),
    ] {
        let found = code(value, &backend);
        assert_eq!(found.gpus, gpus(&["sm_80", "sm_90a"]), "{value}");
        assert_eq!((found.ptx.name(), found.options.len()), ("sm_80", 0));
    }
    assert_eq!(code("nvidia_gpu_sm_90a", &[]).ptx.name(), "sm_90a");
    let both = code("nvptx64-nvidia-cuda,nvidia_gpu_sm_90", &[]);
    assert_eq!((both.ptx, both.gpus), (NvidiaGpu::OLDEST, gpus(&["sm_90"])));
    let several = code("nvidia_gpu_sm_90a,nvidia_gpu_sm_120", &[]);
    assert_eq!(several.ptx.name(), "sm_90", "sm_120 cannot run sm_90a PTX");
    let mut targets = Targets::default();
    targets.add("sm_80").unwrap();
    assert!(!targets.want_spirv());
    assert_eq!(targets.nvidia().unwrap().unwrap().gpus, gpus(&["sm_80"]));
}

#[test]
fn other_options_go_to_ptxas_for_named_gpus() {
    let options = [(Some("nvptx64"), "-O1 --offload-arch=sm_80 -lineinfo")];
    let found = nvidia("nvptx64,spir64", &options).unwrap().unwrap();
    assert_eq!(found.options, ["-O1", "-lineinfo"]);
    let text = said(nvidia("nvptx64", &[(None, "-O1")]));
    assert!(text.contains("no GPU is specified"), "{text}");
    let text = said(nvidia("spir64", &[(Some(NVIDIA), "-O1")]));
    assert!(text.contains("does not request target"), "{text}");
}

#[test]
fn unsupported_nvidia_gpu_error_lists_supported_gpus() {
    for text in [
        said(nvidia("nvidia_gpu_sm_70", &[])),
        said(Targets::default().add("sm_70")),
        said(nvidia("nvptx64", &[(None, "--offload-arch=sm_70")])),
    ] {
        assert!(
            text.contains("unknown NVIDIA GPU 'sm_70'; supported GPUs are sm_75, sm_80"),
            "{text}"
        );
    }
}

#[test]
fn input_state_refuses_native_code() {
    let input = |value: &str| {
        let mut targets = Targets::default();
        targets.list(value)?;
        targets.check(State::Input)
    };
    assert_eq!(input("spir64,nvptx64-nvidia-cuda"), Ok(()));
    assert!(said(input("nvptx64,nvidia_gpu_sm_80")).contains("cannot read native code"));
}

#[test]
fn triples_are_those_of_dpcpp() {
    for (name, triple) in [
        ("spir64", "spir64-unknown-unknown"),
        ("spir64_x86_64", "spir64_x86_64-unknown-unknown"),
        ("intel_gpu_pvc", "spir64_gen-unknown-unknown"),
        ("nvidia_gpu_sm_80", "nvptx64-nvidia-cuda"),
    ] {
        assert_eq!(listed(name).unwrap()[0].triple(), triple);
    }
}

#[test]
fn unknown_architectures_list_the_processors() {
    let text = said(Targets::default().add("zen5"));
    assert!(
        text.contains("avx512, ") || text.contains(", avx512"),
        "{text}"
    );
}
