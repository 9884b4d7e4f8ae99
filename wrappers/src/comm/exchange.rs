//! Strings of bytes between the processes of a private communicator, directly from one to another.
//!
//! Limit: a string of 512 MiB or more is not sent. The process that should receive it gets `None`.

use crate::comm::private::PrivateComm;
use crate::comm::request::{begun, cancel_receive, wait};
use crate::mpi::abi::Abi;
use crate::mpi::pmpi::pmpi;
use libc::c_int;

const TAG: c_int = 9;
const LONGEST: usize = 1 << 29;

/// Begins to send; the buffer has to stay until the request is done.
fn sent<A: Abi>(private: &PrivateComm<A>, to: u32, data: &[u8]) -> Option<A::Request> {
    let mut request = A::request_null();
    let (buffer, count) = (data.as_ptr().cast(), data.len() as c_int);
    let (comm, byte) = (private.comm, A::byte());
    let code = begun(|| {
        // SAFETY: a buffer of this length, which every caller keeps until it has waited for the request.
        unsafe { pmpi::<A>().isend(buffer, count, byte, to as c_int, TAG, comm, &raw mut request) }
    });
    (code == 0).then_some(request)
}

/// Waits for all sends. `false` if one of them could not be started or failed.
fn all_sent<A: Abi>(requests: impl IntoIterator<Item = Option<A::Request>>) -> bool {
    let mut good = true;
    for request in requests {
        good &= request.is_some_and(|mut request| wait::<A>(&mut request, None));
    }
    good
}

/// A receive that has begun, with its buffer.
struct Receive<A: Abi> {
    request: Option<A::Request>,
    buffer: Vec<u8>,
}

impl<A: Abi> Receive<A> {
    fn begin(private: &PrivateComm<A>, from: u32, length: usize) -> Self {
        let (mut request, mut buffer) = (A::request_null(), vec![0u8; length]);
        let (data, count) = (buffer.as_mut_ptr().cast(), length as c_int);
        let (comm, byte) = (private.comm, A::byte());
        let code = begun(|| {
            // SAFETY: a buffer of this length, which stays until the request is done.
            unsafe {
                pmpi::<A>().irecv(data, count, byte, from as c_int, TAG, comm, &raw mut request)
            }
        });
        if code != 0 {
            private.leaves_message();
        }
        Receive { request: (code == 0).then_some(request), buffer }
    }

    /// Waits for the bytes; `None` after an MPI error. If this process could not send its own message
    /// (`sending` is false), the processes that send to it may have failed in the same way, so it does not wait.
    fn end(self, private: &PrivateComm<A>, sending: bool) -> Option<Vec<u8>> {
        let mut request = self.request?;
        if sending {
            return wait::<A>(&mut request, None).then_some(self.buffer);
        }
        private.leaves_message();
        if !cancel_receive::<A>(&mut request) {
            std::mem::forget(self.buffer);
        }
        None
    }
}

/// Sends one string and receives another one; every process calls this. `None` after an MPI error.
pub fn send_receive<A: Abi>(
    private: &PrivateComm<A>,
    to: u32,
    data: &[u8],
    from: u32,
) -> Option<Vec<u8>> {
    let length = (data.len() as u64).to_le_bytes();
    let incoming = Receive::begin(private, from, length.len());
    let sending = all_sent::<A>([sent(private, to, &length)]);
    let theirs = incoming.end(private, sending).and_then(|bytes| bytes.try_into().ok());
    if !sending {
        return None;
    }
    let theirs = theirs.map(|bytes| u64::from_le_bytes(bytes) as usize).filter(|&l| l < LONGEST);
    let incoming = theirs.map(|length| Receive::begin(private, from, length));
    // Another process waits for this string, also if none comes here.
    let outgoing = (data.len() < LONGEST).then(|| sent(private, to, data));
    let sending = all_sent::<A>(outgoing);
    incoming?.end(private, sending)
}

/// Gives every process its string, and returns the strings of all by rank; every process calls this.
/// `None` after an MPI error. Takes 16 bytes per process, and messages only for strings that are not
/// empty.
pub fn alltoall<A: Abi>(private: &PrivateComm<A>, strings: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let mine: Vec<u64> = strings.iter().map(|s| s.len() as u64).collect();
    let mut theirs = vec![0u64; private.size];
    let mut request = A::request_null();
    // SAFETY: buffers of one number for each process that stay until the request is done.
    let code = unsafe {
        let (send, receive) = (mine.as_ptr().cast(), theirs.as_mut_ptr().cast());
        let (comm, byte) = (private.comm, A::byte());
        pmpi::<A>().ialltoall(send, 8, byte, receive, 8, byte, comm, &raw mut request)
    };
    if code != 0 || !wait::<A>(&mut request, None) {
        return None;
    }
    let usable = |length: usize| length > 0 && length < LONGEST;
    let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
    for (from, &length) in (0u32..).zip(&theirs) {
        let length = length as usize;
        incoming.push(usable(length).then(|| Receive::begin(private, from, length)));
    }
    for (to, string) in (0u32..).zip(strings).filter(|(_, s)| usable(s.len())) {
        outgoing.push(sent(private, to, string));
    }
    let sending = all_sent::<A>(outgoing);
    let received: Vec<Option<Vec<u8>>> = incoming
        .into_iter()
        .map(|receive| {
            receive.map_or_else(|| Some(Vec::new()), |receive| receive.end(private, sending))
        })
        .collect();
    let all_fit = theirs.iter().all(|&length| (length as usize) < LONGEST);
    received.into_iter().collect::<Option<Vec<_>>>().filter(|_| sending && all_fit)
}
