#![forbid(unsafe_code)]

use syclbin_rt::{Embedded, Module, Queue, Result};

static DAMAGED: &[u8] = &[0; 64];

fn load(queue: &Queue) -> Result<Module> {
    Module::builder(queue).load_embedded(Embedded::new(DAMAGED))
}

fn main() {}
