// SPDX-License-Identifier: MIT OR Apache-2.0
//! Known properties with values that mean nothing.

use syclbin::metadata::ModuleMetadata;
use syclbin::property::{Value, key, set};

use super::sets::everything;
use super::{longs, sets, words};

#[test]
fn two_spellings_of_one_size_must_agree() {
    let both = |old: &[u32]| {
        sets(&[
            (
                set::DEVICE_REQUIREMENTS,
                key::REQD_WORK_GROUP_SIZE_64,
                longs(&[8, 2, 1]),
            ),
            (
                set::DEVICE_REQUIREMENTS,
                key::REQD_WORK_GROUP_SIZE,
                words(old),
            ),
        ])
    };
    let read = ModuleMetadata::read(&both(&[8, 2])).unwrap();
    assert_eq!(read.requirements.work_group.unwrap().xyz(), [8, 2, 1]);
    let error = ModuleMetadata::read(&both(&[2, 8])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "set `SYCL/device requirements`, key `reqd_work_group_size`: expected the size [8, 2, 1], \
         as in `reqd_work_group_size_uint64_t`, found 8 bytes: 02 00 00 00 08 00 00 00"
    );
}

#[test]
fn malformed_value_error_names_set_and_key() {
    let flag = || Value::U32(2);
    let short = || Value::from(vec![1, 2, 3]);
    let text = || Value::from(vec![0xff]);
    let bits = || Value::Bytes {
        bits: 7,
        data: vec![1],
    };
    let cases = [
        (set::KERNEL_NAMES, "k", short(), "a 32-bit number"),
        (set::EXPORTED_SYMBOLS, "k", short(), "a 32-bit number"),
        (set::IMPORTED_SYMBOLS, "k", short(), "a 32-bit number"),
        (set::ASSERT_USED, "k", short(), "a 32-bit number"),
        (set::DYNAMIC_LOCAL_MEMORY, "k", short(), "a 32-bit number"),
        (
            set::IMPLICIT_LOCAL_ARG,
            "k",
            longs(&[1 << 32]),
            "a 32-bit number",
        ),
        (
            set::KERNEL_PARAM_OPT,
            "k",
            flag(),
            "one bit for each argument",
        ),
        (set::REGISTERED_KERNELS, "k", text(), "UTF-8 text"),
        (
            set::PROGRAM_METADATA,
            "k@reqd_work_group_size",
            longs(&[1, 2]),
            "one to three 32-bit numbers",
        ),
        (
            set::PROGRAM_METADATA,
            "k@work_group_num_dim",
            4.into(),
            "1, 2 or 3 dimensions",
        ),
        (
            set::PROGRAM_METADATA,
            "k@max_work_group_size",
            64.into(),
            "one to three 32-bit numbers",
        ),
        (
            set::PROGRAM_METADATA,
            "k@max_linear_work_group_size",
            longs(&[1 << 32]),
            "a 32-bit number",
        ),
        (
            set::PROGRAM_METADATA,
            "k@reqd_sub_group_size",
            words(&[8, 8, 8]),
            "a 32-bit number",
        ),
        (
            set::PROGRAM_METADATA,
            "k@global_id_mapping",
            1.into(),
            "UTF-8 text",
        ),
        (
            set::SPECIALIZATION_CONSTANTS,
            "c",
            words(&[0, 0]),
            "parts of 12 bytes: id, offset and size",
        ),
        (set::SPECIALIZATION_DEFAULTS, "all", bits(), "bytes"),
        (set::SPECIALIZATION_SET_VALUES, "all", 1.into(), "bytes"),
        (
            set::DEVICE_GLOBALS,
            "_Z4bias",
            words(&[4]),
            "two 32-bit numbers: a size, and 0 or 1",
        ),
        (
            set::DEVICE_GLOBALS,
            "_Z4bias",
            words(&[4, 2]),
            "two 32-bit numbers: a size, and 0 or 1",
        ),
        (set::HOST_PIPES, "p", short(), "a 32-bit number"),
        (
            set::VIRTUAL_FUNCTIONS,
            "virtual-functions-set",
            text(),
            "UTF-8 text: names separated by commas",
        ),
        (
            set::VIRTUAL_FUNCTIONS,
            "uses-virtual-functions-set",
            1.into(),
            "UTF-8 text: names separated by commas",
        ),
        (
            set::DEVICELIB_REQ_MASK,
            "DeviceLibReqMask",
            short(),
            "a 32-bit number",
        ),
        (
            set::DEVICELIB_METADATA,
            "bfloat16",
            short(),
            "a 32-bit number",
        ),
        (set::MISC_PROPERTIES, "isEsimdImage", flag(), "0 or 1"),
        (
            set::MISC_PROPERTIES,
            "sycl-register-alloc-mode",
            short(),
            "a 32-bit number",
        ),
        (
            set::MISC_PROPERTIES,
            "sycl-grf-size",
            short(),
            "a 32-bit number",
        ),
        (set::MISC_PROPERTIES, "optLevel", short(), "a 32-bit number"),
        (set::MISC_PROPERTIES, "sanUsed", 1.into(), "UTF-8 text"),
        (
            set::MISC_PROPERTIES,
            "specConstsReplacedWithDefault",
            flag(),
            "0 or 1",
        ),
        (
            set::MISC_PROPERTIES,
            "idQueriesRange",
            short(),
            "a 32-bit number",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "aspects",
            short(),
            "aspects as 32-bit numbers",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "fixed_target",
            short(),
            "32-bit numbers",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "reqd_work_group_size_uint64_t",
            words(&[8, 4, 2]),
            "one to three 64-bit numbers",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "reqd_work_group_size",
            words(&[]),
            "one to three 32-bit numbers",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "work_group_num_dim",
            0.into(),
            "1, 2 or 3 dimensions",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "reqd_sub_group_size",
            bits(),
            "a 32-bit number",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "joint_matrix",
            text(),
            "UTF-8 text: records separated by `;`, with at most 65536 fields",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "joint_matrix_mad",
            1.into(),
            "UTF-8 text: records separated by `;`, with at most 65536 fields",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "compile_target",
            text(),
            "UTF-8 text",
        ),
    ];
    for (set, key, value, expected) in cases {
        let error = ModuleMetadata::read(&sets(&[(set, key, value)])).unwrap_err();
        let found = (&*error.set, &*error.key, &*error.expected);
        assert_eq!(found, (set, key, expected));
    }
}

#[test]
fn records_have_at_most_65536_fields() {
    let read = |separators: usize| {
        let text = ",;".repeat(separators / 2) + &",".repeat(separators % 2);
        let value = Value::from(text);
        let sets = sets(&[(set::DEVICE_REQUIREMENTS, key::JOINT_MATRIX, value)]);
        let metadata = ModuleMetadata::read(&sets).ok()?;
        let records = metadata.requirements.matrices.0;
        Some(records.iter().map(Vec::len).sum::<usize>())
    };
    assert_eq!(read(65_535), Some(65_536));
    assert_eq!(read(65_536), None);
}

/// Values that a damaged or strange file may have in place of `value`.
fn others(value: &Value) -> Vec<Value> {
    let data = value.as_bytes().unwrap_or_default().to_vec();
    let mut others = vec![
        Value::U32(0),
        Value::U32(u32::MAX),
        Value::Other {
            ty: 3,
            text: String::new(),
        },
        Value::Bytes {
            bits: u64::MAX,
            data: data.clone(),
        },
        Value::Bytes {
            bits: (data.len() as u64 * 8).saturating_sub(3),
            data: data.clone(),
        },
    ];
    others.extend((0..data.len()).map(|length| Value::from(data[..length].to_vec())));
    others.extend((1..=9).map(|more| Value::from([&data[..], &vec![0xff; more]].concat())));
    for bit in 0..data.len() * 8 {
        let mut data = data.clone();
        data[bit / 8] ^= 1 << (bit % 8);
        others.push(Value::from(data));
    }
    others
}

#[test]
fn damaged_metadata_is_reported_or_survives() {
    let all = everything();
    let (mut named, mut survived) = (0, 0);
    for (name, set) in all.iter() {
        for (key, value) in set.iter() {
            for other in others(value) {
                let mut damaged = all.clone();
                damaged.insert(name.to_owned(), key.to_owned(), other);
                match ModuleMetadata::read(&damaged) {
                    Ok(metadata) => {
                        metadata.write(&mut damaged);
                        assert_eq!(ModuleMetadata::read(&damaged), Ok(metadata), "{key}");
                        survived += 1;
                    }
                    // Constants and their blobs are judged together.
                    Err(error) if name.starts_with(set::SPECIALIZATION_CONSTANTS) => {
                        assert!(error.set.starts_with(set::SPECIALIZATION_CONSTANTS));
                        named += 1;
                    }
                    Err(error) => {
                        assert_eq!((&*error.set, &*error.key), (name, key));
                        named += 1;
                    }
                }
            }
        }
    }
    assert!(named > 500 && survived > 500, "{named} {survived}");
}
