//! The report: facts, grouped and judged, with a remedy for each missing part.
//!
//! Two questions decide: can a kernel be compiled here, and can it be run? Facts that affect neither are shown
//! without judgement. A machine with its own DPC++ is not told to install pip.

use std::fmt;

use syclbin_toolchain::INSTALL_COMMAND;

use super::facts::{Compiler, CpuDevice, Facts, Nvidia};
use crate::ui::Size;

/// The effect of a fact on compiling and running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Everything is in order.
    Good,
    /// It prevents kernels from being compiled or run.
    Bad,
    /// It is for information only.
    Note,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its effect on the verdict.
    pub mark: Mark,
    /// The subject.
    pub label: &'static str,
    /// The finding.
    pub text: String,
    /// The remedy, if one is needed.
    pub remedy: Option<String>,
}

/// Related lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The subject of the lines.
    pub title: &'static str,
    /// The lines.
    pub items: Vec<Item>,
}

/// The whole report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its sections, in the order they are printed.
    pub sections: Vec<Section>,
    /// Whether a kernel can be compiled here.
    pub compiles: bool,
    /// Whether a kernel can be run here.
    pub runs: bool,
}

impl Report {
    /// Creates the report on `facts`.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let compile = compile(facts);
        let run = run(facts);
        let well = |items: &[Item]| items.iter().all(|item| item.mark != Mark::Bad);
        Self {
            compiles: well(&compile),
            runs: well(&run),
            sections: vec![
                section("toolchain", toolchain(facts)),
                section("compile", compile),
                section("run", run),
            ],
        }
    }

    /// Returns whether a kernel can be compiled and run here.
    #[must_use]
    pub const fn is_well(&self) -> bool {
        self.compiles && self.runs
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.sections.iter().flat_map(|section| &section.items);
        let width = items.map(|item| item.label.len()).max().unwrap_or(0);
        for section in &self.sections {
            writeln!(f, "{}", section.title)?;
            for item in &section.items {
                let mark = match item.mark {
                    Mark::Good => "ok",
                    Mark::Bad => "!!",
                    Mark::Note => "  ",
                };
                let mut lines = item.text.lines();
                let first = lines.next().unwrap_or_default();
                writeln!(f, "  {mark} {:width$}  {first}", item.label)?;
                for line in lines {
                    writeln!(f, "     {:width$}  {line}", "")?;
                }
                if let Some(remedy) = &item.remedy {
                    writeln!(f, "     {:width$}  -> {remedy}", "")?;
                }
            }
            writeln!(f)?;
        }
        let verdict = match (self.compiles, self.runs) {
            (true, true) => "kernels can be compiled and run here",
            (true, false) => "kernels can be compiled here, but not run",
            (false, true) => "kernels can be run here, but not compiled",
            (false, false) => "kernels can neither be compiled nor run here",
        };
        writeln!(f, "{verdict}")
    }
}

fn toolchain(facts: &Facts) -> Vec<Item> {
    let mut items = Vec::new();
    items.push(match &facts.home {
        Ok(home) => {
            let shown = home.display();
            let from = if facts.home_is_set {
                " (SYCLBIN_HOME)"
            } else {
                ""
            };
            note("home", format!("{shown}{from}"))
        }
        Err(reason) => note("home", reason.clone()),
    });
    if let Some(reason) = &facts.unsupported {
        items.push(note("platform", reason.clone()));
        // The wheels do not work here, so pip is not needed either.
        return items;
    }
    items.push(match (&facts.pip, &facts.uv) {
        (Ok(pip), _) => note("pip", format!("{} ({})", pip.command, pip.version)),
        (Err(tried), _) => note("pip", format!("none: {tried}"))
            .with_remedy("install pip or uv, or set SYCLBIN_PIP; or use --wheels DIR to install"),
    });
    if let Some(uv) = &facts.uv {
        items.push(note("uv", uv.display().to_string()));
    }
    items
}

/// Reports the compiler that a build would use, and what it needs.
fn compile(facts: &Facts) -> Vec<Item> {
    let compilers = &facts.compilers;
    let mut items: Vec<_> = compilers
        .passed_over
        .iter()
        .map(|text| note("skipped", text.clone()))
        .collect();
    let remedy = match facts.unsupported {
        None => format!("run `{INSTALL_COMMAND} --component compiler`"),
        Some(_) => "set SYCLBIN_CLANG to the clang++ of your own DPC++".to_owned(),
    };
    match &compilers.taken {
        Ok(taken) => {
            items.push(good("compiler", taken.text.clone()));
            items.push(note("version", taken.version.clone()));
            if taken.is_installed {
                items.extend(facts.compiler.as_ref().map(|one| library(one, &remedy)));
            }
        }
        // Where a variable forces a compiler, the reason already contains the remedy.
        Err(reason) if reason.contains("unset ") => items.push(bad("compiler", reason.clone())),
        Err(reason) => items.push(bad("compiler", reason.clone()).with_remedy(&remedy)),
    }
    // Only the installed compiler uses this.
    if compilers.taken.as_ref().is_ok_and(|one| one.is_installed) {
        items.push(nvidia(facts.nvidia.as_ref()));
    }
    for text in &compilers.behind {
        items.push(note("not used", text.clone()));
    }
    items.push(match &facts.cpp.compiler {
        Some(tool) => note("g++", format!("{} ({})", tool.command, tool.version)),
        None => note("g++", "none".to_owned()),
    });
    items.push(match &facts.cpp.headers {
        Some(folder) => note("C++ headers", folder.display().to_string()),
        None => note("C++ headers", "none in /usr/include/c++".to_owned()),
    });
    items.push(match &facts.cache {
        Ok(Some((folder, size))) => {
            note("cache", format!("{} ({})", folder.display(), Size(*size)))
        }
        Ok(None) => note("cache", "none".to_owned()),
        Err(problem) => note("cache", problem.clone()),
    });
    match &facts.trial {
        Some(Ok(compiled)) => {
            let text = format!("compiled a kernel in {:.1?}", compiled.time);
            items.push(good("trial", text));
        }
        Some(Err(problem)) => {
            let installed = compilers.taken.as_ref().is_ok_and(|one| one.is_installed);
            let remedy = match (installed, &facts.cpp.headers) {
                (false, _) => "set SYCLBIN_CLANG to another compiler that has -fsyclbin",
                (true, None) => {
                    "install g++: the compiler reads the C++ standard library from the system"
                }
                (true, Some(_)) => "run `cargo syclbin toolchain install --force`",
            };
            let text = format!("compiling a kernel failed: {problem}");
            items.push(bad("trial", text).with_remedy(remedy));
        }
        None => {}
    }
    items
}

/// Reports the library of the installed compiler.
fn library(compiler: &Compiler, remedy: &str) -> Item {
    let library = compiler.library.display();
    match &compiler.damage {
        None => good("library", library.to_string()),
        Some(problem) => {
            bad("library", format!("{library}, damaged: {problem}")).with_remedy(remedy)
        }
    }
}

/// Reports whether kernels can be compiled for NVIDIA GPUs. Most users do not need this, so it does not affect the
/// verdict.
fn nvidia(nvidia: Option<&Nvidia>) -> Item {
    let command = format!("`{INSTALL_COMMAND} --component nvidia`");
    let Some(nvidia) = nvidia else {
        return note(
            "NVIDIA",
            format!("no code for NVIDIA GPUs; {command} is for that"),
        );
    };
    let text = format!("{}, {}", nvidia.version, nvidia.folder.display());
    match &nvidia.damage {
        None => note("NVIDIA", text),
        Some(problem) => note("NVIDIA", format!("{text}, damaged: {problem}"))
            .with_remedy(&format!("run {command}")),
    }
}

/// Reports the devices, the device that a program would get, and the result of running a kernel on it.
fn run(facts: &Facts) -> Vec<Item> {
    let mut items = Vec::new();
    items.extend(facts.cpu_device.as_ref().map(cpu_device));
    let variable = facts.device_variable.as_ref();
    items.extend(variable.map(|value| note("SYCLBIN_DEVICE", value.clone())));
    let remedy = match (&facts.unsupported, variable) {
        (_, Some(_)) => "unset SYCLBIN_DEVICE, or name a device that is listed here".to_owned(),
        (None, None) => format!(
            "install the driver of your GPU, or run `{INSTALL_COMMAND} --component cpu-device`"
        ),
        (Some(_), None) => "install the driver of your GPU or processor".to_owned(),
    };
    let devices = match &facts.devices.all {
        Ok(devices) => devices.as_slice(),
        Err(reason) => {
            items.push(bad("devices", reason.clone()).with_remedy(&remedy));
            return items;
        }
    };
    for (index, device) in devices.iter().enumerate() {
        let text = format!(
            "{index}: {}, {}, {}",
            device.name, device.platform, device.library
        );
        let takes = match (device.takes_ptx, device.takes_spirv) {
            (true, _) => " (takes PTX)",
            (false, true) => "",
            (false, false) => " (takes neither SPIR-V nor PTX)",
        };
        items.push(match (&facts.run, facts.devices.chosen == Some(index)) {
            (Ok(run), true) => good("device", format!("{text} (chosen: {})", run.reason)),
            _ => note("device", format!("{text}{takes}")),
        });
    }
    let skipped = facts.run.iter().flat_map(|run| &run.skipped);
    items.extend(skipped.map(|skipped| note("skipped", skipped.clone())));
    let source = match facts.trial {
        Some(Ok(_)) => "that was compiled here",
        _ => "that is shipped with this program",
    };
    items.push(match &facts.run {
        Ok(run) if run.is_right => {
            good("trial", format!("ran a kernel {source} on {}", run.device))
        }
        Ok(run) => bad(
            "trial",
            format!("a kernel {source} had a wrong result on {}", run.device),
        )
        .with_remedy("update the driver of the device, or set SYCLBIN_DEVICE to another one"),
        Err(problem) => bad(
            "trial",
            format!("running a kernel {source} failed: {problem}"),
        )
        .with_remedy(&remedy),
    });
    items
}

fn cpu_device(device: &CpuDevice) -> Item {
    let text = format!("{}, {}", device.version, device.library.display());
    match &device.damage {
        None => note("CPU device", text),
        // Another device may work, so this alone does not affect the verdict.
        Some(problem) => note("CPU device", format!("{text}, damaged: {problem}"))
            .with_remedy(&format!("run `{INSTALL_COMMAND} --component cpu-device`")),
    }
}

fn section(title: &'static str, items: Vec<Item>) -> Section {
    Section { title, items }
}

fn good(label: &'static str, text: String) -> Item {
    item(Mark::Good, label, text)
}

fn bad(label: &'static str, text: String) -> Item {
    item(Mark::Bad, label, text)
}

fn note(label: &'static str, text: String) -> Item {
    item(Mark::Note, label, text)
}

fn item(mark: Mark, label: &'static str, text: String) -> Item {
    Item {
        mark,
        label,
        text,
        remedy: None,
    }
}

impl Item {
    fn with_remedy(mut self, remedy: &str) -> Self {
        self.remedy = Some(remedy.to_owned());
        self
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::doctor::{Compiled, Compilers, Cpp, Device, Devices, Ran, Taken, Tool};

    /// Returns the facts of a machine that has everything.
    fn complete() -> Facts {
        Facts {
            home: Ok(PathBuf::from("/cache/syclbin")),
            home_is_set: false,
            unsupported: None,
            compilers: Compilers {
                taken: Ok(Taken {
                    text: "/cache/syclbin/bin/syclbin-clang (installed, 2026.2.0)".to_owned(),
                    version: "syclbin-clang version 0.1.0 (DPC++ 2026.2.0)".to_owned(),
                    is_installed: true,
                }),
                passed_over: Vec::new(),
                behind: Vec::new(),
            },
            compiler: Some(Compiler {
                version: "2026.2.0".to_owned(),
                driver: PathBuf::from("/cache/syclbin/bin/syclbin-clang"),
                library: PathBuf::from("/cache/syclbin/lib/libsycl-jit.so"),
                damage: None,
            }),
            trial: Some(Ok(Compiled {
                time: Duration::from_millis(400),
                file: Vec::new(),
            })),
            cache: Ok(Some((PathBuf::from("/cache/syclbin/kernels"), 3 << 20))),
            cpp: Cpp {
                compiler: Some(Tool {
                    command: "/usr/bin/g++".to_owned(),
                    version: "g++ 12.2.0".to_owned(),
                }),
                headers: Some(PathBuf::from("/usr/include/c++/12")),
            },
            pip: Ok(Tool {
                command: "/usr/bin/python3 -m pip".to_owned(),
                version: "pip 23".to_owned(),
            }),
            uv: None,
            cpu_device: None,
            nvidia: None,
            device_variable: None,
            devices: Devices {
                all: Ok(vec![Device {
                    name: "Some GPU".to_owned(),
                    platform: "Some OpenCL".to_owned(),
                    library: "libOpenCL.so.1".to_owned(),
                    takes_spirv: true,
                    takes_ptx: false,
                }]),
                chosen: Some(0),
            },
            run: Ok(Ran {
                device: "Some GPU".to_owned(),
                reason: "it is the first gpu".to_owned(),
                skipped: Vec::new(),
                is_right: true,
            }),
        }
    }

    fn remedies(report: &Report) -> Vec<&str> {
        let items = report.sections.iter().flat_map(|section| &section.items);
        items.filter_map(|item| item.remedy.as_deref()).collect()
    }

    #[test]
    fn a_complete_machine_is_well_and_has_nothing_to_do() {
        let report = Report::of(&complete());
        assert!(report.is_well(), "{report}");
        assert_eq!(remedies(&report), [""; 0]);
        let text = report.to_string();
        assert!(
            text.ends_with("kernels can be compiled and run here\n"),
            "{text}"
        );
        assert!(text.contains("(chosen: it is the first gpu)"), "{text}");
        assert!(text.contains("/cache/syclbin/kernels (3.1 MB)"), "{text}");
    }

    #[test]
    fn a_bare_machine_is_told_of_every_missing_thing() {
        let bare = Facts {
            compilers: none_found(),
            compiler: None,
            trial: None,
            cpp: Cpp::default(),
            pip: Err("`pip`: not found".to_owned()),
            devices: Devices {
                all: Err("no OpenCL library found".to_owned()),
                chosen: None,
            },
            run: Err("no device found".to_owned()),
            ..complete()
        };
        let report = Report::of(&bare);
        assert!(!report.compiles && !report.runs);
        let remedies = remedies(&report).join("\n");
        for expected in [
            "pip or uv",
            "--component compiler",
            "--component cpu-device",
        ] {
            assert!(remedies.contains(expected), "{expected} in {remedies}");
        }
    }

    fn none_found() -> Compilers {
        Compilers {
            taken: Err("none found".to_owned()),
            passed_over: vec!["CXX=g++ (/usr/bin/g++): g++ 12 has no -fsyclbin".to_owned()],
            behind: Vec::new(),
        }
    }

    #[test]
    fn an_own_compiler_replaces_the_installed_one_if_it_does() {
        let mut facts = complete();
        facts.compiler = None;
        facts.cpp.headers = None;
        facts.compilers.taken = Ok(Taken {
            text: "SYCLBIN_CLANG=/opt/dpcpp/clang++".to_owned(),
            version: "clang version 22.0.0".to_owned(),
            is_installed: false,
        });
        assert!(Report::of(&facts).compiles);
        facts.compiler = complete().compiler;
        facts.compilers.taken =
            Err("SYCLBIN_CLANG=/opt/dpcpp/clang++: not found; unset SYCLBIN_CLANG to".to_owned());
        facts.trial = None;
        let report = Report::of(&facts);
        assert!(
            !report.compiles,
            "a wrong variable is not skipped: {report}"
        );
        assert!(report.to_string().contains("unset SYCLBIN_CLANG"));
        assert_eq!(remedies(&report), [""; 0], "the reason has it");
    }

    #[test]
    fn what_is_passed_over_and_what_is_not_asked_is_shown_around_the_compiler() {
        let mut facts = complete();
        facts.compilers.passed_over = none_found().passed_over;
        facts.compilers.behind = vec!["/usr/bin/icpx (PATH)".to_owned()];
        let text = Report::of(&facts).to_string();
        let lines: Vec<_> = [
            "skipped      CXX=g++ (/usr/bin/g++): g++ 12 has no -fsyclbin",
            "ok compiler     /cache/syclbin/bin/syclbin-clang (installed, 2026.2.0)",
            "   version      syclbin-clang version 0.1.0 (DPC++ 2026.2.0)",
            "not used     /usr/bin/icpx (PATH)",
        ]
        .map(|line| {
            text.find(line)
                .unwrap_or_else(|| panic!("{line} in {text}"))
        })
        .into();
        assert!(lines.is_sorted(), "{text}");
    }

    #[test]
    fn a_damaged_compiler_does_not_count() {
        let mut facts = complete();
        facts.compiler.as_mut().unwrap().damage = Some("lib/libimf.so: gone".to_owned());
        let report = Report::of(&facts);
        assert!(!report.compiles && report.to_string().contains("lib/libimf.so: gone"));
    }

    #[test]
    fn nvidia_gpus_are_noted_and_decide_nothing() {
        let mut facts = complete();
        let report = Report::of(&facts);
        assert!(report.is_well());
        assert!(
            report.to_string().contains("--component nvidia"),
            "{report}"
        );
        let mut nvidia = Nvidia {
            version: "13.5.37".to_owned(),
            folder: "/cache/syclbin/nvidia/13.5.37".into(),
            damage: None,
        };
        facts.nvidia = Some(nvidia.clone());
        let text = Report::of(&facts).to_string();
        assert!(
            text.contains("13.5.37, /cache/syclbin/nvidia/13.5.37"),
            "{text}"
        );
        nvidia.damage = Some("bin/ptxas: gone".to_owned());
        facts.nvidia = Some(nvidia);
        let report = Report::of(&facts);
        assert!(report.is_well() && remedies(&report)[0].contains("--component nvidia"));
    }

    #[test]
    fn a_failed_trial_decides_and_missing_headers_are_its_likely_cause() {
        let mut facts = complete();
        facts.trial = Some(Err(
            "exit status: 1\nfatal error: 'climits' not found".to_owned()
        ));
        assert!(remedies(&Report::of(&facts))[0].contains("--force"));
        facts.cpp.headers = None;
        let report = Report::of(&facts);
        assert!(!report.compiles && report.runs);
        assert!(remedies(&report)[0].contains("install g++"));
    }

    #[test]
    fn only_a_right_result_counts_as_running() {
        let mut facts = complete();
        facts.run.as_mut().unwrap().is_right = false;
        let report = Report::of(&facts);
        assert!(report.compiles && !report.runs);
        assert!(
            report
                .to_string()
                .contains("had a wrong result on Some GPU"),
            "{report}"
        );
        facts.run = Err("the driver ended the process: signal: 11".to_owned());
        let report = Report::of(&facts);
        assert!(!report.runs);
        assert!(
            report
                .to_string()
                .ends_with("kernels can be compiled here, but not run\n"),
            "{report}"
        );
    }

    #[test]
    fn skipped_devices_are_shown_with_reasons() {
        let mut facts = complete();
        let skipped = "H200 (gpu, 580.1): CUDA devices take no SPIR-V".to_owned();
        facts.run.as_mut().unwrap().skipped.push(skipped);
        let report = Report::of(&facts);
        assert!(report.is_well());
        assert!(
            report
                .to_string()
                .contains("skipped      H200 (gpu, 580.1): CUDA"),
            "{report}"
        );
    }

    #[test]
    fn a_wrong_device_variable_is_named_as_the_cause() {
        let mut facts = complete();
        facts.device_variable = Some("7".to_owned());
        facts.devices.chosen = None;
        facts.run = Err("SYCLBIN_DEVICE=7: no such device".to_owned());
        let report = Report::of(&facts);
        assert!(!report.runs);
        assert!(remedies(&report)[0].contains("unset SYCLBIN_DEVICE"));
    }

    #[test]
    fn on_another_platform_no_wheel_is_offered() {
        let facts = Facts {
            unsupported: Some("x86-64 Linux only".to_owned()),
            compilers: none_found(),
            compiler: None,
            devices: Devices {
                all: Ok(Vec::new()),
                chosen: None,
            },
            run: Err("no device found".to_owned()),
            ..complete()
        };
        let remedies = remedies(&Report::of(&facts)).join("\n");
        assert!(remedies.contains("SYCLBIN_CLANG"), "{remedies}");
        assert!(!remedies.contains(INSTALL_COMMAND), "{remedies}");
    }
}
