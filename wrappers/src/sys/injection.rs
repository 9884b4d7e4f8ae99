//! Failures made on purpose, for tests of what follows from them: `RANKWEAVE_INJECT`.
//!
//! The value is a list of words. The name of a trouble makes it happen in rank 0. With `leader-` in front of
//! the name, it happens in the other processes that search or place. The only effect of a trouble is that no
//! permutation is found. The ranks then stay as the launcher started them, so a value that was left in a job
//! script does no other harm.
//!
//! The word `unasked` is not a trouble. Rank 0 then forgets the places that the processes sent and asks for
//! them again. This is what happens in jobs of thousands of processes, which send no places unasked.

use std::sync::OnceLock;

/// What can be made to happen during a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The search goes on well beyond its time limit.
    Stall,
    /// The search panics.
    Panic,
    /// The search ends without an answer.
    Death,
    /// The process has too little memory.
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
    LIST.get_or_init(|| crate::sys::environment::text("RANKWEAVE_INJECT")).as_deref()
}

/// The trouble that the variable asks for in the process with this rank, if any.
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
