// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many kernels ran, and which of them failed.

use syclbin_rt::Queue;

/// What came of a kernel.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A kernel's number, and the function that calls it.
pub(crate) type Call<M> = (usize, fn(&Queue, &M) -> Outcome);

/// What came of all kernels.
#[derive(Debug, Default)]
pub struct Report {
    ran: usize,
    failures: Vec<String>,
}

impl Report {
    /// Calls kernels of a module, if it could be loaded.
    pub fn run_all<M>(&mut self, module: syclbin_rt::Result<M>, queue: &Queue, calls: &[Call<M>]) {
        let module = match module {
            Ok(module) => module,
            Err(error) => {
                self.failures.push(format!("failed: no module: {error}"));
                return;
            }
        };
        for (number, call) in calls {
            self.ran += 1;
            if let Err(error) = call(queue, &module) {
                self.failures
                    .push(format!("failed: kernel {number}: {error}"));
            }
        }
    }

    /// Returns how many kernels ran.
    #[must_use]
    pub fn ran(&self) -> usize {
        self.ran
    }

    /// Returns a line for each kernel that failed: `failed: kernel 7: ` and why.
    #[must_use]
    pub fn failures(&self) -> &[String] {
        &self.failures
    }
}
