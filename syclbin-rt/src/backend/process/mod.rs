//! What all drivers of a process share: no call runs while they go, and no foreign code on their threads.

pub(crate) mod gate;
pub(in crate::backend) mod loader;
pub(in crate::backend) mod wakers;
