// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long it takes to read a file, beside LLVM's own OffloadBinary reader in the same run.
//!
//! ```text
//! cargo bench -p syclbin                    # all: 2 minutes, 5 GB of memory, 1 GB of disk
//! cargo bench -p syclbin -- kernel names    # only the files whose name has these words
//! ```
//!
//! LLVM's side is `llvm_offload_binary.cpp`, compiled here by `g++ -O2` with what `llvm-config-22`
//! says (Debian: `llvm-22-dev`). Without LLVM only our side is measured, and that is said. For
//! another LLVM set `LLVM_CONFIG`, and `CXX`, `CXXFLAGS` and `LDFLAGS` where it needs them, for
//! example for one that was built with libc++. LLVM up to 22 reads OffloadBinary version 1 alone;
//! for LLVM's time on version 2 it takes LLVM 23.
//!
//! Both sides are asked in turns, some 50 ms each, 15 rounds; the table has medians. Nothing here
//! fails for being slow. Without `--bench`, as `cargo test --benches` runs it, small files are read
//! once on our side.
#![allow(clippy::panic, clippy::print_stdout, clippy::expect_used, missing_docs)] // a bench may

mod files;
mod llvm;
mod table;
mod turns;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use files::{Container, Content};
use syclbin::read::File;
use syclbin::{Error, Syclbin};
use table::Row;
use turns::{Subject, nanoseconds, ours, take_turns};

const FIXTURE_CONTAINERS: [Container; 2] = [Container::AsWritten, Container::Version1];
const CONTAINERS: [Container; 3] = [
    Container::Version1,
    Container::Version2,
    Container::OneAfterAnother,
];

/// Our reader as a user meets it: the file is open, and nothing is read that was not asked for.
fn open(bytes: &[u8]) -> Result<File<'_>, Error> {
    File::parse(bytes)
}

/// Everything there is to read: all property sets parsed, every record checked.
fn read_all(bytes: &[u8]) -> Result<Syclbin<'_>, Error> {
    syclbin::read::parse(bytes)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS; // a test runner asks for tests
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        read_small_files_once();
        return ExitCode::SUCCESS;
    }
    let words = arguments.iter().filter(|word| !word.starts_with("--"));
    let filter = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    match bench(&filter) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What makes the files and what walks them agree; a test of the bench itself.
fn read_small_files_once() {
    let images = Content::Images { count: 3, size: 64 };
    let names = Content::Names { count: 5 };
    for (content, modules) in [(images, 3), (names, 1)] {
        let bytes = content.bytes(Container::Version1);
        let file = read_all(&bytes).expect("a file of our own is read");
        assert_eq!(file.modules.len(), modules);
        for container in [Container::Version2, Container::OneAfterAnother] {
            let bytes = content.bytes(container);
            let entries = files::walk(&bytes).expect("a file of our own is whole");
            // The file, and a module and an image each.
            assert_eq!(entries.len(), 1 + 2 * modules, "{}", container.name());
        }
    }
}

fn bench(filter: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("read-bench");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = match llvm::Program::compile(&folder) {
        Ok(program) => Some(program),
        Err(error) => {
            println!("LLVM's side is left out: {error}\n");
            None
        }
    };

    let mut work: Vec<(Content, &[Container])> = files::fixtures()
        .into_iter()
        .map(|fixture| (fixture, &FIXTURE_CONTAINERS[..]))
        .collect();
    let made = [
        Content::Images {
            count: 1000,
            size: 1000,
        },
        Content::Images {
            count: 1000,
            size: 1_000_000,
        },
        Content::Names { count: 100_000 },
    ];
    work.extend(made.into_iter().map(|content| (content, &CONTAINERS[..])));
    work.retain(|(content, _)| content.name().contains(filter));

    table::heading();
    let mut rows = Vec::new();
    let mut said = BTreeSet::new();
    for (content, containers) in &work {
        for container in *containers {
            let file = folder.join("measured");
            for row in measure(content, *container, program.as_ref(), &file, &mut said)? {
                table::row(&row);
                rows.push(row);
            }
            // Up to 1 GB, of no use to the next one.
            std::fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    table::notes(&said);
    table::goals(&rows);
    Ok(())
}

/// Measures one file; what goes wrong is added to `said`.
fn measure(
    content: &Content,
    container: Container,
    program: Option<&llvm::Program>,
    path: &Path,
    said: &mut BTreeSet<String>,
) -> Result<Vec<Row>, String> {
    let bytes = content.bytes(container);
    std::fs::write(path, &bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    let process = program.map(|program| program.start(path)).transpose()?;
    if let Some(process) = &process {
        said.insert(format!(
            "LLVM {} reads OffloadBinary up to version {}.",
            process.version, process.newest
        ));
    }
    let process = RefCell::new(process);
    let llvm = |command: &'static str| {
        let process = &process;
        Subject::new(move |times| match process.borrow_mut().as_mut() {
            Some(process) => process.ask(command, times).map(|(taken, _)| taken),
            None => Err("no LLVM".to_owned()),
        })
    };
    let opened = container != Container::OneAfterAnother; // that is no SYCLBIN
    let ours_saw = files::sums(&files::walk(&bytes)?);
    if let Some(Ok((_, llvm_saw))) = process.borrow_mut().as_mut().map(|p| p.ask("walk", 1))
        && ours_saw != llvm_saw
    {
        return Err(format!("we see {ours_saw:?}, LLVM sees {llvm_saw:?}"));
    }

    let mut subjects = Vec::new();
    if opened {
        subjects.push(ours(&bytes, open));
        subjects.push(llvm("open"));
        subjects.push(ours(&bytes, read_all));
    }
    subjects.push(Subject::new(|times| {
        let start = Instant::now();
        for _ in 0..times {
            black_box(files::sums(&files::walk(black_box(&bytes))?));
        }
        Ok(nanoseconds(start))
    }));
    subjects.push(llvm("walk"));
    let mut medians = take_turns(subjects).into_iter();
    let mut next = || medians.next().unwrap_or_else(|| Err("not run".to_owned()));
    let row = |what| Row {
        name: content.name(),
        container,
        what,
        bytes: bytes.len(),
        ours: Err(String::new()),
        llvm: Err(String::new()),
        all: None,
    };
    let mut rows = Vec::new();
    if opened {
        rows.push(Row {
            ours: next(),
            llvm: next(),
            all: Some(next()),
            ..row("open")
        });
    }
    rows.push(Row {
        ours: next(),
        llvm: next(),
        ..row("walk")
    });
    for row in &rows {
        let sides = [("ours", &row.ours), ("LLVM", &row.llvm)];
        for (side, error) in sides.map(|(side, time)| (side, time.as_ref().err())) {
            said.extend(error.map(|error| {
                let container = row.container.name();
                format!("{container}, {}: {side} says `{error}`.", row.what)
            }));
        }
    }
    Ok(rows)
}
