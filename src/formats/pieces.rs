//! A text in pieces, which several threads parse.
//!
//! Large files are read by quick parsers, which know only the plain form of a format and work on bytes. If a
//! quick parser meets anything else, or a mistake, it gives up, and the careful reader of the format reads the
//! file line by line. So messages and special cases come from one place, and a damaged file costs at most
//! twice the time.

use crate::base::threads::in_threads;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes of a piece, without the rest of its last line.
const PIECE: usize = if cfg!(test) { 16 } else { 1 << 20 };

/// Threads that parse at most: more do not make it faster, because the parts have to be joined.
const MOST_THREADS: usize = 8;

/// The pieces of a text. Each ends at the end of a line.
fn pieces(mut text: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::with_capacity(text.len() / PIECE + 1);
    while !text.is_empty() {
        let rest = text.get(PIECE..).unwrap_or(&[]);
        let line = rest.iter().position(|&b| b == b'\n').map_or(rest.len(), |k| k + 1);
        let (piece, after) = text.split_at(text.len() - rest.len() + line);
        pieces.push(piece);
        text = after;
    }
    pieces
}

/// What `parse` makes of the pieces of a text, in their order. `None` if it gives up on one of them.
pub(super) fn parsed<T: Send>(
    text: &[u8],
    parse: impl Fn(&[u8]) -> Option<T> + Sync,
) -> Option<Vec<T>> {
    let pieces = pieces(text);
    let next = AtomicUsize::new(0);
    let given_up = AtomicBool::new(false);
    let answers: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(pieces.len()));
    let work = || {
        while !given_up.load(Ordering::Relaxed) {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(k) else { return };
            match (parse(piece), answers.lock()) {
                (Some(answer), Ok(mut answers)) => answers.push((k, answer)),
                _ => given_up.store(true, Ordering::Relaxed),
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    in_threads(cores.min(pieces.len()).min(MOST_THREADS), work);
    let mut answers = answers.into_inner().ok()?;
    if answers.len() < pieces.len() {
        return None;
    }
    answers.sort_unstable_by_key(|&(k, _)| k);
    Some(answers.into_iter().map(|(_, answer)| answer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_at_line_ends() {
        let text = b"0123456789\n0123456789\n\n012345678901234567890123456789\n0";
        let found = pieces(text);
        let expected: [&[u8]; 3] =
            [b"0123456789\n0123456789\n", b"\n012345678901234567890123456789\n", b"0"];
        assert_eq!(found, expected);
        assert_eq!(pieces(b""), [b""; 0]);
    }

    #[test]
    fn parts_stay_in_order_and_one_failure_ends_all() {
        let text = "line of text\n".repeat(100);
        let lengths = parsed(text.as_bytes(), |piece| Some(piece.to_vec())).unwrap();
        assert_eq!(lengths.concat(), text.as_bytes());
        let text = text.clone() + "x\n" + &text;
        assert!(parsed(text.as_bytes(), |piece| (!piece.contains(&b'x')).then_some(())).is_none());
    }
}
