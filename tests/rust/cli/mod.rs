//! The command as a user runs it: each test starts the real program in a directory of its own.

mod bounds;
mod check;
mod commands;
mod doctor;
mod documents;
mod errors;
mod first_minute;
mod large_store;
mod mapping;
mod networks;
mod placement;
mod reference;
mod setting_files;
