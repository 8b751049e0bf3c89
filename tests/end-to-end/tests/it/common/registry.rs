// SPDX-License-Identifier: MIT OR Apache-2.0
//! A local registry with the crates as they would be published, and with the crates that they depend on.
//!
//! It stays at the same path between runs, so that crates of others are compiled once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A directory with archives and `index/`, which Cargo takes in place of crates.io.
pub(crate) struct Registry {
    directory: PathBuf,
    /// The names of our crates, sorted.
    pub(crate) published: Vec<String>,
}

impl Registry {
    /// Returns the registry of this process, with fresh archives.
    pub(crate) fn get() -> &'static Self {
        static REGISTRY: OnceLock<Registry> = OnceLock::new();
        REGISTRY.get_or_init(Self::new)
    }

    fn new() -> Self {
        let root = root();
        for name in ["home", "package"] {
            let _ = std::fs::remove_dir_all(root.join(name));
        }
        let metadata = run(cargo("metadata --locked --format-version 1"));
        let metadata: Value = serde_json::from_slice(&metadata).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let is_ours = |package: &Value| package["source"].is_null();
        let mut published: Vec<String> = packages
            .iter()
            .filter(|package| is_ours(package) && package["publish"].is_null())
            .map(|package| text(&package["name"]).to_owned())
            .collect();
        published.sort();

        let mut package = cargo("package --offline --allow-dirty --no-verify --quiet");
        package.arg("--target-dir").arg(&root);
        for name in &published {
            package.args(["--package", name]);
        }
        run(package);

        let registry = Self {
            directory: root.join("package"),
            published,
        };
        for package in packages {
            if is_ours(package) && !package["publish"].is_null() {
                continue;
            }
            if !is_ours(package) {
                let archive = downloaded(Path::new(text(&package["manifest_path"])));
                std::os::unix::fs::symlink(&archive, registry.archive(package)).unwrap();
            }
            registry.add_to_index(package);
        }
        let home = root.join("home");
        registry.configure(&home);
        registry.forget_our_crates();
        registry
    }

    /// Creates a Cargo home, or the `.cargo` of a project, that makes Cargo use only this registry.
    pub(crate) fn configure(&self, directory: &Path) {
        std::fs::create_dir(directory).unwrap();
        let config = format!(
            "[source.crates-io]\nreplace-with = \"published\"\n\n[source.published]\nlocal-registry = {:?}\n",
            self.directory
        );
        std::fs::write(directory.join("config.toml"), config).unwrap();
    }

    fn archive(&self, package: &Value) -> PathBuf {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        self.directory.join(format!("{name}-{version}.crate"))
    }

    /// Unpacks the archive of our crate `name` in `directory`, and returns the crate's directory.
    pub(crate) fn unpack(&self, name: &str, directory: &Path) -> PathBuf {
        let stem = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        let mut tar = Command::new("tar");
        tar.arg("xzf")
            .arg(self.directory.join(format!("{stem}.crate")));
        tar.arg("-C").arg(directory);
        run(tar);
        directory.join(stem)
    }

    fn add_to_index(&self, package: &Value) {
        let archive = std::fs::read(self.archive(package)).unwrap();
        let checksum: String = Sha256::digest(archive)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let name = text(&package["name"]).to_lowercase();
        let directories = match name.len() {
            1 => "1".to_owned(),
            2 => "2".to_owned(),
            3 => format!("3/{}", &name[..1]),
            _ => format!("{}/{}", &name[..2], &name[2..4]),
        };
        let path = self.directory.join("index").join(directories).join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut lines = std::fs::read_to_string(&path).unwrap_or_default();
        lines.push_str(&format!("{}\n", index_line(package, &checksum)));
        std::fs::write(path, lines).unwrap();
    }

    /// Returns an empty directory for the program `name`. Its path is the same in each run, and so are the paths of what
    /// Cargo makes of it.
    pub(crate) fn directory_for(&self, name: &str) -> PathBuf {
        let directory = root().join(name);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory).unwrap();
        directory
    }

    /// Returns the target directory of all programs outside of this workspace.
    pub(crate) fn target(&self) -> PathBuf {
        root().join("target")
    }

    /// Returns variables for Cargo that have these programs, and several runs, compile each dependency once. Cargo takes
    /// crates from here alone: it would compile a crate again if the path of its source changed.
    pub(crate) fn shared_builds(&self) -> [(&'static str, PathBuf); 4] {
        [
            ("CARGO_HOME", root().join("home")),
            ("CARGO_TARGET_DIR", self.target()),
            ("CARGO_INCREMENTAL", "0".into()),
            ("CARGO_PROFILE_DEV_DEBUG", "none".into()),
        ]
    }

    /// Has Cargo compile our crates again. It compiles a version of a published crate once, but they may have changed.
    fn forget_our_crates(&self) {
        let entries = std::fs::read_dir(self.target().join("debug/.fingerprint"));
        for entry in entries.into_iter().flatten() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let of_us = |ours: &String| {
                let rest = name.strip_prefix(ours.as_str());
                rest.is_some_and(|hash| hash.starts_with('-'))
            };
            if self.published.iter().any(of_us) {
                std::fs::remove_dir_all(entry.path()).unwrap();
            }
        }
    }
}

/// A line of the index, in the form of crates.io.
fn index_line(package: &Value, checksum: &str) -> Value {
    let dependencies: Vec<_> = package["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dependency| {
            let is_renamed = !dependency["rename"].is_null();
            json!({
                "name": dependency[if is_renamed { "rename" } else { "name" }],
                "package": is_renamed.then(|| &dependency["name"]),
                "req": dependency["req"],
                "features": dependency["features"],
                "optional": dependency["optional"],
                "default_features": dependency["uses_default_features"],
                "target": dependency["target"],
                "kind": dependency["kind"].as_str().unwrap_or("normal"),
            })
        })
        .collect();
    json!({
        "name": package["name"],
        "vers": package["version"],
        "deps": dependencies,
        "features": package["features"],
        "links": package["links"],
        "rust_version": package["rust_version"],
        "cksum": checksum,
        "yanked": false,
        "v": 2,
    })
}

/// The archive that Cargo unpacked to the directory of `manifest`.
fn downloaded(manifest: &Path) -> PathBuf {
    let package = manifest.parent().unwrap();
    let index = package.parent().unwrap();
    let registry = index.parent().and_then(Path::parent).unwrap();
    let stem = package.file_name().unwrap().to_str().unwrap();
    let archive = registry
        .join("cache")
        .join(index.file_name().unwrap())
        .join(format!("{stem}.crate"));
    assert!(archive.is_file(), "{archive:?}: run `cargo fetch`");
    archive
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("published")
}

fn cargo(arguments: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap());
    command
        .args(arguments.split(' '))
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn run(mut command: Command) -> Vec<u8> {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    output.stdout
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
