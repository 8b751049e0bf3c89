// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extracts the directories and headers that compiler arguments name, so that the cache can track them.

use std::path::{Path, PathBuf};

use crate::compiler::default_targets::TARGETS;

/// Prefixes of arguments that disable the cache. With these arguments, the compiler reads files that its depfile omits,
/// writes files that the cache does not store, or runs other programs.
const UNFIT: &str = "@ --config --cuda-path --include-prefix --include-with-prefix --offload-arch -E -M -S -Wp, \
    -Xsycl-target -fembed -fmodule -fpass-plugin -fplugin -fprofile -fsanitize -fsycl-link -ftime-trace \
    -fxray -include-pch --persistent-auto-pch --auto-pch -iprefix -ivfsoverlay -iwithprefix -load -mlink \
    --specs -o -save-temps -specs";

/// Targets whose results can be cached, because the compiler runs no other program for them. The PTX backend is part of
/// the compiler.
const FIT_TARGETS: &str = "spir64 spir64-unknown-unknown nvptx64 nvptx64-nvidia-cuda";

/// Arguments that name directories to search for headers or for files to embed. Longer arguments precede their
/// prefixes, because the first match wins.
const FOLDERS: &str = "--embed-dir= --include-directory-after= --include-directory= -isystem-after -isystem -iquote \
    -idirafter -cxx-isystem -I -F";

/// Arguments that name headers to include before the source.
const HEADERS: &str = "--include= --imacros= --include --imacros -include -imacros";

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Named {
    /// The directories that are searched for headers.
    pub(crate) folders: Vec<PathBuf>,
    /// The headers that are included before the source.
    pub(crate) headers: Vec<PathBuf>,
}

impl Named {
    /// Parses the arguments. Returns `None` if an argument disables the cache.
    pub(crate) fn read<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut named = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if is_unfit(argument) {
                return None;
            }
            let of = |options: &str| {
                let mut options = options.split(' ');
                options.find_map(|option| argument.strip_prefix(option))
            };
            let (list, value) = match (of(FOLDERS), of(HEADERS)) {
                (Some(folder), _) => (&mut named.folders, folder),
                (None, Some(header)) => (&mut named.headers, header),
                (None, None) if named_files(argument).next().is_some() => return None,
                (None, None) => continue,
            };
            list.extend(match value {
                "" => arguments.next().map(PathBuf::from),
                value => Some(PathBuf::from(value)),
            });
        }
        Some(named)
    }
}

fn is_unfit(argument: &str) -> bool {
    let targets = argument.strip_prefix(TARGETS);
    let is_fit = |target| FIT_TARGETS.split(' ').any(|fit| fit == target);
    UNFIT.split(' ').any(|unfit| argument.starts_with(unfit))
        || targets.is_some_and(|targets| !targets.split(',').all(is_fit))
}

/// Returns the paths of existing files in an argument, as in `a.syclbin`, `@arguments` or `-option=a.bc`. Macro
/// definitions do not count, because the compiler does not read a file for them.
pub(crate) fn named_files(argument: &str) -> impl Iterator<Item = &Path> {
    let is_macro = argument.starts_with("-D") || argument.starts_with("-U");
    let after = argument
        .match_indices(['=', ','])
        .map(|(at, _)| &argument[at + 1..]);
    let parts = after.chain(argument.split(['=', ','])).chain([argument]);
    let paths = parts.map(|part| Path::new(part.strip_prefix('@').unwrap_or(part)));
    paths.filter(move |path| !is_macro && path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &str) -> Option<Named> {
        Named::read(arguments.split(' '))
    }

    #[test]
    fn directories_and_headers_are_found_however_spelled() {
        let named = read(
            "-O2 -Ia -I b -isystem c -iquoted --include-directory=e -include f.hpp -imacrosg.hpp \
             --include=h.hpp -std=c++20",
        );
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            named,
            Some(Named {
                folders: paths(&["a", "b", "c", "d", "e"]),
                headers: paths(&["f.hpp", "g.hpp", "h.hpp"]),
            })
        );
    }

    #[test]
    fn named_file_may_contain_any_character() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a=b,c.bc");
        std::fs::write(&file, "").unwrap();
        let argument = format!("-some-option={}", file.display());
        assert!(named_files(&argument).eq([file]));
    }

    #[test]
    fn argument_with_other_file_prevents_caching() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("more.bc");
        std::fs::write(&file, "").unwrap();
        let (file, folder) = (file.display(), folder.path().display());
        for unfit in [
            format!("{file}"),
            format!("-some-option={file}"),
            format!("-Wl,--some,{file}"),
            format!("-Wl,--some={file}"),
            format!("-Xclang -mlink-bitcode-file -Xclang {file}"),
            "-mlink-builtin-bitcode none".to_owned(),
            "-fembed-offload-object=none".to_owned(),
            "-fsycl-targets=spir64,spir64_x86_64".to_owned(),
            "-fsycl-targets=spir64,nvidia_gpu_sm_80".to_owned(),
        ] {
            assert_eq!(read(&unfit), None, "{unfit}");
        }
        for fit in [
            format!("-include {file}"),
            format!("-imacros {file}"),
            format!("-DNAME={file}"),
            format!("-some-option={folder}"),
            "-some-option=none.bc".to_owned(),
            "-fsycl-targets=spir64".to_owned(),
            "-fsycl-targets=spir64,nvptx64-nvidia-cuda".to_owned(),
            "--optional-target=nvptx64-nvidia-cuda".to_owned(),
        ] {
            assert!(read(&fit).is_some(), "{fit}");
        }
    }
}
