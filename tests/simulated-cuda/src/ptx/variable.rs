// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declarations of variables, with their initializers.

use super::lex::Token;
use super::parse::Parser;
use super::{Linkage, Relocation, Space, Syntax, Variable};

/// What a declaration says before its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Bytes of an element.
    pub(super) width: usize,
    pub(super) align: usize,
}

/// How many bytes a type has; nothing if it is none.
pub(super) fn width(kind: &str) -> Option<usize> {
    Some(match kind {
        ".b8" | ".u8" | ".s8" | ".pred" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        ".b128" => 16,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    /// `.align 4 .b8`, `.u64 .ptr .global .align 4`, `.v2 .f32`: all up to a name.
    pub(super) fn shape(&mut self) -> Result<Shape, Syntax> {
        let mut element = None;
        let mut align = None;
        let mut many = 1;
        let mut of_pointee = false;
        loop {
            match self.peek() {
                Some(Token::Word(".align")) => {
                    self.word()?;
                    let bytes = self.size()?;
                    if !bytes.is_power_of_two() {
                        return Err(self.wrong("an alignment has to be a power of two"));
                    }
                    if !of_pointee {
                        align = Some(bytes);
                    }
                }
                Some(Token::Word(".ptr")) => {
                    self.word()?;
                    of_pointee = true;
                }
                Some(Token::Word(".v2")) => {
                    self.word()?;
                    many = 2;
                }
                Some(Token::Word(".v4")) => {
                    self.word()?;
                    many = 4;
                }
                Some(Token::Word(word)) if word.starts_with('.') => {
                    self.word()?;
                    element = width(word).or(element);
                }
                _ => break,
            }
        }
        let element = element.ok_or_else(|| self.wrong("a declaration has no type"))?;
        let width = element * many;
        Ok(Shape {
            width,
            align: align.unwrap_or(width),
        })
    }

    /// `[4][2]`, `[]` or nothing: how many elements; `[]` are none.
    pub(super) fn extent(&mut self) -> Result<usize, Syntax> {
        let mut count = 1usize;
        while self.take('[') {
            let size = if self.peek() == Some(Token::Sign(']')) {
                0
            } else {
                self.size()?
            };
            self.expect(']')?;
            count = count
                .checked_mul(size)
                .filter(|&count| count < 1 << 32)
                .ok_or_else(|| self.wrong("an array is too large"))?;
        }
        Ok(count)
    }

    /// A variable of the module, from its space to its semicolon.
    pub(super) fn variable(&mut self, linkage: Linkage) -> Result<Variable, Syntax> {
        self.variable_named(linkage).map(|(_, variable)| variable)
    }

    /// The same, with its name as the text has it.
    pub(super) fn variable_named(
        &mut self,
        linkage: Linkage,
    ) -> Result<(&'a str, Variable), Syntax> {
        let space = match self.word()? {
            ".shared" => Space::Shared,
            _ => Space::Global,
        };
        let shape = self.shape()?;
        let name = self.word()?;
        let count = self.extent()?;
        let mut variable = Variable {
            name: name.to_owned(),
            space,
            linkage,
            size: shape.width * count,
            align: shape.align,
            content: Vec::new(),
            relocations: Vec::new(),
        };
        if self.take('=') {
            self.elements(&mut variable, shape.width)?;
            if variable.size == 0 {
                variable.size = variable.content.len();
            }
            if variable.content.len() > variable.size {
                return Err(self.wrong(format!("{} has too many elements", variable.name)));
            }
        }
        self.expect(';')?;
        Ok((name, variable))
    }

    fn elements(&mut self, variable: &mut Variable, width: usize) -> Result<(), Syntax> {
        if !self.take('{') {
            return self.element(variable, width);
        }
        while !self.take('}') {
            if self.peek() == Some(Token::Sign('{')) {
                self.elements(variable, width)?;
            } else {
                self.element(variable, width)?;
            }
            if !self.take(',') && self.peek() != Some(Token::Sign('}')) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// A number; or an address, of which `0xFF00(name)` takes one byte.
    fn element(&mut self, variable: &mut Variable, width: usize) -> Result<(), Syntax> {
        let negative = self.take('-');
        let value = match self.next() {
            Some(Token::Integer(mask)) if self.take('(') => {
                let symbol = self.word()?.to_owned();
                let (symbol, addend) = self.address_of(symbol)?;
                self.expect(')')?;
                variable.relocations.push(Relocation {
                    at: variable.content.len(),
                    width,
                    symbol,
                    addend,
                    shift: mask.trailing_zeros().min(63),
                });
                0
            }
            Some(Token::Integer(value)) if negative => value.wrapping_neg(),
            Some(Token::Integer(value)) => value,
            Some(Token::Single(bits)) => u64::from(bits),
            Some(Token::Double(bits)) if width == 4 => {
                let single = f64::from_bits(bits) as f32;
                u64::from(single.to_bits())
            }
            Some(Token::Double(bits)) => bits,
            Some(Token::Word(symbol)) => {
                let (symbol, addend) = self.address_of(symbol.to_owned())?;
                variable.relocations.push(Relocation {
                    at: variable.content.len(),
                    width,
                    symbol,
                    addend,
                    shift: 0,
                });
                0
            }
            _ => return Err(self.unexpected()),
        };
        let bytes = value.to_le_bytes();
        variable.content.extend(&bytes[..width.min(8)]);
        Ok(())
    }

    /// The rest of `name`, `name+8` or `generic(name)+8`.
    fn address_of(&mut self, word: String) -> Result<(String, i64), Syntax> {
        let symbol = if word == "generic" && self.take('(') {
            let symbol = self.word()?.to_owned();
            self.expect(')')?;
            symbol
        } else {
            word
        };
        Ok((symbol, self.offset()?))
    }

    /// `+8`, `-8`, `+-8` or nothing.
    pub(super) fn offset(&mut self) -> Result<i64, Syntax> {
        let plus = self.take('+');
        let minus = self.take('-');
        if !plus && !minus {
            return Ok(0);
        }
        let value = self.integer()?.cast_signed();
        Ok(if minus { value.wrapping_neg() } else { value })
    }
}
