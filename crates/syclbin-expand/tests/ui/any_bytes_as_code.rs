#![forbid(unsafe_code)]

use syclbin_rt::{Embedded, Module, Queue, Result};

static DAMAGED: &[u8] = &[0; 64];

fn load(queue: &Queue) -> Result<Module> {
    Module::builder(queue).load_embedded(Embedded::new(DAMAGED))
}

fn link(queue: &Queue, whole: Embedded) -> Result<Module> {
    Module::builder(queue).link(DAMAGED).load_embedded(whole)
}

fn main() {}
