// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use alloc::format;
use alloc::string::ToString as _;
use alloc::vec;
use syclbin::__private::content::ARCHIVE_MAGIC;

const ZE_INFO: &str = "---
version:         '1.73'
kernels:
  - name:            one
    user_attributes:
      intel_reqd_workgroup_walk_order: [ 0, 1, 2 ]
    execution_env:
      barrier_count:   1
      grf_count:       256
      has_stack_calls: true
      simd_size:       16
      private_size:    66304
      slm_size:        1024
      spill_size:      65536
    payload_arguments:
      - arg_type:        local_id
        simd_size:       99
  - name:            'two:'
    execution_env:
      grf_count:       128
      simd_size:       32
    simd_size:       8
  - name:            Intel_Symbol_Table_Void_Program
    execution_env:
      simd_size:       32
kernels_misc_info:
  - name:            one
...
";

/// Creates an ELF file with sections of these names, infos and contents. The last section holds the names.
fn elf(machine: u16, sections: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut names = vec![0u8];
    let mut contents = Vec::new();
    let mut headers = Vec::new();
    let count = sections.len() + 1;
    for index in 0..count {
        let (name, info, content) = sections.get(index).copied().unwrap_or((".strtab", 0, &[]));
        let mut header = [0u8; 64];
        header[..4].copy_from_slice(&u32::try_from(names.len()).unwrap().to_le_bytes());
        header[4] = 1;
        header[24..32].copy_from_slice(&(64 + contents.len() as u64).to_le_bytes());
        header[44..48].copy_from_slice(&info.to_le_bytes());
        names.extend(name.as_bytes());
        names.push(0);
        let content: &[u8] = if index + 1 == count { &names } else { content };
        header[32..40].copy_from_slice(&(content.len() as u64).to_le_bytes());
        contents.extend_from_slice(content);
        headers.extend(header);
    }
    let mut file = vec![0u8; 64];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    file[18..20].copy_from_slice(&machine.to_le_bytes());
    file[40..48].copy_from_slice(&(64 + contents.len() as u64).to_le_bytes());
    file[58] = 64;
    file[60..62].copy_from_slice(&u16::try_from(count).unwrap().to_le_bytes());
    file[62..64].copy_from_slice(&(u16::try_from(count).unwrap() - 1).to_le_bytes());
    file.extend(contents);
    file.extend(headers);
    file
}

fn zebin() -> Vec<u8> {
    elf(
        INTEL_GPU,
        &[
            (".text.one", 0, &[1; 9]),
            (".ze_info", 0, ZE_INFO.as_bytes()),
        ],
    )
}

#[test]
fn ze_info_describes_each_kernel() {
    let found = kernels(&zebin());
    let [one, two] = found.as_slice() else {
        panic!("{found:?}");
    };
    let expected = Kernel {
        device: None,
        symbol: "one".into(),
        simd_width: Some(16),
        registers: Some(256),
        spill_size: Some(65536),
        private_size: Some(66304),
        local_size: Some(1024),
        barriers: Some(1),
        stack_calls: Some(true),
    };
    assert_eq!(*one, expected);
    let expected = Kernel {
        device: None,
        symbol: "two:".into(),
        simd_width: Some(32),
        registers: Some(128),
        spill_size: Some(0),
        private_size: Some(0),
        local_size: Some(0),
        barriers: Some(0),
        stack_calls: Some(false),
    };
    assert_eq!(*two, expected);
}

#[test]
fn archive_members_name_their_gpu() {
    let mut archive = ARCHIVE_MAGIC.to_vec();
    for (name, member) in [("pad_0/", vec![0; 7]), ("64.12.60.7/", zebin())] {
        let header = format!(
            "{name:16}{:12}{:6}{:6}{:8}{:<10}`\n",
            0,
            0,
            0,
            644,
            member.len()
        );
        archive.extend(header.as_bytes());
        archive.extend(&member);
        archive.extend(vec![0; member.len() % 2]);
    }
    let found = kernels(&archive);
    let names: Vec<_> = found.iter().map(|kernel| kernel.symbol.as_str()).collect();
    assert_eq!(names, ["one", "two:"]);
    assert!(
        found
            .iter()
            .all(|kernel| kernel.device.as_deref() == Some("64.12.60.7"))
    );
}

#[test]
fn cubin_sections_tell_registers_and_memory() {
    let attribute =
        |kind: u8, symbol: u8, value: u8| [4, kind, 8, 0, symbol, 0, 0, 0, value, 0, 0, 0];
    let info = [
        attribute(0x2f, 7, 40),
        attribute(0x2f, 9, 255),
        attribute(0x11, 9, 16),
    ]
    .concat();
    let sections = [
        (".nv.shared.two", 0, &[0; 48][..]),
        (".text.one", 40 << 24 | 7, &[1]),
        (".text.two", 9, &[1]),
        ("other", 0, &attribute(0x2f, 7, 1)),
        (".nv.info", 0, &info),
        (".nv.info", 0, &attribute(0x2f, 7, 2)),
    ];
    let found = kernels(&elf(cubin::MACHINE, &sections));
    let found: Vec<_> = found
        .iter()
        .map(|kernel| {
            (
                kernel.symbol.to_string(),
                kernel.registers,
                kernel.local_size,
            )
        })
        .collect();
    let expected = [("one", Some(40), Some(0)), ("two", Some(255), Some(48))];
    assert_eq!(
        found,
        expected.map(|(name, registers, size)| (name.to_string(), registers, size))
    );
}

#[test]
fn damaged_native_code_has_no_kernels_or_fewer() {
    let good = zebin();
    for length in 0..good.len() {
        assert!(kernels(&good[..length]).len() <= 2);
    }
    for at in 0..good.len() {
        for value in [0, 0x7f, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            assert!(kernels(&bytes).len() <= 3, "byte {at} is {value}");
        }
    }
}

#[test]
fn kernels_at_the_end_are_found() {
    for end in ["simd_size:       32\n", "  - name:            Intel"] {
        let text = &ZE_INFO[..ZE_INFO.find(end).unwrap()];
        let found = kernels(&elf(INTEL_GPU, &[(".ze_info", 0, text.as_bytes())]));
        let names: Vec<_> = found.iter().map(|kernel| &*kernel.symbol).collect();
        assert_eq!(names, ["one", "two:"]);
    }
}

#[test]
fn kernel_count_is_limited() {
    let header = "kernels:\n";
    for (count, end) in [
        (MAX_KERNELS - 1, ""),
        (MAX_KERNELS, ""),
        (MAX_KERNELS + 1, ""),
        (MAX_KERNELS + 1, "a:\n"),
    ] {
        let text = [header, &"  - name: a\n".repeat(count), end].concat();
        let found = kernels(&elf(INTEL_GPU, &[(".ze_info", 0, text.as_bytes())]));
        assert_eq!(found.len(), count.min(MAX_KERNELS));
    }
}

#[test]
fn shared_section_names_have_a_limit() {
    let name = format!(".text.{}", "x".repeat(994));
    let mut file = elf(cubin::MACHINE, &[(&*name, 0, &[1][..]); 20]);
    let headers = file.len() - 21 * 64;
    for index in 0..20 {
        file[headers + index * 64..][..4].copy_from_slice(&1u32.to_le_bytes());
    }
    // The limit grows with the file's size, and this file stores every name separately.
    assert_eq!(kernels(&file).len(), 20);
    let names = headers - 20 * 1001 - ".strtab".len() - 1;
    file.drain(names + 1001..headers);
    let size = file.len() as u64;
    file[40..48].copy_from_slice(&(size - 21 * 64).to_le_bytes());
    let last = file.len() - 64;
    file[last + 32..last + 40].copy_from_slice(&1002u64.to_le_bytes());
    assert_eq!(kernels(&file).len(), file.len() / 1000);
}
