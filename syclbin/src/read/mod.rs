//! Bytes to [`Syclbin`]. Images are borrowed; nothing in the input makes this panic, allocate more
//! than a small multiple of the input, or take more than linear time.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind};
use crate::model::{AbstractModule, Image, Syclbin};
use crate::property::PropertySets;
use crate::raw::{offload_binary, slice, v1};

/// Reads a SYCLBIN file: version 1, bare or wrapped in an OffloadBinary of version 1 or 2. Bytes
/// after the end of the wrapper are ignored, as the reference runtime does.
///
/// # Errors
///
/// When the bytes are something else or do not hold together; the error names record and offset.
pub fn parse(bytes: &[u8]) -> Result<Syclbin<'_>, Error> {
    if bytes.starts_with(&v1::MAGIC) {
        return parse_v1(bytes);
    }
    let (start, image) = unwrap(bytes)?;
    parse_v1(image).map_err(|error| {
        let record = format!("OffloadBinary image: {}", error.record());
        error.within(record, start)
    })
}

/// The image of an OffloadBinary's first entry, and where it starts.
fn unwrap(bytes: &[u8]) -> Result<(u64, &[u8]), Error> {
    const RECORD: &str = "OffloadBinary header";
    if bytes.len() < 4 || bytes[..4] != offload_binary::MAGIC {
        let kind = ErrorKind::magic("SYCLBIN", &bytes[..bytes.len().min(4)]);
        return Err(Error::new("file", 0, kind));
    }
    let header = offload_binary::Header::read(bytes)?;
    let whole = slice(bytes, (0, header.size), "file", || RECORD.into(), 8)?;
    if header.version == 1 && header.entry_size_or_count != offload_binary::Entry::SIZE as u64 {
        let kind = ErrorKind::Range {
            start: header.entry_offset,
            size: header.entry_size_or_count,
            what: "entry",
            available: offload_binary::Entry::SIZE as u64,
        };
        return Err(Error::new(RECORD, 24, kind));
    }
    // An offset beyond `usize` is beyond the file as well.
    let at = usize::try_from(header.entry_offset).unwrap_or(usize::MAX);
    let entry = offload_binary::Entry::read(whole, at)?;
    if ![
        offload_binary::IMAGE_KIND_SYCLBIN,
        offload_binary::IMAGE_KIND_SYCLBIN_2025,
    ]
    .contains(&entry.image_kind)
    {
        let kind = ErrorKind::ImageKind(entry.image_kind);
        return Err(Error::new("OffloadBinary entry", at as u64, kind));
    }
    let range = (entry.image_offset, entry.image_size);
    let image = slice(whole, range, "file", || "OffloadBinary entry".into(), at)?;
    Ok((entry.image_offset, image))
}

fn parse_v1(bytes: &[u8]) -> Result<Syclbin<'_>, Error> {
    let header = v1::FileHeader::read(bytes)?;
    let tables = Tables::locate(bytes, &header)?;

    let mut budget = Budget::new("metadata bytes", header.metadata_byte_table_size);
    let mut metadata = |offset, size, record: &str, at| {
        budget.spend(size, record, at)?;
        let range = (offset, size);
        let text = slice(
            tables.metadata,
            range,
            "metadata table",
            || record.into(),
            at,
        )?;
        let start = (tables.metadata_start as u64).saturating_add(offset);
        PropertySets::parse(text)
            .map_err(|error| error.within(format!("{record}: metadata"), start))
    };

    let global = metadata(
        header.global_metadata_offset,
        header.global_metadata_size,
        "SYCLBIN file header",
        40,
    )?;

    let mut ir_budget = Budget::new("IR modules", header.ir_module_count.into());
    let mut native_budget = Budget::new(
        "native images",
        header.native_device_code_image_count.into(),
    );
    let mut modules = Vec::new();
    for index in 0..header.abstract_module_count as usize {
        let at = v1::FileHeader::SIZE + index * v1::AbstractModuleHeader::SIZE;
        let raw = v1::AbstractModuleHeader::read(bytes, at)?;
        let record = format!("abstract module {index}");
        let mut module = AbstractModule {
            metadata: metadata(raw.metadata_offset, raw.metadata_size, &record, at)?,
            images: Vec::new(),
        };
        for (native, first, count, headers, budget) in [
            (
                false,
                raw.ir_module_index,
                raw.ir_module_count,
                tables.ir,
                &mut ir_budget,
            ),
            (
                true,
                raw.native_device_code_image_index,
                raw.native_device_code_image_count,
                tables.native,
                &mut native_budget,
            ),
        ] {
            budget.spend(count.into(), &record, at)?;
            let what = if native { "native image" } else { "IR module" };
            if u64::from(first) + u64::from(count) > headers.count as u64 {
                let kind = ErrorKind::Range {
                    start: first.into(),
                    size: count.into(),
                    what: if native {
                        "native image headers"
                    } else {
                        "IR module headers"
                    },
                    available: headers.count as u64,
                };
                return Err(Error::new(record, at as u64, kind));
            }
            for index in first as usize..first as usize + count as usize {
                let at = headers.start + index * v1::ImageHeader::SIZE;
                let raw = v1::ImageHeader::read(bytes, at)?;
                let record = format!("{what} {index}");
                let range = (raw.raw_offset, raw.raw_size);
                let code = slice(tables.binary, range, "binary table", || record.clone(), at)?;
                module.images.push(Image {
                    native,
                    metadata: metadata(raw.metadata_offset, raw.metadata_size, &record, at)?,
                    bytes: Cow::Borrowed(code),
                });
            }
        }
        modules.push(module);
    }
    Ok(Syclbin { global, modules })
}

/// Where the parts of a version 1 file lie.
struct Tables<'a> {
    ir: Headers,
    native: Headers,
    metadata_start: usize,
    metadata: &'a [u8],
    binary: &'a [u8],
}

/// An array of image headers.
#[derive(Clone, Copy)]
struct Headers {
    start: usize,
    count: usize,
}

impl<'a> Tables<'a> {
    fn locate(bytes: &'a [u8], header: &v1::FileHeader) -> Result<Self, Error> {
        let record = || "SYCLBIN file header".into();
        // Three counts of 32 bits times 32 bytes each do not overflow 64 bits.
        let modules = u64::from(header.abstract_module_count) * 32;
        let ir = u64::from(header.ir_module_count) * 32;
        let native = u64::from(header.native_device_code_image_count) * 32;
        let headers = (v1::FileHeader::SIZE as u64, modules + ir + native);
        slice(bytes, headers, "file", record, 8)?;
        let metadata_start = headers.0 + headers.1;
        let metadata = (metadata_start, header.metadata_byte_table_size);
        let metadata = slice(bytes, metadata, "file", record, 24)?;
        let binary_start = (metadata_start + metadata.len() as u64).next_multiple_of(8);
        let binary_size = header.binary_byte_table_size;
        let binary = if binary_size == 0 {
            &[] // the padding before an empty table may be missing
        } else {
            slice(bytes, (binary_start, binary_size), "file", record, 32)?
        };
        // `slice` has shown that these lie in the file.
        let start = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(Self {
            ir: Headers {
                start: start(headers.0 + modules),
                count: header.ir_module_count as usize,
            },
            native: Headers {
                start: start(headers.0 + modules + ir),
                count: header.native_device_code_image_count as usize,
            },
            metadata_start: start(metadata_start),
            metadata,
            binary,
        })
    }
}

/// How much of a table the records may still claim.
///
/// Records that overlap could make a small file mean a huge one: ten thousand modules that all
/// claim the same ten thousand images. No writer shares, so this costs no real file anything.
struct Budget {
    what: &'static str,
    available: u64,
    claimed: u64,
}

impl Budget {
    fn new(what: &'static str, available: u64) -> Self {
        Self {
            what,
            available,
            claimed: 0,
        }
    }

    fn spend(&mut self, amount: u64, record: &str, at: usize) -> Result<(), Error> {
        self.claimed = self.claimed.saturating_add(amount);
        if self.claimed <= self.available {
            return Ok(());
        }
        let kind = ErrorKind::Shared {
            what: self.what,
            claimed: self.claimed,
            available: self.available,
        };
        Err(Error::new(
            alloc::string::String::from(record),
            at as u64,
            kind,
        ))
    }
}
