//! The vector of a reduction or a broadcast, which algorithms cut into parts.

/// A vector of whole elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vector {
    /// Bytes of the whole vector.
    pub bytes: u64,
    /// Bytes of one element; parts begin and end between elements.
    pub element: u64,
}

impl Vector {
    /// The number of elements.
    pub fn count(self) -> u64 {
        self.bytes / self.element
    }
}
