//! The families of MPI libraries, by how they represent their handles.

/// A family of MPI libraries. The command and the preloaded library have to know it before they use an
/// MPI library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Open MPI and its relatives: handles are pointers.
    OpenMpi,
    /// MPICH, MVAPICH, Intel MPI, Cray MPICH: handles are integers.
    Mpich,
    /// The binary interface that MPI 5 standardizes: handles are pointers with small constants.
    Standard,
    /// None of these: calls are passed on untouched.
    Unknown,
}

impl Family {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Family::OpenMpi => "Open MPI",
            Family::Mpich => "MPICH",
            Family::Standard => "MPI-5 standard",
            Family::Unknown => "unknown",
        }
    }
}
