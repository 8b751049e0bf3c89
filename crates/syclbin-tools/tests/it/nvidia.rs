// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files with SPIR-V and PTX of the same kernels: both tell the same signatures.

use syclbin::metadata::without_run_prefix;
use syclbin::property::set;
use syclbin::signature::{self, Signatures};
use syclbin::{AbstractModule, Content, Syclbin, ptx, read};
use syclbin_tools::verify::{Severity, verify};
use test_files::Declared;

/// What `syclbin-build` records of the sources in `tests/files`.
const DECLARATIONS: [(&str, &str); 14] = [
    (
        "__sycl_kernel_blur",
        "void blur(const float *in, float *out, int n, sycl::kernel_handler h)",
    ),
    (
        "_ZTS5Triad",
        "void Triad(sycl::local_accessor<float, 1> tile, sycl::accessor<const float, 1, sycl::access_mode::read> in, \
         sycl::accessor<float, 1, sycl::access_mode::read_write> out, float k)",
    ),
    ("_ZTS6AddOne", "void AddOne(int *data, int amount)"),
    (
        "__sycl_kernel_lookup",
        "void lookup(const int *index, float *out)",
    ),
    ("__sycl_kernel_store", "void store(int value)"),
    (
        "__sycl_kernel_apply",
        "void apply(const float *in, float *out)",
    ),
    (
        "__sycl_kernel_kinetic",
        "void kinetic(Particle proto, const Particle *in, float *out, unsigned long count)",
    ),
    (
        "__sycl_kernel_widen",
        "void widen(Span out, const sycl::half *in, int unused)",
    ),
    (
        "_Z19__sycl_kernel_scaleIdEvPT_S0_",
        "void scale<double>(double *data, double factor)",
    ),
    (
        "_Z19__sycl_kernel_scaleIiEvPT_S0_",
        "void scale<int>(int *data, int factor)",
    ),
    (
        "_ZN18__sycl_kernel_fill4iotaEfPfi",
        "void fill::iota(float start, float *out, int count)",
    ),
    (
        "__sycl_kernel_saxpy",
        "void saxpy(float a, const float *x, float *y, unsigned int n)",
    ),
    (
        "__sycl_kernel_block_sum",
        "void block_sum(const int *in, int *out, sycl::ext::oneapi::experimental::work_group_memory<int[64]> scratch)",
    ),
    (
        "__sycl_kernel_histogram",
        "void histogram(const unsigned char *bytes, unsigned int *bins)",
    ),
];
const COORDS: (&str, &str) = ("__sycl_kernel_coords", "void coords(int *out)");

const STRUCTS: [&str; 3] = [
    "struct Particle { float mass; /* 0 */ int id; /* 4 */ double position[3]; /* 8 */ sycl::vec<float, 4> velocity; /* 32 */ } /* size 48, align 16 */",
    "struct Span { float *data; /* 0 */ int count; /* 8 */ } /* size 16, align 8 */",
    "struct Stencil { float weight[3]; /* 0 */ int radius; /* 12 */ } /* size 16, align 4 */",
];

const VARIABLES: [(&str, &str); 5] = [
    ("_Z5table", "int[4]"),
    ("_Z4bias", "float"),
    ("_ZL7stencil", "Stencil"),
    ("_ZL4gain", "double"),
    ("_ZL6offset", "int"),
];

/// Records what `syclbin-build` does.
fn record(module: &mut AbstractModule<'_>) {
    let mut declared = Declared::default().types(&STRUCTS);
    let names: Vec<String> = module.kernel_names().map(str::to_owned).collect();
    for name in names {
        let known = DECLARATIONS.iter().chain([&COORDS]);
        let mut found = known.filter(|(symbol, _)| *symbol == without_run_prefix(&name));
        if let Some((_, text)) = found.next() {
            declared = declared.kernel(&name, text);
        }
    }
    for (name, ty) in VARIABLES {
        declared = declared.variable(name, ty);
    }
    declared.record(module);
}

/// The signatures that images of one kind tell, and nothing else than they and what is recorded.
fn told_by(file: &Syclbin<'_>, content: Content) -> Signatures {
    let mut file = file.clone();
    for module in &mut file.modules {
        module
            .images
            .retain(|image| Content::of(&image.bytes) == content);
        assert_eq!(module.images.len(), 1);
        record(module);
    }
    signature::kernels(&file).unwrap()
}

#[test]
fn ptx_and_spirv_give_equal_signatures() {
    let files = test_files::all("nvidia", ".object.syclbin");
    assert_eq!(files.len(), 8);
    let mut count = 0;
    for (path, bytes) in files {
        let file = read::parse(&bytes).unwrap();
        let [spirv, ptx] = [Content::SpirV, Content::Ptx].map(|content| told_by(&file, content));
        for (spirv, ptx) in spirv.kernels.iter().zip(&ptx.kernels) {
            assert_eq!(spirv, ptx, "{path}");
            count += usize::from(spirv.parameters.is_ok());
        }
        let shown = |found: &Signatures| {
            let all = found.layouts.iter();
            let mut all: Vec<_> = all.map(|(id, _)| found.layouts.describe(id)).collect();
            all.sort();
            all
        };
        assert_eq!(shown(&spirv), shown(&ptx), "{path}");
        assert_eq!(spirv.globals, ptx.globals, "{path}");
        assert_eq!(spirv.constants, ptx.constants, "{path}");
    }
    assert!(count >= 15, "{count} kernels");
}

#[test]
fn ptx_names_sizes_and_masks_match_module() {
    for (path, bytes) in test_files::all("nvidia", ".syclbin") {
        let file = read::parse(&bytes).unwrap();
        for module in &file.modules {
            let Some(text) = module
                .images
                .iter()
                .find(|image| Content::of(&image.bytes) == Content::Ptx)
            else {
                assert!(path.ends_with("vector_ops.fatbin.syclbin"));
                continue;
            };
            let text = ptx::Module::parse(&text.bytes).unwrap();
            assert_eq!(text.target, ptx::Target::new(75));
            for kernel in &text.kernels {
                assert!(module.kernel_names().any(|name| name == kernel.name));
                let mut parameters = kernel.parameters.iter();
                assert!(parameters.all(|parameter| parameter.layout.is_some()));
            }
            let globals = module.metadata.set(set::DEVICE_GLOBALS).into_iter();
            for name in globals
                .flat_map(syclbin::PropertySet::names)
                .map(without_run_prefix)
            {
                let key = format!("{name}@global_id_mapping");
                let symbol = module.metadata.get(set::PROGRAM_METADATA, &key).unwrap();
                assert!(
                    text.variables
                        .iter()
                        .any(|name| Some(name.as_str()) == symbol.as_str())
                );
            }
            let constants = module.metadata.set(set::SPECIALIZATION_CONSTANTS);
            for key in constants.into_iter().flat_map(syclbin::PropertySet::names) {
                assert!(text.variables.contains(&ptx::constant_variable(key)));
            }
        }
    }
}

#[test]
fn nvidia_files_verify_without_errors() {
    for (path, bytes) in test_files::all("nvidia", ".syclbin") {
        let errors: Vec<_> = verify(&bytes)
            .into_iter()
            .filter(|finding| finding.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{path}: {errors:?}");
    }
}

#[cfg(feature = "extract")]
#[test]
fn cubins_tell_registers_of_each_kernel() {
    for name in ["export_side.sm_80", "export_side.sm_90"] {
        let bytes = test_files::bytes(&format!("nvidia/{name}.cubin"));
        let kernels = syclbin_tools::native::kernels(bytes);
        let [shape] = kernels.as_slice() else {
            panic!("{kernels:?}");
        };
        assert_eq!(shape.symbol, "_Z5shapef");
        assert_eq!((shape.registers, shape.local_size), (Some(24), Some(0)));
    }
}
