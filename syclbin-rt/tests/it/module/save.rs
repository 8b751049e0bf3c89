// SPDX-License-Identifier: MIT OR Apache-2.0
//! Saving: a loaded module becomes a file of native code, which means the same.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

use syclbin::metadata::{
    IdRange, KernelSizes, MiscProperties, ModuleMetadata, SpecConstantDescriptor,
};
use syclbin::property::set;
use syclbin::{AbstractModule, Aspect, Image, IrType, State, Syclbin};
use syclbin_rt::{Arg, ErrorKind, Launch, Module, Queue, Result};
use syclbin_tools::verify::{Severity, verify};

use crate::common;

/// Saves `module`, and checks what every such file is.
fn saved(module: &Module) -> Result<Vec<u8>> {
    let bytes = module.to_syclbin()?;
    let findings = verify(&bytes);
    let mut faults = findings
        .iter()
        .filter(|finding| finding.severity != Severity::Note);
    assert_eq!(faults.next().map(ToString::to_string), None);
    let file = syclbin::read::parse(&bytes).expect("a good file");
    assert_eq!(file.state(), Some(State::Executable));
    for part in &file.modules {
        assert!(part.images.len() == 1 && part.images[0].native);
        assert!(part.metadata.set(set::IMPORTED_SYMBOLS).is_none());
    }
    Ok(bytes)
}

fn reloaded(queue: &Queue, module: &Module) -> Result<Module> {
    let again = common::load(queue, &saved(module)?)?;
    for choice in common::choices(&again) {
        let text = choice.to_string();
        assert!(
            text.contains("the driver accepts this native code"),
            "{text}"
        );
    }
    Ok(again)
}

fn names(module: &Module) -> Vec<&str> {
    let mut names: Vec<&str> = module.kernel_names().collect();
    names.sort_unstable();
    names
}

#[test]
fn saved_reference_objects_load_again() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    for name in [
        "vector_ops",
        "work_group",
        "structs",
        "functor",
        "globals",
        "export_side",
    ] {
        let module = common::load(&queue, &common::testfile(&format!("{name}.object.syclbin")))?;
        let mut refused = (module.kernel_names()).filter_map(|name| module.kernel(name).err());
        let unfit = refused.find(|e| {
            e.kind() == ErrorKind::Unavailable && e.to_string().contains("does not run on")
        });
        if let Some(error) = unfit {
            common::say_skipped(&error.to_string());
            continue;
        }
        let again = reloaded(&queue, &module)?;
        assert_eq!(names(&module), names(&again));
        // Native code of native code is the same kernels still.
        let third = reloaded(&queue, &again)?;
        assert_eq!(names(&module), names(&third));
    }
    Ok(())
}

#[test]
fn saved_kernel_keeps_its_work_group_size() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile("work_group.object.syclbin"))?;
    let again = reloaded(&queue, &module)?;
    let kernel = again.kernel("coords");
    let mut out = queue.zeroed::<i32>(64)?;
    let args = [Arg::write(&mut out)];
    // SAFETY: 64 work-items.
    unsafe { Launch::new(&kernel, &["out"], args).launch([2, 4, 8])? };
    assert_eq!(queue.download(&out)?[63], 10_307);
    assert_eq!(kernel?.required_local_size(), Some(&[2, 4, 8][..]));
    Ok(())
}

#[test]
fn loads_of_saved_module_have_own_variables() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile("globals.object.syclbin"))?;
    module.global::<f32>("bias")?.write(&4.0)?;
    let bytes = saved(&module)?;
    let [first, second] = [common::load(&queue, &bytes)?, common::load(&queue, &bytes)?];
    first.global::<[i32; 4]>("table")?.write(&[1, 2, 3, 4])?;
    assert_eq!(second.global::<[i32; 4]>("table")?.read()?, [0; 4]);
    assert_eq!(first.global::<f32>("bias")?.read()?.to_bits(), 0);
    Ok(())
}

#[test]
fn what_was_linked_is_in_the_saved_file() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let exporting = common::testfile("export_side.object.syclbin");
    let builder = Module::builder(&queue).link(&exporting);
    // SAFETY: a compiler made both.
    let module = unsafe { builder.load(&common::testfile("import_side.object.syclbin"))? };
    let again = reloaded(&queue, &module)?;
    let kernel = again.kernel("apply");
    let input = queue.upload(&[2.0f32])?;
    let mut out = queue.zeroed::<f32>(1)?;
    let args = [Arg::read(&input), Arg::write(&mut out)];
    // SAFETY: one work-item.
    unsafe { Launch::new(&kernel, &["in", "out"], args).launch(1)? };
    assert_eq!(queue.download(&out)?, [5.0]);
    Ok(())
}

#[test]
fn linked_modules_save_the_smallest_id_range() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let counting = |name: &str, range: Option<IdRange>| {
        let bytes = common::testfile(name);
        let mut file = syclbin::read::parse(&bytes).expect("a good file");
        let sets = &mut file.modules[0].metadata;
        let misc = MiscProperties::read(sets).expect("good properties");
        let misc = MiscProperties {
            id_range: range,
            ..misc
        };
        misc.write(sets);
        common::written(&file)
    };
    let range_of = |importing, exporting| -> Result<Option<IdRange>> {
        let exporting = counting("export_side.object.syclbin", exporting);
        let importing = counting("import_side.object.syclbin", importing);
        let builder = Module::builder(&queue).link(&exporting);
        // SAFETY: a compiler made the code of both.
        let bytes = saved(&unsafe { builder.load(&importing)? })?;
        let file = syclbin::read::parse(&bytes).expect("a good file");
        let misc = MiscProperties::read(&file.modules[0].metadata);
        Ok(misc.expect("good properties").id_range)
    };
    let (size, unsigned) = (Some(IdRange::Size), Some(IdRange::UnsignedInt));
    assert_eq!(range_of(size, unsigned)?, unsigned);
    assert_eq!(range_of(size, None)?, None);
    assert_eq!(range_of(None, size)?, None);
    assert_eq!(range_of(size, size)?, size);
    Ok(())
}

#[test]
fn saved_file_merges_linked_constants_and_requirements() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let with = |name: &str, constant: &str, aspects: &[Aspect]| {
        let bytes = common::testfile(name);
        let mut file = syclbin::read::parse(&bytes).expect("a good file");
        let sets = &mut file.modules[0].metadata;
        let mut metadata = ModuleMetadata::read(sets).expect("good properties");
        let (id, offset, size) = (0, 0, 4);
        let part = SpecConstantDescriptor { id, offset, size };
        let specialization = &mut metadata.specialization;
        specialization.constants.insert(constant, vec![part]);
        specialization.defaults = Some(5i32.to_le_bytes().to_vec());
        metadata.requirements.aspects = aspects.to_vec();
        metadata.write(sets);
        common::written(&file)
    };
    let aspects: Vec<Aspect> = queue.device().aspects().take(2).collect();
    let exporting = with("export_side.object.syclbin", "shift", &aspects[1..]);
    let importing = with("import_side.object.syclbin", "factor", &aspects[..1]);
    let load = |values: &[(&str, i32)], file: &[u8], linked: Option<&[u8]>| {
        let mut builder = Module::builder(&queue);
        for (name, value) in values {
            builder = builder.specialization_constant(*name, *value);
        }
        if let Some(linked) = linked {
            builder = builder.link(linked);
        }
        // SAFETY: a compiler made the code of both.
        unsafe { builder.load(file) }
    };
    let described = |bytes: &[u8]| {
        let file = syclbin::read::parse(bytes).expect("a good file");
        ModuleMetadata::read(&file.modules[0].metadata).expect("good properties")
    };
    let plain = saved(&load(&[], &importing, Some(&exporting))?)?;
    let metadata = described(&plain);
    assert_eq!(metadata.requirements.aspects, aspects);
    assert!(
        metadata
            .specialization
            .constants
            .names()
            .eq(["factor", "shift"])
    );
    assert_eq!(metadata.specialization.set_values, None);

    let set = saved(&load(&[("shift", 7)], &importing, Some(&exporting))?)?;
    let in_force = described(&set).specialization;
    let seven = 7i32.to_le_bytes();
    let layout = in_force.layout().expect("a layout");
    let shift = layout.get("shift").expect("a constant");
    let values = in_force.set_values.expect("values");
    assert_eq!(&values[shift.start..][..shift.size], seven);
    if common::on_cuda() {
        // There its code would have variables for them, and this one reads none.
        return Ok(());
    }
    load(&[("shift", 7)], &set, None)?;
    for (file, values) in [(&set, [("shift", 5)]), (&plain, [("shift", 7)])] {
        let refused = load(&values, file, None).expect_err("it is compiled in");
        assert!(refused.to_string().contains("constant shift"), "{refused}");
    }
    Ok(())
}

#[test]
fn modules_that_do_not_fit_are_left_out() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile("functor.object.syclbin");
    let mut file: Syclbin<'_> = syclbin::read::parse(&bytes).expect("a good file");
    let modules = file.modules.len();
    file.modules.push(AbstractModule {
        images: vec![Image::ir(
            IrType::Ptx,
            "nvptx64-nvidia-cuda",
            b"//".to_vec(),
        )],
        ..AbstractModule::default()
    });
    let module = common::load(&queue, &common::written(&file))?;
    let bytes = saved(&module)?;
    let again = syclbin::read::parse(&bytes).expect("a good file");
    assert_eq!(again.modules.len(), modules);
    Ok(())
}

#[test]
fn saved_file_names_variables_of_linked_modules() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let with = |name: &str, names: &[(&str, &str)]| {
        let bytes = common::testfile(name);
        let mut file = syclbin::read::parse(&bytes).expect("a good file");
        let sets = &mut file.modules[0].metadata;
        let mut program = ModuleMetadata::read(sets).expect("good metadata").program;
        for (id, in_code) in names {
            program.global_names.insert(*id, (*in_code).to_owned());
        }
        let sizes = KernelSizes {
            maximum_linear: Some(64),
            ..KernelSizes::default()
        };
        program.kernels.insert(format!("kernel of {name}"), sizes);
        program.write(sets);
        common::written(&file)
    };
    let names = [("_Z4both", "from_linked"), ("_Z4away", "away")];
    let exporting = with("export_side.object.syclbin", &names);
    let importing = with("import_side.object.syclbin", &[("_Z4both", "own")]);
    let builder = Module::builder(&queue).link(&exporting);
    // SAFETY: a compiler made the code of both.
    let bytes = saved(&unsafe { builder.load(&importing)? })?;
    let file = syclbin::read::parse(&bytes).expect("a good file");
    let metadata = ModuleMetadata::read(&file.modules[0].metadata);
    let program = metadata.expect("good metadata").program;
    let in_code = |id| program.global_names.get(id).map(String::as_str);
    assert_eq!(
        (in_code("_Z4both"), in_code("_Z4away")),
        (Some("own"), Some("away"))
    );
    // The linked module's kernels are not in the program.
    let kernel = |name: &str| program.kernels.get(&format!("kernel of {name}"));
    assert!(kernel("import_side.object.syclbin").is_some());
    assert!(kernel("export_side.object.syclbin").is_none());
    Ok(())
}
