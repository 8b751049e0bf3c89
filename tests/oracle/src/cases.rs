// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that are judged, and what must become of each.

use syclbin::{Container, State, Syclbin};

use crate::Result;
use crate::checks::{Checks, some};
use crate::content;
use crate::judge::{Job, Judge, Verdict};
use crate::kernels::{
    self, Code, Compiled, KERNELS, Kernel, Place, merged, parse, restated, without, write,
};

/// All that is linked becomes one program, so the runtime wants equal properties of it; kernels
/// with different required work-group sizes have others.
const NO_MERGE: &str = "Unable to merge incompatible images.";

/// Left out of what is linked: `coords` for [`NO_MERGE`], and `lookup` because libsycl 2026.2.0
/// crashes when it launches a kernel of a linked bundle that has device globals.
const NOT_LINKED: [&str; 2] = ["coords", "lookup"];

/// What the judge calls `blur` with other values of its specialization constants than the defaults.
const SPECIALIZED: &str = "blur_set";

/// What all cases need.
pub(crate) struct Bench<'r> {
    pub(crate) judge: Judge<'r>,
    /// The sources, compiled to executables.
    pub(crate) executables: Vec<Compiled>,
    /// The sources, compiled to objects.
    pub(crate) objects: Vec<Compiled>,
    /// Sources, compiled to native code; whether SPIR-V stands beside it.
    pub(crate) natives: Vec<(&'static str, bool, Vec<u8>)>,
}

impl Bench<'_> {
    /// Each file just as the compiler wrote it.
    pub(crate) fn as_compiled(&self, checks: &mut Checks) -> Result<()> {
        let judge = &self.judge;
        for file in &self.executables {
            let name = format!("{}.executable", file.source);
            let ours = parse(&file.bytes).map_err(|error| format!("{name}: {error}"))?;
            let kernels = found_in(file.source);
            let verdict = judge.run(&job(&name, State::Executable, &file.bytes, &kernels))?;
            checks.runs(&name, &verdict, &kernels);
            checks.built(&name, &verdict.content, &ours);
        }
        for file in &self.objects {
            let name = format!("{}.object", file.source);
            let ours = parse(&file.bytes).map_err(|error| format!("{name}: {error}"))?;
            let mut kernels = found_in(file.source);
            if file.source == "globals" {
                kernels.clear(); // it links, and would not run: see `NOT_LINKED`
            }
            let verdict = judge.run(&job(&name, State::Object, &file.bytes, &kernels))?;
            if file.source == "work_group" {
                let name = format!("{name}: different work-group sizes do not link");
                checks.add(&name, verdict.is_refused(NO_MERGE));
            } else {
                checks.runs(&name, &verdict, &kernels);
                checks.linked(&name, &verdict.linked, &ours);
            }
            checks.code(&name, &verdict.content, &ours);
        }
        Ok(())
    }

    /// All sources in one file, in each state.
    pub(crate) fn merged(&self, checks: &mut Checks) -> Result<()> {
        let judge = &self.judge;
        let all = requests(|_| true);
        let file = merged(State::Executable, &self.executables)?;
        let verdict = judge_file(judge, "all.executable", &file, &all)?;
        checks.runs("all.executable", &verdict, &all);
        checks.built("all.executable", &verdict.content, &file);
        let again = again(judge, "again.executable", &verdict, &all);
        checks.add("all.executable, written by it, then by us, runs", again);

        // What an input and an object hold is the same; an input is built module by module.
        let file = restated(merged(State::Object, &self.objects)?, State::Input);
        let verdict = judge_file(judge, "all.input", &file, &all)?;
        checks.runs("all.input", &verdict, &all);
        checks.code("all.input", &verdict.content, &file);
        checks.built("all.input, built", &verdict.linked, &file);

        // What syclbin-build makes of several sources that need nothing of each other.
        let file = restated(merged(State::Object, &self.objects)?, State::Executable);
        let verdict = judge_file(judge, "objects.executable", &file, &all)?;
        checks.runs("objects.executable", &verdict, &all);

        let (file, kernels) = self.linkable()?;
        let verdict = judge_file(judge, "all.object", &file, &kernels)?;
        checks.runs("all.object", &verdict, &kernels);
        checks.code("all.object", &verdict.content, &file);
        checks.linked("all.object", &verdict.linked, &file);
        let again = self::again(judge, "again.object", &verdict, &kernels);
        checks.add("all.object, written by it, then by us, runs", again);
        let here = some(&verdict.content).and_then(content::runs_here);
        checks.add(
            "all.object, written by it, runs with syclbin-rt: saxpy",
            here,
        );

        let kernels = requests(|name| name == "coords");
        let others = KERNELS.iter().map(|kernel| kernel.name);
        let others: Vec<_> = others.filter(|name| *name != "coords").collect();
        let file = without(merged(State::Object, &self.objects)?, &others);
        let verdict = judge_file(judge, "coords.object", &file, &kernels)?;
        checks.runs("coords.object", &verdict, &kernels);
        Ok(())
    }

    /// The same with the property sets of this project. Other readers must ignore sets that they do
    /// not know; this one keeps them, too.
    pub(crate) fn declared(&self, checks: &mut Checks) -> Result<()> {
        let name = "declared.executable";
        let all = requests(|_| true);
        let file = kernels::declared(merged(State::Executable, &self.executables)?)?;
        let verdict = judge_file(&self.judge, name, &file, &all)?;
        checks.runs(name, &verdict, &all);
        checks.built(name, &verdict.content, &file);

        let name = "declared.object";
        let (file, kernels) = self.linkable()?;
        let file = kernels::declared(file)?;
        let verdict = judge_file(&self.judge, name, &file, &kernels)?;
        checks.runs(name, &verdict, &kernels);
        checks.code(name, &verdict.content, &file);
        Ok(())
    }

    /// A module whose specialization constants the runtime gives other values before it builds it,
    /// and what it writes of that.
    pub(crate) fn specialized(&self, checks: &mut Checks) -> Result<()> {
        let mut objects = self.objects.iter();
        let constants = objects.find(|file| file.source == "constants");
        let constants = constants.ok_or("constants.cpp was not compiled")?;
        let file = parse(&constants.aliased)?;
        let file = restated(file, State::Input);
        let kernels = [format!("{SPECIALIZED}=__sycl_kernel_blur")];
        let verdict = judge_file(&self.judge, "specialized.input", &file, &kernels)?;
        checks.runs("specialized.input", &verdict, &kernels);
        checks.code("specialized.input", &verdict.content, &file);
        let built = some(&verdict.linked);
        let built = built.and_then(|content| content::is_specialized(content, &file));
        checks.add(
            "specialized.input, built and written by it, has the values",
            built,
        );
        Ok(())
    }

    /// Modules with an IR image and a native one, of which the runtime takes the native one.
    pub(crate) fn images(&self, checks: &mut Checks) -> Result<()> {
        let judge = &self.judge;
        let all = requests(|_| true);
        let ir = || merged(State::Executable, &self.executables);
        let built = judge_file(judge, "native.executable", &ir()?, &[])?;

        let both = some(&built.content).and_then(|native| content::with_native(ir()?, native));
        let both = both.map_err(|error| format!("native.executable: {error}"))?;
        let verdict = judge_file(judge, "both.executable", &both, &all)?;
        checks.runs("both.executable, IR and native images", &verdict, &all);
        // Which it took shows when the IR is of no use; that it is of none shows first.
        let file = kernels::damaged(ir()?);
        let verdict = judge_file(judge, "damaged.executable", &file, &all)?;
        let refused = verdict.is_refused("INVALID_BINARY");
        checks.add("damaged.executable, unusable IR: refused", refused);
        let file = kernels::damaged(both);
        let name = "damaged_both.executable";
        let verdict = judge_file(judge, name, &file, &all)?;
        checks.runs(&format!("{name}, unusable IR and native"), &verdict, &all);
        Ok(())
    }

    /// All sources in one file, built and saved by this project's own runtime, in each state.
    pub(crate) fn saved(&self, checks: &mut Checks) -> Result<()> {
        let all = requests(|_| true);
        let executable = write(
            &merged(State::Executable, &self.executables)?,
            Container::default(),
        )?;
        let native = content::saved_here(&executable, State::Executable)?;
        let merged_file = content::for_other_devices_too(&native)?;
        for (name, file) in [
            ("saved.executable", &native),
            ("saved_for_devices.executable", &merged_file),
        ] {
            let verdict = self.judge.run(&job(name, State::Executable, file, &all))?;
            checks.runs(
                &format!("{name}, native code by syclbin-rt"),
                &verdict,
                &all,
            );
        }
        let name = "saved.executable";
        let verdict = self
            .judge
            .run(&job(name, State::Executable, &native, &[]))?;
        checks.built(name, &verdict.content, &parse(&native)?);
        let (linkable, kernels) = self.linkable()?;
        for (state, kernels) in [(State::Input, &all), (State::Object, &kernels)] {
            let name = format!("saved.{state}");
            let file = match state {
                State::Input => {
                    write(&merged(State::Object, &self.objects)?, Container::default())?
                }
                _ => write(&linkable, Container::default())?,
            };
            let saved = content::saved_here(&file, state)?;
            let verdict = self.judge.run(&job(&name, state, &saved, kernels))?;
            checks.runs(&format!("{name}, code by syclbin-rt"), &verdict, kernels);
            checks.code(&name, &verdict.content, &parse(&saved)?);
        }
        Ok(())
    }

    /// Native code that `syclbin-clang` made. Where SPIR-V stands beside it, that is made unusable: it is
    /// the native code that runs.
    pub(crate) fn native(&self, checks: &mut Checks) -> Result<()> {
        for (source, beside, bytes) in &self.natives {
            let name = if *beside {
                format!("{source}.x86_64_beside_damaged")
            } else {
                format!("{source}.x86_64")
            };
            let file = parse(bytes).map_err(|error| format!("{name}: {error}"))?;
            let kernels = found_in(source);
            let verdict = judge_file(&self.judge, &name, &kernels::damaged(file), &kernels)?;
            checks.runs(&name, &verdict, &kernels);
        }
        Ok(())
    }

    /// Code for NVIDIA GPUs beside SPIR-V. The runtime takes the first IR image of each module, and takes
    /// it for SPIR-V; native code for other devices it passes over.
    pub(crate) fn nvidia(&self, checks: &mut Checks) -> Result<()> {
        const LOADED: [(&str, &[Place]); 3] = [
            ("ptx_last", &[Place::Last(Code::Ptx)]),
            (
                "ptx_and_cubin_last",
                &[Place::Last(Code::Ptx), Place::Last(Code::Cubin)],
            ),
            (
                "native_apart",
                &[Place::Apart(Code::NativePtx), Place::Apart(Code::Cubin)],
            ),
        ];
        let judge = &self.judge;
        let all = requests(|_| true);
        for (name, places) in LOADED {
            let file = kernels::with(merged(State::Executable, &self.executables)?, places);
            let verdict = judge_file(judge, &format!("{name}.executable"), &file, &all)?;
            checks.runs(&format!("{name}.executable"), &verdict, &all);
            let file = restated(merged(State::Object, &self.objects)?, State::Input);
            let file = kernels::with(file, places);
            let verdict = judge_file(judge, &format!("{name}.input"), &file, &all)?;
            checks.runs(&format!("{name}.input"), &verdict, &all);
            let (file, kernels) = self.linkable()?;
            let file = kernels::with(file, places);
            let verdict = judge_file(judge, &format!("{name}.object"), &file, &kernels)?;
            checks.runs(&format!("{name}.object"), &verdict, &kernels);
        }
        for (name, place) in [
            ("ptx_first", Place::First(Code::Ptx)),
            ("ptx_apart", Place::Apart(Code::Ptx)),
        ] {
            let file = kernels::with(merged(State::Executable, &self.executables)?, &[place]);
            let verdict = judge_file(judge, &format!("{name}.executable"), &file, &all)?;
            let refused = verdict.is_refused("INVALID_BINARY");
            checks.add(&format!("{name}.executable: refused"), refused);
        }
        Ok(())
    }

    /// What must be around SYCLBIN, and what its state must be.
    pub(crate) fn containers(&self, checks: &mut Checks) -> Result<()> {
        let judge = &self.judge;
        let file = merged(State::Executable, &self.executables)?;
        for (container, refused_with) in [
            (Container::OffloadBinary1, None),
            (Container::OffloadBinary2, None),
            (
                Container::Bare,
                Some("Incorrect Offload Binary magic number."),
            ),
            (Container::Version2, Some("Unexpected file contents size.")),
        ] {
            let name = container.name();
            let bytes = write(&file, container)?;
            let verdict = judge.run(&job(name, State::Executable, &bytes, &[]))?;
            match refused_with {
                None => checks.runs(&format!("container {name}"), &verdict, &[]),
                Some(reason) => {
                    let refused = verdict.is_refused(reason);
                    checks.add(&format!("container {name}: refused"), refused);
                }
            }
        }
        let default = write(&file, Container::default())?;
        let verdict = judge.run(&job("mismatch", State::Object, &default, &[]))?;
        let refused = verdict.is_refused("kernel_bundle state does not match");
        checks.add("an executable as an object: refused", refused);
        Ok(())
    }

    /// The objects that can be linked to one program and run, and their kernels.
    fn linkable(&self) -> Result<(Syclbin<'_>, Vec<String>)> {
        let file = without(merged(State::Object, &self.objects)?, &NOT_LINKED);
        Ok((file, requests(|name| !NOT_LINKED.contains(&name))))
    }
}

/// Reads what the runtime wrote, writes it in our container, and has that judged.
fn again(judge: &Judge<'_>, name: &str, verdict: &Verdict, kernels: &[String]) -> Result<()> {
    let file = parse(some(&verdict.content)?)?;
    judge_file(judge, name, &file, kernels)?.runs(kernels)
}

fn judge_file(
    judge: &Judge<'_>,
    name: &str,
    file: &Syclbin<'_>,
    kernels: &[String],
) -> Result<Verdict> {
    let state = file.state().ok_or("a file without state")?;
    judge.run(&job(
        name,
        state,
        &write(file, Container::default())?,
        kernels,
    ))
}

fn job<'j>(name: &'j str, state: State, bytes: &'j [u8], kernels: &'j [String]) -> Job<'j> {
    Job {
        name,
        state,
        bytes,
        kernels,
    }
}

/// What the judge is asked for in a file with aliases.
fn requests(wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let kernels = KERNELS.iter().filter(|kernel| wanted(kernel.name));
    kernels.map(Kernel::request).collect()
}

/// The kernels of a source that need no alias.
fn found_in(source: &str) -> Vec<String> {
    let kernels = KERNELS.iter().filter(|kernel| kernel.source == source);
    let found = kernels.filter(|kernel| kernel.is_found());
    found.map(|kernel| kernel.name.to_owned()).collect()
}
