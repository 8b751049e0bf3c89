// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fetches packages of a release other than the system's. It uses the mirror and the proxy of the system, but changes
//! neither the state nor the settings of its `apt-get`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::debian::Release;
use crate::files::{at, write};
use crate::steps::Result;

/// The keys that sign all releases.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The archive, for a system without a configured mirror.
const ARCHIVE: &str = "http://deb.debian.org/debian/";

/// Fetches the packages of `release` and all of their dependencies into `directory`.
///
/// The inner error names the missing requirement of this machine.
pub(super) fn fetch(
    release: &Release,
    directory: &Path,
) -> Result<std::result::Result<Vec<PathBuf>, String>> {
    if !Path::new(KEYRING).is_file() {
        let missing = format!("{KEYRING} is missing; install debian-archive-keyring");
        return Ok(Err(missing));
    }
    let settings = match settings(release, directory)? {
        Ok(settings) => settings,
        Err(missing) => return Ok(Err(missing)),
    };
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.arg("--quiet=2").args(arguments);
        command.env("APT_CONFIG", &settings).env("LC_ALL", "C");
        output(&mut command)
    };
    let names = release.packages.iter().map(|(name, _)| *name);
    let install: Vec<&str> = ["install", "--yes", "--download-only"]
        .into_iter()
        .chain(names)
        .collect();
    if let Err(missing) = apt(&["update"]).and_then(|_| apt(&install)) {
        return Ok(Err(missing));
    }
    let archives = directory.join("cache/archives");
    let entries = std::fs::read_dir(&archives).map_err(|error| at(&archives, &error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut packages: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .collect();
    packages.sort();
    Ok(Ok(packages))
}

/// Writes settings that isolate `apt-get` from this system, and an empty state.
fn settings(release: &Release, directory: &Path) -> Result<std::result::Result<PathBuf, String>> {
    for name in ["lists/partial", "cache/archives/partial"] {
        let path = directory.join(name);
        std::fs::create_dir_all(&path).map_err(|error| at(&path, &error))?;
    }
    write(&directory.join("status"), "")?;
    let (site, network) = match (mirror(), network()) {
        (Ok(site), Ok(network)) => (site, network),
        (Err(missing), _) | (_, Err(missing)) => return Ok(Err(missing)),
    };
    let sources = directory.join("sources.list");
    let Release {
        suite,
        architecture,
        ..
    } = release;
    let line = format!("deb [arch={architecture} signed-by={KEYRING}] {site} {suite} main\n");
    write(&sources, &line)?;
    let own = directory.display();
    let text = format!(
        r#"Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "{own}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{own}";
Dir::State::lists "{own}/lists";
Dir::State::status "{own}/status";
Dir::Cache "{own}/cache";
Dir::Cache::archives "{own}/cache/archives";
Dir::Log "{own}";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
Acquire::http::Timeout "30";
{network}"#
    );
    let path = directory.join("apt.conf");
    write(&path, &text)?;
    Ok(Ok(path))
}

fn mirror() -> std::result::Result<String, String> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI)"]);
    let targets = output(&mut command)?;
    let mut sites = targets.lines();
    let own = sites.find(|site| site.trim_end_matches('/').ends_with("/debian"));
    Ok(own.unwrap_or(ARCHIVE).to_owned())
}

/// Returns the network settings of the system, such as a proxy.
fn network() -> std::result::Result<String, String> {
    const KEPT: [&str; 2] = ["Acquire::http", "Acquire::Check-Date"];
    let mut command = Command::new("apt-config");
    let dump = output(command.args(["dump", "--no-empty"]))?;
    let lines = dump
        .lines()
        .filter(|line| KEPT.iter().any(|kept| line.starts_with(kept)));
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

fn output(command: &mut Command) -> std::result::Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let problem = text.lines().rfind(|line| line.starts_with("E: "));
    let problem = problem.map_or_else(|| output.status.to_string(), str::to_owned);
    Err(format!("{name}: {problem}"))
}
