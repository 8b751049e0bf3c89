// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels and functions: their parameters, what they declare, and their instructions.

use std::collections::HashMap;

use super::lex::Token;
use super::parse::Parser;
use super::{Function, Instruction, Item, Linkage, Operand, Parameter, Syntax};

/// What a name stands for inside of a function.
#[derive(Debug, Clone)]
pub(super) enum Named {
    Register(u32),
    /// `%r<8>`: the first, and how many.
    Range(u32, u32),
    Frame(usize),
    Parameter(usize),
    /// A variable of the module that only this function sees, by its name there.
    Symbol(String),
    Table(usize),
}

/// A function in the making.
pub(super) struct Scope<'a> {
    pub(super) function: Function,
    names: Vec<HashMap<&'a str, Named>>,
    labels: HashMap<&'a str, usize>,
    items: Vec<Item>,
}

impl<'a> Scope<'a> {
    /// What a name stands for: the innermost that is declared.
    pub(super) fn named(&self, word: &str) -> Option<Named> {
        let mut scopes = self.names.iter().rev();
        if let Some(named) = scopes.find_map(|names| names.get(word)) {
            return Some(named.clone());
        }
        let prefix = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: u32 = word[prefix.len()..].parse().ok()?;
        let mut scopes = self.names.iter().rev();
        scopes.find_map(|names| match names.get(prefix) {
            Some(Named::Range(first, count)) if number < *count => {
                Some(Named::Register(first + number))
            }
            _ => None,
        })
    }

    pub(super) fn label(&mut self, name: &'a str) -> usize {
        let next = self.function.labels.len();
        let number = *self.labels.entry(name).or_insert(next);
        if number == next {
            self.function.labels.push(None);
        }
        number
    }

    fn declare(&mut self, name: &'a str, named: Named) {
        if let Some(names) = self.names.last_mut() {
            names.insert(name, named);
        }
    }

    /// Room in the frame.
    fn reserve(&mut self, size: usize, align: usize) -> usize {
        let offset = self.function.local_bytes.next_multiple_of(align.max(1));
        self.function.local_bytes = offset + size;
        offset
    }
}

/// From `.entry` or `.func` to the end of the body, or to the semicolon of a declaration.
pub(super) fn function<'a>(parser: &mut Parser<'a>, linkage: Linkage) -> Result<Function, Syntax> {
    let mut scope = Scope {
        function: Function {
            entry: parser.word()? == ".entry",
            linkage,
            ..Function::default()
        },
        names: vec![HashMap::new()],
        labels: HashMap::new(),
        items: Vec::new(),
    };
    if parser.peek() == Some(Token::Sign('(')) {
        scope.function.results = parameters(parser, &mut scope)?;
    }
    scope.function.name = parser.word()?.to_owned();
    if parser.peek() == Some(Token::Sign('(')) {
        scope.function.parameters = parameters(parser, &mut scope)?;
    }
    directives(parser, &mut scope.function)?;
    if parser.take(';') {
        return Ok(scope.function);
    }
    parser.expect('{')?;
    body(parser, &mut scope)?;
    if let Some((name, _)) = { &scope.labels }
        .iter()
        .find(|(_, label)| scope.function.labels[**label].is_none())
    {
        let what = format!("{}: there is no label {name}", scope.function.name);
        return Err(parser.wrong(what));
    }
    scope.function.body = Some(scope.items);
    Ok(scope.function)
}

fn parameters<'a>(
    parser: &mut Parser<'a>,
    scope: &mut Scope<'a>,
) -> Result<Vec<Parameter>, Syntax> {
    parser.expect('(')?;
    let mut found = Vec::new();
    while !parser.take(')') {
        if !parser.take_word(".param") {
            return Err(parser.wrong("only .param can be a parameter"));
        }
        let shape = parser.shape()?;
        let name = parser.word()?;
        let size = shape.width * parser.extent()?;
        let offset = if scope.function.entry {
            let bytes = scope.function.parameter_bytes;
            let offset = bytes.next_multiple_of(shape.align.max(1));
            scope.function.parameter_bytes = offset + size;
            scope.declare(name, Named::Parameter(offset));
            offset
        } else {
            let offset = scope.reserve(size, shape.align);
            scope.declare(name, Named::Frame(offset));
            offset
        };
        found.push(Parameter { offset, size });
        if !parser.take(',') && parser.peek() != Some(Token::Sign(')')) {
            return Err(parser.unexpected());
        }
    }
    Ok(found)
}

fn directives(parser: &mut Parser<'_>, function: &mut Function) -> Result<(), Syntax> {
    while let Some(Token::Word(word)) = parser.peek() {
        parser.word()?;
        match word {
            ".maxntid" | ".reqntid" => {
                let mut sizes = [1; 3];
                let mut at = 0;
                loop {
                    let size = u32::try_from(parser.size()?);
                    sizes[at] = size.map_err(|_| parser.wrong("a block is too large"))?;
                    at += 1;
                    if at == 3 || !parser.take(',') {
                        break;
                    }
                }
                let all = sizes.iter().fold(1, |all: u32, &n| all.saturating_mul(n));
                function.most_threads = Some(all);
                if word == ".reqntid" {
                    function.required_threads = Some(sizes);
                }
            }
            ".minnctapersm" | ".maxnctapersm" | ".maxnreg" => {
                parser.integer()?;
            }
            ".noreturn" => {}
            ".pragma" => {
                parser.next();
                parser.expect(';')?;
            }
            _ => return Err(parser.wrong(format!("{word} is not known here"))),
        }
    }
    Ok(())
}

fn body<'a>(parser: &mut Parser<'a>, scope: &mut Scope<'a>) -> Result<(), Syntax> {
    let mut depth = 1;
    while depth > 0 {
        match parser.peek() {
            Some(Token::Sign('{')) => {
                parser.next();
                scope.names.push(HashMap::new());
                depth += 1;
            }
            Some(Token::Sign('}')) => {
                parser.next();
                scope.names.pop();
                depth -= 1;
            }
            Some(Token::Word(word)) if word.starts_with('.') => declaration(parser, scope, word)?,
            Some(Token::Word(word)) if parser.ahead(1) == Some(Token::Sign(':')) => {
                parser.next();
                parser.next();
                label(parser, scope, word)?;
            }
            Some(Token::Word(_) | Token::Sign('@')) => instruction(parser, scope)?,
            Some(Token::Sign(';')) => {
                parser.next();
            }
            _ => return Err(parser.unexpected()),
        }
    }
    Ok(())
}

fn declaration<'a>(
    parser: &mut Parser<'a>,
    scope: &mut Scope<'a>,
    word: &str,
) -> Result<(), Syntax> {
    match word {
        ".reg" => {
            parser.word()?;
            parser.shape()?;
            registers(parser, scope)
        }
        ".local" | ".param" => {
            parser.word()?;
            let shape = parser.shape()?;
            let name = parser.word()?;
            let size = shape.width * parser.extent()?;
            let offset = scope.reserve(size, shape.align);
            scope.declare(name, Named::Frame(offset));
            parser.expect(';')
        }
        ".shared" | ".global" | ".const" => {
            let (name, mut variable) = parser.variable_named(Linkage::Local)?;
            let inner = format!("{}::{name}", scope.function.name);
            variable.name.clone_from(&inner);
            parser.unit.variables.push(variable);
            scope.declare(name, Named::Symbol(inner));
            Ok(())
        }
        ".loc" | ".file" => {
            parser.rest_of_line();
            Ok(())
        }
        ".pragma" => {
            parser.next();
            parser.next();
            parser.expect(';')
        }
        _ => Err(parser.wrong(format!("{word} is not known here"))),
    }
}

fn registers<'a>(parser: &mut Parser<'a>, scope: &mut Scope<'a>) -> Result<(), Syntax> {
    loop {
        let name = parser.word()?;
        let first = scope.function.registers;
        let named = if parser.take('<') {
            let count = u32::try_from(parser.size()?).ok().filter(|&n| n < 1 << 20);
            let count = count.ok_or_else(|| parser.wrong("too many registers"))?;
            parser.expect('>')?;
            scope.function.registers += count;
            Named::Range(first, count)
        } else {
            scope.function.registers += 1;
            Named::Register(first)
        };
        scope.declare(name, named);
        if !parser.take(',') {
            return parser.expect(';');
        }
    }
}

fn label<'a>(parser: &mut Parser<'a>, scope: &mut Scope<'a>, name: &'a str) -> Result<(), Syntax> {
    if parser.take_word(".branchtargets") {
        let mut labels = Vec::new();
        loop {
            let target = parser.word()?;
            labels.push(scope.label(target));
            if !parser.take(',') {
                break;
            }
        }
        scope.declare(name, Named::Table(scope.function.tables.len()));
        scope.function.tables.push(labels);
        return parser.expect(';');
    }
    if parser.take_word(".callprototype") {
        while !parser.take(';') {
            if parser.next().is_none() {
                return Err(parser.unexpected());
            }
        }
        return Ok(());
    }
    let number = scope.label(name);
    if scope.function.labels[number].is_some() {
        return Err(parser.wrong(format!("the label {name} is there twice")));
    }
    scope.function.labels[number] = Some(scope.items.len());
    Ok(())
}

fn instruction<'a>(parser: &mut Parser<'a>, scope: &mut Scope<'a>) -> Result<(), Syntax> {
    let line = parser.line();
    let mut guard = None;
    if parser.take('@') {
        let negated = parser.take('!');
        let word = parser.word()?;
        let Some(Named::Register(register)) = scope.named(word) else {
            return Err(parser.wrong(format!("{word} is no register")));
        };
        guard = Some((register, negated));
    }
    let mut full = parser.word()?.to_owned();
    while parser.peek() == Some(Token::Sign(':')) && parser.ahead(1) == Some(Token::Sign(':')) {
        parser.next();
        parser.next();
        full = format!("{full}::{}", parser.word()?);
    }
    let mut words = full.split('.').map(str::to_owned);
    let name = words.next().unwrap_or_default();
    let modifiers = words.collect();
    let mut operands: Vec<Operand> = Vec::new();
    while !parser.take(';') {
        operands.push(parser.operand(scope, &name)?);
        if !parser.take(',') && parser.peek() != Some(Token::Sign(';')) {
            return Err(parser.unexpected());
        }
    }
    scope.items.push(Item {
        line,
        guard,
        instruction: Instruction {
            name,
            modifiers,
            operands,
        },
    });
    Ok(())
}
