//! A communicator of this library's own, and messages between the job's processes over it.
//!
//! Broadcasts and gathers are collective: all processes call them in the same order, even if a process met an
//! error before. A process without data passes an empty slice. Sends and receives are called by the sender and
//! by the receiver only.

use crate::comm::encoding;
use crate::comm::handle;
use crate::comm::request::{PendingGather, begun, wait};
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use crate::mpi::ucx;
use crate::sys::memory;
use libc::c_int;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::marker::PhantomData;

/// Largest single message, well below what an `int` count can say.
const CHUNK: usize = 1 << 29;
const TAG: c_int = 7;
/// Bytes that are sent in the same message as their number. The data of a small job then takes one step
/// instead of three. A step is slow where the processes outnumber the processors, because each process
/// has to get a processor in turn.
const AT_ONCE: usize = 504;
/// In a job with more processes than this, [`AT_ONCE`] bytes of each process would take too much memory on rank
/// 0.
const MANY: usize = 16 << 10;
/// Bytes of available memory that rank 0 needs for each byte that is gathered. While a matrix is put
/// together, it takes about ten times the space of its encoded rows.
const EXPANSION: u64 = 20;

/// A communicator of our own, whose errors are returned and not raised. The owner calls [`free`](Self::free).
/// Dropping does not free it, because freeing is collective, and one process alone may leave a function
/// early.
#[derive(Debug)]
#[must_use]
pub struct PrivateComm<A: Abi> {
    pub comm: A::Comm,
    pub rank: usize,
    pub size: usize,
    has_unreceived: Cell<bool>,
    _abi: PhantomData<A>,
}

impl<A: Abi> PrivateComm<A> {
    /// Takes over a communicator that was just made for the library. `None` if MPI does not report its rank and size.
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
        let (rank, size, has_unreceived) = (rank as usize, size as usize, Cell::new(false));
        Some(PrivateComm { comm, rank, size, has_unreceived, _abi: PhantomData })
    }

    /// Frees the communicator, unless a message on it was not received. Collective.
    pub fn free(self) {
        if !self.has_unreceived.get() {
            handle::free::<A>(self.comm);
        }
    }

    /// A receive failed, so a message may stay on this communicator. Such a communicator is not freed: MPICH 5
    /// raises an error for its messages, and no error handler of the communicator receives this error. UCX must not
    /// warn of it on standard output.
    pub fn leaves_message(&self) {
        ucx::only_errors();
        self.has_unreceived.set(true);
    }

    /// The handle, from which [`from_bits`](Self::from_bits) makes this value again. Nothing is freed.
    pub fn into_bits(self) -> u64 {
        self.comm.bits()
    }

    /// The communicator with a handle from [`into_bits`](Self::into_bits).
    pub fn from_bits(bits: u64) -> Option<Self> {
        Self::new(A::Comm::from_bits(bits))
    }

    /// Waits for a request if the call that made it returned 0 (`code`); `false` after an error.
    fn done(&self, code: c_int, mut request: A::Request) -> bool {
        code == 0 && wait::<A>(&mut request, None)
    }

    /// Gives all processes one number of each process, by rank; `None` after an MPI error. Takes 8 bytes per
    /// process.
    ///
    /// The numbers go through rank 0. In Open MPI's MPI_Iallgather each process would send to each other one.
    pub fn allgather(&self, mine: u64) -> Option<Vec<u64>> {
        let all = self.gather(mine.to_le_bytes()).unwrap_or_default();
        let mut bytes = all.as_flattened().to_vec();
        let told = self.broadcast(&mut bytes) && bytes.len() == 8 * self.size;
        let (numbers, _) = bytes.as_chunks();
        told.then(|| numbers.iter().map(|&number| u64::from_le_bytes(number)).collect())
    }

    /// Gathers `N` bytes of each process on rank 0. Rank 0 gets them in the order of ranks, and other processes
    /// get an empty list. `None` after an MPI error.
    pub fn gather<const N: usize>(&self, mine: [u8; N]) -> Option<Vec<[u8; N]>> {
        PendingGather::<A, N>::begin(self.comm, self.rank, self.size, mine).end(None)
    }

    /// Sends a few bytes to a process that receives them with [`Self::receive_short`]; `false` after an MPI
    /// error.
    pub fn send_short(&self, to: u32, data: &[u8]) -> bool {
        self.send_tagged(to, data, TAG + 1)
    }

    fn send_tagged(&self, to: u32, data: &[u8], tag: c_int) -> bool {
        let mut request = A::request_null();
        let (buffer, count, to) = (data.as_ptr().cast(), data.len() as c_int, to as c_int);
        let code = begun(|| {
            // SAFETY: a buffer of this length that stays until the request is done.
            unsafe {
                pmpi::<A>().isend(buffer, count, A::byte(), to, tag, self.comm, &raw mut request)
            }
        });
        self.done(code, request)
    }

    /// Receives what a process sends with [`Self::send_short`], filled up with zeros; `None` after an MPI
    /// error.
    pub fn receive_short<'b>(&self, from: u32, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        buffer.fill(0);
        self.receive_tagged(from, buffer, TAG + 1).then_some(buffer)
    }

    fn receive_tagged(&self, from: u32, buffer: &mut [u8], tag: c_int) -> bool {
        let mut request = A::request_null();
        let (start, count) = (buffer.as_mut_ptr().cast(), buffer.len() as c_int);
        let from = from as c_int;
        let code = begun(|| {
            // SAFETY: a buffer of this length that stays until the request is done.
            unsafe {
                pmpi::<A>().irecv(start, count, A::byte(), from, tag, self.comm, &raw mut request)
            }
        });
        let received = self.done(code, request);
        if !received {
            self.leaves_message();
        }
        received
    }

    /// Sends any number of bytes to a process that receives them with [`Self::receive`]; `false` after an MPI
    /// error.
    pub fn send(&self, to: u32, data: &[u8]) -> bool {
        self.send_short(to, &(data.len() as u64).to_le_bytes())
            && data.chunks(CHUNK).all(|chunk| self.send_short(to, chunk))
    }

    /// Receives what a process sends with [`Self::send`]; `None` after an MPI error.
    pub fn receive(&self, from: u32) -> Option<Vec<u8>> {
        let mut length = [0; 8];
        self.receive_short(from, &mut length)?;
        let mut data = vec![0; usize::try_from(u64::from_le_bytes(length)).ok()?];
        for chunk in data.chunks_mut(CHUNK) {
            self.receive_short(from, chunk)?;
        }
        Some(data)
    }

    /// Gives all processes the bytes of rank 0; `false` after an MPI error. The length of `data` is the same
    /// in all processes.
    pub fn broadcast_fixed(&self, data: &mut [u8]) -> bool {
        let mut request = A::request_null();
        let count = data.len() as c_int;
        // SAFETY: a buffer of this length that stays until the request is done; all processes call
        // this together.
        let code = unsafe {
            let buffer = data.as_mut_ptr().cast();
            pmpi::<A>().ibcast(buffer, count, A::byte(), 0, self.comm, &raw mut request)
        };
        self.done(code, request)
    }

    /// Gives all processes the bytes of rank 0; `false` after an MPI error. Up to [`AT_ONCE`] bytes take one
    /// step.
    pub fn broadcast(&self, data: &mut Vec<u8>) -> bool {
        let mut first = [0u8; 8 + AT_ONCE];
        put_first(&mut first, data);
        if !self.broadcast_fixed(&mut first) {
            return false;
        }
        let (length, start) = take_first(&first);
        data.resize(length, 0);
        if self.rank != 0 {
            data[..start.len()].copy_from_slice(start);
        }
        data[start.len()..].chunks_mut(CHUNK).all(|chunk| self.broadcast_fixed(chunk))
    }

    /// Gives all processes a value of rank 0; `None` after an MPI error, or if rank 0 has none. The values
    /// that other processes pass are ignored.
    pub fn broadcast_value<T: Serialize + DeserializeOwned>(&self, value: Option<&T>) -> Option<T> {
        let mut bytes = value.and_then(encoding::encode).unwrap_or_default();
        let arrived = self.broadcast(&mut bytes);
        encoding::decode(&bytes).filter(|_| arrived)
    }

    /// Sends the bytes of all processes to rank 0, which calls `visit` with the bytes of one process after the
    /// other, by rank. Rank 0 needs memory for the bytes of one process at a time, and half a KiB for each
    /// process. `false` after an MPI error, or if the bytes of all processes are too many for the memory of
    /// rank 0's node. Bytes that did not fit into the first message are not sent in this case.
    pub fn gather_each(&self, mine: &[u8], mut visit: impl FnMut(usize, &[u8])) -> bool {
        // With more than MANY processes, rank 0 first gets the lengths alone.
        let at_once = if self.size <= MANY { AT_ONCE } else { 0 };
        let slot = 8 + at_once;
        let mut first = vec![0u8; slot];
        put_first(&mut first, mine);
        let mut slots = vec![0u8; if self.rank == 0 { slot * self.size } else { 0 }];
        let mut request = A::request_null();
        // SAFETY: buffers of these lengths that stay until the request is done; all processes call
        // this together.
        let code = unsafe {
            pmpi::<A>().igather(
                first.as_ptr().cast(),
                slot as c_int,
                A::byte(),
                slots.as_mut_ptr().cast(),
                slot as c_int,
                A::byte(),
                0,
                self.comm,
                &raw mut request,
            )
        };
        if !self.done(code, request) {
            return false;
        }
        if self.rank != 0 {
            if mine.len() <= at_once {
                return true;
            }
            return self.receive_short(0, &mut [0]).is_some_and(|go| go == [1])
                && mine.chunks(CHUNK).all(|chunk| self.send_tagged(0, chunk, TAG));
        }
        // Rank 0 is a process of the program, and must not run out of memory because of this library.
        let lengths = || slots.chunks_exact(slot).map(|first| take_first(first).0);
        let total = lengths().fold(0, usize::saturating_add) as u64;
        let go = total <= memory::available() / EXPANSION;
        // After an error, rank 0 still sends to the others and receives from them, because they may be waiting.
        let mut whole = true;
        for (rank, length) in (0u32..).zip(lengths()).skip(1) {
            if length > at_once {
                whole &= self.send_short(rank, &[u8::from(go)]);
            }
        }
        if !go {
            return false;
        }
        visit(0, mine);
        let mut buffer = Vec::new();
        for (rank, first) in slots.chunks_exact(slot).enumerate().skip(1) {
            let (length, start) = take_first(first);
            if length <= at_once {
                visit(rank, start);
                continue;
            }
            buffer.resize(length, 0);
            for chunk in buffer.chunks_mut(CHUNK) {
                whole &= self.receive_tagged(rank as u32, chunk, TAG);
            }
            visit(rank, &buffer);
        }
        whole
    }
}

/// Writes the length of `data`, and behind it as many bytes of `data` as there is room for.
fn put_first(first: &mut [u8], data: &[u8]) {
    let (length, start) = first.split_at_mut(8);
    length.copy_from_slice(&(data.len() as u64).to_le_bytes());
    let room = start.len().min(data.len());
    start[..room].copy_from_slice(&data[..room]);
}

/// Reads what [`put_first`] wrote: the length of all the data, and the start of the data.
fn take_first(first: &[u8]) -> (usize, &[u8]) {
    let (length, start) = first.split_at(8);
    let length = length.try_into().map_or(0, u64::from_le_bytes) as usize;
    (length, &start[..start.len().min(length)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_has_the_length_and_the_start() {
        for length in [0, 3, 8, 9, 1000] {
            let data: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            for room in [0, 8] {
                let mut first = vec![0; 8 + room];
                put_first(&mut first, &data);
                assert_eq!(take_first(&first), (length, &data[..length.min(room)]));
            }
        }
    }
}
