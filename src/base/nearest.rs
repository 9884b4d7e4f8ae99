//! The known word that is most like a misspelt one. The distance between two words is the number of letters that are
//! inserted, removed, replaced, or exchanged with the next one (optimal string alignment, crate strsim).

/// Words with at most this distance are taken for misspelt, if most of their letters are right.
const FARTHEST: usize = 2;

/// A word with at least so many letters may also be the beginning of the word that was meant, as `--topo`.
const SHORTEST_BEGINNING: usize = 3;

/// The word among `known` that is most like `word`; `None` if none is like it.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &str| strsim::osa_distance(word, name);
    let letters = word.chars().filter(|c| c.is_alphanumeric()).count();
    let is_like = |name: &&str| {
        distance(name) <= FARTHEST && 2 * distance(name) < word.len().max(2)
            || letters >= SHORTEST_BEGINNING && name.starts_with(word)
    };
    known.into_iter().filter(is_like).min_by_key(|name| distance(name))
}

/// The advice for a name that is not among `names`: the one that is most like it, and all of them.
pub(crate) fn one_of(name: &str, names: &[&str]) -> String {
    let all = names.join(", ");
    match nearest(&name.to_lowercase(), names.iter().copied()) {
        Some(like) => format!("write '{like}', or use one of {all}"),
        None => format!("use one of {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word() {
        let known = ["mpirun", "mpiexec", "srun"];
        assert_eq!(nearest("mpirum", known), Some("mpirun"));
        assert_eq!(nearest("mpirnu", known), Some("mpirun"));
        assert_eq!(nearest("mipexec", known), Some("mpiexec"));
        assert_eq!(nearest("lmp", known), None);
        assert_eq!(nearest("foo", ["fix", "fog"]), Some("fog"));
        assert_eq!(nearest("foo", ["fix", "of"]), None);
        assert_eq!(nearest("--topo", ["--mode", "--topology"]), Some("--topology"));
        assert_eq!(one_of("Tours", &["tree", "torus"]), "write 'torus', or use one of tree, torus");
        assert_eq!(one_of("ring", &["tree", "torus"]), "use one of tree, torus");
    }
}
