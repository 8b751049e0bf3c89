//! The trial: a small kernel, compiled. That all parts are there does not mean that they work.

use std::process::Stdio;
use std::time::{Duration, Instant};

use syclbin_build::search::Candidate;

/// A kernel that asks for the headers of both SYCL and the C++ standard library.
const KERNEL: &str = "\
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel))
void trial(int *out) { *out = 1; }
";

/// Compiles a kernel with `clang`, as a build would: how long it took, or what went wrong.
///
/// # Errors
///
/// What the compiler says, or why it could not be asked.
pub(super) fn compile(clang: &Candidate) -> Result<Duration, String> {
    let start = Instant::now();
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let source = folder.path().join("trial.cpp");
    let output = folder.path().join("trial.syclbin");
    std::fs::write(&source, KERNEL).map_err(|error| format!("{}: {error}", source.display()))?;
    let mut command = clang.command();
    command.args(["-fsycl", "--offload-new-driver"]);
    command.args(["-fsyclbin=executable", "-o"]);
    command.arg(&output).arg(&source).stdin(Stdio::null());
    let result = command
        .output()
        .map_err(|error| format!("{}: {error}", clang.program.display()))?;
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr);
        return Err(format!("{}\n{}", result.status, said.trim_end()));
    }
    let bytes = std::fs::read(&output).map_err(|error| format!("it left no file: {error}"))?;
    let file = syclbin::read::parse(&bytes).map_err(|error| error.to_string())?;
    match file.kernel_names().next() {
        Some(_) => Ok(start.elapsed()),
        None => Err("it found no kernel in a source that has one".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syclbin_build::search::Origin;

    fn compile(program: &str) -> Result<Duration, String> {
        super::compile(&Candidate {
            origin: Origin::Path,
            program: program.into(),
            leading: Vec::new(),
            wrapped: None,
        })
    }

    #[test]
    fn a_compiler_that_makes_nothing_fails_the_trial() {
        if cfg!(unix) {
            let problem = compile("/bin/true").unwrap_err();
            assert!(problem.contains("it left no file"), "{problem}");
            let problem = compile("/bin/false").unwrap_err();
            assert!(problem.contains("exit status: 1"), "{problem}");
        }
        assert!(compile("no-such-compiler").is_err());
    }
}
