// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds OffloadBinaries in LLVM bitcode, which contains the host code under link-time optimization.
//!
//! Clang embeds them as a global byte array, which the bitcode stores in a record of the module's constants ("LLVM
//! Bitcode File Format"). Only constant blocks are read. Other blocks are skipped by their size.

use alloc::string::String;
use alloc::vec::Vec;

use syclbin::__private::raw::offload_binary;
use syclbin::{Error, ErrorKind};

const MAGIC: &[u8] = b"BC\xc0\xde";
const WRAPPER_MAGIC: &[u8] = &[0xde, 0xc0, 0x17, 0x0b];

const BLOCK_INFO: u64 = 0;
const MODULE: u64 = 8;
const CONSTANTS: u64 = 11;
/// The block-info record that names the block to which the following abbreviations apply.
const SET_BLOCK: u64 = 1;
/// Constant records for byte arrays, without and with a terminating zero.
const STRING: u64 = 8;
const C_STRING: u64 = 9;

const END_BLOCK: u64 = 0;
const ENTER_BLOCK: u64 = 1;
const DEFINE_ABBREVIATION: u64 = 2;
const UNABBREVIATED: u64 = 3;

/// The maximum number of operands in an abbreviation. LLVM uses fewer than twenty. Records of literals occupy few
/// bits, so with long abbreviations a small file would take long to read.
const LONGEST: u64 = 64;

/// Returns the OffloadBinaries in the constants of the modules in `bytes`.
pub(super) fn offload_binaries(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let mut found = Vec::new();
    let stream = unwrapped(bytes).unwrap_or_default();
    let mut bits = Bits {
        bytes: stream,
        at: 0,
    };
    let read = |bits: &mut Bits<'_>, found: &mut Vec<Vec<u8>>| {
        bits.read(32).filter(|_| stream.starts_with(MAGIC))?;
        // Linkers may leave a partial word after the last block.
        while stream.len() * 8 - bits.at >= 32 {
            if bits.read(2)? != ENTER_BLOCK {
                return None;
            }
            let block = bits.enter()?;
            if block.id == MODULE {
                module(bits, &block, found)?;
            }
            bits.at = block.end;
        }
        Some(())
    };
    match read(&mut bits, &mut found) {
        Some(()) => Ok(found),
        None => {
            let problem = String::from("the bitcode is truncated or malformed");
            let at = (bits.at / 8) as u64;
            let start = bytes.len().saturating_sub(stream.len()) as u64;
            Err(Error::new(
                "LLVM bitcode",
                at.min(start + at),
                ErrorKind::Object(problem),
            ))
        }
    }
}

/// Returns the bitcode without the wrapper that Apple's tools put around it.
fn unwrapped(bytes: &[u8]) -> Option<&[u8]> {
    if !bytes.starts_with(WRAPPER_MAGIC) {
        return Some(bytes);
    }
    let field = |at: usize| {
        let field = bytes.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(field)).ok()
    };
    let (start, size) = (field(8)?, field(12)?);
    bytes.get(start..start.checked_add(size)?)
}

/// Reads a module: its block info, and its constants.
fn module(bits: &mut Bits<'_>, module: &Block, found: &mut Vec<Vec<u8>>) -> Option<()> {
    let mut own = Vec::new();
    // Abbreviations for all blocks of constants.
    let mut constants = Vec::new();
    loop {
        match bits.read(module.width)? {
            END_BLOCK => return Some(()),
            ENTER_BLOCK => {
                let block = bits.enter()?;
                match block.id {
                    BLOCK_INFO => block_info(bits, &block, &mut constants)?,
                    CONSTANTS => strings(bits, &block, &constants, found)?,
                    _ => {}
                }
                bits.at = block.end;
            }
            DEFINE_ABBREVIATION => own.push(bits.abbreviation()?),
            id => drop(bits.record(id, [&[], &own], |_| false)?),
        }
    }
}

fn block_info(bits: &mut Bits<'_>, block: &Block, constants: &mut Vec<Abbreviation>) -> Option<()> {
    let mut described = None;
    loop {
        match bits.read(block.width)? {
            END_BLOCK => return Some(()),
            DEFINE_ABBREVIATION => {
                let abbreviation = bits.abbreviation()?;
                if described == Some(CONSTANTS) {
                    constants.push(abbreviation);
                }
            }
            UNABBREVIATED => {
                let code = bits.vbr(6)?;
                let count = bits.vbr(6)?;
                for index in 0..count {
                    let value = bits.vbr(6)?;
                    if code == SET_BLOCK && index == 0 {
                        described = Some(value);
                    }
                }
            }
            _ => return None,
        }
    }
}

/// Reads a constant block and collects its OffloadBinaries.
fn strings(
    bits: &mut Bits<'_>,
    block: &Block,
    shared: &[Abbreviation],
    found: &mut Vec<Vec<u8>>,
) -> Option<()> {
    let mut own = Vec::new();
    loop {
        match bits.read(block.width)? {
            END_BLOCK => return Some(()),
            ENTER_BLOCK => bits.at = bits.enter()?.end,
            DEFINE_ABBREVIATION => own.push(bits.abbreviation()?),
            id => {
                let wanted = |code| matches!(code, STRING | C_STRING);
                let (code, mut bytes) = bits.record(id, [shared, &own], wanted)?;
                if bytes.starts_with(&offload_binary::MAGIC) {
                    if code == C_STRING {
                        bytes.push(0);
                    }
                    found.push(bytes);
                }
            }
        }
    }
}

/// A block: its id, the width of its abbreviation ids in bits, and its end.
struct Block {
    id: u64,
    width: u64,
    end: usize,
}

type Abbreviation = Vec<Operand>;

/// The encoding of a value in an abbreviated record.
#[derive(Clone, Copy)]
enum Operand {
    Literal(u64),
    Fixed(u64),
    Vbr(u64),
    Char6,
    /// An array. The next operand gives the encoding of its elements.
    Array,
    Blob,
}

/// A cursor over bits. Each method returns `None` if the bits end or are invalid.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn left(&self) -> usize {
        (self.bytes.len() * 8).saturating_sub(self.at)
    }

    /// Reads a number of `width` bits, at most 56.
    fn read(&mut self, width: u64) -> Option<u64> {
        let width = usize::try_from(width).ok().filter(|width| *width <= 56)?;
        if width > self.left() {
            return None;
        }
        let rest = self.bytes.get(self.at / 8..)?;
        let mut word = [0; 8];
        let size = rest.len().min(8);
        word[..size].copy_from_slice(&rest[..size]);
        let value = u64::from_le_bytes(word) >> (self.at % 8);
        self.at += width;
        Some(value & ((1 << width) - 1))
    }

    /// Reads a number in groups of `width` bits. The high bit is clear in the last group.
    fn vbr(&mut self, width: u64) -> Option<u64> {
        let more = 1 << width.checked_sub(1).filter(|shift| *shift < 32)?;
        let (mut value, mut shift) = (0, 0u64);
        loop {
            let group = self.read(width)?;
            if shift < 64 {
                value |= (group & (more - 1)) << shift;
            }
            if group & more == 0 {
                return Some(value);
            }
            shift += width - 1;
        }
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    fn enter(&mut self) -> Option<Block> {
        let (id, width) = (self.vbr(8)?, self.vbr(4)?);
        self.align();
        let words = usize::try_from(self.read(32)?).ok()?;
        let size = words.checked_mul(32).filter(|size| *size <= self.left())?;
        // A zero-width number would loop forever.
        (width >= 2).then_some(Block {
            id,
            width,
            end: self.at + size,
        })
    }

    fn abbreviation(&mut self) -> Option<Abbreviation> {
        let count = self.vbr(5)?;
        if count > LONGEST {
            return None;
        }
        let mut operands = Vec::new();
        for _ in 0..count {
            operands.push(if self.read(1)? == 1 {
                Operand::Literal(self.vbr(8)?)
            } else {
                match self.read(3)? {
                    1 => Operand::Fixed(self.vbr(5)?),
                    2 => match self.vbr(5)? {
                        0 => Operand::Literal(0),
                        width => Operand::Vbr(width),
                    },
                    3 => Operand::Array,
                    4 => Operand::Char6,
                    5 => Operand::Blob,
                    _ => return None,
                }
            });
        }
        Some(operands)
    }

    /// Reads a single value.
    fn value(&mut self, operand: Operand) -> Option<u64> {
        const CHARACTERS: &[u8; 64] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
        match operand {
            Operand::Literal(value) => Some(value),
            Operand::Fixed(width) => self.read(width),
            Operand::Vbr(width) => self.vbr(width),
            Operand::Char6 => {
                let index = usize::try_from(self.read(6)?).ok()?;
                Some(CHARACTERS.get(index).copied()?.into())
            }
            Operand::Array | Operand::Blob => None,
        }
    }

    /// Reads a record. Returns its code and, if `wanted`, its values as bytes. Abbreviations from the block info
    /// precede those of the block.
    fn record(
        &mut self,
        id: u64,
        abbreviations: [&[Abbreviation]; 2],
        wanted: impl Fn(u64) -> bool,
    ) -> Option<(u64, Vec<u8>)> {
        let mut bytes = Vec::new();
        if id == UNABBREVIATED {
            let code = self.vbr(6)?;
            self.elements(Operand::Vbr(6), wanted(code), &mut bytes)?;
            return Some((code, bytes));
        }
        let index = usize::try_from(id).ok()?.checked_sub(4)?;
        let [shared, own] = abbreviations;
        let abbreviation = match index.checked_sub(shared.len()) {
            Some(index) => own.get(index)?,
            None => shared.get(index)?,
        };
        let mut operands = abbreviation.iter().copied();
        let code = self.value(operands.next()?)?;
        let wanted = wanted(code);
        while let Some(operand) = operands.next() {
            match operand {
                Operand::Array => self.elements(operands.next()?, wanted, &mut bytes)?,
                Operand::Blob => {
                    let size = usize::try_from(self.vbr(6)?).ok()?;
                    self.align();
                    let start = self.at / 8;
                    let blob = self.bytes.get(start..start.checked_add(size)?)?;
                    if wanted {
                        bytes.extend_from_slice(blob);
                    }
                    self.at += size * 8;
                    self.align();
                }
                single => {
                    let value = self.value(single)?;
                    if wanted {
                        bytes.push(u8::try_from(value).ok()?);
                    }
                }
            }
        }
        Some((code, bytes))
    }

    /// Reads the number of values, and then the values.
    fn elements(&mut self, operand: Operand, wanted: bool, bytes: &mut Vec<u8>) -> Option<()> {
        let count = self.vbr(6)?;
        // Zero-width elements would let a small file expand to a huge one.
        let is_nothing = matches!(operand, Operand::Literal(_) | Operand::Fixed(0));
        if is_nothing && count > 0 {
            return None;
        }
        for _ in 0..count {
            let value = self.value(operand)?;
            if wanted {
                bytes.push(u8::try_from(value).ok()?);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits, each number with its lowest bit first.
    #[derive(Default)]
    struct Writer(Vec<bool>);

    impl Writer {
        fn fixed(&mut self, value: u64, width: u32) {
            self.0.extend((0..width).map(|bit| value >> bit & 1 == 1));
        }

        fn vbr(&mut self, mut value: u64, width: u32) {
            let more = 1 << (width - 1);
            while value >= more {
                self.fixed(value % more + more, width);
                value /= more;
            }
            self.fixed(value, width);
        }

        fn align(&mut self) {
            let end = self.0.len().next_multiple_of(32);
            self.0.resize(end, false);
        }

        fn bytes(&self) -> Vec<u8> {
            let byte = |bits: &[bool]| {
                bits.iter()
                    .rev()
                    .fold(0, |byte, bit| byte * 2 + u8::from(*bit))
            };
            self.0.chunks(8).map(byte).collect()
        }
    }

    /// Returns bitcode with a module whose abbreviation IDs have three bits.
    fn module_of(content: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut inside = Writer::default();
        content(&mut inside);
        inside.fixed(0, 3);
        inside.align();
        let mut whole = Writer::default();
        whole.fixed(0xdec0_4342, 32);
        whole.fixed(ENTER_BLOCK, 2);
        whole.vbr(8, 8);
        whole.vbr(3, 4);
        whole.align();
        whole.fixed(inside.0.len() as u64 / 32, 32);
        whole.0.extend(inside.0);
        whole.bytes()
    }

    /// Defines an abbreviation of a literal and an array of `element_width` bits, and a record of `count` elements.
    fn array(count: u64, element_width: u64) -> Vec<u8> {
        module_of(|inside| {
            inside.fixed(DEFINE_ABBREVIATION, 3);
            inside.vbr(3, 5);
            inside.fixed(1, 1);
            inside.vbr(99, 8);
            // An array, and its elements of fixed width.
            inside.fixed(0, 1);
            inside.fixed(3, 3);
            inside.fixed(0, 1);
            inside.fixed(1, 3);
            inside.vbr(element_width, 5);
            // The first abbreviation has ID 4.
            inside.fixed(4, 3);
            inside.vbr(count, 6);
            let bits = count.min(8) * element_width;
            inside.fixed(0, u32::try_from(bits).unwrap());
        })
    }

    #[test]
    fn elements_without_bits_are_refused() {
        assert_eq!(offload_binaries(&array(3, 8)).unwrap(), [[0; 0]; 0]);
        assert!(offload_binaries(&array(1 << 40, 0)).is_err());
        assert!(offload_binaries(&array(1 << 40, 8)).is_err());
    }

    #[test]
    fn long_abbreviations_are_refused() {
        let literals = |count: u64| {
            module_of(|inside| {
                inside.fixed(DEFINE_ABBREVIATION, 3);
                inside.vbr(count, 5);
                for _ in 0..count {
                    inside.fixed(1, 1);
                    inside.vbr(0, 8);
                }
                inside.fixed(4, 3);
            })
        };
        assert!(offload_binaries(&literals(LONGEST)).is_ok());
        assert!(offload_binaries(&literals(LONGEST + 1)).is_err());
    }
}
