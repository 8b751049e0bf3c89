//! Reach: who can use memory that has an address.

/// Who can reach memory that has an address (unified shared memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The device alone.
    Device,
    /// Both; it lies with the host.
    Host,
    /// Both; it moves to who uses it.
    Shared,
}
