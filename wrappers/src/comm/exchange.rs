//! Strings of bytes between the processes of a private communicator, directly from one to another.
//!
//! Limit: a string of 512 MiB or more is not sent. The process that should receive it gets `None`.

use crate::comm::private::PrivateComm;
use crate::comm::request::wait;
use crate::mpi::abi::Abi;
use crate::mpi::pmpi::pmpi;
use libc::c_int;

const TAG: c_int = 9;
const LONGEST: usize = 1 << 29;

/// Begins to send; the buffer has to stay until the request is done.
fn sent<A: Abi>(private: &PrivateComm<A>, to: u32, data: &[u8]) -> Option<A::Request> {
    let mut request = A::request_null();
    // SAFETY: a buffer of this length, which every caller keeps until it has waited for the request.
    let code = unsafe {
        let (buffer, count) = (data.as_ptr().cast(), data.len() as c_int);
        let (comm, byte) = (private.comm, A::byte());
        pmpi::<A>().isend(buffer, count, byte, to as c_int, TAG, comm, &raw mut request)
    };
    (code == 0).then_some(request)
}

/// Begins to receive; the buffer has to stay until the request is done.
fn received<A: Abi>(private: &PrivateComm<A>, from: u32, data: &mut [u8]) -> Option<A::Request> {
    let mut request = A::request_null();
    // SAFETY: a buffer of this length, which every caller keeps until it has waited for the request.
    let code = unsafe {
        let (buffer, count) = (data.as_mut_ptr().cast(), data.len() as c_int);
        let (comm, byte) = (private.comm, A::byte());
        pmpi::<A>().irecv(buffer, count, byte, from as c_int, TAG, comm, &raw mut request)
    };
    (code == 0).then_some(request)
}

/// Waits for all requests. `false` if one of them could not be started or failed.
fn all_done<A: Abi>(requests: impl IntoIterator<Item = Option<A::Request>>) -> bool {
    let mut good = true;
    for request in requests {
        good &= request.is_some_and(|mut request| wait::<A>(&mut request, None));
    }
    good
}

/// Sends one string and receives another one; every process calls this. `None` after an MPI error.
pub fn send_receive<A: Abi>(
    private: &PrivateComm<A>,
    to: u32,
    data: &[u8],
    from: u32,
) -> Option<Vec<u8>> {
    let length = (data.len() as u64).to_le_bytes();
    let mut theirs = [0u8; 8];
    let incoming = received(private, from, &mut theirs);
    let outgoing = sent(private, to, &length);
    if !all_done::<A>([incoming, outgoing]) {
        return None;
    }
    let theirs = u64::from_le_bytes(theirs) as usize;
    let mut buffer = vec![0; if theirs < LONGEST { theirs } else { 0 }];
    let incoming = (theirs < LONGEST).then(|| received(private, from, &mut buffer));
    let outgoing = (data.len() < LONGEST).then(|| sent(private, to, data));
    let good = all_done::<A>(incoming.into_iter().chain(outgoing));
    (good && theirs < LONGEST).then_some(buffer)
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
    let size_of = |&length: &u64| if usable(length as usize) { length as usize } else { 0 };
    let mut buffers: Vec<Vec<u8>> = theirs.iter().map(|l| vec![0; size_of(l)]).collect();
    let mut requests = Vec::new();
    for (from, buffer) in (0u32..).zip(&mut buffers).filter(|(_, b)| !b.is_empty()) {
        requests.push(received(private, from, buffer));
    }
    for (to, string) in (0u32..).zip(strings).filter(|(_, s)| usable(s.len())) {
        requests.push(sent(private, to, string));
    }
    let good = all_done::<A>(requests);
    (good && theirs.iter().all(|&l| (l as usize) < LONGEST)).then_some(buffers)
}
