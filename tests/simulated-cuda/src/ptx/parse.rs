// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outermost level of a text: version, target, functions and variables.

use super::lex::{Token, tokens};
use super::{Function, Linkage, Syntax, Unit};

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Unit, Syntax> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        unit: Unit::default(),
    };
    parser.all()?;
    Ok(parser.unit)
}

/// Tokens, and what was made of those before.
pub(super) struct Parser<'a> {
    tokens: Vec<(Token<'a>, u32)>,
    at: usize,
    pub(super) unit: Unit,
}

impl<'a> Parser<'a> {
    fn all(&mut self) -> Result<(), Syntax> {
        let mut linkage = Linkage::Local;
        while let Some(token) = self.peek() {
            let Token::Word(word) = token else {
                return Err(self.unexpected());
            };
            match word {
                ".version" => {
                    self.at += 1;
                    self.unit.version = self.version()?;
                }
                ".target" => {
                    self.at += 1;
                    self.target()?;
                }
                ".address_size" => {
                    self.at += 1;
                    if self.integer()? != 64 {
                        return Err(self.wrong("addresses have to be of 64 bits"));
                    }
                }
                ".visible" | ".weak" | ".extern" | ".common" => {
                    self.at += 1;
                    linkage = match word {
                        ".visible" => Linkage::Visible,
                        ".extern" => Linkage::Extern,
                        _ => Linkage::Weak,
                    };
                    continue;
                }
                ".entry" | ".func" => self.function(linkage)?,
                ".global" | ".const" | ".shared" => {
                    let variable = self.variable(linkage)?;
                    self.unit.variables.push(variable);
                }
                ".file" | ".alias" | ".pragma" | ".loc" => self.rest_of_line(),
                ".section" => self.section()?,
                _ => return Err(self.wrong(format!("{word} is not known here"))),
            }
            linkage = Linkage::Local;
        }
        if self.unit.version == (0, 0) {
            return Err(Syntax::new(1, "there is no .version"));
        }
        if self.unit.target == 0 {
            return Err(Syntax::new(1, "there is no .target"));
        }
        Ok(())
    }

    fn version(&mut self) -> Result<(u32, u32), Syntax> {
        let line = self.line();
        let Some(Token::Double(bits)) = self.next() else {
            return Err(Syntax::new(line, "a .version is like 6.3"));
        };
        let text = format!("{:.1}", f64::from_bits(bits));
        let parts = text.split_once('.').and_then(|(major, minor)| {
            let major = major.parse().ok()?;
            Some((major, minor.parse().ok()?))
        });
        parts.ok_or_else(|| Syntax::new(line, "a .version is like 6.3"))
    }

    fn target(&mut self) -> Result<(), Syntax> {
        loop {
            let word = self.word()?;
            if let Some(number) = word.strip_prefix("sm_") {
                let digits = number.trim_end_matches(['a', 'f']);
                self.unit.target = digits
                    .parse()
                    .map_err(|_| self.wrong(format!("{word} is no target")))?;
            }
            if !self.take(',') {
                return Ok(());
            }
        }
    }

    fn section(&mut self) -> Result<(), Syntax> {
        self.at += 2;
        if !self.take('{') {
            return Err(self.unexpected());
        }
        while !self.take('}') {
            if self.next().is_none() {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// Passes what is on the line of the next token.
    pub(super) fn rest_of_line(&mut self) {
        let line = self.line();
        while self.peek().is_some() && self.line() == line {
            self.at += 1;
        }
    }

    fn function(&mut self, linkage: Linkage) -> Result<(), Syntax> {
        let function = super::function::function(self, linkage)?;
        // A definition takes the place of its declaration.
        let known = self.unit.functions.iter_mut();
        let same = |other: &&mut Function| other.name == function.name;
        match { known }.find(same) {
            Some(known) if known.body.is_none() => *known = function,
            Some(known) if function.body.is_none() || known.linkage == Linkage::Weak => {}
            Some(_) => return Err(self.wrong(format!("{} is defined twice", function.name))),
            None => self.unit.functions.push(function),
        }
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, by: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + by).map(|(token, _)| *token)
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    pub(super) fn line(&self) -> u32 {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(1, |(_, line)| *line)
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> Syntax {
        Syntax::new(self.line(), what)
    }

    pub(super) fn unexpected(&self) -> Syntax {
        match self.peek() {
            None => self.wrong("the text ends too early"),
            Some(Token::Word(word)) => self.wrong(format!("unexpected {word}")),
            Some(Token::Sign(sign)) => self.wrong(format!("unexpected {sign}")),
            Some(_) => self.wrong("unexpected number or string"),
        }
    }

    /// Takes a sign, if it is the next.
    pub(super) fn take(&mut self, sign: char) -> bool {
        let there = self.peek() == Some(Token::Sign(sign));
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, sign: char) -> Result<(), Syntax> {
        if self.take(sign) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let there = self.peek() == Some(Token::Word(word));
        self.at += usize::from(there);
        there
    }

    pub(super) fn word(&mut self) -> Result<&'a str, Syntax> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn integer(&mut self) -> Result<u64, Syntax> {
        match self.peek() {
            Some(Token::Integer(value)) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn size(&mut self) -> Result<usize, Syntax> {
        let value = self.integer()?;
        usize::try_from(value).map_err(|_| self.wrong(format!("{value} is too large")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::Space;

    const HEAD: &str = ".version 6.3\n.target sm_75, debug\n.address_size 64\n";

    #[test]
    fn a_text_has_a_version_and_a_target() {
        let unit = parse(HEAD).expect("it is a text");
        assert_eq!((unit.version, unit.target), ((6, 3), 75));
        for text in ["", ".version 6.3", ".target sm_70", ".version six"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_definition_takes_the_place_of_its_declaration() {
        let text = format!("{HEAD}.func a();\n.func a() {{ ret; }}\n.func a();");
        let unit = parse(&text).expect("it is a text");
        assert_eq!(unit.functions.len(), 1);
        assert!(unit.functions[0].body.is_some());
        let twice = format!("{HEAD}.func a() {{ ret; }}\n.func a() {{ ret; }}");
        assert!(parse(&twice).is_err());
    }

    #[test]
    fn unknown_directive_is_named_with_its_line() {
        let error = parse(&format!("{HEAD}.texref t;")).expect_err("textures are not known");
        assert_eq!(error.to_string(), "line 4: .texref is not known here");
    }

    #[test]
    fn variables_have_sizes_contents_and_addresses() {
        let text = format!(
            "{HEAD}.visible .global .align 4 .b8 a[6] = {{1, 2}};\n\
             .const .f32 c = 0f3F800000;\n\
             .global .u64 p[3] = {{a, generic(a)+8, 7}};\n\
             .extern .shared .align 16 .b8 s[];"
        );
        let unit = parse(&text).expect("it is a text");
        let [a, c, p, s] = &unit.variables[..] else {
            unreachable!("there are four variables");
        };
        assert_eq!((a.size, a.align, &a.content[..]), (6, 4, &[1, 2][..]));
        assert_eq!(a.linkage, Linkage::Visible);
        assert_eq!(c.content, 1f32.to_le_bytes());
        assert_eq!(p.size, 24);
        assert_eq!(p.relocations.len(), 2);
        assert_eq!((p.relocations[1].at, p.relocations[1].addend), (8, 8));
        assert_eq!(p.content[16], 7);
        assert_eq!((s.space, s.size, s.align), (Space::Shared, 0, 16));
    }
}
