//! How much effort a mapping may take, by name.

use crate::base::named_enum::named_enum;

named_enum! {
    /// How much work an algorithm may spend; presets differ in effort only. The cheapest is the first.
    #[derive(Default)]
    pub enum Preset, "preset" {
        /// A few milliseconds per thousand tasks.
        Fast = "fast",
        /// Good answers in less time than a job needs to start.
        #[default]
        Default = "default",
        /// Several times the work of the default, for placements that are used many times.
        Strong = "strong",
    }
}

impl Preset {
    /// This preset and all cheaper ones, the cheapest first.
    pub fn and_cheaper(self) -> impl Iterator<Item = Preset> {
        Preset::ALL.into_iter().take(self as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_comes_after_the_cheaper_ones() {
        assert_eq!(Preset::Fast.and_cheaper().collect::<Vec<_>>(), [Preset::Fast]);
        assert_eq!(Preset::Strong.and_cheaper().collect::<Vec<_>>(), Preset::ALL);
    }
}
