//! The mode that a launch ran in, as records and spill files say it.

use crate::base::named_enum::named_enum;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

named_enum! {
    /// What a launch did with its ranks. The name is the word in records and reports.
    #[derive(Default)]
    pub enum LaunchMode, "mode of a launch" {
        /// Not known: the record says nothing, or a word that this version does not know.
        #[default]
        Unknown = "",
        /// It recorded, in the launcher's order.
        Record = "record",
        /// It looked for an order by what was stored.
        Reorder = "reorder",
        /// It ran in a random order, for a safety test.
        Shuffle = "shuffle",
        /// The launcher placed the ranks by what was stored: each process had the rank that it was to have.
        Place = "place",
        /// The launcher was told where to place the ranks, and placed them elsewhere.
        Misplaced = "misplaced",
        /// There was no launch: the matrix was imported.
        Import = "import",
    }
}

impl std::fmt::Display for LaunchMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Files hold the mode as its word, which is what they held before the mode had a type of its own.
impl Serialize for LaunchMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for LaunchMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| name.parse().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_texts_in_files() {
        for mode in LaunchMode::ALL {
            let bytes = postcard::to_allocvec(&mode).unwrap();
            assert_eq!(bytes, postcard::to_allocvec(mode.name()).unwrap());
            assert_eq!(postcard::from_bytes::<LaunchMode>(&bytes).unwrap(), mode);
        }
        let later = postcard::to_allocvec("a later mode").unwrap();
        assert_eq!(postcard::from_bytes::<LaunchMode>(&later).unwrap(), LaunchMode::Unknown);
    }
}
