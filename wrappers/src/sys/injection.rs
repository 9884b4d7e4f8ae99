//! Trouble made on purpose, for tests of what happens then: `RANKWEAVE_INJECT`.
//!
//! A list of words, each the name of a trouble, or `leader-` and its name: the first kind happens in
//! the process of rank 0, the other in the others that search or place. These can only have an order given
//! up, which must leave the job as the launcher started it; none acts anywhere else, so that a value left
//! behind in a job script costs an order and not the job. One more word, `unasked`, is no trouble: rank 0
//! forgets where the processes said they are and asks, as in jobs of thousands, where none says so unasked.

use std::sync::OnceLock;

/// What can be made to happen while an order is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It goes on well beyond its time limit.
    Stall,
    /// A mistake of ours.
    Panic,
    /// It ends without an answer.
    Death,
    /// There is too little memory.
    Memory,
}

impl Trouble {
    const ALL: [(Trouble, &'static str); 4] = [
        (Trouble::Stall, "stall"),
        (Trouble::Panic, "panic"),
        (Trouble::Death, "death"),
        (Trouble::Memory, "memory"),
    ];

    /// The first trouble that `list` has for rank 0 (`first`) or for the others.
    fn of(list: &str, first: bool) -> Option<Trouble> {
        list.split(',').map(str::trim).find_map(|word| {
            let (for_others, name) = match word.strip_prefix("leader-") {
                Some(name) => (true, name),
                None => (false, word),
            };
            let named = Trouble::ALL.iter().find(|(_, known)| *known == name);
            named.filter(|_| for_others != first).map(|&(trouble, _)| trouble)
        })
    }
}

/// What the variable says.
fn list() -> Option<&'static str> {
    static LIST: OnceLock<Option<String>> = OnceLock::new();
    LIST.get_or_init(|| std::env::var("RANKWEAVE_INJECT").ok()).as_deref()
}

/// The trouble this process is to have when it searches.
pub fn trouble(rank: usize) -> Option<Trouble> {
    Trouble::of(list()?, rank == 0)
}

/// Whether rank 0 is to ask for the places again.
pub fn asks_again() -> bool {
    list().is_some_and(|list| list.split(',').any(|word| word.trim() == "unasked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn troubles_by_name() {
        for (trouble, name) in Trouble::ALL {
            assert_eq!(Trouble::of(name, true), Some(trouble));
            assert_eq!(Trouble::of(name, false), None);
            let leaders = format!("nonsense, leader-{name}");
            assert_eq!(Trouble::of(&leaders, false), Some(trouble));
            assert_eq!(Trouble::of(&leaders, true), None);
        }
        assert_eq!(Trouble::of("", true), None);
    }
}
