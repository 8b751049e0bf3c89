// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line of the benchmark.

use std::path::PathBuf;
use std::time::Duration;

use crate::Result;
use crate::first;

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Arguments {
    Nothing,
    Measure {
        sizes: &'static Sizes,
        json: Option<PathBuf>,
    },
    /// Compile all kernels into a directory.
    Prepare {
        directory: PathBuf,
        archs: Vec<String>,
    },
    /// Be the process whose first result is timed.
    First {
        contestant: String,
        file: PathBuf,
    },
}

/// How large the problems are, and how long they run.
#[derive(Debug)]
pub(crate) struct Sizes {
    pub(crate) name: &'static str,
    /// Of each vector of saxpy, of the copy and of the reduction.
    pub(crate) elements: u32,
    /// That the histogram counts.
    pub(crate) bytes: u32,
    /// Rows and columns of the matrices.
    pub(crate) side: u32,
    pub(crate) stars: u32,
    /// In a batch whose host time is measured: fewer than drivers queue before the host has to wait.
    pub(crate) launches: u32,
    /// How often each contestant's turn comes.
    pub(crate) turns: usize,
    /// How long contestants work before they are timed, so that the GPU's clocks are up.
    pub(crate) warm_up: Duration,
}

static FULL: Sizes = Sizes {
    name: "full",
    elements: 1 << 27,
    bytes: 1 << 28,
    side: 4096,
    stars: 1 << 16,
    launches: 500,
    turns: 9,
    warm_up: Duration::from_secs(1),
};
static SMALL: Sizes = Sizes {
    name: "small",
    elements: 1 << 10,
    bytes: 1 << 10,
    side: 64,
    stars: 1 << 6,
    launches: 10,
    turns: 3,
    warm_up: Duration::ZERO,
};

/// The GPUs that kernels are prepared for by default.
const ARCHS: &str = "sm_80,sm_90";

impl Arguments {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let arguments: Vec<String> = arguments.collect();
        // `cargo bench` adds `--bench` to the words of the user.
        let given = arguments.iter().map(String::as_str);
        let given: Vec<&str> = given.filter(|word| *word != "--bench").collect();
        match given[..] {
            ["prepare", directory, ref archs @ ..] if archs.len() < 2 => Ok(Self::Prepare {
                directory: directory.into(),
                archs: archs
                    .first()
                    .unwrap_or(&ARCHS)
                    .split(',')
                    .map(str::to_owned)
                    .collect(),
            }),
            [first::WORD, contestant, file] => Ok(Self::First {
                contestant: contestant.to_owned(),
                file: file.into(),
            }),
            _ if given.len() == arguments.len() => Ok(Self::Nothing),
            _ => Self::measure(&given),
        }
    }

    fn measure(words: &[&str]) -> Result<Self> {
        let (mut sizes, mut json) = (&FULL, None);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "small" => sizes = &SMALL,
                "--json" => {
                    let file = words.next().ok_or("--json needs the name of a file")?;
                    json = Some(PathBuf::from(file));
                }
                other => {
                    return Err(format!(
                        "unknown argument `{other}`; usage: --bench [small] [--json FILE], or prepare DIR \
                         [{ARCHS}]"
                    ));
                }
            }
        }
        Ok(Self::Measure { sizes, json })
    }
}
