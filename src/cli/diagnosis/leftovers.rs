//! The line that `rankweave run` prints if earlier launches left their counts on this node.
//!
//! A launch that was killed or aborted leaves spill files, and nobody is left to tell the user.

use crate::base::file;
use crate::options::{Settings, Spill};
use crate::store::spill::{candidates, ended_jobs};
use std::path::Path;

/// The message about jobs of this user whose counts are in files on this node, without the name of the command at
/// its beginning; `None` if there are none.
pub(in crate::cli) fn leftovers(settings: &Settings) -> Option<String> {
    let asked = match &settings.spill {
        Spill::Off => return None,
        Spill::Directory(directory) => Some(Path::new(directory)),
        _ => None,
    };
    // The first directory that exists has the files of nearly all launches. Searching /tmp of a login node takes time.
    let directory = candidates(asked).into_iter().find(|directory| directory.is_dir())?;
    sentence(ended_jobs(&directory, file::user()).len())
}

fn sentence(jobs: usize) -> Option<String> {
    let which = match jobs {
        0 => return None,
        1 => "an earlier launch ended before MPI_Finalize, and its counts are".to_string(),
        n => format!("{n} earlier launches ended before MPI_Finalize, and their counts are"),
    };
    Some(format!(
        "{which} in files on this node, not in the store; this launch does not use them; try: \
         'rankweave recover' makes records of them, 'rankweave recover --discard' removes them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_launches_is_said() {
        assert_eq!(sentence(0), None);
        assert!(sentence(1).unwrap().starts_with("an earlier launch ended"));
        assert!(sentence(3).unwrap().starts_with("3 earlier launches ended"));
    }
}
