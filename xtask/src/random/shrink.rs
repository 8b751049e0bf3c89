// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the smallest kernel that still fails.

use random_kernels::Setting;

use super::{Attempt, Kind, Options, attempt};
use crate::steps::{Result, target_folder};

/// Removes parameters from a kernel while it still fails, and saves its source.
pub(super) fn shrink(kind: &Kind, options: &Options, setting: &Setting) -> Result<()> {
    let number = setting.first;
    eprintln!(
        "kernel {number} of seed {} failed; looking for a smaller one",
        setting.seed
    );
    let mut smallest = setting.clone();
    let mut keep = (kind.parameters)(setting, number);
    let mut part = keep.len().div_ceil(2);
    while part > 0 {
        let mut at = 0;
        while at < keep.len() {
            let mut fewer = keep.clone();
            fewer.drain(at..keep.len().min(at + part));
            let smaller = Setting {
                keep: Some(fewer.clone()),
                ..setting.clone()
            };
            if attempt(kind, options, &smaller)? == Attempt::Passed {
                at += part;
            } else {
                keep = fewer;
                smallest = smaller;
            }
        }
        part /= 2;
    }
    // Run the smallest kernel again to get its output.
    let outcome = attempt(kind, options, &smallest)?;
    let base = target_folder()?.join(kind.name);
    let folder = base.join(format!("seed-{}-kernel-{number}", setting.seed));
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(wrong)?;
    let program = (kind.program)(&smallest);
    for source in &program.sources {
        eprintln!("{}", source.text);
        std::fs::write(folder.join(format!("{}.cpp", source.name)), &source.text).map_err(wrong)?;
    }
    std::fs::write(folder.join("calls.rs"), &program.calls).map_err(wrong)?;
    let said = std::fs::read_to_string(base.join("output.txt")).map_err(wrong)?;
    std::fs::write(folder.join("output.txt"), &said).map_err(wrong)?;
    let is_news = |line: &&str| line.starts_with("failed: ") || line.trim_start().contains("error");
    for line in said.lines().filter(is_news).take(10) {
        eprintln!("{line}");
    }
    if outcome == Attempt::Passed {
        eprintln!("it passed this time");
    }
    let variable = kind.variable;
    eprintln!(
        "kept in {}; {variable}={smallest} makes it again",
        folder.display()
    );
    Ok(())
}
