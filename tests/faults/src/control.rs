// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a call fails; and how a program that has loaded the library says so, and hears of it.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libloading::Library;
use opencl_sys::cl_int;

use crate::live;
use crate::pass::Role;
use crate::plan::{How, Plan};
use crate::slot::{self, Slot};

/// What happens to a call.
pub(crate) enum Verdict {
    Pass,
    Refuse(cl_int),
    Null,
    Later(cl_int),
}

/// What is to fail next.
static PLAN: Mutex<Option<Plan>> = Mutex::new(None);
/// How many calls there were that are no releases.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// How many calls were failed.
static FIRED: AtomicU64 = AtomicU64::new(0);

/// The plan; at first the environment's.
fn plan() -> MutexGuard<'static, Option<Plan>> {
    static READ: OnceLock<()> = OnceLock::new();
    let mut plan = PLAN.lock().unwrap_or_else(PoisonError::into_inner);
    READ.get_or_init(|| {
        let words = std::env::var(crate::FAULT_VARIABLE).unwrap_or_default();
        if !words.is_empty() {
            match words.parse() {
                Ok(read) => *plan = Some(read),
                // Going on would be a test of nothing.
                Err(error) => {
                    eprintln!("faults: {}: {error}", crate::FAULT_VARIABLE);
                    std::process::exit(2);
                }
            }
        }
    });
    plan
}

/// Counts a call and decides over it.
pub(crate) fn decide(slot: &Slot, role: &Role, usual: cl_int) -> Verdict {
    let nth = slot.count();
    let of_all = if role.is_release() {
        0
    } else {
        CALLS.fetch_add(1, Ordering::SeqCst) + 1
    };
    let plan = plan();
    let Some(plan) = plan.as_ref() else {
        return Verdict::Pass;
    };
    let nth = match &plan.function {
        Some(function) if function == slot.name() => nth,
        Some(_) => return Verdict::Pass,
        None => of_all,
    };
    if nth < plan.nth || nth > plan.nth && !plan.onward {
        return Verdict::Pass;
    }
    FIRED.fetch_add(1, Ordering::SeqCst);
    match plan.how {
        How::Usual => Verdict::Refuse(usual),
        How::Code(code) => Verdict::Refuse(code),
        How::Null => Verdict::Null,
        How::Later(code) => Verdict::Later(code),
    }
}

/// Sets what fails next, or nothing where `words` are null, and starts counting anew. Returns 0 when
/// the words are a [`Plan`].
///
/// # Safety
///
/// `words` are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syclbin_faults_arm(words: *const c_char) -> cl_int {
    let armed = if words.is_null() {
        None
    } else {
        // SAFETY: they are not null, and the caller vouches for the rest.
        let words = unsafe { CStr::from_ptr(words) };
        match words.to_string_lossy().parse() {
            Ok(plan) => Some(plan),
            Err(_) => return -1,
        }
    };
    let mut plan = plan();
    *plan = armed;
    CALLS.store(0, Ordering::SeqCst);
    FIRED.store(0, Ordering::SeqCst);
    slot::all().for_each(|entry| entry.slot.reset());
    0
}

/// Writes what happened since then, as lines of words, and returns how many bytes that takes. What
/// does not fit is left out.
///
/// # Safety
///
/// `text` is null or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syclbin_faults_report(text: *mut u8, size: usize) -> usize {
    let mut report = format!("failed {}\n", FIRED.load(Ordering::SeqCst));
    let _ = writeln!(report, "all {}", CALLS.load(Ordering::SeqCst));
    let _ = writeln!(report, "strange {}", live::strange_releases());
    for entry in slot::all() {
        let calls = entry.slot.calls();
        if calls > 0 {
            let _ = writeln!(report, "calls {} {calls}", entry.slot.name());
        }
    }
    for (kind, count) in live::count() {
        let _ = writeln!(report, "live {kind} {count}");
    }
    if !text.is_null() {
        let len = report.len().min(size);
        // SAFETY: there is room for `size` bytes, and `len` are no more.
        unsafe { std::ptr::copy_nonoverlapping(report.as_ptr(), text, len) };
    }
    report.len()
}

/// The library, as loaded by this process.
pub struct Control {
    arm: unsafe extern "C" fn(*const c_char) -> cl_int,
    report: unsafe extern "C" fn(*mut u8, usize) -> usize,
}

/// What happened since the last [`Control::arm`] or [`Control::disarm`], and what lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many calls were failed.
    pub failed: u64,
    /// How many calls there were, without those that release something.
    pub all: u64,
    /// How many releases there ever were of what did not live.
    pub strange: u64,
    /// The calls of each function.
    pub calls: BTreeMap<String, u64>,
    /// The references to objects of each kind.
    pub live: BTreeMap<String, u64>,
}

impl Control {
    /// Opens the library at `path`, which a program that uses it has loaded or will load.
    ///
    /// # Errors
    ///
    /// When it is not this library.
    pub fn load(path: &OsStr) -> Result<Self, libloading::Error> {
        // SAFETY: the library has no initializers, and the two functions have these types.
        unsafe {
            let library: &'static Library = Box::leak(Box::new(Library::new(path)?));
            Ok(Self {
                arm: *library.get(b"syclbin_faults_arm\0")?,
                report: *library.get(b"syclbin_faults_report\0")?,
            })
        }
    }

    /// Has it fail what `plan` says, a [`Plan`] in words, counted from now on.
    ///
    /// # Errors
    ///
    /// When the words are none.
    pub fn arm(&self, plan: &str) -> Result<(), crate::PlanError> {
        plan.parse::<Plan>()?;
        let words = CString::new(plan).unwrap_or_default();
        // SAFETY: they are NUL-terminated. That they are good was seen.
        unsafe { (self.arm)(words.as_ptr()) };
        Ok(())
    }

    /// Has it fail nothing, and counts anew.
    pub fn disarm(&self) {
        // SAFETY: null is fine.
        unsafe { (self.arm)(std::ptr::null()) };
    }

    /// Returns what happened.
    #[must_use]
    pub fn report(&self) -> Report {
        let mut text = vec![0; 1 << 16];
        // SAFETY: the text has that many bytes.
        let len = unsafe { (self.report)(text.as_mut_ptr(), text.len()) };
        text.truncate(len);
        let mut report = Report::default();
        for line in String::from_utf8_lossy(&text).lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = words.last().and_then(|word| word.parse().ok());
            let number = number.unwrap_or_default();
            match words[..] {
                ["failed", _] => report.failed = number,
                ["all", _] => report.all = number,
                ["strange", _] => report.strange = number,
                ["calls", name, _] => {
                    report.calls.insert(name.to_owned(), number);
                }
                ["live", kind, _] => {
                    report.live.insert(kind.to_owned(), number);
                }
                _ => {}
            }
        }
        report
    }
}
