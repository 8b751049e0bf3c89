// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutations that keep the structure of SPIR-V modules and of lines of text.
//!
//! Bytes changed at random rarely pass the first checks of a reader. These mutations get further: they copy
//! declarations under new ids, refer to other ids, and repeat parts of names.

use std::collections::BTreeMap;

use random_kernels::Random;
use syclbin::__private::spirv::edit::{Instruction, Module};
use syclbin::__private::spirv::words;

/// Changes `part` in one to four places, if it is SPIR-V or text. It becomes at most `most` bytes long.
pub fn change(part: &mut Vec<u8>, seed: u32, most: usize) {
    let mut random = Random::new(0, seed.into());
    for _ in 0..random.between(1, 4) {
        let changed = match (Module::read(part), std::str::from_utf8(part)) {
            (Ok(module), _) => spirv(module, &mut random, most),
            (Err(_), Ok(text)) => lines(text, &mut random, most).map(String::into_bytes),
            (Err(_), Err(_)) => None,
        };
        if let Some(changed) = changed.filter(|changed| changed.len() <= most) {
            *part = changed;
        }
    }
}

fn spirv(mut module: Module, random: &mut Random, most: usize) -> Option<Vec<u8>> {
    let count = module.instructions.len();
    let at = random.below(count);
    let instruction = module.instructions.get_mut(at)?;
    match random.below(8) {
        0..3 => copies(&mut module, at, random, most)?,
        3 => drop(module.instructions.remove(at)),
        4 => {
            let same = section_of(&module, at);
            module.instructions.swap(at, *random.pick(&same));
        }
        5 => names(instruction, random)?,
        6 => {
            let operand = random.below(instruction.operands.len());
            let value = instruction.operands.get_mut(operand)?;
            *value = *random.pick(&[0, 1, *value ^ 1, value.wrapping_add(1), 0xffff, u32::MAX]);
        }
        _ => {
            let places: Vec<usize> = instruction.ids().ok()?.used().collect();
            let other = module.instructions[random.below(count)].result()?;
            let instruction = &mut module.instructions[at];
            *places
                .get(random.below(places.len()))
                .and_then(|place| instruction.operands.get_mut(*place))? = other;
        }
    }
    Some(words::bytes(module.words().ok()?))
}

/// Returns the instructions in the same section as the one at `at`.
fn section_of(module: &Module, at: usize) -> Vec<usize> {
    let section =
        |index: usize| syclbin::__private::spirv::edit::section(module.instructions[index].opcode);
    (0..module.instructions.len())
        .filter(|index| section(*index) == section(at))
        .collect()
}

/// Repeats some instructions after themselves, up to thousands of times, each time with new result ids. In half of the
/// cases, a copy uses results of the copy before it.
fn copies(module: &mut Module, at: usize, random: &mut Random, most: usize) -> Option<()> {
    let end = (at + random.between(1, 16)).min(module.instructions.len());
    let pattern = module.instructions[at..end].to_vec();
    let size: usize = pattern.iter().map(|i| 4 + 4 * i.operands.len()).sum();
    let all: usize = module
        .instructions
        .iter()
        .map(|i| 4 + 4 * i.operands.len())
        .sum();
    let room = most.saturating_sub(all) / size;
    let times = random
        .between(1, 4096)
        .min(random.between(1, 4096))
        .min(room);
    let is_chain = random.percent(50);
    let mut previous: BTreeMap<u32, u32> = BTreeMap::new();
    let mut added = Vec::new();
    for _ in 0..times {
        let mut renamed = BTreeMap::new();
        let mut copy = pattern.clone();
        for instruction in &mut copy {
            let Ok(ids) = instruction.ids() else { continue };
            for place in ids.used() {
                let Some(id) = instruction.operands.get_mut(place) else {
                    continue;
                };
                let chained = previous.get(id).filter(|_| is_chain);
                *id = renamed.get(id).or(chained).copied().unwrap_or(*id);
            }
            if let Some(result) = ids.result.and_then(|at| instruction.operands.get_mut(at)) {
                let new = module.new_id().ok()?;
                renamed.insert(*result, new);
                *result = new;
            }
        }
        added.append(&mut copy);
        if is_chain {
            // One use of the pattern's input becomes the result before it.
            let inputs = pattern.iter().flat_map(|i| {
                let places = i.ids().map(|ids| ids.uses).unwrap_or_default();
                places.into_iter().filter_map(|place| i.operand(place))
            });
            let inputs: Vec<u32> = inputs.filter(|id| !renamed.contains_key(id)).collect();
            let last = renamed.values().last().copied();
            previous = renamed;
            if let (Some(last), false) = (last, inputs.is_empty()) {
                previous.insert(*random.pick(&inputs), last);
            }
        }
    }
    module.instructions.splice(end..end, added);
    Some(())
}

/// Changes the name in an instruction, if it contains one.
fn names(instruction: &mut Instruction, random: &mut Random) -> Option<()> {
    let is_text = |at: &usize| {
        let text = words::string(&instruction.operands[*at..]).0;
        text.len() > 3 && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let at = (0..instruction.operands.len()).find(is_text)?;
    let (name, rest) = words::string(&instruction.operands[at..]);
    let rest = rest.to_vec();
    let name = repeated(&name, random, 8 << 10);
    instruction.operands.truncate(at);
    instruction.operands.extend(words::literal(&name));
    instruction.operands.extend(rest);
    Some(())
}

/// Repeats a part of some text, in place, or nested in itself if the part contains another one.
fn repeated(text: &str, random: &mut Random, most: usize) -> String {
    let mut cuts: Vec<usize> = (0..4).map(|_| random.below(text.len() + 1)).collect();
    cuts.sort_unstable();
    let cut = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let [a, b, c, d] = [cuts[0], cuts[1], cuts[2], cuts[3]];
    let room = most.saturating_sub(text.len()) / (1 + d - a);
    let times = random
        .between(1, 2048)
        .min(random.between(1, 2048))
        .min(room);
    let (open, close) = (cut(a, b).repeat(times), cut(c, d).repeat(times));
    [cut(0, b), &open, cut(b, c), &close, cut(c, text.len())].concat()
}

/// Repeats lines of a text with other numbers in them, exchanges words of it, or repeats a part of a line.
fn lines(text: &str, random: &mut Random, most: usize) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = random.below(lines.len());
    let end = (at + random.between(1, 8)).min(lines.len());
    let before = || lines[..at].concat();
    let part = lines.get(at..end)?.concat();
    match random.below(4) {
        0 | 1 => {
            let room = most.saturating_sub(text.len()) / (part.len() + 8);
            let times = random
                .between(1, 4096)
                .min(random.between(1, 4096))
                .min(room);
            let is_number = |c: char| c.is_ascii_digit();
            let copies = (0..times).map(|time| {
                // The first number of each line counts up.
                let numbered = part.split_inclusive('\n').map(|line| {
                    let Some(start) = line.find(is_number) else {
                        return line.to_owned();
                    };
                    let rest = line[start..].trim_start_matches(is_number);
                    format!("{}{time}{rest}", &line[..start])
                });
                numbered.collect::<String>()
            });
            let copies: String = copies.collect();
            Some([&*before(), &part, &copies, &lines[end..].concat()].concat())
        }
        2 => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let old = part.split_whitespace().nth(random.below(4))?;
            let new = *random.pick(&words);
            Some(
                [
                    &*before(),
                    &part.replacen(old, new, 1),
                    &lines[end..].concat(),
                ]
                .concat(),
            )
        }
        _ => {
            let part = repeated(&part, random, most.saturating_sub(text.len()));
            Some([&*before(), &part, &lines[end..].concat()].concat())
        }
    }
}
