//! Trust: whether a file or folder can only be what this user or root put there.

use std::path::Path;

/// Whether only this user or root can have put `path` there. A hash in a file is no proof of who wrote it.
#[cfg(unix)]
pub(crate) fn is_trusted(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    const WRITABLE_BY_ALL: u32 = 0o002;
    path.metadata().is_ok_and(|metadata| {
        let owner = metadata.uid();
        let is_owned = owner == 0 || owner == rustix::process::geteuid().as_raw();
        is_owned && metadata.mode() & WRITABLE_BY_ALL == 0
    })
}

/// Other platforms have no owner and mode to ask for.
#[cfg(not(unix))]
pub(crate) fn is_trusted(_path: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_everybody_can_write_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let set_mode = |mode| {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(0o755);
        assert!(is_trusted(folder.path()));
        set_mode(0o777);
        assert!(!is_trusted(folder.path()));
        assert!(!is_trusted(&folder.path().join("none")));
    }
}
