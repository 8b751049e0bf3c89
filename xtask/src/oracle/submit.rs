//! The reference runtime's part of `cargo bench -p syclbin-rt`: built here, started there.

use std::path::Path;

use super::program;
use super::runtime::Runtime;
use crate::steps::Result;
use crate::wheels::at;

/// Builds `oracle/submit.cpp`, and prints its path and then what its environment has to have, a
/// `NAME=VALUE` a line. `target` is Cargo's target folder.
pub(crate) fn submit(target: &Path) -> Result<()> {
    let oracle = target.join("oracle");
    std::fs::create_dir_all(&oracle).map_err(|error| at(&oracle, &error))?;
    let runtime = Runtime::get(&oracle)?;
    let program = program::compile(&runtime, "submit", include_str!("../../oracle/submit.cpp"))?;
    #[allow(clippy::print_stdout, reason = "this is the answer")]
    {
        println!("{}", program.display());
        for (name, value) in runtime.environment()? {
            println!("{name}={}", value.display());
        }
    }
    Ok(())
}
