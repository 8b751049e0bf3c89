// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images that are not part of the input as they are: compressed, in bitcode, in the files of a thin archive. Also
//! OffloadBinaries that go into an object. LLVM's tools judge what is written, where there are any.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use miniz_oxide::deflate::compress_to_vec_zlib;
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use syclbin::offload::{self, Compression, Entry, ImageKind, OffloadKind};
use syclbin::{Content, read};
use syclbin_tools::extract::{self, embed, images, images_with, package};

/// A tool of LLVM: from the directory `SYCLBIN_LLVM`, from Debian's packages, or from `PATH`.
fn llvm(tool: &str) -> Option<Command> {
    let named = std::env::var_os("SYCLBIN_LLVM").map(PathBuf::from);
    let installed = (18..40)
        .rev()
        .map(|version| format!("/usr/lib/llvm-{version}/bin").into());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = named
        .into_iter()
        .chain(installed)
        .chain(std::env::split_paths(&path));
    let found = folders
        .map(|folder| folder.join(tool))
        .find(|path| path.is_file());
    if found.is_none() {
        println!(
            "LLVM does not judge this: there is no {tool}, and SYCLBIN_LLVM names no directory with it"
        );
    }
    found.map(Command::new)
}

/// What a tool of LLVM prints, or its complaint.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec_zlib(bytes, 9)
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A compressed bundle with a header of this version, of which `size` is said to come out.
fn bundle(version: u16, method: u16, packed: &[u8], size: u64) -> Vec<u8> {
    let header = [20, 24, 32][usize::from(version) - 1];
    let mut out = b"CCOB".to_vec();
    out.extend([version, method].map(u16::to_le_bytes).concat());
    let total = (header + packed.len()) as u64;
    let narrow = |number: u64| u32::try_from(number).unwrap().to_le_bytes();
    match version {
        1 => out.extend(narrow(size)),
        2 => out.extend([narrow(total), narrow(size)].concat()),
        _ => out.extend([total, size].map(u64::to_le_bytes).concat()),
    }
    out.extend([0; 8]); // the hash, which LLVM only shows
    out.extend(packed);
    out
}

fn problem(bytes: &[u8]) -> String {
    images(bytes).unwrap_err().to_string()
}

fn entry(triple: &'static str, image: &[u8]) -> Entry<'static> {
    Entry {
        image_kind: ImageKind::of(Content::of(image)),
        offload_kind: OffloadKind::SYCL,
        flags: 0,
        strings: vec![("triple".into(), triple.as_bytes().into())],
        image: image.to_vec().into(),
    }
}

fn two() -> [Entry<'static>; 2] {
    let spirv = [0x0723_0203u32, 0x0001_0400, 0, 1, 0].map(u32::to_le_bytes);
    [
        entry("spir64-unknown-unknown", &spirv.concat()),
        entry(
            "nvptx64-nvidia-cuda",
            b"// text\n.version 6.3\n.target sm_75\n",
        ),
    ]
}

fn plain_object() -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let id = object.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
    object.set_section_data(id, &b"\xc3"[..], 1);
    object.write().unwrap()
}

fn section(bytes: &[u8]) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let name = b".llvm.offloading".to_vec();
    let id = object.add_section(Vec::new(), name, SectionKind::ReadOnlyData);
    object.set_section_data(id, bytes, 8);
    object.write().unwrap()
}

#[test]
fn bundles_of_all_versions_are_unpacked() {
    let plain = test_files::read("extract/binary.bundle");
    let expected: Vec<_> = images(&plain)
        .unwrap()
        .into_iter()
        .map(|image| image.bytes)
        .collect();
    let folder = tempfile::tempdir().unwrap();
    for version in 1..=3 {
        for (method, packed) in [(0, zlib(&plain)), (1, zstd(&plain))] {
            let bytes = bundle(version, method, &packed, plain.len() as u64);
            let found = images(&bytes).unwrap();
            let unpacked: Vec<_> = found.iter().map(|image| image.bytes.clone()).collect();
            assert_eq!(unpacked, expected, "version {version}, method {method}");
            assert!(found.iter().all(|image| image.offset == 0));
            let Some(mut bundler) = llvm("clang-offload-bundler") else {
                continue;
            };
            let path = folder.path().join("a.bundle");
            std::fs::write(&path, &bytes).unwrap();
            let listed = said(
                bundler
                    .args(["--list", "--type=bc"])
                    .arg(format!("--input={}", path.display())),
            );
            assert!(listed.unwrap().contains("hip-amdgcn-amd-amdhsa--gfx90a"));
        }
    }
}

#[test]
fn llvm_unbundles_what_bundle_writes() {
    // LLVM's own tool lists entries of kind sycl, and unbundles only other kinds.
    let entries = two().map(|entry| Entry {
        offload_kind: OffloadKind::OPENMP,
        ..entry
    });
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for compression in [None, Some(Compression::Zlib), Some(Compression::Zstd)] {
        let written = extract::bundle(&entries, compression).unwrap();
        let found = images(&written).unwrap();
        let ours: Vec<&[u8]> = found.iter().map(|image| &*image.bytes).collect();
        assert_eq!(ours, entries.each_ref().map(|entry| &*entry.image));
        let triples: Vec<_> = found.iter().map(|image| &*image.triple).collect();
        let expected = ["spir64-unknown-unknown", "nvptx64-nvidia-cuda"];
        assert_eq!(triples, expected);
        let Some(mut bundler) = llvm("clang-offload-bundler") else {
            continue;
        };
        std::fs::write(file("a.bundle"), &written).unwrap();
        let targets = "openmp-spir64-unknown-unknown-unknown-,openmp-nvptx64-nvidia-cuda-unknown-";
        let unbundle = bundler
            .args(["--unbundle", "--type=bc"])
            .arg(format!("--targets={targets}"))
            .arg(format!("--input={}", file("a.bundle").display()))
            .args(["a", "b"].map(|name| format!("--output={}", file(name).display())));
        assert_eq!(said(unbundle).unwrap(), "");
        for (name, entry) in ["a", "b"].iter().zip(&entries) {
            assert_eq!(std::fs::read(file(name)).unwrap(), *entry.image);
        }
    }
}

#[test]
fn compressed_images_of_a_program_are_unpacked() {
    let program = test_files::read("extract/registered.so");
    let plain = images(&program).unwrap();
    assert!(plain.iter().all(|image| image.properties.is_some()));
    let mut compressed = program.clone();
    for image in &plain {
        let start = usize::try_from(image.offset).unwrap();
        let frame = zstd(&image.bytes);
        // The program still records the uncompressed sizes, so pad each image with zeros.
        let place = &mut compressed[start..][..image.bytes.len()];
        place.fill(0);
        place[..frame.len()].copy_from_slice(&frame);
    }
    assert_eq!(images(&compressed).unwrap(), plain);
}

#[test]
fn hostile_compressed_images_are_errors() {
    let zeros = zstd(&vec![0; 40 << 20]);
    for (image, expected) in [
        (
            vec![0x28, 0xb5, 0x2f, 0xfd],
            "compressed image: cannot decompress the content: zstd: ",
        ),
        (zeros, "it unpacks to more than the 16"),
        (
            zstd(&zstd(b"code")),
            "compressed inside a compressed container",
        ),
    ] {
        let entry = Entry {
            image: image.into(),
            ..Entry::default()
        };
        let error = problem(&offload::write(&[entry]).unwrap());
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn hostile_bundles_are_errors() {
    let plain = test_files::read("extract/binary.bundle");
    let size = plain.len() as u64;
    let packed = zstd(&plain);
    let zeros = vec![0; 40 << 20];
    let inner = bundle(3, 1, &packed, size);
    for (bytes, expected) in [
        (bundle(3, 1, &packed, 4 << 30), "it claims 4294967296 bytes"),
        (
            bundle(3, 0, &zlib(&zeros), 40 << 20),
            "it claims 41943040 bytes",
        ),
        (
            bundle(3, 1, &packed, size - 1),
            "it unpacks to more than the 4614 bytes",
        ),
        (
            bundle(3, 1, &packed, size + 1),
            "it unpacks to 4615 bytes, but the header records 4616",
        ),
        (bundle(1, 0, &packed, size), "the zlib stream is malformed"),
        (bundle(2, 2, &packed, size), "method 2 is not supported"),
        (
            bundle(2, 1, &zstd(b"something else"), 14),
            "it does not unpack to an offload bundle",
        ),
        (
            bundle(2, 1, &zstd(&inner), inner.len() as u64),
            "it does not unpack to an offload bundle",
        ),
        (inner[..inner.len() - 1].to_vec(), "exceeds the file of"),
        (inner[..31].to_vec(), "compressed offload bundle: range"),
        (
            b"CCOB\x04\0\0\0".to_vec(),
            "version 4 is not supported, only 1, 2 and 3",
        ),
    ] {
        let error = problem(&bytes);
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("bundle"), "{error}");
    }
}

#[test]
fn compressed_offload_binaries_yield_their_images() {
    let entries = two();
    let plain = offload::write_each(&entries).unwrap();
    for method in Compression::ALL {
        let packed = offload::write_compressed(&entries, method).unwrap();
        assert_eq!(packed.len() % 8, 0);
        let unpacked = offload::unpack(&packed).unwrap();
        assert_eq!(offload::read(&unpacked).unwrap(), entries);
        let expected: Vec<_> = entries.iter().map(|entry| &*entry.image).collect();
        let both = [&plain[..], &packed, &plain].concat();
        for (bytes, times) in [(&packed, 1), (&both, 3), (&section(&packed), 1)] {
            let found = images(bytes).unwrap();
            let found: Vec<_> = found.iter().map(|image| &*image.bytes).collect();
            assert_eq!(found, expected.repeat(times));
        }
        judge(&packed);
    }
    assert!(matches!(
        offload::unpack(&plain),
        Ok(std::borrow::Cow::Borrowed(_))
    ));
    assert_eq!(&*offload::unpack(b"other").unwrap(), b"other");
}

/// Lets LLVM list the images of a compressed OffloadBinary.
fn judge(bytes: &[u8]) {
    let Some(mut tool) = llvm("llvm-objdump") else {
        return;
    };
    let version = said(tool.arg("--version")).unwrap();
    let major = version
        .split("LLVM version ")
        .nth(1)
        .and_then(|text| text.split('.').next());
    let major = major
        .and_then(|text| text.trim().parse::<u32>().ok())
        .unwrap_or(0);
    if major < 24 {
        println!("LLVM does not judge this: version {major} reads no OffloadBinary of version 3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    std::fs::write(&path, bytes).unwrap();
    let listed = said(llvm("llvm-objdump").unwrap().arg("--offloading").arg(&path)).unwrap();
    assert!(
        listed.contains("spir64-unknown-unknown") && listed.contains("nvptx64-nvidia-cuda"),
        "{listed}"
    );
}

#[test]
fn hostile_offload_binaries_are_errors() {
    let packed = offload::write_compressed(&two(), Compression::Zstd).unwrap();
    let with = |at: usize, number: u64| {
        let mut bytes = packed.clone();
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        bytes
    };
    let nested = [entry("", &packed)];
    let nested = offload::write_compressed(&nested, Compression::Zlib).unwrap();
    for (bytes, expected) in [
        (with(32, 4 << 30), "it claims 4294967256 bytes"),
        (with(32, 39), "its unpacked size is smaller than its header"),
        (with(32, 100), "it unpacks to more than the 60 bytes"),
        (with(32, 10_000), "but the header records 9960"),
        (with(16, 39), "the compressed content starts at 0x27"),
        (with(16, u64::MAX), "the compressed content starts at"),
        (with(8, 1 << 20), "exceeds the file of"),
        (with(8, 60), "zstd: "),
        (
            nested,
            "inside a compressed container; unpack the outer container first",
        ),
    ] {
        let error = problem(&bytes);
        assert!(error.contains(expected), "{error}");
        let in_object = problem(&section(&bytes));
        assert!(
            in_object.contains("section .llvm.offloading"),
            "{in_object}"
        );
        assert!(in_object.contains(expected), "{in_object}");
    }
}

#[test]
fn compressed_syclbin_is_shared_and_packaged() {
    let bytes = test_files::read("work_group.object.syclbin");
    let wrapped = offload::read(&bytes).unwrap();
    let packed = offload::write_compressed(&wrapped, Compression::Zstd).unwrap();
    let unpacked = offload::unpack(&packed).unwrap();
    let file = read::parse(&unpacked).unwrap();
    assert_eq!(file, read::parse(&bytes).unwrap());
    let found = images(&packed).unwrap();
    assert_eq!(found.len(), 3);
    let files = found
        .iter()
        .map(|image| &image.syclbin.as_ref().unwrap().file);
    assert!(
        files
            .clone()
            .zip(files.skip(1))
            .all(|(a, b)| Arc::ptr_eq(a, b))
    );
    assert_eq!(package(found).0.modules, file.modules);
}

#[test]
fn bitcode_with_apples_wrapper_is_read() {
    let plain = test_files::read("extract/lto.o");
    let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let header = [
        [0xde, 0xc0, 0x17, 0x0b],
        number(0),
        number(20),
        number(plain.len()),
        number(7),
    ];
    let bytes = [&header.concat()[..], &plain, &[0; 8]].concat();
    let found = images(&bytes).unwrap();
    assert_eq!(found, images(&plain).unwrap());
    assert_eq!(found.len(), 2);
    let mut beyond = bytes;
    beyond[15] = 1;
    let error = problem(&beyond);
    assert!(
        error.contains("LLVM bitcode: the bitcode is truncated or malformed"),
        "{error}"
    );
}

#[test]
fn truncated_bitcode_is_an_error() {
    let bytes = test_files::read("extract/lto.o");
    for end in (4..bytes.len() - 4).step_by(4) {
        let error = images(&bytes[..end]).map(|found| found.len());
        // Whole blocks at the end may be missing: identification, module, strings, symbols.
        assert!(matches!(error, Ok(1 | 2) | Err(_)), "{end}: {error:?}");
    }
    let error = problem(&bytes[..2000]);
    assert!(
        error.contains("the bitcode is truncated or malformed"),
        "{error}"
    );
}

/// A thin archive of these names and sizes.
fn thin(members: &[(&str, usize)]) -> Vec<u8> {
    let names: String = members
        .iter()
        .map(|(name, _)| format!("{name}/\n"))
        .collect();
    let header = |name: &str, size: usize| {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644)
    };
    let mut out = format!("!<thin>\n{}{names}", header("//", names.len()));
    if names.len() % 2 == 1 {
        out.push('\n');
    }
    let mut at = 0;
    for (name, size) in members {
        out.push_str(&header(&format!("/{at}"), *size));
        at += name.len() + 2;
    }
    out.into_bytes()
}

#[test]
fn members_of_thin_archives_are_read() {
    let object = test_files::read("extract/fat.o");
    let packed = test_files::read("extract/compressed.bundle");
    let archive = thin(&[("sub/fat.o", object.len()), ("c.bundle", packed.len())]);
    let mut asked = Vec::new();
    let found = images_with(&archive, &mut |path| {
        asked.push(path.to_owned());
        Ok(if path == "c.bundle" {
            packed.clone()
        } else {
            object.clone()
        })
    });
    let origins: Vec<_> = found
        .unwrap()
        .into_iter()
        .map(|image| image.origin)
        .collect();
    assert_eq!(asked, ["sub/fat.o", "c.bundle"]);
    assert_eq!(origins.len(), 4);
    assert_eq!(
        origins[1],
        "archive member sub/fat.o: section .llvm.offloading: entry 1"
    );
    assert!(origins[3].starts_with("archive member c.bundle: compressed offload bundle: "));
    // The archive that LLVM made.
    let made = test_files::read("extract/thin.a");
    let member = test_files::read("extract/library.a");
    let other = images(&member).unwrap().last().unwrap().bytes.to_vec();
    let error = images_with(&made, &mut |path| {
        assert_eq!(path, "other.o");
        Ok(other.clone())
    });
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains(
            "cannot read member other.o: it is 336 bytes long, but the archive records 1184"
        ),
        "{error}"
    );
}

#[test]
fn hostile_thin_archives_are_errors() {
    let size = thin(&[("a.a", 0)]).len();
    let error = |bytes: &[u8], member: Result<Vec<u8>, String>| {
        let found = images_with(bytes, &mut |_| member.clone());
        found.unwrap_err().to_string()
    };
    let cycle = thin(&[("a.a", size)]);
    let text = error(&cycle, Ok(cycle.clone()));
    assert!(
        text.contains(
            "archive member a.a: archive: a thin archive contains only the names of its members"
        ),
        "{text}"
    );
    let text = error(&cycle, Err("no such file".into()));
    assert!(
        text.contains("cannot read member a.a: no such file"),
        "{text}"
    );
    let object = test_files::read("extract/fat.o");
    let twice = thin(&[("a.o", object.len()), ("a.o", object.len())]);
    let text = error(&twice, Ok(object));
    assert!(
        text.contains("cannot read member a.o: the archive lists it twice"),
        "{text}"
    );
}

#[test]
fn embedded_binaries_are_extracted_again() {
    let plain = plain_object();
    // LLVM's own object has a section of addresses that matter to linkers.
    let library = test_files::read("extract/library.a");
    let at = library
        .windows(4)
        .position(|bytes| bytes == b"\x7fELF")
        .unwrap();
    let size = std::str::from_utf8(&library[at - 12..at - 2]).unwrap();
    let size: usize = size.trim().parse().unwrap();
    for host in [&plain, &library[at..at + size]] {
        embedded(host);
    }
}

fn embedded(host: &[u8]) {
    let entries = two();
    let binaries = offload::write_each(&entries).unwrap();
    let object = embed(host, &binaries).unwrap();
    assert_eq!(object[64..host.len()], host[64..]);
    let found = images(&object).unwrap();
    let found: Vec<_> = found.iter().map(|image| &*image.bytes).collect();
    assert_eq!(found, entries.each_ref().map(|entry| &*entry.image));
    if let Some(mut tool) = llvm("llvm-objdump") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.o");
        std::fs::write(&path, &object).unwrap();
        match said(tool.arg("--offloading").arg(&path)) {
            Ok(listed) => {
                assert_eq!(listed.matches("OFFLOADING IMAGE").count(), 2, "{listed}");
                let all = said(
                    llvm("llvm-readelf")
                        .unwrap()
                        .args(["--all", "--wide"])
                        .arg(&path),
                );
                let all = all.unwrap();
                assert!(
                    all.contains(".llvm.offloading  LLVM_OFFLOADING") && !all.contains("warning"),
                    "{all}"
                );
            }
            Err(error) => {
                assert!(error.contains("unknown argument '--offloading'"), "{error}");
                println!("LLVM does not judge this: its llvm-objdump is older than 15");
            }
        }
    }
}

#[test]
fn unfit_hosts_and_binaries_are_refused() {
    let binaries = offload::write_each(&two()).unwrap();
    let refused = |host: &[u8], binaries: &[u8]| embed(host, binaries).unwrap_err().to_string();
    for name in ["fat.obj", "lto.o", "wrapped.so"] {
        let error = refused(&test_files::read(&format!("extract/{name}")), &binaries);
        assert!(
            error.contains("device code can be embedded only in a 64-bit ELF object"),
            "{name}: {error}"
        );
    }
    for name in ["fat.o", "merged.o"] {
        let error = refused(&test_files::read(&format!("extract/{name}")), &binaries);
        assert!(
            error.contains("the object already contains device code"),
            "{name}: {error}"
        );
    }
    let host = plain_object();
    assert!(refused(&host, b"junk").contains("not an OffloadBinary"));
    for end in 4..host.len() {
        let _ = embed(&host[..end], &binaries);
    }
    let text = refused(&host[..80], &binaries);
    assert!(text.contains("object file: "), "{text}");
    let with_sections = |count: u16| {
        let mut host = host.clone();
        host[60..62].copy_from_slice(&count.to_le_bytes());
        host.resize(host.len() + usize::from(count) * 64, 0);
        host
    };
    for count in [0xfeff, 0xffff] {
        let text = refused(&with_sections(count), &binaries);
        assert!(text.contains(&format!("too large: {count} sections")));
    }
    let object = embed(&with_sections(0xfefe), &binaries).unwrap();
    assert_eq!(images(&object).unwrap().len(), 2);
    let mut without = host.clone();
    for field in [40..48, 60..64] {
        without[field].fill(0);
    }
    let text = refused(&without, &binaries);
    assert!(text.contains("too large: 0 sections"), "{text}");
    let mut wide = host;
    wide[58] = 72;
    assert!(embed(&wide, &binaries).is_err());
}

#[test]
fn each_compressed_syclbin_stays_its_own() {
    let names = ["globals", "vector_ops"];
    let files = names.map(|name| test_files::read(&format!("{name}.object.syclbin")));
    let entries = files.each_ref().map(|file| entry("", file));
    let packed = offload::write_compressed(&entries, Compression::Zstd).unwrap();
    let expected = files
        .each_ref()
        .map(|file| read::parse(file).unwrap().modules);
    assert_eq!(
        package(images(&packed).unwrap()).0.modules,
        expected.concat()
    );
}
