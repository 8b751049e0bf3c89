//! Types over all drivers: each is of whichever driver a device has, and nothing above knows which.

pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod program;
pub(crate) mod queue;
pub(crate) mod recording;
