// SPDX-License-Identifier: MIT OR Apache-2.0
//! Diagnoses why programs cannot use this machine's Intel GPU.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::report::{Item, note};

const NO_DRIVER: &str = "install intel-opencl-icd (Debian, Ubuntu), intel-compute-runtime (Fedora, Arch) or intel-opencl \
    (openSUSE)";
const NO_PERMISSION: &str =
    "join that file's group, for example with `sudo usermod -aG render $USER`, and log in again";
const UNKNOWN: &str =
    "update the driver package: a driver that is older than the GPU may not support it";
const UNKNOWN_IN_WSL: &str = "update Intel's graphics driver in Windows and the OpenCL package in WSL, then run `wsl --shutdown`";

/// Diagnoses the Intel GPU of the system whose root directory is `root`. Returns `None` if the system has no Intel
/// GPU.
pub(super) fn problem(root: &Path) -> Option<Item> {
    let nodes = nodes(root);
    let is_wsl = root.join("dev/dxg").exists()
        && names(&root.join("usr/lib/wsl/drivers")).any(|name| name.starts_with("iigd"));
    if nodes.is_empty() && !is_wsl {
        return None;
    }
    let vendors = root.join("etc/OpenCL/vendors");
    let has_driver = names(&vendors).any(|name| {
        let library = fs::read_to_string(vendors.join(name));
        library.is_ok_and(|library| library.contains("igdrcl"))
    });
    let denied = nodes.iter().find(|node| {
        let opened = fs::File::options().read(true).write(true).open(node);
        opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    });
    let unlisted = "its OpenCL driver is installed, but does not list this GPU";
    let (text, remedy) = match denied {
        _ if !has_driver => ("its OpenCL driver is not installed", NO_DRIVER),
        Some(node) => (
            &*format!("no permission to open {}", node.display()),
            NO_PERMISSION,
        ),
        None if is_wsl => (unlisted, UNKNOWN_IN_WSL),
        None => (unlisted, UNKNOWN),
    };
    Some(note("Intel GPU", text).with_remedy(remedy))
}

/// Returns the render nodes of Intel GPUs.
fn nodes(root: &Path) -> Vec<PathBuf> {
    const INTEL: &str = "0x8086";
    let class = root.join("sys/class/drm");
    let is_intel = |name: &String| {
        let vendor = fs::read_to_string(class.join(name).join("device/vendor"));
        name.starts_with("renderD") && vendor.is_ok_and(|vendor| vendor.trim() == INTEL)
    };
    let names = names(&class).filter(is_intel);
    names.map(|name| root.join("dev/dri").join(name)).collect()
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn each_problem_of_the_gpu_has_a_remedy() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let remedy = || problem(root).and_then(|problem| problem.remedy);
        assert_eq!(remedy(), None);
        write(root, "sys/class/drm/renderD129/device/vendor", "0x10de\n");
        assert_eq!(remedy(), None, "another vendor's");
        write(root, "sys/class/drm/renderD128/device/vendor", "0x8086\n");
        write(root, "dev/dri/renderD128", "");
        assert_eq!(remedy().as_deref(), Some(NO_DRIVER));
        write(root, "etc/OpenCL/vendors/pocl.icd", "libpocl.so.2\n");
        assert_eq!(remedy().as_deref(), Some(NO_DRIVER));
        let icd = "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so\n";
        write(root, "etc/OpenCL/vendors/intel.icd", icd);
        assert_eq!(remedy().as_deref(), Some(UNKNOWN));
    }

    #[test]
    #[cfg(unix)]
    fn missing_permission_names_the_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        write(root, "sys/class/drm/renderD128/device/vendor", "0x8086\n");
        write(root, "dev/dri/renderD128", "");
        write(root, "etc/OpenCL/vendors/intel.icd", "libigdrcl.so");
        let node = root.join("dev/dri/renderD128");
        fs::set_permissions(&node, fs::Permissions::from_mode(0o0)).unwrap();
        if fs::File::open(&node).is_ok() {
            eprintln!("skipped: the superuser may open all files");
            return;
        }
        let problem = problem(root).unwrap();
        assert_eq!(problem.remedy.as_deref(), Some(NO_PERMISSION));
        assert!(problem.text.ends_with("dev/dri/renderD128"), "{problem:?}");
    }

    #[test]
    fn gpu_in_wsl_has_no_render_node() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let remedy = || problem(root).and_then(|problem| problem.remedy);
        write(root, "dev/dxg", "");
        assert!(problem(root).is_none(), "another vendor's");
        write(root, "usr/lib/wsl/drivers/iigd_dch.inf_amd64_1/a", "");
        assert_eq!(remedy().as_deref(), Some(NO_DRIVER));
        write(root, "etc/OpenCL/vendors/intel.icd", "libigdrcl.so");
        assert_eq!(remedy().as_deref(), Some(UNKNOWN_IN_WSL));
    }
}
