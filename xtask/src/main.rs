//! The work on this repository, as `cargo xtask COMMAND`. No product logic lives here.

mod steps;

use std::process::ExitCode;

/// A command: its name, what it does, and the function that does it.
struct Task {
    name: &'static str,
    help: &'static str,
    run: fn() -> steps::Result<()>,
}

const TASKS: [Task; 4] = [
    Task {
        name: "demo",
        help: "install the toolchain if it is missing, then build and run examples/saxpy",
        run: steps::demo,
    },
    Task {
        name: "test",
        help: "everything a change must pass: fmt, clippy, docs, tests, kernels on a device",
        run: steps::test,
    },
    Task {
        name: "lint",
        help: "the part of `test` that runs nothing: fmt, clippy, docs",
        run: steps::lint,
    },
    Task {
        name: "toolchain",
        help: "install what `cargo syclbin toolchain install` does, with the program as it is here",
        run: steps::install_toolchain,
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let task = arguments
        .next()
        .and_then(|name| TASKS.iter().find(|task| task.name == name));
    let (Some(task), None) = (task, arguments.next()) else {
        eprintln!("usage: cargo xtask COMMAND\n");
        for task in &TASKS {
            eprintln!("  {:<10} {}", task.name, task.help);
        }
        return ExitCode::from(2);
    };
    match (task.run)() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
