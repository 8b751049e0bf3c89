// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask drivers`: the tests, the examples and a short stress run on other people's OpenCL drivers.
//!
//! - [`root`]: a directory with the drivers of one release of Debian, which [`debian`] names and [`apt`] fetches,
//! - [`inside`]: runs a pack of [`gpu`] with such a directory as its root,
//! - [`summary`]: what passed, and what each driver lacks.
//!
//! The system stays as it is: everything is in the target directory, and mounts end with their process.

mod apt;
mod debian;
mod inside;
mod root;
mod summary;

use std::path::{Path, PathBuf};

use gpu_report::Report;

use crate::files::at;
use crate::gpu;
use crate::steps::{Result, target_folder};
use debian::{Release, STABLE, UNSTABLE};
use root::Root;
use summary::Outcome;

const USAGE: &str = "\
usage: cargo xtask drivers [--driver pocl|rusticl|radeonsi|neo|intel] [--pack DIR]
       cargo xtask drivers --prepare     only fetch the drivers, and ocloc for target/drivers/ocloc";

/// An OpenCL driver, and what runs on it.
struct Driver {
    /// Its name for `--driver`.
    name: &'static str,
    /// The release that has it.
    release: &'static Release,
    /// The file that names it to the loader.
    vendor: &'static str,
    /// Its package.
    package: &'static str,
    /// The device, as `SYCLBIN_DEVICE` names it.
    device: &'static str,
    /// Variables for the driver.
    environment: Variables,
    /// The GPUs that it simulates without executing kernels, each with the variables that choose it.
    gpus: &'static [(&'static str, Variables)],
}

/// Names and values of environment variables.
type Variables = &'static [(&'static str, &'static str)];

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
            ("navi31", &[("AMDGPU_GPU_ID", "navi31")]),
            ("vega10", &[("AMDGPU_GPU_ID", "vega10")]),
            ("gfx1201", &[("AMDGPU_GPU_ID", "gfx1201")]),
        ],
    },
    // The driver's own simulation. Without these variables it waits for timestamps that no GPU writes, or looks for a
    // library that is not public.
    Driver {
        name: "neo",
        release: &UNSTABLE,
        vendor: "intel.icd",
        package: "intel-opencl-icd",
        device: "opencl:gpu:0",
        environment: &[
            ("NEOReadDebugKeys", "1"),
            ("NEO_CACHE_PERSISTENT", "0"),
            ("SetCommandStreamReceiver", "1"),
            ("UseAubStream", "0"),
            ("EnableLEO", "0"),
            ("UseBindlessMode", "0"),
            ("UseExternalAllocatorForSshAndDsh", "0"),
            ("EnableTimestampWaitForQueues", "0"),
            ("EnableTimestampWaitForEvents", "0"),
            ("SYCLBIN_DEVICE_EXECUTES", "no"),
        ],
        gpus: &[
            (
                "bmg",
                &[
                    ("ProductFamilyOverride", "bmg"),
                    ("HardwareInfoOverride", "5x4x8"),
                ],
            ),
            (
                "pvc",
                &[
                    ("ProductFamilyOverride", "pvc"),
                    ("HardwareInfoOverride", "8x8x8"),
                ],
            ),
            (
                "lnl",
                &[
                    ("ProductFamilyOverride", "lnl-m"),
                    ("HardwareInfoOverride", "2x4x8"),
                ],
            ),
            (
                "dg2",
                &[
                    ("ProductFamilyOverride", "dg2"),
                    ("HardwareInfoOverride", "8x4x16"),
                ],
            ),
            (
                "ptl",
                &[
                    ("ProductFamilyOverride", "ptl-h"),
                    ("HardwareInfoOverride", "3x4x8"),
                ],
            ),
        ],
    },
];

/// The name of the installed CPU device for `--driver`. It needs no root.
const INTEL: &str = "intel";

/// What it is called in the table.
const INSTALLED: &str = "the installed CPU device";

/// The roots, or why there are none on this machine.
pub(crate) type Roots = std::result::Result<Vec<Root>, String>;

/// `drivers`.
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
    let mut outcomes = Vec::new();
    if intel {
        outcomes.push(Outcome::new(INTEL, INSTALLED, gpu::check_cpu(&pack)?));
    }
    run_on(&drivers, &roots, &pack, outcomes)
}

/// Makes all roots that are missing.
pub(crate) fn prepare() -> Result<Roots> {
    make(&[&STABLE, &UNSTABLE])
}

/// Runs a pack that was built here on all drivers, or says why that is impossible. `intel` is the report of the CPU
/// device.
pub(crate) fn check(roots: Roots, pack: &Path, intel: Report) -> Result<()> {
    let outcomes = vec![Outcome::new(INTEL, INSTALLED, intel)];
    let runnable = roots.and_then(|roots| {
        gpu::check_executables(&pack.join("bin"), debian::GLIBC, &["libgcc_s.so.1"])?;
        Ok(roots)
    });
    match runnable {
        Ok(roots) => run_on(&DRIVERS.iter().collect::<Vec<_>>(), &roots, pack, outcomes),
        Err(reason) => {
            eprintln!("skipped: drivers: {reason}");
            Ok(())
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

/// The directory of roots and reports.
fn directory() -> Result<PathBuf> {
    Ok(target_folder()?.join("drivers"))
}

/// Runs the pack on each driver, and prints what became of it.
fn run_on(
    drivers: &[&Driver],
    roots: &[Root],
    pack: &Path,
    mut outcomes: Vec<Outcome>,
) -> Result<()> {
    for driver in drivers {
        let root = roots.iter().find(|root| root.release == driver.release);
        let root = root.ok_or("the root of a driver was not made")?;
        let version = root.version(driver.package);
        let version = format!("{} {version} of {}", driver.package, root.release.name);
        if driver.gpus.is_empty() {
            let report = driver.run(root, pack, None)?;
            outcomes.push(Outcome::new(driver.name, &version, report));
        }
        for gpu in driver.gpus {
            let report = driver.run(root, pack, Some(gpu))?;
            let name = format!("{} {}", driver.name, gpu.0);
            outcomes.push(Outcome::new(&name, &version, report));
        }
    }
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
    /// Runs the pack on this driver, or only its kernels on a GPU that executes none.
    fn run(&self, root: &Root, pack: &Path, gpu: Option<&(&str, Variables)>) -> Result<Report> {
        let name = match gpu {
            Some((gpu, _)) => format!("{}-{gpu}", self.name),
            None => self.name.to_owned(),
        };
        let out = directory()?.join(REPORTS).join(name);
        std::fs::create_dir_all(&out).map_err(|error| at(&out, &error))?;
        let mut command = root.command(pack, &out);
        command.args(["--quick", "--minutes", "8", "--device", self.device]);
        let only: &[&str] = match gpu {
            Some(_) => &[gpu::KERNELS],
            None => &["tests", "example", "stress", gpu::KERNELS],
        };
        for step in only {
            command.args(["--only", step]);
        }
        let vendor = format!("/etc/OpenCL/vendors/{}", self.vendor);
        let own = [("OCL_ICD_VENDORS", vendor.as_str())];
        let chosen = gpu.map_or(&[][..], |(_, chosen)| *chosen);
        for (name, value) in own.iter().chain(self.environment).chain(chosen) {
            command.arg("--set").arg(format!("{name}={value}"));
        }
        gpu::run_pack(&mut command, &out)
    }
}
