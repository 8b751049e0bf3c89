// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command streamer: walks a batch of commands, and does what no kernel does.

use std::time::Duration;

use crate::memory::AddressSpace;

/// How many commands a batch may have. One that jumps in circles ends here.
const MOST: usize = 4_000_000;

/// How long a kernel takes: programs should see commands that are not done.
const KERNEL: Duration = Duration::from_micros(20);

/// A tick of the GPU's clock: 19.2 MHz.
pub(crate) fn ticks() -> u64 {
    let nanoseconds = u128::from(nanoseconds());
    (nanoseconds * 192 / 10_000) as u64
}

/// The clock that the driver compares with the GPU's.
pub(crate) fn nanoseconds() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Runs the batch at an address. `wide` says that timestamps have 64 bits, as from Xe2 on.
pub(crate) fn run(space: &AddressSpace, start: u64, wide: bool) {
    let mut returns = Vec::new();
    let mut at = start;
    for _ in 0..MOST {
        let Some(command) = space
            .read::<u32>(at)
            .map(|head| Command { space, at, head })
        else {
            return;
        };
        at = match command.kind() {
            Kind::End => match returns.pop() {
                Some(after) => after,
                None => return,
            },
            Kind::Jump {
                to,
                returns: comes_back,
            } => {
                returns.extend(comes_back.then_some(command.after()));
                to
            }
            Kind::Work => {
                command.carry_out(wide);
                command.after()
            }
        };
    }
}

struct Command<'a> {
    space: &'a AddressSpace,
    at: u64,
    head: u32,
}

enum Kind {
    End,
    Jump { to: u64, returns: bool },
    Work,
}

impl Command<'_> {
    /// Bits of the first word.
    fn bits(&self, low: u32, count: u32) -> u32 {
        self.head >> low & ((1 << count) - 1)
    }

    fn word(&self, index: u64) -> u32 {
        self.space.read(self.at + 4 * index).unwrap_or_default()
    }

    fn long(&self, index: u64) -> u64 {
        u64::from(self.word(index)) | u64::from(self.word(index + 1)) << 32
    }

    /// The address in two words, the lowest bits of which say other things.
    fn address(&self, index: u64) -> u64 {
        self.long(index) & !3
    }

    fn is_of_memory_interface(&self) -> bool {
        self.bits(29, 3) == 0
    }

    fn kind(&self) -> Kind {
        match (self.is_of_memory_interface(), self.bits(23, 6)) {
            // MI_BATCH_BUFFER_END, MI_BATCH_BUFFER_START
            (true, 0x0a) => Kind::End,
            (true, 0x31) => Kind::Jump {
                to: self.address(1),
                returns: self.bits(22, 1) == 1,
            },
            _ => Kind::Work,
        }
    }

    /// The address after the command.
    fn after(&self) -> u64 {
        let words = match (self.bits(29, 3), self.bits(23, 6)) {
            (0, 0..0x10) => 1,
            // MI_STORE_DATA_IMM
            (0, 0x20) => self.bits(0, 10) + 2,
            // PIPELINE_SELECT and the like
            (3, _) if self.bits(27, 2) == 1 && self.bits(24, 3) == 1 => 1,
            _ => self.bits(0, 8) + 2,
        };
        self.at + 4 * u64::from(words)
    }

    fn carry_out(&self, wide: bool) {
        match self.bits(29, 3) {
            0 => self.memory_interface(),
            2 => self.copy_engine(),
            3 => match self.head >> 16 {
                0x7a00 => self.after_work(1, self.word(1) >> 14 & 3, self.address(2) & !7, 4),
                head if head >> 2 == 0x7208 >> 2 => self.walker(wide),
                _ => {}
            },
            _ => {}
        }
    }

    /// The write that PIPE_CONTROL and MI_FLUSH_DW end with: a value, or the time.
    fn after_work(&self, value: u32, operation: u32, address: u64, immediate: u64) {
        if operation == value {
            self.space.write(address, self.long(immediate));
        } else if operation == 3 {
            self.space.write(address, ticks());
        }
    }

    fn memory_interface(&self) {
        match self.bits(23, 6) {
            // MI_STORE_DATA_IMM
            0x20 if self.bits(21, 1) == 1 => self.space.write(self.address(1), self.long(3)),
            0x20 => self.space.write(self.address(1), self.word(3)),
            // MI_STORE_REGISTER_MEM of the clock. Other registers are 0.
            0x24 => {
                let value = match self.word(1) & 0xfff {
                    0x358 | 0x3a8 => ticks() as u32,
                    0x35c => (ticks() >> 32) as u32,
                    _ => 0,
                };
                self.space.write(self.address(2), value);
            }
            // MI_FLUSH_DW
            0x26 => self.after_work(1, self.bits(14, 2), self.address(1) & !7, 3),
            // MI_COPY_MEM_MEM
            0x2e => self.space.copy(self.address(3), self.address(1), 4),
            0x2f => self.atomic(),
            _ => {}
        }
    }

    /// MI_ATOMIC.
    fn atomic(&self) {
        let is_long = self.bits(19, 2) != 0;
        let address = self.address(1);
        let old = match is_long {
            true => self.space.read::<u64>(address),
            false => self.space.read::<u32>(address).map(u64::from),
        };
        let Some(old) = old else { return };
        let operand = match (self.bits(18, 1), is_long) {
            (0, _) => 0,
            (_, true) => self.long(3),
            (_, false) => u64::from(self.word(3)),
        };
        let new = match self.bits(8, 5) {
            4 => operand,
            5 => old.wrapping_add(1),
            6 => old.wrapping_sub(1),
            7 => old.wrapping_add(operand),
            8 => old.wrapping_sub(operand),
            _ => old,
        };
        if is_long {
            self.space.write(address, new);
        } else {
            self.space.write(address, new as u32);
        }
    }

    fn copy_engine(&self) {
        match self.bits(22, 7) {
            // MEM_COPY: lines of bytes, or one
            0x5a => {
                let bytes = u64::from(self.word(1) & 0xff_ffff) + 1;
                let is_matrix = self.bits(19, 1) == 1 || self.bits(17, 2) != 0;
                let lines = if is_matrix {
                    u64::from(self.word(2) & 0x3_ffff) + 1
                } else {
                    1
                };
                let pitch = |index| u64::from(self.word(index) & 0x3_ffff) + 1;
                for line in 0..lines {
                    let from = self.long(5) + line * pitch(3);
                    self.space.copy(from, self.long(7) + line * pitch(4), bytes);
                }
            }
            // MEM_SET
            0x5b => {
                let bytes = u64::from(self.word(1) & 0xff_ffff) + 1;
                self.space
                    .fill(self.long(4), (self.word(6) >> 24) as u8, bytes);
            }
            // XY_COPY_BLT: a rectangle of pixels
            0x53 => {
                let pixel = 1u64 << self.bits(19, 3);
                let corner = |index| {
                    let word = self.word(index);
                    (u64::from(word & 0xffff), u64::from(word >> 16))
                };
                let ((left, top), (right, bottom), (x, y)) = (corner(2), corner(3), corner(7));
                let pitch = |index| u64::from(self.word(index) & 0x3_ffff) + 1;
                for line in 0..bottom.saturating_sub(top) {
                    let from = self.long(9) + (y + line) * pitch(8) + x * pixel;
                    let to = self.long(4) + (top + line) * pitch(1) + left * pixel;
                    self.space
                        .copy(from, to, right.saturating_sub(left) * pixel);
                }
            }
            _ => {}
        }
    }

    /// COMPUTE_WALKER executes nothing, but takes as long as a small kernel.
    fn walker(&self, wide: bool) {
        let start = ticks();
        std::thread::sleep(KERNEL);
        // Xe2 has one word more before this.
        let post = if self.bits(0, 8) + 2 > 39 { 27 } else { 26 };
        let address = self.long(post + 1);
        match self.word(post) & 3 {
            1 => self.space.write(address, self.long(post + 3)),
            3 => {
                let end = ticks();
                // Each in two clocks.
                for (index, time) in [start, start, end, end].into_iter().enumerate() {
                    let index = index as u64;
                    if wide {
                        self.space.write(address + 8 * index, time);
                    } else {
                        self.space.write(address + 4 * index, time as u32);
                    }
                }
            }
            _ => {}
        }
    }
}
