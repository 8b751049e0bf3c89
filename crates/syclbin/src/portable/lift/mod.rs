// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lifts global variables, that is, converts them to kernel arguments, for drivers without support for such variables.
//!
//! Few drivers support variables that persist between launches, and OpenCL has no functions to read or write them.
//! Lifting produces a program without such variables: every function takes additional trailing arguments, which point
//! to buffers that contain the variables. The first buffer, the *arena*, has a slot for each variable. A variable
//! whose value the host allocates (without `device_image_scope`) has its own buffer. The slot of such a variable
//! contains a pointer to the buffer. A kernel that needs the slot stores the pointer there on entry.
//!
//! In each module, an additional kernel copies the initial values to the arena.

mod module;
pub(crate) mod scan;

use super::{UnsupportedModule, without_debug_info};
use crate::prelude::*;
use crate::spirv::words;
use scan::Scan;

/// The name prefix of the kernels that lifting adds.
pub const OWN_KERNELS: &str = "__syclbin_";

/// The alignment of slots in bytes: the strictest alignment of any OpenCL type.
const SLOT_ALIGN: u64 = 128;

/// A device global in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Global<'g> {
    /// The unique identifier: the name in the variable's decoration.
    pub id: &'g str,
    /// Whether the variable itself contains the value (`device_image_scope`). Otherwise, it contains a pointer
    /// to the value.
    pub holds_value: bool,
}

/// The part of the arena that stores one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The offset from the start of the arena, in bytes.
    pub offset: u64,
    /// The size in bytes.
    pub bytes: u64,
}

/// The hidden arguments of a program's kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The size of the arena in bytes. The arena is the first hidden argument.
    pub size: u64,
    /// The number of modules. Each module contains a kernel that sets initial values.
    pub modules: u32,
    /// The slots of the variables that the host can access, by the variables' identifiers.
    pub slots: BTreeMap<String, Slot>,
    /// The identifiers of the variables that have their own buffers. These buffers are the remaining hidden arguments,
    /// in this order.
    pub buffers: Vec<String>,
}

/// A program whose global variables have become kernel arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifted {
    /// The modules, in input order.
    pub modules: Vec<Vec<u8>>,
    /// The hidden arguments of the kernels.
    pub layout: Layout,
}

impl Layout {
    /// Returns the number of hidden arguments.
    pub fn arguments(&self) -> usize {
        1 + self.buffers.len()
    }

    /// Returns the name of the kernel that sets the initial values of a module. The kernel takes only the hidden
    /// arguments. The name contains a hash of the layout, so a program with a different layout has no kernel with this
    /// name.
    pub fn setup_kernel(&self, module: u32) -> String {
        // 64-bit FNV-1a.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.to_text().bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        format!("{OWN_KERNELS}set_up_{hash:016x}_{module}")
    }

    /// Returns the layout as text for [`Self::of_text`].
    pub fn to_text(&self) -> String {
        let mut text = format!("{} {}\n", self.size, self.modules);
        for (id, Slot { offset, bytes }) in &self.slots {
            text += &format!("{offset} {bytes} {id}\n");
        }
        text += "\n";
        for id in &self.buffers {
            text += &format!("{id}\n");
        }
        text
    }

    /// Parses the output of [`Self::to_text`]. Returns `None` if the text is malformed, if a slot exceeds the arena, or
    /// if a variable with its own buffer has no slot.
    pub fn of_text(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (size, modules) = lines.next()?.split_once(' ')?;
        let mut layout = Self {
            size: size.parse().ok()?,
            modules: modules.parse().ok().filter(|modules| *modules > 0)?,
            ..Self::default()
        };
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            let mut parts = line.splitn(3, ' ');
            let offset = parts.next()?.parse::<u64>().ok()?;
            let bytes = parts.next()?.parse().ok()?;
            if offset.checked_add(bytes)? > layout.size {
                return None;
            }
            let id = parts.next()?.to_owned();
            layout.slots.insert(id, Slot { offset, bytes });
        }
        layout.buffers = lines.map(str::to_owned).collect();
        let known = |id: &String| layout.slots.contains_key(id);
        layout.buffers.iter().all(known).then_some(layout)
    }
}

/// Lifts the variables of a program. `modules` contains all modules of the program. Returns `None` if the program has
/// no variables.
///
/// Debug information is removed, because it describes the lifted variables and would crash the compiler in Intel's
/// GPU driver.
///
/// # Errors
///
/// Returns an error if a module is not SPIR-V, or if the variables cannot be lifted.
pub fn lift(
    modules: &[&[u8]],
    globals: &[Global<'_>],
) -> Result<Option<Lifted>, UnsupportedModule> {
    let words = modules
        .iter()
        .map(|module| without_debug_info(words::words(module)?));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let scans = modules.iter().zip(&words);
    let scans = scans.map(|(module, words)| Scan::new(module, words));
    let mut scans = scans.collect::<Result<Vec<_>, _>>()?;
    if scans.iter().all(|scan| scan.variables.is_empty()) {
        return Ok(None);
    }
    let layout = place(&mut scans, globals)?;
    let exported: BTreeSet<String> = scans.iter().flat_map(Scan::exported).collect();
    let mut modules = Vec::new();
    for (number, scan) in (0..).zip(&scans) {
        let setup = layout.setup_kernel(number);
        let words = module::lifted(scan, &layout, &exported, &setup)?;
        modules.push(words::bytes(words));
    }
    // Some damage to the input becomes apparent only here. Unreadable output must reach neither a driver nor a saved
    // file.
    let readable = |module: &Vec<u8>| crate::spirv::module::Module::parse(module).is_ok();
    if !modules.iter().all(readable) || Layout::of_text(&layout.to_text()).as_ref() != Some(&layout)
    {
        return unsupported("its variables or their names are damaged");
    }
    Ok(Some(Lifted { modules, layout }))
}

/// Assigns a slot to each variable. Variables with the same linkage name or the same name on the host share a slot.
fn place(scans: &mut [Scan<'_>], globals: &[Global<'_>]) -> Result<Layout, UnsupportedModule> {
    let mut layout = Layout {
        modules: u32::try_from(scans.len()).unwrap_or(u32::MAX),
        ..Layout::default()
    };
    let mut by_link: BTreeMap<String, u64> = BTreeMap::new();
    for scan in &mut *scans {
        for variable in scan.variables.values_mut().filter(|known| !known.imported) {
            let Some(bytes) = variable.bytes else {
                return unsupported("the size of a variable is unknown");
            };
            let linked = variable.link.as_ref().and_then(|link| by_link.get(link));
            // Copies of a `static` device global in several modules have one name on the host.
            let named = variable
                .host
                .as_ref()
                .and_then(|host| layout.slots.get(host));
            let named = named.filter(|slot| slot.bytes == bytes);
            let shared = linked.copied().or(named.map(|slot| slot.offset));
            let offset = shared.unwrap_or(layout.size);
            if shared.is_none() {
                let end = offset.checked_add(bytes);
                let Some(end) = end.and_then(|end| end.checked_next_multiple_of(SLOT_ALIGN)) else {
                    return unsupported("its variables are too large");
                };
                layout.size = end;
            }
            variable.offset = Some(offset);
            if let Some(link) = &variable.link {
                by_link.entry(link.clone()).or_insert(offset);
            }
            if let Some(host) = &variable.host {
                let slot = Slot { offset, bytes };
                layout.slots.entry(host.clone()).or_insert(slot);
            }
        }
    }
    for scan in scans {
        for variable in scan.variables.values_mut() {
            let link = variable.link.as_ref();
            let shared = || link.and_then(|link| by_link.get(link)).copied();
            variable.offset = variable.offset.or_else(shared);
            if variable.offset.is_none() {
                return unsupported("it imports a variable that no module defines");
            }
        }
    }
    let pointers = globals.iter().filter(|global| !global.holds_value);
    let pointers: BTreeSet<&str> = pointers.map(|global| global.id).collect();
    let has_slot = |id: &&str| layout.slots.get(*id).is_some_and(|slot| slot.bytes >= 8);
    let buffers = pointers.into_iter().filter(has_slot);
    layout.buffers = buffers.map(str::to_owned).collect();
    Ok(layout)
}

const fn unsupported<T>(reason: &'static str) -> Result<T, UnsupportedModule> {
    Err(UnsupportedModule::Variable(reason))
}
