//! PTX text: whether bytes are some, which kernels it defines, and what these take. Names are those of
//! the PTX ISA, its chapters on kernel parameters and on performance-tuning directives.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What the directives of one parameter have at most.
const MAX_WORDS: usize = 16;

/// The kernels of a text.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// By their names, the first of each.
    kernels: BTreeMap<String, Kernel>,
    /// Whether there is memory of a work-group whose size is given at launch. DPC++ then passes places
    /// in it as `.u32`.
    pub(super) shared: bool,
}

#[derive(Debug, Default)]
pub(super) struct Kernel {
    pub(super) parameters: Vec<Parameter>,
    /// The one size of work-groups: work-items along x, y and z (`.reqntid`).
    pub(super) local_size: Option<[u32; 3]>,
}

/// A parameter of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    /// Its name, if it is none that compilers make up.
    pub(super) name: Option<String>,
    pub(super) ty: Passed,
}

/// What is passed for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// A number, or a pointer that nothing tells from one.
    Number { kind: Kind, bits: u32 },
    /// A pointer, to anywhere unless it has a space (`.ptr`).
    Pointer { space: Option<Space> },
    /// So many bytes.
    Bytes { size: u64, align: u64 },
    /// Something else.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `.u`: compilers write it for signed integers as well.
    Unsigned,
    Signed,
    Float,
    /// `.b`: anything.
    Bits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Global,
    Shared,
    Const,
    Local,
}

impl Entries {
    /// Reads a text. What is not understood of a parameter makes it [`Passed::Other`].
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let mut entries = Self::default();
        let mut tokens = Tokens(bytes);
        let mut before: &[u8] = b"";
        while let Some(token) = tokens.next() {
            match token {
                b".shared" if before == b".extern" => entries.shared = true,
                b".entry" => {
                    let name = text(tokens.next().unwrap_or_default());
                    let kernel = Kernel::parse(&mut tokens, &name);
                    entries.kernels.entry(name).or_insert(kernel);
                }
                _ => {}
            }
            before = token;
        }
        entries
    }

    pub(super) fn get(&self, name: &str) -> Option<&Kernel> {
        self.kernels.get(name)
    }
}

impl Kernel {
    /// What stands between the name of a kernel and its body.
    fn parse(tokens: &mut Tokens<'_>, name: &str) -> Self {
        let mut kernel = Self::default();
        let mut words: Vec<&[u8]> = Vec::new();
        let mut in_list = false;
        while let Some(token) = tokens.clone().next() {
            match token {
                b"{" | b";" | b".entry" => break,
                b"(" => in_list = true,
                b"," | b")" if in_list => {
                    if !(words.is_empty() && token == b")") {
                        kernel.parameters.push(Parameter::parse(&words, name));
                    }
                    words.clear();
                    in_list = token == b",";
                }
                // One too many says that there were more.
                _ if words.len() <= MAX_WORDS => words.push(token),
                _ => {}
            }
            tokens.next();
        }
        let at = words.iter().position(|word| *word == b".reqntid");
        kernel.local_size = at.map(|at| {
            let numbers = words[at + 1..].iter().filter(|word| **word != b",");
            let mut size = [1; 3];
            for (place, word) in size.iter_mut().zip(numbers) {
                match number(word).and_then(|number| u32::try_from(number).ok()) {
                    Some(number) => *place = number,
                    None => break,
                }
            }
            size
        });
        kernel
    }
}

impl Parameter {
    fn parse(words: &[&[u8]], kernel: &str) -> Self {
        let (ty, name) = read(words).unwrap_or((Passed::Other, b""));
        let name = text(name);
        // What LLVM and NVIDIA's compilers make up.
        let made_up = name
            .strip_prefix(kernel)
            .is_some_and(|rest| rest.starts_with("_param_"));
        Self {
            name: Some(name).filter(|name| !made_up && !name.is_empty()),
            ty,
        }
    }
}

/// `.param .u64 .ptr .global .align 4 NAME`, `.param .align 8 .b8 NAME[32]`
fn read<'t>(words: &[&'t [u8]]) -> Option<(Passed, &'t [u8])> {
    let (mut ty, mut pointer, mut space, mut align) = (None, false, None, 1);
    let mut words = words.iter().copied();
    if words.len() > MAX_WORDS || words.next() != Some(b".param") {
        return None;
    }
    let name = loop {
        match words.next()? {
            b".align" => align = number(words.next()?)?,
            b".ptr" => pointer = true,
            b".global" => space = Some(Space::Global),
            b".shared" => space = Some(Space::Shared),
            b".const" => space = Some(Space::Const),
            b".local" => space = Some(Space::Local),
            word if word.starts_with(b".") => ty = Some(scalar(word)?),
            name => break name,
        }
    };
    let (kind, bits) = ty?;
    let passed = match (words.next(), pointer) {
        (None, true) if bits >= 32 => Passed::Pointer { space },
        (None, false) if space.is_none() => Passed::Number { kind, bits },
        (Some(b"["), false) if space.is_none() => {
            let size = number(words.next()?)?.checked_mul(u64::from(bits / 8))?;
            let align = align.max(u64::from(bits / 8));
            let closed = words.next() == Some(b"]") && words.next().is_none();
            if !closed || !align.is_power_of_two() {
                return None;
            }
            Passed::Bytes { size, align }
        }
        _ => return None,
    };
    Some((passed, name))
}

fn scalar(word: &[u8]) -> Option<(Kind, u32)> {
    let (kind, bits) = match word.strip_prefix(b".")? {
        [b'u', bits @ ..] => (Kind::Unsigned, bits),
        [b's', bits @ ..] => (Kind::Signed, bits),
        [b'f', bits @ ..] => (Kind::Float, bits),
        [b'b', bits @ ..] => (Kind::Bits, bits),
        _ => return None,
    };
    let bits = match bits {
        b"8" if kind != Kind::Float => 8,
        b"16" => 16,
        b"32" => 32,
        b"64" => 64,
        _ => return None,
    };
    Some((kind, bits))
}

fn number(word: &[u8]) -> Option<u64> {
    let digits = word.iter().all(u8::is_ascii_digit);
    str::from_utf8(word).ok()?.parse().ok().filter(|_| digits)
}

fn text(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { kind, bits } => {
                let kind = match kind {
                    Kind::Unsigned => 'u',
                    Kind::Signed => 's',
                    Kind::Float => 'f',
                    Kind::Bits => 'b',
                };
                write!(f, "`.{kind}{bits}`")
            }
            Self::Pointer { space } => f.write_str(match space {
                None => "`.ptr`",
                Some(Space::Global) => "`.ptr .global`",
                Some(Space::Shared) => "`.ptr .shared`",
                Some(Space::Const) => "`.ptr .const`",
                Some(Space::Local) => "`.ptr .local`",
            }),
            Self::Bytes { size, .. } => write!(f, "`.b8[{size}]`"),
            Self::Other => f.write_str("something else"),
        }
    }
}

/// Whether `bytes` are PTX: after comments comes its version.
pub(crate) fn is_ptx(bytes: &[u8]) -> bool {
    Tokens(bytes).next() == Some(b".version")
}

/// The names of the kernels (`.entry`). Of those that DPC++ makes twice, with an offset of the
/// global id and without, the plain one.
pub(crate) fn kernels(bytes: &[u8]) -> Vec<String> {
    let mut tokens = Tokens(bytes);
    let mut names = Vec::new();
    while let Some(token) = tokens.next() {
        if token == b".entry" {
            names.push(text(tokens.next().unwrap_or_default()));
        }
    }
    let plain: BTreeSet<String> = names.iter().cloned().collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| {
        let of = name.strip_suffix("_with_offset");
        !name.is_empty() && of.is_none_or(|of| !plain.contains(of)) && seen.insert(name.clone())
    });
    names
}

/// Words of PTX, without comments; what is between words is passed over.
#[derive(Clone)]
struct Tokens<'a>(&'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let (first, rest) = self.0.split_first()?;
            let skip_past = |end: &[u8]| {
                let at = rest.windows(end.len()).position(|bytes| bytes == end);
                at.map_or(&[][..], |at| &rest[at + end.len()..])
            };
            match (first, rest.first()) {
                (b'/', Some(b'/')) => self.0 = skip_past(b"\n"),
                (b'/', Some(b'*')) => self.0 = skip_past(b"*/"),
                _ if is_word(*first) => {
                    let end = self.0.iter().position(|byte| !is_word(*byte));
                    let (word, after) = self.0.split_at(end.unwrap_or(self.0.len()));
                    self.0 = after;
                    return Some(word);
                }
                (b' ' | b'\t' | b'\r' | b'\n', _) => self.0 = rest,
                // A mark is a word of its own, so that text is not taken for PTX past it.
                _ => {
                    let (mark, after) = self.0.split_at(1);
                    self.0 = after;
                    return Some(mark);
                }
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$' | b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"//\n// .entry no\n/* .entry no */\n.version 6.3\n.target sm_75\n\
        .visible .entry axpy(\n.param .u64 a\n)\n{ ret; }\n\
        .visible .entry axpy_with_offset(\n)\n{}\n.entry $weird_with_offset()\n{}";

    #[test]
    fn kernels_of_ptx_are_its_entries_without_the_variants_with_an_offset() {
        assert!(is_ptx(TEXT));
        assert_eq!(kernels(TEXT), ["axpy", "$weird_with_offset"]);
    }

    #[test]
    fn text_that_only_mentions_a_version_is_no_ptx() {
        for text in [&b"x .version 1"[..], b"/* .version", b"= .version", b""] {
            assert!(!is_ptx(text));
        }
    }

    fn parameters(list: &str) -> Vec<Passed> {
        let text = alloc::format!(".version 6.3\n.entry k{list} {{ }}");
        let entries = Entries::parse(text.as_bytes());
        let all = entries.get("k").unwrap().parameters.iter();
        all.map(|parameter| parameter.ty).collect()
    }

    #[test]
    fn parameters_have_sizes_spaces_and_alignments() {
        let number = |kind, bits| Passed::Number { kind, bits };
        let pointer = |space| Passed::Pointer { space };
        for (list, expected) in [
            ("(.param .u32 a)", number(Kind::Unsigned, 32)),
            ("(.param .s16 a)", number(Kind::Signed, 16)),
            ("(.param .f64 a)", number(Kind::Float, 64)),
            ("(.param .b8 a)", number(Kind::Bits, 8)),
            ("(.param .u64 .ptr .align 1 a)", pointer(None)),
            (
                "(.param .u64 .ptr .global .align 4 a)",
                pointer(Some(Space::Global)),
            ),
            ("(.param .u32 .ptr .shared a)", pointer(Some(Space::Shared))),
            (
                "(.param .align 8 .b8 a[32])",
                Passed::Bytes { size: 32, align: 8 },
            ),
            ("(.param .b32 a[3])", Passed::Bytes { size: 12, align: 4 }),
        ] {
            assert_eq!(parameters(list), [expected], "{list}");
        }
        assert_eq!(parameters(""), []);
        assert_eq!(parameters("()"), []);
        assert_eq!(parameters("(.param .u8 a, .param .u8 b)").len(), 2);
    }

    #[test]
    fn what_is_not_understood_is_something_else_and_keeps_its_place() {
        let long = alloc::format!("(.param {} .u32 a)", ".align 4 ".repeat(100));
        for list in [
            "(.param .u128 a)",
            "(.param .f8 a)",
            "(.param a)",
            "(.param .u32)",
            "(.reg .u32 a)",
            "(.param .u8 .ptr a)",
            "(.param .b8 a[99999999999999999999])",
            "(.param .b64 a[4611686018427387904])",
            "(.param .b8 a[-1])",
            "(.param .b8 a[2][3])",
            "(.param .align 3 .b8 a[2])",
            "(.param .samplerref a)",
            &long,
        ] {
            assert_eq!(parameters(list), [Passed::Other], "{list}");
        }
        let all = parameters("(, .param .u8 b)");
        assert_eq!((all.len(), all[0]), (2, Passed::Other));
    }

    #[test]
    fn directives_of_kernels_are_read_and_names_that_are_made_up_are_not() {
        let text = b".version 6.3\n.extern .shared .b8 all[];\n\
            .visible .entry k(.param .u32 k_param_0, .param .u32 count)\n.reqntid 8, 4\n{ }\n\
            .entry cut(.param .u32 a, .param";
        let entries = Entries::parse(text);
        assert!(entries.shared);
        let kernel = entries.get("k").unwrap();
        let names = kernel
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_deref());
        assert!(names.eq([None, Some("count")]));
        assert_eq!(kernel.local_size, Some([8, 4, 1]));
        assert_eq!(entries.get("cut").unwrap().parameters.len(), 1);
    }
}
