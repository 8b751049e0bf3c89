// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the simulation is like: [`VARIABLE`], a list with commas.

use std::sync::OnceLock;

/// `sm=75`, `driver=11040`, `memory=64M`, `devices=2`, `fail=cuMemAlloc_v2:3` or
/// `fail=cuMemAlloc_v2:3:2`: the third call of that function fails, with code 2 and not 999.
pub const VARIABLE: &str = "SYCLBIN_SIMULATED_CUDA";
/// A folder with texts that run in place of binaries: the hash (SHA-256) of a binary, in hexadecimal,
/// and `.ptx`.
pub const BINARIES_VARIABLE: &str = "SYCLBIN_SIMULATED_CUDA_CUBIN";

/// A call that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fail {
    pub(crate) function: String,
    /// Which call of it, counted from 1.
    pub(crate) call: u32,
    pub(crate) code: u32,
}

/// The devices and the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The compute capability, such as 90.
    pub(crate) sm: u32,
    /// The version of CUDA, such as 12040.
    pub(crate) driver: u32,
    /// Bytes of each device.
    pub(crate) memory: u64,
    pub(crate) devices: i32,
    pub(crate) fails: Vec<Fail>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sm: 90,
            driver: 12040,
            memory: 8 << 30,
            devices: 1,
            fails: Vec::new(),
        }
    }
}

impl Settings {
    /// What the process was started with. What is wrong with the variable is said on the error
    /// stream, because a driver has nobody else to tell.
    pub(crate) fn get() -> &'static Self {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| {
            let text = std::env::var(VARIABLE).unwrap_or_default();
            Self::parse(&text).unwrap_or_else(|error| {
                eprintln!("{VARIABLE}: {error}");
                std::process::exit(2);
            })
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        for entry in text.split(',').filter(|entry| !entry.is_empty()) {
            let wrong = || {
                format!("{entry} is not a setting; there are sm, driver, memory, devices and fail")
            };
            let (name, value) = entry.split_once('=').ok_or_else(wrong)?;
            match name {
                "sm" => settings.sm = value.parse().map_err(|_| wrong())?,
                "driver" => settings.driver = value.parse().map_err(|_| wrong())?,
                "memory" => settings.memory = bytes(value).ok_or_else(wrong)?,
                "devices" => {
                    let devices = value.parse().ok();
                    settings.devices = devices.filter(|n| (0..=2).contains(n)).ok_or_else(wrong)?;
                }
                "fail" => settings.fails.push(fail(value).ok_or_else(wrong)?),
                _ => return Err(wrong()),
            }
        }
        Ok(settings)
    }

    /// The newest version of PTX that the driver takes.
    pub(crate) fn newest_ptx(&self) -> (u32, u32) {
        match (self.driver / 1000, self.driver % 1000 / 10) {
            (13.., minor) => (9, minor),
            (12, minor @ 0..=4) => (8, minor),
            (12, 5 | 6) => (8, 5),
            (12, minor) => (8, minor - 1),
            (11, minor) => (7, minor.min(8)),
            (10, minor) => (6, 3 + minor),
            _ => (6, 2),
        }
    }
}

fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn fail(text: &str) -> Option<Fail> {
    let mut parts = text.split(':');
    let found = Fail {
        function: parts
            .next()
            .filter(|name| name.starts_with("cu"))?
            .to_owned(),
        call: parts.next()?.parse().ok()?,
        code: parts.next().map_or(Some(999), |code| code.parse().ok())?,
    };
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_a_list() {
        let text = "sm=75,driver=11040,memory=64M,devices=2,fail=cuInit:1,fail=cuMemAlloc_v2:3:2";
        let settings = Settings::parse(text).expect("they are settings");
        assert_eq!(
            (settings.sm, settings.driver, settings.devices),
            (75, 11040, 2)
        );
        assert_eq!(settings.memory, 64 << 20);
        assert_eq!(settings.newest_ptx(), (7, 4));
        assert_eq!(settings.fails[0].code, 999);
        assert_eq!((settings.fails[1].call, settings.fails[1].code), (3, 2));
        assert_eq!(
            Settings::parse("").expect("nothing is said"),
            Settings::default()
        );
        assert_eq!(Settings::default().newest_ptx(), (8, 4));
    }

    #[test]
    fn what_is_no_setting_is_named() {
        for text in [
            "sm",
            "sm=x",
            "memory=1X",
            "devices=3",
            "fail=open:1",
            "color=1",
        ] {
            let error = Settings::parse(text).expect_err("it is no setting");
            assert!(error.starts_with(text), "{error}");
        }
    }
}
