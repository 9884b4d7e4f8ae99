//! librankweave.so
