// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs, as users run them.
// Clippy exempts only functions marked as tests; the helpers here are of tests too.
#![allow(clippy::panic, clippy::unwrap_used)]

mod files;
#[cfg(unix)] // runs a shell
mod guard;
mod project;
mod toolchain;
#[cfg(unix)] // a shell script stands in for Cargo
mod workspace;

/// A compiler that is a shell script. A source contains the name of the file to make, from the directory `$FILES`, and
/// includes the files `$HEADERS`.
#[cfg(unix)]
const COMPILER: &str = r#"#!/bin/sh
for argument; do
    case $argument in
    --version) echo "fake clang version 1"; exit 0 ;;
    -###) exit 0 ;;
    esac
    source=$argument
done
while [ $# -gt 1 ]; do
    case $1 in
    -o) out=$2 ;;
    -MF) echo "x: $source $HEADERS" >"$2" ;;
    -DN=*) echo "$1" >>defined ;;
    esac
    shift
done
made="$FILES/$(cat "$source").object.syclbin"
[ -e "$made" ] || { echo "$source:1:1: error: not a file" >&2; exit 1; }
cp "$made" "$out"
"#;
