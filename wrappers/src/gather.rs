//! Moves data between the job's processes over a private communicator.
//!
//! Everything here is collective: all processes call it in the same order, whatever went wrong for
//! one of them before; a process without data passes an empty slice.

use crate::abi::Abi;
use crate::pmpi::pmpi;
use libc::c_int;
use rw::store::Launch;
use std::marker::PhantomData;

/// Largest single message, well below what an `int` count can say.
const CHUNK: usize = 1 << 29;
const TAG: c_int = 7;
/// How much of the available memory a byte that is gathered may stand for: a matrix takes about ten
/// times the space of its encoded rows while it is put together.
const EXPANSION: u64 = 20;

/// A communicator of our own, with errors returned instead of raised.
#[derive(Debug, Clone, Copy)]
pub struct Private<A: Abi> {
    pub comm: A::Comm,
    pub rank: usize,
    pub size: usize,
    _abi: PhantomData<A>,
}

impl<A: Abi> Private<A> {
    /// Takes over a communicator that was just made for us; `None` if MPI cannot say who we are.
    pub fn new(comm: A::Comm) -> Option<Self> {
        let (mut rank, mut size) = (-1, 0);
        // SAFETY: a valid communicator made by us.
        unsafe {
            let mpi = pmpi::<A>();
            let _ = mpi.comm_set_errhandler(comm, A::errors_return());
            if mpi.comm_rank(comm, &raw mut rank) != 0 || mpi.comm_size(comm, &raw mut size) != 0 {
                return None;
            }
        }
        Some(Private { comm, rank: rank as usize, size: size as usize, _abi: PhantomData })
    }

    /// Gives everybody rank 0's bytes; `false` if MPI reported an error.
    pub fn broadcast(&self, data: &mut Vec<u8>) -> bool {
        let mpi = pmpi::<A>();
        let mut length = (data.len() as u64).to_le_bytes();
        // SAFETY: buffers of these lengths; all processes call this together.
        unsafe {
            if mpi.bcast(length.as_mut_ptr().cast(), 8, A::byte(), 0, self.comm) != 0 {
                return false;
            }
            data.resize(u64::from_le_bytes(length) as usize, 0);
            for chunk in data.chunks_mut(CHUNK) {
                let count = chunk.len() as c_int;
                if mpi.bcast(chunk.as_mut_ptr().cast(), count, A::byte(), 0, self.comm) != 0 {
                    return false;
                }
            }
        }
        true
    }

    /// Brings everybody's bytes to rank 0, which hands them to `visit` one process after the other
    /// by rank; memory there is one process's bytes at a time. `false` after an MPI error, or if what
    /// would come is too much for the memory of rank 0's node: then nothing is sent.
    pub fn collect(&self, mine: &[u8], mut visit: impl FnMut(usize, &[u8])) -> bool {
        let mpi = pmpi::<A>();
        let length = (mine.len() as u64).to_le_bytes();
        let mut lengths = vec![0u8; if self.rank == 0 { 8 * self.size } else { 0 }];
        // SAFETY: buffers of these lengths; all processes call this together.
        let code = unsafe {
            mpi.gather(
                length.as_ptr().cast(),
                8,
                A::byte(),
                lengths.as_mut_ptr().cast(),
                8,
                A::byte(),
                0,
                self.comm,
            )
        };
        if code != 0 {
            return false;
        }
        // Rank 0 is a process of the program: it must not run out of memory for our sake.
        let total: u64 = lengths
            .chunks_exact(8)
            .map(|l| l.try_into().map_or(0, u64::from_le_bytes))
            .fold(0, u64::saturating_add);
        let mut go = vec![u8::from(total <= memory_available() / EXPANSION)];
        if !self.broadcast(&mut go) || go != [1] {
            return false;
        }
        if self.rank != 0 {
            // SAFETY: a buffer of this length.
            return mine.chunks(CHUNK).all(|chunk| unsafe {
                let count = chunk.len() as c_int;
                mpi.send(chunk.as_ptr().cast(), count, A::byte(), 0, TAG, self.comm) == 0
            });
        }
        visit(0, mine);
        let mut buffer = Vec::new();
        // After an error the others are still received from: they may wait in their sends.
        let mut whole = true;
        for (rank, length) in lengths.chunks_exact(8).enumerate().skip(1) {
            let length = length.try_into().map_or(0, u64::from_le_bytes) as usize;
            buffer.resize(length, 0);
            for chunk in buffer.chunks_mut(CHUNK) {
                // MPI_STATUS_IGNORE differs between ABIs; a buffer larger than any status does not.
                let mut status = [0u64; 16];
                // SAFETY: buffers of these lengths.
                let code = unsafe {
                    mpi.recv(
                        chunk.as_mut_ptr().cast(),
                        chunk.len() as c_int,
                        A::byte(),
                        rank as c_int,
                        TAG,
                        self.comm,
                        status.as_mut_ptr().cast(),
                    )
                };
                whole &= code == 0;
            }
            visit(rank, &buffer);
        }
        whole
    }
}

/// Bytes of memory that are free for use on this node, as /proc/meminfo says; much if it does not.
fn memory_available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map_or(u64::MAX, |kib| kib.saturating_mul(1024))
}

/// Bytes between nodes and bytes in all of a launch's matrix.
pub fn internode_bytes(matrix: &rw::matrix::CommMatrix, launch: &Launch) -> (u64, u64) {
    let node = |task: u32| {
        let process = launch.process_of_task.get(task as usize).copied().unwrap_or(task);
        launch.node_of_process.get(process as usize)
    };
    let (mut between, mut total) = (0u64, 0u64);
    for kind in rw::matrix::Kind::ALL {
        for (i, j, traffic) in matrix.layer(kind).entries() {
            total = total.saturating_add(traffic.bytes);
            if node(i) != node(j) {
                between = between.saturating_add(traffic.bytes);
            }
        }
    }
    (between, total)
}

/// A value as bytes that [`decode`] understands; `None` only if memory is out.
pub fn encode<T: serde::Serialize>(value: &T) -> Option<Vec<u8>> {
    postcard::to_stdvec(value).ok()
}

/// The value that another process of this job encoded.
pub fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}
