//! The mode that a launch ran in, as records and spill files say it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a launch did with its ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LaunchMode {
    /// Not known: the record says nothing, or a word that this version does not know.
    #[default]
    Unknown,
    /// It recorded, in the launcher's order.
    Record,
    /// It looked for an order by what was stored.
    Reorder,
    /// It ran in a random order, for a safety test.
    Shuffle,
    /// There was no launch: the matrix was imported.
    Import,
}

impl LaunchMode {
    /// The words, in the order of the variants.
    const NAMES: [&'static str; 5] = ["", "record", "reorder", "shuffle", "import"];

    /// The word in records and reports; empty for an unknown mode.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The mode that a word stands for.
    pub fn from_name(name: &str) -> LaunchMode {
        match name {
            "record" => LaunchMode::Record,
            "reorder" => LaunchMode::Reorder,
            "shuffle" => LaunchMode::Shuffle,
            "import" => LaunchMode::Import,
            _ => LaunchMode::Unknown,
        }
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
        String::deserialize(deserializer).map(|name| LaunchMode::from_name(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_texts_in_files() {
        for mode in LaunchMode::NAMES.map(LaunchMode::from_name) {
            let bytes = postcard::to_allocvec(&mode).unwrap();
            assert_eq!(bytes, postcard::to_allocvec(mode.name()).unwrap());
            assert_eq!(postcard::from_bytes::<LaunchMode>(&bytes).unwrap(), mode);
        }
        let later = postcard::to_allocvec("a later mode").unwrap();
        assert_eq!(postcard::from_bytes::<LaunchMode>(&later).unwrap(), LaunchMode::Unknown);
    }
}
