//! Mapping algorithms: which task goes to which slot.
