//! The work on this repository.
fn main() {}
