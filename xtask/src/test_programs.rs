//! The test programs that Cargo builds, to run them without Cargo.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use cargo_metadata::Message;

use crate::steps::{Result, cargo};

/// A program that runs tests.
pub(crate) struct TestProgram {
    /// Where Cargo put it.
    pub(crate) path: PathBuf,
    /// The directory of its package. Cargo runs it there.
    pub(crate) package: PathBuf,
    /// Its target: `it`, or the library whose unit tests it has.
    pub(crate) target: String,
}

impl TestProgram {
    /// Whether it belongs to the package in this directory of the repository.
    pub(crate) fn is_of(&self, directory: &str) -> bool {
        self.package.ends_with(directory)
    }

    /// Its package and target, to be printed.
    pub(crate) fn name(&self) -> String {
        let package = self.package.file_name().unwrap_or_default();
        format!("{}, {}", package.to_string_lossy(), self.target)
    }

    /// The program, run where Cargo runs it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.package);
        command
    }
}

/// Builds the test programs of all packages.
///
/// All packages, although few are wanted: the features of the libraries depend on which packages are
/// built together, and Cargo compiles a library again for other features.
///
/// # Errors
///
/// When one does not compile.
pub(crate) fn build() -> Result<Vec<TestProgram>> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-run", "--quiet"]);
    command.arg("--message-format=json-render-diagnostics");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo test: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo test --no-run ended with {}", output.status));
    }
    let mut programs = Vec::new();
    for message in Message::parse_stream(&output.stdout[..]) {
        let message = message.map_err(|error| format!("cargo test --no-run: {error}"))?;
        let Message::CompilerArtifact(artifact) = message else {
            continue;
        };
        let (true, Some(path)) = (artifact.profile.test, artifact.executable) else {
            continue;
        };
        let mut package = artifact.manifest_path.into_std_path_buf();
        package.pop();
        programs.push(TestProgram {
            path: path.into_std_path_buf(),
            package,
            target: artifact.target.name,
        });
    }
    Ok(programs)
}
