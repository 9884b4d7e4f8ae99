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
