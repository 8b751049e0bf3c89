// SPDX-License-Identifier: MIT OR Apache-2.0
//! Selection: the images of a module that the device's driver takes, decided without the driver.

use syclbin::Image;

use crate::load::device_code::Code;
use crate::load::files::{Files, ImageIndex};
use crate::load::made_for::MadeFor;
use crate::load::unit::Unit;
use crate::load::{native, requirements};

/// The images of a module in two groups, each in the order of the file.
pub(crate) struct Selection<'l> {
    pub(crate) module: usize,
    pub(crate) unit: &'l Unit<'l>,
    /// Those that were saved on this device come first.
    pub(crate) native: Vec<SelectedImage<'l>>,
    pub(crate) ir: Vec<SelectedImage<'l>>,
}

/// An image, with its form for the driver or the reason why the device does not take it.
pub(crate) struct SelectedImage<'l> {
    pub(crate) index: ImageIndex,
    pub(crate) form: Result<Form<'l>, String>,
}

/// The form in which a driver takes an image.
pub(crate) enum Form<'l> {
    /// As it is, without compiling it.
    Native,
    /// As code to compile, linked with the images that it imports from.
    Code(&'l Code),
}

impl<'l> Selection<'l> {
    /// Selects among the images of a module of the loaded file. `constants` are the requested values of
    /// specialization constants.
    pub(crate) fn new(
        files: &'l Files<'l>,
        module: usize,
        unit: &'l Unit<'l>,
        constants: &[(String, Vec<u8>)],
    ) -> Self {
        let select = |native: bool| {
            let images = unit.module.images.iter().enumerate();
            let images = images.filter(|(_, image)| image.native == native);
            let selected = images.map(|(number, image)| {
                let index = ImageIndex {
                    file: 0,
                    module,
                    image: number,
                };
                let form = form(files, index, image, unit, constants);
                SelectedImage { index, form }
            });
            selected.collect::<Vec<_>>()
        };
        let mut native = select(true);
        let here = MadeFor::of(files.facts());
        let is_elsewhere = |selected: &SelectedImage<'_>| {
            let image = unit.module.images.get(selected.index.image);
            let made_for = image.and_then(|image| MadeFor::of_image(image, &unit.module.metadata));
            made_for.as_ref() != Some(&here)
        };
        native.sort_by_key(is_elsewhere);
        Self {
            module,
            unit,
            native,
            ir: select(false),
        }
    }
}

fn form<'l>(
    files: &'l Files<'l>,
    index: ImageIndex,
    image: &Image<'_>,
    unit: &Unit<'_>,
    constants: &[(String, Vec<u8>)],
) -> Result<Form<'l>, String> {
    let facts = files.facts();
    if native::is_native(image, facts) {
        requirements::check(&unit.metadata, facts)?;
        native::check(
            image,
            &unit.metadata,
            &unit.module.metadata,
            constants,
            facts,
        )?;
        return Ok(Form::Native);
    }
    files.code(index).map(Form::Code)
}
