//! The store: the data that is kept between launches, with one record for each program and number of tasks.
//!
//! * [`Store`] is a directory of records. A [`Record`] holds the matrix of a program and the launch that
//!   recorded it; [`encode`] and [`decode`] are its file format.
//! * [`identity()`] and [`key_for`] make the key of a record.
//! * A [`Run`] is a record that is kept beside the one in use: of other arguments, or of a run that sent less.
//! * A [`Verdict`] says whether the results of a program depend on the order of its ranks.
//! * A [`KeptOrder`] is the answer to a mapping problem, which then need not be solved again.
//! * A [`MeasuredNetwork`] is what a launch found out about the switches between its hosts.
//! * A [`LaunchNote`] tells a later command that a launch recorded nothing.
//! * [`RefusedRecords`] is the place where records wait that their store refused.
//!
//! The preloaded library uses all of this inside MPI processes, so nothing here needs more than the core
//! dependencies.
//!
//! Nothing stored is lost: files are replaced by a rename, a damaged record is moved aside before a new
//! one takes its name, and a file of a newer version is not changed.

mod access;
mod change_marks;
mod collection;
mod damaged_files;
mod devices;
mod directory;
mod directory_order;
mod directory_scan;
mod entry;
mod failed_run;
mod file_name;
mod fitting;
mod footprint;
mod history;
mod identity;
mod joined_networks;
mod kept_networks;
mod kept_orders;
mod launch_notes;
mod leftovers;
mod list_index;
mod list_row;
mod listing;
mod measured_networks;
mod mode;
mod name_table;
mod others;
mod placement;
mod record;
mod record_format;
mod record_heads;
mod refused_records;
mod runs;
mod sharing;
mod signature;
pub mod spill;
mod standing;
mod stored_survey;
mod unique_names;
mod user_choice;
mod verdict;

pub use access::check_directory;
pub use collection::Collected;
pub use devices::{Devices, NO_DEVICE};
pub use directory::Store;
pub use entry::Entry;
pub use failed_run::StoredRun;
pub use fitting::{Fit, Fitting};
pub use footprint::Footprints;
pub use history::{InMpi, KEPT, LONGEST, Past, joined, places_of, work_of};
pub use identity::{Identity, build_id, identity, key_for, program_id, program_of_key};
pub use kept_networks::{
    KeptNetwork, MOST_KEPT, NetworkQuestion, decode_kept_network, read_kept_network,
};
pub use kept_orders::{KeptOrder, MOST_ORDERS};
pub use launch_notes::{LaunchNote, NOTE, remove_note};
pub use listing::{Listed, Listing};
pub use measured_networks::{MOST_NETWORKS, decode_measured_network, read_measured_network};
pub use mode::LaunchMode;
pub use others::check_folder;
pub use placement::Placement;
pub use record::{Constructed, Launch, Record, Unfinished};
pub use record_format::{MAGIC, VERSION, decode, encode, is_record, read_file};
pub use refused_records::{Held, RefusedRecords, in_order};
pub use runs::{MOST_KINDS, Run};
pub use signature::Signature;
pub use standing::{Completeness, Standing};
pub use stored_survey::{LONGEST_KEPT, MeasuredNetwork};
pub use verdict::{Compared, Finding, Verdict};
