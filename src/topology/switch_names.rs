//! The names of the switches of a tree, where the description of the network has them. They are only shown to users.

use super::Tree;

impl Tree {
    /// Sets the names of the groups: `name(level, slot)` is that of the group of this slot.
    #[must_use]
    pub fn with_switch_names(mut self, name: impl Fn(usize, usize) -> Option<String>) -> Tree {
        let of_level = |level: usize| {
            let mut names: Vec<Option<String>> = Vec::new();
            for (slot, &group) in self.groups[level].iter().enumerate() {
                names.resize(names.len().max(group as usize + 1), None);
                let known = &mut names[group as usize];
                if known.is_none() {
                    *known = name(level, slot);
                }
            }
            names.into_iter().map(Option::unwrap_or_default).collect()
        };
        self.switch_names = (0..self.levels().saturating_sub(1)).map(of_level).collect();
        self
    }

    /// The name of the switch that is the group of a slot at level `l`, where the description of the network has one.
    pub fn switch_name(&self, l: usize, slot: usize) -> Option<&str> {
        let group = *self.groups.get(l)?.get(slot)?;
        let name = self.switch_names.get(l)?.get(group as usize)?;
        (!name.is_empty()).then_some(name)
    }
}
