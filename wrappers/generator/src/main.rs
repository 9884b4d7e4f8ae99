//! gen
fn main() {}
