// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes that Intel's GPU driver takes without an error: too large for a parameter, or past the end of memory or code.

use faults::Control;
use syclbin::{Container, Syclbin};
use syclbin_rt::{Arg, Launch, Result};

use crate::device;
use crate::steps::{VECTOR_OPS, load, load_bytes};

/// Calls that must not be made.
const USING_SIZES: [&str; 4] = [
    "clCreateProgramWithIL",
    "clEnqueue",
    "clMem",
    "clSetKernelArg",
];

/// Returns what is wrong.
pub(crate) fn all(control: &Control) -> Vec<String> {
    let refused = device().and_then(|device| {
        let refused = device.queue().and_then(|queue| {
            let kernel = load(&queue, VECTOR_OPS)?.kernel("saxpy");
            let mut data = queue.upload(&[1.0f32, 2.0, 3.0])?;
            let long = queue.upload(&[1.0f32; 4])?;
            let truncated = truncated();
            control.disarm();
            // Arguments before a refused one are set.
            let args = [
                Arg::scalar(1.0f64),
                Arg::read(&long),
                Arg::write(&mut data),
                Arg::scalar(3u32),
            ];
            // SAFETY: refused before the driver sees it.
            let launched = unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(3) };
            Ok([
                ("an argument", launched.map(drop)),
                ("a read", queue.read(&data, &mut [0.0; 4])),
                ("a write", queue.write(&mut data, &[0.0; 4])),
                ("a copy", queue.copy(&long, &mut data).map(drop)),
                ("a slice", data.slice(..4).map(drop)),
                ("a module", load_bytes(&queue, &truncated).map(drop)),
            ])
        });
        refused.map_err(|error| vec![error.to_string()])
    });
    let mut wrong = match refused {
        Ok(refused) => taken(refused),
        Err(wrong) => wrong,
    };
    let report = control.report();
    let made = report.calls.keys();
    let made = made.filter(|name| USING_SIZES.iter().any(|start| name.starts_with(start)));
    wrong.extend(made.map(|name| format!("{name} was called")));
    wrong
}

fn taken(refused: [(&str, Result<()>); 6]) -> Vec<String> {
    let taken = refused.into_iter().filter(|(_, result)| result.is_ok());
    taken.map(|(what, _)| format!("{what} was taken")).collect()
}

/// A file whose SPIR-V ends within an instruction.
fn truncated() -> Vec<u8> {
    let bytes = test_files::read(VECTOR_OPS);
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut file.modules {
        for image in &mut module.images {
            let code = image.bytes.to_mut();
            code.truncate(code.len() / 8 * 4);
        }
    }
    let file = Syclbin {
        modules: file.modules,
        ..Syclbin::new(syclbin::State::Object)
    };
    syclbin::write::to_vec(&file, Container::default()).expect("a good file")
}
