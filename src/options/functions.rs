//! The variable in which `rankweave run` tells the preloaded library which functions the MPI library of the
//! launch has.
//!
//! A program that loads its MPI library by itself (Python, Julia) looks for functions before the preloaded
//! library can know the MPI library. `run` can know it. The variable holds a hash and one bit for each C
//! function of MPI that the preloaded library wraps, in the order of the symbol table of the preloaded
//! library. The hash is that of the names of these functions. It tells whether the variable was made for
//! this preloaded library.

use crate::base::hash::fnv1a;

/// The name of the variable.
pub const FUNCTIONS: &str = "RANKWEAVE_FUNCTIONS";

/// For each C function that the preloaded library wraps, whether the MPI library has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Functions {
    bits: Vec<bool>,
}

/// True for the name of a C function of MPI. Fortran names in capital letters are no C functions.
pub fn is_c_function(name: &[u8]) -> bool {
    name.strip_prefix(b"MPI_").is_some_and(|rest| rest.iter().any(u8::is_ascii_lowercase))
}

fn hash(names: &[&[u8]]) -> u64 {
    // A zero ends each name.
    fnv1a(names.iter().flat_map(|name| name.iter().chain(&[0])))
}

impl Functions {
    /// The value of the variable. `names` are all symbols that the preloaded library offers, in the order
    /// of its symbol table. `has` says which functions the MPI library has. Names that are not C functions
    /// of MPI are skipped.
    pub fn encode<'a>(
        names: impl Iterator<Item = &'a [u8]>,
        mut has: impl FnMut(&[u8]) -> bool,
    ) -> String {
        let names: Vec<&[u8]> = names.filter(|name| is_c_function(name)).collect();
        let digits = names.chunks(4).map(|four| {
            let bit = |(k, name): (usize, &&[u8])| u32::from(has(name)) << k;
            four.iter().enumerate().map(bit).sum::<u32>()
        });
        let digits: String = digits.filter_map(|d| char::from_digit(d, 16)).collect();
        format!("{:016x}.{digits}", hash(&names))
    }

    /// Reads the value of the variable; `None` if it was made for a library with other names.
    pub fn decode<'a>(text: &str, names: impl Iterator<Item = &'a [u8]>) -> Option<Functions> {
        let names: Vec<&[u8]> = names.filter(|name| is_c_function(name)).collect();
        let (wanted, digits) = text.split_once('.')?;
        if u64::from_str_radix(wanted, 16).ok()? != hash(&names) {
            return None;
        }
        let digits: Option<Vec<u32>> = digits.chars().map(|c| c.to_digit(16)).collect();
        let digits = digits.filter(|d| d.len() == names.len().div_ceil(4))?;
        let bit = |k: usize| digits.get(k / 4).is_some_and(|digit| digit >> (k % 4) & 1 == 1);
        Some(Functions { bits: (0..names.len()).map(bit).collect() })
    }

    /// Whether the MPI library has the C function with this number, counted from 0.
    pub fn has(&self, number: usize) -> bool {
        self.bits.get(number).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn c_functions_are_told_from_other_names() {
        assert!(is_c_function(b"MPI_Send") && is_c_function(b"MPI_T_init_thread"));
        for name in ["MPI_SEND", "mpi_send_", "MPI_", "PMPI_Send", "rankweave_reorder"] {
            assert!(!is_c_function(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn another_library_is_refused() {
        let names = ["MPI_Send", "mpi_send_", "MPI_Recv"];
        let bytes = |names: &'static [&str]| names.iter().map(|n| n.as_bytes());
        let text = Functions::encode(names.iter().map(|n| n.as_bytes()), |n| n == b"MPI_Recv");
        let read = Functions::decode(&text, names.iter().map(|n| n.as_bytes())).unwrap();
        assert_eq!((read.has(0), read.has(1), read.has(2)), (false, true, false));
        assert_eq!(Functions::decode(&text, bytes(&["MPI_Recv", "MPI_Send"])), None);
        assert_eq!(Functions::decode(&text, bytes(&["MPI_Send"])), None);
        for damaged in ["", ".", "x.1", &text[1..], &format!("{text}0"), &text[..text.len() - 1]] {
            let names = names.iter().map(|n| n.as_bytes());
            assert_eq!(Functions::decode(damaged, names), None, "{damaged}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bits in prop::collection::vec(any::<bool>(), 0..40), k in 0..9usize) {
            let names: Vec<String> = (0..bits.len()).map(|i| format!("MPI_F{i}x{k}")).collect();
            let bytes = || names.iter().map(|n| n.as_bytes());
            let of = |name: &[u8]| names.iter().position(|n| n.as_bytes() == name).unwrap();
            let text = Functions::encode(bytes(), |name| bits[of(name)]);
            let read = Functions::decode(&text, bytes()).unwrap();
            prop_assert!((0..bits.len()).all(|i| read.has(i) == bits[i]));
        }

        #[test]
        fn anything_can_be_read(text in ".{0,60}") {
            let _ = Functions::decode(&text, [&b"MPI_Send"[..]].into_iter());
        }
    }
}
