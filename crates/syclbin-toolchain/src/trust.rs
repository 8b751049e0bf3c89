// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks whether anyone other than this user or root could have written a file or directory. This is necessary because
//! a hash stored in a file does not prove who wrote it.

use std::fs::{File, Metadata};
use std::path::Path;

const WRITABLE_BY_ALL: u32 = 0o002;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Returns whether `path` belongs to this user or root, and is not writable by everyone. Its group may have write
/// permission, because a group may maintain an installation together.
pub fn is_trusted(path: &Path) -> bool {
    is_closed_to(path, WRITABLE_BY_ALL)
}

/// Returns whether `path` belongs to this user or root, and is writable only by its owner. Unlike [`is_trusted`],
/// rejects paths that a group can write to.
pub fn is_private(path: &Path) -> bool {
    is_closed_to(path, WRITABLE_BY_OTHERS)
}

/// Checks an open file like [`is_private`]. The result stays valid even if the path later refers to another file.
pub fn is_private_file(file: &File) -> bool {
    file.metadata()
        .is_ok_and(|metadata| is_closed(&metadata, WRITABLE_BY_OTHERS))
}

fn is_closed_to(path: &Path, writers: u32) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| is_closed(&metadata, writers))
}

#[cfg(unix)]
fn is_closed(metadata: &Metadata, writers: u32) -> bool {
    use std::os::unix::fs::MetadataExt;

    let own = rustix::process::geteuid().as_raw();
    belongs_to(own, metadata.uid()) && metadata.mode() & writers == 0
}

#[cfg(unix)]
fn belongs_to(own: u32, owner: u32) -> bool {
    owner == 0 || own == owner
}

/// Always trusts a file, because the standard library cannot read the owner or the access list of a file on Windows.
/// Therefore, only directories that the user named, or that are in the user's profile, are used on Windows. By default,
/// other users cannot write to the profile.
#[cfg(not(unix))]
fn is_closed(_metadata: &Metadata, _writers: u32) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_others_can_write_is_not_trusted() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        let set_mode = |mode| {
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(0o755);
        assert!(is_trusted(&folder) && is_private(&folder));
        set_mode(0o775);
        assert!(is_trusted(&folder) && !is_private(&folder));
        set_mode(0o777);
        assert!(!is_trusted(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(!is_trusted(&folder));
    }

    #[test]
    fn open_files_are_judged_by_mode() {
        let file = tempfile::tempfile().unwrap();
        for (mode, private) in [(0o600, true), (0o644, true), (0o620, false)] {
            file.set_permissions(std::fs::Permissions::from_mode(mode))
                .unwrap();
            assert_eq!(is_private_file(&file), private, "{mode:o}");
        }
    }

    #[test]
    fn only_root_and_the_user_are_trusted() {
        assert!(belongs_to(1000, 1000));
        assert!(belongs_to(1000, 0));
        assert!(!belongs_to(1000, 1001));
        assert!(!belongs_to(0, 1001));
    }
}
