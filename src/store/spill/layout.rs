//! The layout of a spill file: what the preloaded library writes and [`super::read()`] checks.
//!
//! ```text
//! offset  bytes  what (numbers in the byte order of the machine)
//!      0      8  magic "RKSPILL\n", written when the rest of the header is there
//!      8      4  version of the layout
//!     12      4  byte order mark 0x01020304
//!     16      4  length of the description in bytes
//!     20      4  CRC-32 of bytes 8 to 19 and of the description
//!     24      8  how it ended: 0 = running or killed, 1 = exit without MPI_Finalize
//!     32      8  number of regions for which there was no space: their counts are not here
//!     40      8  number of the communicator that is being folded into a row, 0 = none
//!     48      8  when the process ended, seconds since 1970-01-01 UTC, 0 = not known
//!     56      8  0
//!     64         description: an About in postcard encoding
//!                regions, each at a multiple of 64, with gaps of any length
//! ```
//!
//! A region has a head of 64 bytes:
//!
//! ```text
//!      0      4  state: 0 nothing here, 1 in use, 2 given back
//!      4      4  CRC-32 of bytes 8 to 51
//!      8      8  length of the region in bytes, a multiple of 64
//!     16      8  number of elements that follow
//!     24      8  row: kind of traffic (0 to 2 as in the matrix, 3 = fetched from there);
//!                communicator: its number in this process, from 1
//!     32      4  communicator: rank of the process in its own group
//!     36      4  communicator: size of its own group
//!     40      4  communicator: number of ranks that can be addressed
//!     44      4  communicator: 1 = intercommunicator, 2 = rank r is task r (no elements follow)
//!     48      4  what it is: 1 row, 2 communicator, 3 collective calls
//!     52     12  0
//! ```
//!
//! Elements of a row are cells of 16 bytes, bytes and messages, one for each task and a last one for
//! peers outside the job. Elements of a communicator are tasks of 4 bytes, by rank. Elements of
//! collective calls are entries of 64 bytes:
//!
//! ```text
//!      0      8  number of the communicator, 0 = no entry
//!      8      8  calls
//!     16      8  bytes of a block
//!     24      4  operation, its place in Operation::ALL
//!     28      4  root; on an intercommunicator also ROOT_MYSELF, ROOT_OWN_GROUP
//!     32      4  bytes of an element
//!     36      4  1 = the operation commutes, 2 = nonblocking
//!     40      4  CRC-32 of bytes 0 to 7 and 16 to 39
//!     44     20  0
//! ```
//!
//! Counters change at any time and have no checksum. A counter is one aligned word, so it has the old or
//! the new value whenever the process ends. All other data is written before the number that makes it valid
//! (the magic, the state, the number of the communicator). So no incomplete data counts as valid.

/// First bytes of every spill file.
pub const MAGIC: [u8; 8] = *b"RKSPILL\n";
/// Version of the layout.
pub const VERSION: u32 = 1;
/// Reads differently on a machine of another byte order.
pub const ORDER_MARK: u32 = 0x0102_0304;
/// Length of the fixed part of the header.
pub const HEADER: usize = 64;
/// Longest description.
pub const LONGEST_ABOUT: usize = 64 << 20;
/// A description with more tasks than this is refused, because the memory for joining grows with the number of
/// tasks.
pub const MOST_TASKS: u32 = 1 << 24;
/// Alignment of regions.
pub const ALIGN: usize = 64;
/// Length of the head of a region.
pub const HEAD: usize = 64;
/// Length of a cell of a row.
pub const CELL: usize = 16;
/// Length of an entry of collective calls.
pub const ENTRY: usize = 64;
/// Kinds of rows: those of the matrix, and what was fetched.
pub const ROWS: usize = 4;
/// The row of what was fetched from each task by one-sided calls.
pub const FETCHED: usize = 3;

/// Places of the words of the header that change.
pub mod word {
    /// How the process ended.
    pub const ENDED: usize = 24;
    /// Regions without space.
    pub const UNRESERVED: usize = 32;
    /// Communicator being folded.
    pub const FOLDING: usize = 40;
    /// When the process ended.
    pub const ENDED_AT: usize = 48;
}

/// A region in use.
pub const IN_USE: u32 = 1;
/// A region that may be used again.
pub const GIVEN_BACK: u32 = 2;

/// The kinds of regions.
pub mod tag {
    /// Counters by task.
    pub const ROW: u32 = 1;
    /// Tasks behind the ranks of a communicator.
    pub const COMMUNICATOR: u32 = 2;
    /// Calls of collectives.
    pub const COLLECTIVES: u32 = 3;
}

/// Flag of a communicator: it has two groups.
pub const INTER: u32 = 1;
/// Flag of a communicator: rank r is task r.
pub const IDENTITY: u32 = 2;
/// Flag of an entry: the operation commutes.
pub const COMMUTATIVE: u32 = 1;
/// Flag of an entry: nonblocking or persistent.
pub const NONBLOCKING: u32 = 2;
/// Root of an intercommunicator's collective: the caller (MPI_ROOT).
pub const ROOT_MYSELF: u32 = u32::MAX;
/// Root of an intercommunicator's collective: another of the caller's group (MPI_PROC_NULL).
pub const ROOT_OWN_GROUP: u32 = u32::MAX - 1;
/// The task of a rank that does not belong to the job, or whose task is not known.
pub const NO_TASK: u32 = u32::MAX - 1;

/// The head of a region without its body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// One of [`tag`].
    pub tag: u32,
    /// Bytes with head and padding.
    pub length: u64,
    /// Elements.
    pub count: u64,
    /// The kind of traffic of a row, or the number of a communicator.
    pub number: u64,
    /// Only for a communicator. `[0]` is the rank of this process. `[1]` is the size of the local group. `[2]` is
    /// the number of ranks that can be addressed. `[3]` has the flags.
    pub shape: [u32; 4],
}

impl Head {
    /// The bytes of the head of a region in use.
    pub fn to_bytes(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..4].copy_from_slice(&IN_USE.to_ne_bytes());
        bytes[48..52].copy_from_slice(&self.tag.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.length.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.count.to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.number.to_ne_bytes());
        let [first, second, third, fourth] = self.shape;
        bytes[32..36].copy_from_slice(&first.to_ne_bytes());
        bytes[36..40].copy_from_slice(&second.to_ne_bytes());
        bytes[40..44].copy_from_slice(&third.to_ne_bytes());
        bytes[44..48].copy_from_slice(&fourth.to_ne_bytes());
        let check = head_check(&bytes);
        bytes[4..8].copy_from_slice(&check.to_ne_bytes());
        bytes
    }

    /// The head in these bytes; `None` if the bytes are too few, or if they do not have the checksum of a head.
    pub fn from_bytes(bytes: &[u8]) -> Option<Head> {
        let bytes = bytes.first_chunk::<HEAD>()?;
        if u32_at(bytes, 4) != head_check(bytes) {
            return None;
        }
        Some(Head {
            tag: u32_at(bytes, 48),
            length: u64_at(bytes, 8),
            count: u64_at(bytes, 16),
            number: u64_at(bytes, 24),
            shape: std::array::from_fn(|i| u32_at(bytes, 32 + 4 * i)),
        })
    }
}

fn head_check(bytes: &[u8; HEAD]) -> u32 {
    crc32fast::hash(&bytes[8..52])
}

/// One way of calling a collective, without its number of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entry {
    /// Number of the communicator, from 1.
    pub communicator: u64,
    /// Bytes of a block.
    pub bytes: u64,
    /// Place in `Operation::ALL`.
    pub operation: u32,
    /// Root.
    pub root: u32,
    /// Bytes of an element.
    pub element: u32,
    /// [`COMMUTATIVE`], [`NONBLOCKING`].
    pub flags: u32,
}

/// Place of the number of calls in an entry.
pub const CALLS: usize = 8;

impl Entry {
    /// The bytes of the entry with no calls.
    pub fn to_bytes(&self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&self.communicator.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.bytes.to_ne_bytes());
        let words = [self.operation, self.root, self.element, self.flags];
        for (place, value) in bytes[24..40].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        let check = entry_check(&bytes);
        bytes[40..44].copy_from_slice(&check.to_ne_bytes());
        bytes
    }

    /// The entry in these bytes, and the number of its calls. `None` if the bytes are too few, or if they do not have
    /// the checksum of an entry.
    pub fn from_bytes(bytes: &[u8]) -> Option<(Entry, u64)> {
        let bytes = bytes.first_chunk::<ENTRY>()?;
        if u32_at(bytes, 40) != entry_check(bytes) {
            return None;
        }
        let entry = Entry {
            communicator: u64_at(bytes, 0),
            bytes: u64_at(bytes, 16),
            operation: u32_at(bytes, 24),
            root: u32_at(bytes, 28),
            element: u32_at(bytes, 32),
            flags: u32_at(bytes, 36),
        };
        Some((entry, u64_at(bytes, CALLS)))
    }
}

fn entry_check(bytes: &[u8; ENTRY]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..8]);
    hasher.update(&bytes[16..40]);
    hasher.finalize()
}

/// The header with a description behind it, without the words that change. It includes the magic, which
/// has to be stored last in a shared mapping.
pub fn header(about: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_ne_bytes());
    bytes[12..16].copy_from_slice(&ORDER_MARK.to_ne_bytes());
    bytes[16..20].copy_from_slice(&(about.len() as u32).to_ne_bytes());
    let check = header_check(&bytes[8..20], about);
    bytes[20..24].copy_from_slice(&check.to_ne_bytes());
    bytes.extend_from_slice(about);
    bytes
}

/// CRC-32 of the fixed numbers (bytes 8 to 19) and the description.
pub(super) fn header_check(numbers: &[u8], about: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(numbers);
    hasher.update(about);
    hasher.finalize()
}

/// The number at a place; 0 beyond the end.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_ne_bytes(*b))
}

/// The number at a place; 0 beyond the end.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_ne_bytes(*b))
}

/// Name of the spill file of a process.
pub fn file_name(user: u32, job: u64, process: u32, pid: u32) -> String {
    format!("rankweave-{user}-{job:016x}-{process}-{pid}.spill")
}

/// The arguments of [`file_name`] for the name of a spill file: user, job, process and process id. `None` if the name is
/// not that of a spill file.
pub fn parse_name(name: &str) -> Option<(u32, u64, u32, u32)> {
    let mut fields = name.strip_prefix("rankweave-")?.strip_suffix(".spill")?.split('-');
    let user = fields.next()?.parse().ok()?;
    let job = fields.next().filter(|j| j.len() == 16)?;
    let job = u64::from_str_radix(job, 16).ok()?;
    let (process, pid) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    fields.next().is_none().then_some((user, job, process, pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_entries_are_read_back_and_checked() {
        let head = Head { tag: 2, length: 128, count: 3, number: 9, shape: [1, 2, 3, 4] };
        let bytes = head.to_bytes();
        assert_eq!(Head::from_bytes(&bytes), Some(head));
        let entry =
            Entry { communicator: 1, bytes: 2, operation: 3, root: 4, element: 5, flags: 3 };
        let written = entry.to_bytes();
        assert_eq!(Entry::from_bytes(&written), Some((entry, 0)));
        for bit in 0..8 * 44 {
            let mut changed = written;
            changed[bit / 8] ^= 1 << (bit % 8);
            let calls = (64..128).contains(&bit);
            assert_eq!(Entry::from_bytes(&changed).is_some(), calls, "bit {bit}");
            let mut changed = bytes;
            changed[4 + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::from_bytes(&changed), None, "bit {bit}");
        }
        let mut state = bytes;
        state[0] = GIVEN_BACK as u8;
        assert_eq!(Head::from_bytes(&state), Some(head));
        assert_eq!(Head::from_bytes(&bytes[..60]), None);
    }

    #[test]
    fn names() {
        let name = file_name(1000, 0xabc, 3, 77);
        assert_eq!(parse_name(&name), Some((1000, 0xabc, 3, 77)));
        for bad in ["rankweave-1-abc-3-4.spill", "x.spill", "rankweave-1-0000000000000abc-3.spill"]
        {
            assert_eq!(parse_name(bad), None, "{bad}");
        }
    }
}
