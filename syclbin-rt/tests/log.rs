// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a logger is told: choices and compiles, and nothing of launches.
//!
//! In a binary of its own: there is one logger for the whole process.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

#[allow(dead_code, reason = "each program uses its part of this")]
mod common;

use std::sync::{Mutex, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};
use syclbin::metadata::ModuleMetadata;
use syclbin_rt::{Arg, Aspect, Launch, Result};

/// Keeps all it is told.
struct Kept(Mutex<Vec<(Level, String)>>);

static KEPT: Kept = Kept(Mutex::new(Vec::new()));

impl Log for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "syclbin_rt"
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let told = (record.level(), record.args().to_string());
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(told);
        }
    }

    fn flush(&self) {}
}

/// What was told since it was last asked.
fn told() -> Vec<(Level, String)> {
    std::mem::take(&mut KEPT.0.lock().unwrap_or_else(PoisonError::into_inner))
}

fn has(told: &[(Level, String)], level: Level, text: &str) {
    let found = told
        .iter()
        .any(|(l, message)| *l == level && message.contains(text));
    assert!(found, "{level} {text:?} is missing in {told:#?}");
}

// One test, as there is one logger for the whole process.
#[test]
fn only_choices_and_compiles_are_logged() -> Result<()> {
    log::set_logger(&KEPT).expect("there is no other");
    log::set_max_level(LevelFilter::Trace);
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let device = queue.device().to_string();
    let first = told();
    has(&first, Level::Info, &device);
    has(&first, Level::Debug, "looked for devices in ");

    let file = common::testfile("functor.object.syclbin");
    let module = common::load(&queue, &file)?;
    let again = common::load(&queue, &file)?;
    assert_eq!(told(), [], "loading builds nothing");
    module.build()?;
    again.build()?;
    let loaded = told();
    has(&loaded, Level::Debug, &format!("for {device}, module 0 ("));
    has(&loaded, Level::Debug, "chosen: ");
    has(
        &loaded,
        Level::Debug,
        "sharing a program with another module in this process",
    );
    let compiled = |(level, message): &(Level, String)| match *level {
        Level::Info => message.contains(" compiled ") && message.contains("bytes of SPIR-V"),
        Level::Debug => message.contains("was compiled in an earlier run"),
        _ => false,
    };
    assert!(loaded.iter().any(compiled), "{loaded:#?}");

    let kernel = again.kernel("_ZTS6AddOne");
    let mut data = queue.upload(&[1i32; 16])?;
    for _ in 0..3 {
        let args = [Arg::write(&mut data), Arg::scalar(3i32)];
        // SAFETY: one work-item for each element.
        unsafe { Launch::new(&kernel, &["data", "amount"], args).launch(16)? };
    }
    assert_eq!(queue.download(&data)?, [10; 16]);
    assert_eq!(told(), []);
    drop(module);

    // An error searches no drivers.
    let mut unfit = syclbin::read::parse(&file).expect("a good file");
    for module in &mut unfit.modules {
        let mut metadata = ModuleMetadata::read(&module.metadata).expect("good properties");
        metadata.requirements.aspects = vec![Aspect(4000)];
        metadata.write(&mut module.metadata);
    }
    let error = common::load(&queue, &common::written(&unfit)).unwrap_err();
    assert!(error.to_string().contains("Device::best_for"), "{error}");
    for (_, message) in told() {
        assert!(!message.contains("looked for devices"), "{message}");
    }
    Ok(())
}
