//! Bounds against all mappings of small problems, and certificates that prove nothing.
