// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask drivers`: runs the tests, the examples and a short stress test on third-party OpenCL drivers.
//!
//! - [`root`]: a directory with the drivers of a Debian release, which [`debian`] describes and [`apt`] fetches,
//! - [`inside`]: runs a [`gpu`] pack with such a directory as its root,
//! - [`summary`]: the results, and the capabilities that each driver lacks.
//!
//! The system does not change: everything is in the target directory, and mounts end with their process.

mod apt;
mod debian;
pub(crate) mod emulated;
mod inside;
mod root;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use gpu_report::{Plan, Report};

use crate::files::at;
use crate::gpu;
use crate::steps::{Result, both, cargo, skipped, step, target_folder};
use debian::{Release, STABLE, UNSTABLE};
pub(crate) use root::Root;
use summary::Outcome;

const USAGE: &str = "\
usage: cargo xtask drivers [--driver pocl|rusticl|radeonsi|neo|intel] [--pack DIR]
       cargo xtask drivers --prepare     only fetch the drivers, and ocloc for target/drivers/ocloc";

/// An OpenCL driver to test.
struct Driver {
    name: &'static str,
    /// The release that contains the driver.
    release: &'static Release,
    /// The file that registers the driver with the OpenCL loader.
    vendor: &'static str,
    package: &'static str,
    /// The value of `SYCLBIN_DEVICE`.
    device: &'static str,
    /// The environment variables for the driver.
    environment: Variables,
    /// The GPUs for which the driver accepts commands without executing kernels.
    gpus: &'static [Gpu],
}

/// A simulated GPU.
struct Gpu {
    name: &'static str,
    /// The variables that choose the GPU, in addition to those of the driver.
    chosen_by: Variables,
    steps: &'static [&'static str],
}

/// The step that compiles and launches every kernel.
const ONLY_KERNELS: &[&str] = &[gpu::KERNELS];

type Variables = &'static [(&'static str, &'static str)];

/// Intel's GPU driver.
const NEO: &str = "neo";
/// The library that replaces the kernel driver below Intel's driver.
const SIMULATED_XE: &str = "libsimulated_xe.so";

const DRIVERS: [Driver; 4] = [
    Driver {
        name: "pocl",
        release: &STABLE,
        vendor: "pocl.icd",
        package: "pocl-opencl-icd",
        device: "opencl:cpu:0",
        environment: &[],
        gpus: &[],
    },
    Driver {
        name: "rusticl",
        release: &STABLE,
        vendor: "rusticl.icd",
        package: "mesa-opencl-icd",
        device: "opencl:cpu:0",
        environment: &[
            ("RUSTICL_ENABLE", "llvmpipe"),
            ("RUSTICL_FEATURES", "fp64,fp16"),
        ],
        gpus: &[],
    },
    Driver {
        name: "radeonsi",
        release: &UNSTABLE,
        vendor: "rusticl.icd",
        package: "mesa-opencl-icd",
        device: "opencl:gpu:0",
        environment: &[
            ("RUSTICL_ENABLE", "radeonsi"),
            ("RUSTICL_FEATURES", "fp64"),
            ("LD_PRELOAD", "libamdgpu_noop_drm_shim.so"),
            ("SYCLBIN_DEVICE_EXECUTES", "no"),
        ],
        gpus: &[
            Gpu {
                name: "navi31",
                chosen_by: &[("AMDGPU_GPU_ID", "navi31")],
                steps: ONLY_KERNELS,
            },
            Gpu {
                name: "vega10",
                chosen_by: &[("AMDGPU_GPU_ID", "vega10")],
                steps: ONLY_KERNELS,
            },
            Gpu {
                name: "gfx1201",
                chosen_by: &[("AMDGPU_GPU_ID", "gfx1201")],
                steps: ONLY_KERNELS,
            },
        ],
    },
    // Runs on a simulated kernel driver that executes only the copy engine's commands, so it must make all copies.
    Driver {
        name: NEO,
        release: &UNSTABLE,
        vendor: "intel.icd",
        package: "intel-opencl-icd",
        device: "opencl:gpu:0",
        environment: &[
            ("LD_PRELOAD", "/out/libsimulated_xe.so"),
            ("NEOReadDebugKeys", "1"),
            ("NEO_CACHE_PERSISTENT", "0"),
            ("EnableDirectSubmission", "0"),
            ("EnableLEO", "0"),
            ("PreferCopyEngineForCopyBufferToBuffer", "1"),
            // Without these pools and caches, new memory is 0, although no kernel fills it.
            ("ExperimentalSmallBufferPoolAllocator", "0"),
            ("EnableDeviceUsmAllocationPool", "0"),
            ("EnableHostUsmAllocationPool", "0"),
            ("ExperimentalEnableDeviceAllocationCache", "0"),
            ("ExperimentalEnableHostAllocationCache", "0"),
            ("SYCLBIN_DEVICE_EXECUTES", "no"),
            ("SYCLBIN_FAULTS_DRIVER", "libOpenCL.so.1"),
        ],
        gpus: &[
            Gpu {
                name: "bmg",
                // Two GPUs, to test copies between them.
                chosen_by: &[("SIMULATED_XE", "e20b,e20b")],
                steps: &["tests", "stress", gpu::FAILING_CALLS, gpu::KERNELS],
            },
            Gpu {
                name: "pvc",
                chosen_by: &[("SIMULATED_XE", "0bd5")],
                steps: &[gpu::INTEL_GPUS, gpu::KERNELS],
            },
            // Same architecture as `bmg`, so compiling the kernels again would test nothing new.
            Gpu {
                name: "lnl",
                chosen_by: &[("SIMULATED_XE", "64a0")],
                steps: &[gpu::INTEL_GPUS],
            },
            Gpu {
                name: "dg2",
                chosen_by: &[("SIMULATED_XE", "56a0")],
                steps: &[gpu::INTEL_GPUS, gpu::KERNELS],
            },
            Gpu {
                name: "ptl",
                chosen_by: &[("SIMULATED_XE", "b080")],
                steps: &[gpu::INTEL_GPUS, gpu::KERNELS],
            },
            // OpenCL on top of Level Zero, as in newer drivers.
            Gpu {
                name: "bmg-leo",
                chosen_by: &[("SIMULATED_XE", "e20b"), ("EnableLEO", "1")],
                steps: &[gpu::INTEL_GPUS],
            },
        ],
    },
];

/// The name of the installed CPU device for `--driver`. It needs no root.
const INTEL: &str = "intel";

/// The name of the installed CPU device in the table.
const INSTALLED: &str = "the installed CPU device";

/// The roots, or the reason why this machine cannot provide them.
pub(crate) type Roots = std::result::Result<Vec<Root>, String>;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, pack) = match words[..] {
        ["--prepare"] => {
            let roots = prepare()?;
            return roots
                .map(drop)
                .map_err(|reason| format!("drivers: {reason}"));
        }
        [] => (None, None),
        ["--driver", name] => (Some(name), None),
        ["--pack", pack] => (None, Some(pack)),
        ["--driver", name, "--pack", pack] => (Some(name), Some(pack)),
        _ => return Err(USAGE.to_owned()),
    };
    let drivers = DRIVERS.iter();
    let drivers = drivers.filter(|driver| name.is_none_or(|name| name == driver.name));
    let drivers: Vec<&Driver> = drivers.collect();
    let intel = name.is_none_or(|name| name == INTEL);
    if drivers.is_empty() && !intel {
        return Err(USAGE.to_owned());
    }
    let releases: Vec<&Release> = [&STABLE, &UNSTABLE]
        .into_iter()
        .filter(|release| drivers.iter().any(|driver| driver.release == *release))
        .collect();
    let roots = make(&releases)?.map_err(|reason| format!("drivers: {reason}"))?;
    let pack = match pack {
        Some(pack) => Path::new(pack)
            .canonicalize()
            .map_err(|error| format!("{pack}: {error}"))?,
        None => gpu::build()?,
    };
    build_simulated_xe()?;
    let intel = intel.then(|| gpu::check_cpu(&pack)).transpose()?;
    judge(intel, run_on(&drivers, &roots, &pack)?)
}

/// Builds the library that [`NEO`] runs on.
pub(crate) fn build_simulated_xe() -> Result<()> {
    let build = ["build", "--quiet", "--package", "simulated-xe"];
    step("simulated xe", cargo().args(build))
}

pub(crate) fn prepare() -> Result<Roots> {
    make(&[&STABLE, &UNSTABLE])
}

/// Runs a locally built pack on all drivers while `intel` does the rest, and returns the report of the CPU device. If the
/// drivers cannot run, fails where `CI` is `true`; otherwise skips them and runs `intel` alone.
pub(crate) fn check(
    roots: Roots,
    pack: &Path,
    intel: impl FnOnce() -> Result<Report> + Send,
) -> Result<()> {
    let runnable = roots.and_then(|roots| {
        gpu::check_executables(&pack.join("bin"), debian::GLIBC, &["libgcc_s.so.1"])?;
        Ok(roots)
    });
    match runnable {
        Ok(roots) => {
            let drivers: Vec<&Driver> = DRIVERS.iter().collect();
            let (intel, outcomes) = both(intel, || run_on(&drivers, &roots, pack))?;
            judge(Some(intel), outcomes)
        }
        Err(reason) if std::env::var("CI").is_ok_and(|value| value == "true") => {
            Err(format!("drivers: {reason}"))
        }
        Err(reason) => {
            skipped("drivers", &reason);
            intel().map(drop)
        }
    }
}

fn make(releases: &[&'static Release]) -> Result<Roots> {
    if !releases.is_empty()
        && let Err(reason) = inside::check()
    {
        return Ok(Err(reason));
    }
    let directory = directory()?;
    let roots = releases
        .iter()
        .map(|release| Root::get(&directory, release));
    roots.collect()
}

fn directory() -> Result<PathBuf> {
    Ok(target_folder()?.join("drivers"))
}

/// Runs the pack on each driver, and on each of its simulated GPUs. Two run at the same time, because many drivers keep
/// only one processor busy.
fn run_on(drivers: &[&Driver], roots: &[Root], pack: &Path) -> Result<Vec<Outcome>> {
    let mut runs = Vec::new();
    for driver in drivers {
        let root = roots.iter().find(|root| root.release == driver.release);
        let root = root.ok_or("the root of a driver was not made")?;
        let gpus = driver.gpus.iter().map(|gpu| (*driver, root, Some(gpu)));
        runs.extend(gpus);
        if driver.gpus.is_empty() {
            runs.push((driver, root, None));
        }
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<_> {
        let mut outcomes = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((driver, root, gpu)) = runs.get(index) else {
                return Ok(outcomes);
            };
            let report = driver.run(root, pack, *gpu)?;
            let version = root.version(driver.package);
            let version = format!("{} {version} of {}", driver.package, root.release.name);
            let name = gpu.map_or(driver.name.to_owned(), |gpu| {
                format!("{} {}", driver.name, gpu.name)
            });
            outcomes.push((index, Outcome::new(&name, &version, report)));
        }
    };
    let (mut outcomes, others) = both(work, work)?;
    outcomes.extend(others);
    outcomes.sort_by_key(|(index, _)| *index);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Prints the results of all drivers, and fails if one failed.
fn judge(intel: Option<Report>, others: Vec<Outcome>) -> Result<()> {
    let intel = intel.map(|report| Outcome::new(INTEL, INSTALLED, report));
    let outcomes: Vec<Outcome> = intel.into_iter().chain(others).collect();
    summary::print(&outcomes);
    let failed = outcomes.iter().filter(|outcome| !outcome.report.passed);
    let failed: Vec<&str> = failed.map(|outcome| outcome.name.as_str()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let reports = directory()?.join(REPORTS);
    Err(format!(
        "not all passed on {}; see report.md in the directories of {}",
        failed.join(", "),
        reports.display()
    ))
}

/// The directory of reports, beside the roots.
const REPORTS: &str = "reports";

impl Driver {
    /// Runs the pack on this driver, with one of its simulated GPUs if `gpu` is given.
    fn run(&self, root: &Root, pack: &Path, gpu: Option<&Gpu>) -> Result<Report> {
        let name = match gpu {
            Some(gpu) => format!("{}-{}", self.name, gpu.name),
            None => self.name.to_owned(),
        };
        let out = directory()?.join(REPORTS).join(name);
        std::fs::create_dir_all(&out).map_err(|error| at(&out, &error))?;
        let mut command = root.command(pack, &out);
        command.args(["--quick", "--minutes", "8", "--device", self.device]);
        // Crashes in drivers of others: PoCL (6.0) in a callback, Intel's GPU driver (26.27) on `dg2`. Each once in some
        // hundred runs.
        command.arg("--repeat-crashes");
        let only = gpu.map_or(&["tests", "example", "stress", gpu::KERNELS][..], |gpu| {
            gpu.steps
        });
        let plan = Plan::read(pack).map_err(|error| error.to_string())?;
        let mut steps = plan.steps.iter();
        // Packs for other machines do not contain this step.
        let fails_calls = steps.any(|step| step.name == gpu::FAILING_CALLS);
        for step in only
            .iter()
            .filter(|step| fails_calls || **step != gpu::FAILING_CALLS)
        {
            command.args(["--only", step]);
        }
        let vendor = format!("/etc/OpenCL/vendors/{}", self.vendor);
        let own = [("OCL_ICD_VENDORS", vendor.as_str())];
        let chosen = gpu.map_or(&[][..], |gpu| gpu.chosen_by);
        for (name, value) in own.iter().chain(self.environment).chain(chosen) {
            command.arg("--set").arg(format!("{name}={value}"));
        }
        if self.name == NEO {
            let library = target_folder()?.join("debug").join(SIMULATED_XE);
            std::fs::copy(&library, out.join(SIMULATED_XE))
                .map_err(|error| at(&library, &error))?;
        }
        gpu::run_pack(&mut command, &out)
    }
}
