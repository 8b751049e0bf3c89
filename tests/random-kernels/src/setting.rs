// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run generates: a seed, a range of kernels, and what shrinking removes.

use std::fmt;

/// Which kernels to generate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Determines all kernels.
    pub seed: u64,
    /// The number of the first kernel.
    pub first: usize,
    /// How many kernels.
    pub count: usize,
    /// The parameters to generate, by their numbers; all if `None`.
    pub keep: Option<Vec<usize>>,
    /// Whether each kernel accesses memory outside of a buffer: beyond its end, or before its start.
    pub stray: Option<Side>,
}

/// A side of a buffer, as `SYCLBIN_GUARD` spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `start`
    Start,
    /// `end`
    End,
}

impl Setting {
    /// Reads what [`fmt::Display`] writes, such as `seed=1,first=0,count=100,keep=0+3`. What is missing is
    /// taken from `default`.
    ///
    /// # Errors
    ///
    /// A sentence that names the part that is wrong.
    pub fn parse(text: &str, default: &Self) -> Result<Self, String> {
        let mut setting = default.clone();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = || format!("`{part}` is not a setting of random kernels");
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse::<usize>().map_err(|_| wrong());
            match name {
                "seed" => setting.seed = value.parse().map_err(|_| wrong())?,
                "first" => setting.first = number()?,
                "count" => setting.count = number()?,
                "keep" => {
                    let numbers = value.split('+').filter(|number| !number.is_empty());
                    let numbers = numbers.map(|number| number.parse().map_err(|_| wrong()));
                    setting.keep = Some(numbers.collect::<Result<_, _>>()?);
                }
                "stray" if value == "start" => setting.stray = Some(Side::Start),
                "stray" if value == "end" => setting.stray = Some(Side::End),
                _ => return Err(wrong()),
            }
        }
        Ok(setting)
    }

    /// Returns whether a parameter is generated.
    #[must_use]
    pub fn keeps(&self, parameter: usize) -> bool {
        let keep = self.keep.as_ref();
        keep.is_none_or(|keep| keep.contains(&parameter))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seed, first, count) = (self.seed, self.first, self.count);
        write!(f, "seed={seed},first={first},count={count}")?;
        if let Some(keep) = &self.keep {
            let numbers: Vec<String> = keep.iter().map(usize::to_string).collect();
            write!(f, ",keep={}", numbers.join("+"))?;
        }
        match self.stray {
            Some(Side::Start) => f.write_str(",stray=start")?,
            Some(Side::End) => f.write_str(",stray=end")?,
            None => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_a_round_trip() {
        let setting = Setting {
            seed: 7,
            first: 500,
            count: 1,
            keep: Some(vec![0, 12]),
            stray: Some(Side::End),
        };
        let default = Setting {
            keep: None,
            stray: None,
            ..setting.clone()
        };
        assert_eq!(Setting::parse(&setting.to_string(), &default), Ok(setting));
        assert!(Setting::parse("count=many", &default).is_err());
    }
}
