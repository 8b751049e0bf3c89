// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be loaded: a text, what was linked of several, or a binary that a text stands for.

use sha2::{Digest, Sha256};

use crate::call::Code;
use crate::code::Linked;
use crate::ptx::{Syntax, Unit, parse};
use crate::settings::{BINARIES_VARIABLE, Settings};

/// Why an image is not loaded.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: Code,
    /// What the log of errors says.
    pub(crate) what: String,
}

impl Refused {
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self {
            code: Code::CUDA_ERROR_INVALID_PTX,
            what: what.into(),
        }
    }

    pub(crate) fn unlinked(what: String) -> Self {
        Self::invalid(what)
    }
}

impl From<Code> for Refused {
    fn from(code: Code) -> Self {
        Self {
            code,
            what: String::new(),
        }
    }
}

impl From<Syntax> for Refused {
    fn from(syntax: Syntax) -> Self {
        Self::invalid(format!(
            "ptxas application ptx input, {syntax}; error   : it is not known to the simulation"
        ))
    }
}

/// Texts that are loaded together.
#[derive(Debug, Default)]
pub(crate) struct Image {
    pub(crate) texts: Vec<String>,
}

/// What the result of linking has behind the header of an ELF file for CUDA, which is all that others
/// look at. It is nobody else's format: other drivers do not take it.
const LINKED: &[u8; 16] = b"simulatedcubin\x01\0";
/// How long that header is.
const HEADER: usize = 64;
const ELF: &[u8; 4] = b"\x7fELF";
/// `EM_CUDA`
const MACHINE: u16 = 190;
const FAT: u32 = 0xba55_ed50;

impl Image {
    /// The same from bytes. A length of none means that the bytes say it themselves.
    ///
    /// # Safety
    /// There are so many bytes there; or as many as their own header says, or a zero at their end.
    pub(crate) unsafe fn read(from: *const u8, length: Option<usize>) -> Result<Self, Refused> {
        if from.is_null() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE.into());
        }
        // SAFETY: by the contract.
        let bytes = unsafe { super::image_bytes::whole(from, length) };
        Self::parse(bytes)
    }

    /// The same from bytes whose length is known.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Refused> {
        if bytes.starts_with(ELF) {
            return Self::binary(bytes);
        }
        if bytes.starts_with(&FAT.to_le_bytes()) {
            return super::fat::choose(bytes);
        }
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = std::str::from_utf8(text)
            .ok()
            .filter(|text| text.contains(".version"));
        match text {
            Some(text) => Ok(Self {
                texts: vec![text.to_owned()],
            }),
            None => Err(Code::CUDA_ERROR_INVALID_IMAGE.into()),
        }
    }

    /// A binary, for which a text may stand in the folder of the variable.
    fn binary(bytes: &[u8]) -> Result<Self, Refused> {
        let refused = |what: String| Refused {
            code: Code::CUDA_ERROR_NO_BINARY_FOR_GPU,
            what,
        };
        let machine = bytes
            .get(18..20)
            .map(|two| u16::from_le_bytes([two[0], two[1]]));
        if machine != Some(MACHINE) {
            return Err(Code::CUDA_ERROR_INVALID_IMAGE.into());
        }
        let sm = super::fat::binary_target(bytes);
        let device = Settings::get().sm;
        if sm.is_some_and(|sm| sm / 10 != device / 10 || sm > device) {
            return Err(refused(format!(
                "the binary is for sm_{}, the device is sm_{device}",
                sm.unwrap_or(0)
            )));
        }
        if let Some(texts) = bytes
            .get(HEADER..)
            .and_then(|rest| rest.strip_prefix(LINKED))
        {
            return Self::unpack(texts);
        }
        let Some(folder) = std::env::var_os(BINARIES_VARIABLE) else {
            return Err(refused("the simulation runs no binaries".to_owned()));
        };
        let hash = Sha256::digest(bytes);
        let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = std::path::Path::new(&folder).join(format!("{name}.ptx"));
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self { texts: vec![text] }),
            Err(error) => Err(refused(format!("{}: {error}", path.display()))),
        }
    }

    fn unpack(mut rest: &[u8]) -> Result<Self, Refused> {
        let mut image = Self::default();
        while let Some((length, after)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
            if length == 0 {
                break;
            }
            let text = after.get(..length).ok_or(Code::CUDA_ERROR_INVALID_IMAGE)?;
            let text = std::str::from_utf8(text).map_err(|_| Code::CUDA_ERROR_INVALID_IMAGE)?;
            image.texts.push(text.to_owned());
            rest = &after[length..];
        }
        Ok(image)
    }

    /// What `cuLinkComplete` gives.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        // 64 bits, the first byte first, and the version of the interface that has its target below.
        bytes[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x33\x07");
        bytes[18..20].copy_from_slice(&MACHINE.to_le_bytes());
        bytes[48..52].copy_from_slice(&Settings::get().sm.to_le_bytes());
        bytes.extend(LINKED);
        for text in &self.texts {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes.extend([0; 8]);
        // It ends where no section begins.
        let end = (bytes.len() as u64).to_le_bytes();
        bytes[40..48].copy_from_slice(&end);
        bytes
    }

    /// Reads the texts, and links nothing.
    pub(crate) fn read_only(&self) -> Result<(), Refused> {
        self.texts
            .iter()
            .try_for_each(|text| unit(text).map(|_| ()))
    }

    /// Reads and links the texts.
    pub(crate) fn link(&self) -> Result<Linked, Refused> {
        let units: Result<Vec<_>, _> = self.texts.iter().map(|text| unit(text)).collect();
        Linked::new(units?).map_err(Refused::unlinked)
    }
}

fn unit(text: &str) -> Result<Unit, Refused> {
    let settings = Settings::get();
    let unit = parse(text)?;
    let (major, minor) = unit.version;
    if unit.version > settings.newest_ptx() {
        return Err(Refused {
            code: Code::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            what: format!(
                "unsupported .version {major}.{minor}; the driver takes {:?}",
                settings.newest_ptx()
            ),
        });
    }
    if unit.target > settings.sm {
        let (target, sm) = (unit.target, settings.sm);
        return Err(Refused::invalid(format!(
            "the text is for sm_{target}, the device is sm_{sm}"
        )));
    }
    Ok(unit)
}
