//! What a reduction or a broadcast is about: a vector that algorithms cut into parts.

/// A vector of whole elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vector {
    /// Bytes of the whole vector.
    pub bytes: u64,
    /// Bytes of one element; parts begin and end between elements.
    pub element: u64,
}
