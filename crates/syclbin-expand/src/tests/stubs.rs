// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generated methods: their documentation, and the items beside them.

use super::contracts::{code, input, recorded};
use super::*;

#[test]
fn the_documentation_says_what_to_mind() {
    const THREE: &str = "A vector of three elements is as large as one of four";
    const STAYS: &str = "nothing checks that the kernel stays within `p`";
    const DOES: &str = "nothing checks the kernel's memory accesses";
    for (parameter, three, safety) in [
        ("sycl::vec<float, 3> p", true, DOES),
        ("sycl::vec<float, 4> p", false, DOES),
        ("sycl::vec<float, 3> *p", true, STAYS),
        ("sycl::vec<float, 2> *p", false, STAYS),
        (
            "sycl::accessor<sycl::vec<int, 3>, 2, sycl::access_mode::read> p",
            true,
            STAYS,
        ),
        (
            "sycl::accessor<int, 2, sycl::access_mode::read> p",
            false,
            STAYS,
        ),
        ("sycl::local_accessor<int, 1> p", false, STAYS),
        (
            "sycl::ext::oneapi::experimental::work_group_memory<int[]> p",
            false,
            STAYS,
        ),
        (
            "sycl::ext::oneapi::experimental::work_group_memory<int[4]> p",
            false,
            DOES,
        ),
        ("int p", false, DOES),
    ] {
        let code = formatted(&recorded(&[&format!("void k({parameter})")], &[]));
        let text = code.replace("    /// ", "").replace('\n', " ");
        assert_eq!(text.contains(THREE), three, "{parameter}: {code}");
        assert!(text.contains(safety), "{parameter}: {code}");
    }
}

#[test]
fn a_pointer_to_anything_unknown_is_noted() {
    let mut file = recorded(&["void k(void *v, int *x)"], &[]);
    let note = "The file does not record what these point to, so they accept buffers of any type";
    assert!(!formatted(&file).contains(note));
    let parameters = file.signatures.kernels[0].parameters.as_mut().unwrap();
    parameters[0].ty = Type::Pointer {
        pointee: Pointee::Unknown(None),
        access: Access::Read,
    };
    let code = formatted(&file);
    assert!(code.contains(&format!("{note}: `v`.")), "{code}");
}

#[test]
fn images_are_generic_over_their_format() {
    const READ: &str = "sycl::access_mode::read, sycl::target::image";
    const WRITE: &str = "sycl::access_mode::write, sycl::target::image";
    let image = |of: &str, dimensions: u8, rest: &str| {
        format!("sycl::accessor<{of}, {dimensions}, {rest}>")
    };
    let floats = image("sycl::vec<float, 4>", 2, READ);
    let ints = image("sycl::vec<unsigned int, 4>", 3, WRITE);
    let unknown = image("pixel", 1, READ);
    let declaration = format!("void k({floats} from, {ints} to, {unknown} any)");
    let code: String = formatted(&recorded(&[&declaration], &[]));
    for line in [
        "from: &'a ::syclbin_rt::Image<2, impl ::syclbin_rt::format::Format<Element = f32>>",
        "to: &'a mut ::syclbin_rt::Image<3, impl ::syclbin_rt::format::Format<Element = u32>>",
        "any: &'a ::syclbin_rt::Image<1, impl ::syclbin_rt::format::Format>",
        "::syclbin_rt::Arg::read_image(from)",
        "::syclbin_rt::Arg::write_image(to)",
        "The file does not record the pixel type of these, so they accept images of any format: `any`.",
    ] {
        let spaceless = |text: &str| text.replace(['\n', ' ', '/'], "").replace(",>", ">");
        assert!(
            spaceless(&code).contains(&spaceless(line)),
            "{line}: {code}"
        );
    }
}

#[test]
fn kernels_with_images_cannot_be_safe() {
    let image =
        "sycl::accessor<sycl::vec<int, 4>, 1, sycl::access_mode::read, sycl::target::image>";
    let file = recorded(&[&format!("void k({image} x, int n)")], &[]);
    let (_, errors) = expand(&input("safe fn k where n >= 0;"), &file);
    assert_eq!(
        errors,
        [
            "this kernel cannot be safe: `x` is an image, and no condition can state which pixels the kernel accesses"
        ]
    );
}

#[test]
fn a_contract_is_listed() {
    let file = recorded(&["void k(int *x, int n)", "void l(int n)"], &[]);
    let items = "safe fn k where x.len() >= n; safe fn l;";
    let (tokens, errors) = expand(&input(items), &file);
    assert_eq!(errors, [""; 0]);
    let code = prettyplease::unparse(&syn::parse2(tokens).unwrap());
    for line in [
        "/// # Contract",
        "/// A launch fails unless",
        "/// - `x.len() >= n`",
        "/// No conditions: every launch is safe.",
    ] {
        assert!(code.contains(&format!("{line}\n")), "{line}: {code}");
    }
}

#[test]
fn a_work_group_size_is_a_constant() {
    let mut file = recorded(
        &["void k(int n)", "void K_LOCAL_SIZE(int n)", "void l(int n)"],
        &[],
    );
    file.signatures.kernels[0].required_local_size = Some(vec![4, 8]);
    let code = code("", &file);
    assert!(
        code.contains("pubconstK_LOCAL_SIZE_:[usize;2]=[4,8];"),
        "{code}"
    );
    assert!(
        code.contains("K_LOCAL_SIZE:::syclbin_rt::__private::StubKernel,"),
        "{code}"
    );
    assert!(
        code.contains("Launch<'_,1,::syclbin_rt::Range<1>>"),
        "{code}"
    );
    assert_eq!(code.matches("syclbin_rt::Range<").count(), 1, "{code}");
    let text = formatted(&file).replace("    /// ", "").replace('\n', " ");
    let size = "It is compiled for work-groups of `[4, 8]` ([`Self::K_LOCAL_SIZE_`])";
    assert_eq!(text.matches(size).count(), 1, "{text}");
}

#[test]
fn only_kernels_without_functions_are_left_out() {
    let file = recorded(
        &[
            "void k(int n)",
            "void lost(Unknown a, int)",
            "void empty(Unknown)",
        ],
        &[],
    );
    let code = code("", &file);
    assert_eq!(code.matches("pubmodleft_out{").count(), 1, "{code}");
    assert!(
        code.contains("pubfnlost<T0,T1>(&self,a:T0,arg1:T1)"),
        "{code}"
    );
    assert!(!formatted(&recorded(&["void k(int n)"], &[])).contains("left_out {"));
    let named = [kernel("_ZN17__sycl_kernel_abc1kEv", &[])];
    for (namespace, hidden) in [("abc", false), ("sycl", true)] {
        let mut file = file_of(named.to_vec());
        let kernel = &mut file.signatures.kernels[0];
        kernel.name.as_mut().unwrap().path = vec![namespace.into()];
        let lost = recorded(&["void k(Unknown a)"], &[])
            .signatures
            .kernels
            .remove(0);
        kernel.parameters = lost.parameters;
        let code = formatted(&file);
        assert_eq!(
            !code.contains("pub mod left_out"),
            hidden,
            "{namespace}: {code}"
        );
    }
}

#[test]
fn modules_of_kernels_are_fields() {
    let code = expanded(vec![
        kernel("_ZN17__sycl_kernel_abc1kEv", &[]),
        kernel("_ZN17__sycl_kernel_abc3def1kEv", &[]),
    ]);
    for text in [
        "pub abc: abc::Kernels",
        "pub def: def::Kernels",
        "/// The kernels in C++ namespace `abc`.",
        "fn new(module: &::syclbin_rt::Module)",
    ] {
        assert!(code.contains(text), "{text}: {code}");
    }
}

#[test]
fn device_globals_yield_to_kernels_and_methods() {
    let mut file = recorded(&["void module(int n)", "void table(int n)"], &[]);
    for (id, expected) in [
        ("_Z5table", "pubfntable_(&self)"),
        ("_Z4load", "pubfnload_(&self)"),
        ("_Z4free", "pubfnfree(&self)"),
        ("_ZN2ns4freeE", "pubns:ns::Kernels"),
    ] {
        file.signatures.globals = vec![syclbin::signature::DeviceGlobal {
            id: id.into(),
            name: mangled::parse(id),
            ty: Ok(Element::Scalar(Scalar::I32)),
            sign_known: id != "_Z4free",
        }];
        let code = code("", &file);
        assert!(code.contains(expected), "{id}: {code}");
        let text = formatted(&file);
        let unsure = text.contains("The file does not record which of its integers are signed");
        assert_eq!(unsure, id == "_Z4free", "{text}");
        if !id.contains("ns") {
            assert!(code.contains("self.module_.global("), "{code}");
        }
    }
}

#[test]
fn local_accessor_without_dimensions_is_no_parameter() {
    let mut file = recorded(&["void k(sycl::local_accessor<float, 1> one, int n)"], &[]);
    let parameters = file.signatures.kernels[0].parameters.as_mut().unwrap();
    let Type::LocalAccessor { dimensions, .. } = &mut parameters[0].ty else {
        panic!("{parameters:?}");
    };
    *dimensions = Some(0);
    let code = formatted(&file);
    assert_eq!(heads(&code), ["k(&self, n: i32)"]);
    assert!(code.contains("local_accessor::<f32>(1)"), "{code}");
}

#[test]
fn local_accessor_of_unknown_type_is_omitted() {
    let mut file = recorded(&["void k(int p)", "void l(int)"], &[]);
    for kernel in &mut file.signatures.kernels {
        kernel.parameters.as_mut().unwrap()[0].ty = Type::LocalAccessor {
            element: Pointee::Void,
            dimensions: Some(1),
        };
    }
    let code = formatted(&file);
    for (kernel, parameter) in [("k", "p"), ("l", "0")] {
        let reason = "the file does not record the element type of the local accessor";
        let text = format!("- `{kernel}`: parameter {parameter}: {reason}");
        assert!(code.contains(&text), "{code}");
    }
}

/// The data and the draft of a kernel whose parameters are of every kind.
#[test]
fn every_kind_of_parameter_is_listed() {
    const READ: &str = "sycl::access_mode::read";
    const IMAGE: &str = "sycl::target::image";
    let declaration = format!(
        "void k(sycl::accessor<float, 2, {READ}> a, sycl::accessor<float, 1, sycl::access_mode::read_write> b, \
         sycl::local_accessor<float, 2> c, sycl::ext::oneapi::experimental::work_group_memory<float[]> d, \
         sycl::accessor<sycl::vec<float, 4>, 2, {READ}, {IMAGE}> e, \
         sycl::accessor<sycl::vec<float, 4>, 2, sycl::access_mode::write, {IMAGE}> f, sycl::sampler g, \
         sycl::kernel_handler h, const int *i, int *j, bool k, sycl::half l, long m)"
    );
    let mut file = recorded(&[&declaration], &[]);
    let code = formatted(&file);
    let kinds = code.split("ParameterKind::").skip(1);
    let kinds: Vec<_> = kinds.filter_map(|kind| kind.split(',').next()).collect();
    let expected = "ReadAccessor WriteAccessor LocalMemory LocalMemory ReadImage WriteImage Sampler KernelHandler \
        ReadPointer WritePointer Value Value Value";
    assert_eq!(kinds.join(" "), expected);
    let draft = |file: &File| {
        let (input, mut errors) = Input::parse(quote!(mod kernels = "a";)).unwrap();
        let plan = crate::plan::Plan::new(&input, file, &mut errors);
        crate::tools::draft::launches(plan).concat()
    };
    file.signatures.kernels[0].dimensions = Some(2);
    let text = draft(&file);
    let (signature, body) = text.split_once('\n').unwrap();
    assert_eq!(signature, format!("// C++: {declaration}"));
    let expected = "/*\nlet a = queue.zeroed::<f32>(1024)?;\nlet mut b = queue.zeroed::<f32>(1024)?;\nlet c = [8, 8];\n\
        let d = syclbin_rt::LocalMemory::<f32>::of(64);\nlet e = todo!();\nlet mut f = todo!();\nlet g = todo!();\n\
        let i = queue.zeroed::<i32>(1024)?;\nlet mut j = queue.zeroed::<i32>(1024)?;\nlet k = false;\n\
        let l = syclbin_rt::bytemuck::Zeroable::zeroed();\nlet m = 0i64;\nunsafe {\n    kernels\n        \
        .k((&a, [32, 32]), &mut b, c, d, &e, &mut f, &g, &i, &mut j, k, l, m)\n        \
        .launch(syclbin_rt::NdRange::new([32, 32]).local([8, 8]))?\n};\n*/\n";
    assert_eq!(body, expected);
    let of_task =
        "void t(sycl::local_accessor<float, 0> c, sycl::local_accessor<float, 1> d, int n)";
    let mut file = recorded(&[of_task], &[]);
    file.signatures.kernels[0].dimensions = Some(0);
    let body = "let d = 64;\nlet n = 0i32;\nunsafe { kernels.t(d, n).launch(())? };\n";
    assert_eq!(draft(&file), format!("// C++: {of_task}\n/*\n{body}*/\n"));
}
