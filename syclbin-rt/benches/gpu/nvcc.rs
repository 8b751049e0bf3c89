// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVIDIA's compiler, which compiles the baseline.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::cuda::MODULES;

/// Names the compiler; without it, `nvcc` on the path.
const VARIABLE: &str = "NVCC";

/// A compiler that answers.
pub(crate) struct Nvcc {
    program: OsString,
    /// Such as `13.0.88`.
    pub(crate) version: String,
}

impl Nvcc {
    /// The compiler that `NVCC` names; `None` if the variable is unset and the path has none.
    pub(crate) fn find() -> Result<Option<Self>> {
        let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
        let program = named.clone().unwrap_or_else(|| "nvcc".into());
        let output = match Command::new(&program).arg("--version").output() {
            Ok(output) => output,
            Err(_) if named.is_none() => return Ok(None),
            Err(error) => {
                let shown = program.display();
                return Err(format!("cannot start {VARIABLE}={shown}: {error}"));
            }
        };
        let said = String::from_utf8_lossy(&output.stdout);
        // "Cuda compilation tools, release 13.0, V13.0.88"
        let version = said
            .split(", V")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        let version = version.ok_or_else(|| {
            let shown = program.display();
            format!("cannot tell the version of {shown}: `--version` does not print one")
        })?;
        Ok(Some(Self {
            version: version.trim().to_owned(),
            program,
        }))
    }

    /// Compiles the sources in `sources` into a directory: PTX for the first of `archs`, and a cubin for each.
    pub(crate) fn compile(&self, sources: &Path, folder: &Path, archs: &[String]) -> Result<()> {
        let mut running = Vec::new();
        for module in MODULES {
            let ptx = archs.first().map(|arch| ("-ptx", arch, "ptx".to_owned()));
            let cubins = archs
                .iter()
                .map(|arch| ("-cubin", arch, format!("{arch}.cubin")));
            for (kind, arch, suffix) in ptx.into_iter().chain(cubins) {
                let mut command = Command::new(&self.program);
                command.args(["-O3", kind, &format!("-arch={arch}"), "-o"]);
                command.arg(folder.join(format!("{module}.{suffix}")));
                command.arg(sources.join(format!("{module}.cu")));
                command.stdout(Stdio::null()).stderr(Stdio::piped());
                let started = command.spawn();
                running.push(started.map_err(|error| format!("cannot start nvcc: {error}"))?);
            }
        }
        // All of them end, whatever becomes of one.
        let ended: Vec<_> = running
            .into_iter()
            .map(std::process::Child::wait_with_output)
            .collect();
        for output in ended {
            let output = output.map_err(|error| format!("nvcc is lost: {error}"))?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!(
                    "nvcc ended with {}: {}",
                    output.status,
                    said.trim()
                ));
            }
        }
        Ok(())
    }
}
