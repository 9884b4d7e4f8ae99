//! The options of a launch: one table that the command line, the environment, the man page and the
//! preloaded library all read.
//!
//! [`TABLE`] lists every option with its variable, default, help and parser. The parsers set the fields of
//! [`Settings`]. The preloaded library calls [`Settings::from_env`], which never fails: a value that cannot
//! be read is reported and the default is used, because a profiling library must not be the reason why a
//! job ends.

mod choices;
mod environment;
mod family;
mod functions;
mod names;
mod parse;
mod setting_files;
mod settings;
mod store_bound;
mod table;

pub use choices::{Aim, Collectives, Measure, Mode, NetworkChoice, Place, Slots, Spill, Times};
pub use family::Family;
pub use functions::{FUNCTIONS, Functions, is_c_function};
pub use names::Names;
pub use parse::{age, number_list, seconds, size};
pub use setting_files::{SettingFile, of_one_launch};
pub use settings::Settings;
pub use store_bound::StoreBound;
pub use table::{Opt, TABLE, find};
