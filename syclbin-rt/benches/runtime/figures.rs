// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statistics over rounds, and how they are printed.

/// What several rounds of one thing gave.
#[derive(Default)]
pub(crate) struct Rounds(Vec<f64>);

impl Rounds {
    pub(crate) fn add(&mut self, figure: f64) {
        self.0.push(figure);
        self.0.sort_by(f64::total_cmp);
    }

    /// The figure that `part` of all are below, 0 to 1.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index of a short list"
    )]
    fn at(&self, part: f64) -> f64 {
        let last = self.0.len().saturating_sub(1) as f64;
        let index = (part * last).round() as usize;
        self.0.get(index).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }

    pub(crate) fn least(&self) -> f64 {
        self.at(0.0)
    }

    /// A figure that was measured once.
    pub(crate) fn once(figure: f64) -> Self {
        Self(vec![figure])
    }

    /// The middle half, the smaller end and the larger.
    pub(crate) fn spread(&self) -> (f64, f64) {
        (self.at(0.25), self.at(0.75))
    }
}

/// Nanoseconds, in three digits and a unit.
pub(crate) fn duration(nanoseconds: f64) -> String {
    let (number, unit) = match nanoseconds {
        ..1e3 => (nanoseconds, "ns"),
        1e3..1e6 => (nanoseconds / 1e3, "µs"),
        1e6..1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    let digits = match number {
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{number:.digits$} {unit}")
}
