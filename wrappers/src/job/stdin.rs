//! The standard input of the job, if task 0 is not on the process to which the launcher gives the input.
//!
//! Launchers give the input to their first process. If that process is not task 0 (`--fix none`), it passes the
//! input to the process that is task 0. If both are on one node, they exchange the file descriptors of their
//! standard inputs. If they are on different nodes, the process that is task 0 listens at a TCP port. A thread of the
//! launcher's first process connects to this port and sends the bytes. Neither way can stop the job: if the
//! transfer does not begin within a few seconds, the input stays with the launcher's first process, which prints a
//! message.
//!
//! Limits: only what is read after MPI_Init is handed on. On another node the input is a socket and not a
//! file.

use crate::comm::encoding;
use crate::comm::private::PrivateComm;
use crate::mpi::abi::Abi;
use crate::sys::message;
use crate::sys::node;
use libc::c_int;
use rw::base::sorting::Arrange;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as LocalAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How long one side waits for a step of the other.
const PATIENCE: Duration = Duration::from_secs(5);
/// Addresses of a node that are tried.
const MOST_ADDRESSES: usize = 8;
/// Bytes of an [`Offer`], encoded.
const MOST_BYTES: usize = 1024;

/// The address at which the process that is to read the input waits for it.
#[derive(Debug, Serialize, Deserialize)]
struct Offer {
    node: u64,
    /// The name of a socket of the node. A process that connects has to send it first.
    secret: [u8; 16],
    port: u16,
    addresses: Vec<IpAddr>,
}

/// The result of handing on the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// There is no input, or it could not be handed on.
    Stays = 0,
    Descriptor = 1,
    Connection = 2,
}

/// Hands the standard input of the launcher's first process to the process that is task 0. All processes of
/// `job` call it, and two of them take part.
pub fn forward<A: Abi>(job: &PrivateComm<A>, reader: u32) {
    if reader == 0 {
        return;
    }
    if job.rank == 0 {
        let mut buffer = [0; MOST_BYTES];
        let offer = job.receive_short(reader, &mut buffer).and_then(encoding::decode::<Offer>);
        let exists = worth_forwarding();
        let given = if exists { offer.and_then(|offer| give(&offer)) } else { None };
        let way = given.as_ref().map_or(Way::Stays, Given::way);
        job.send_short(reader, &[way as u8]);
        match given {
            Some(given) => given.finish(),
            None if exists => message::line(
                "the standard input could not be passed to the process that now has rank 0; the launcher's \
                 first process keeps it; try: use --fix 0",
            ),
            None => {}
        }
    } else if job.rank == reader as usize {
        let waiting = Waiting::start();
        let offer = waiting.as_ref().and_then(|w| encoding::encode(&w.offer)).unwrap_or_default();
        job.send_short(0, if offer.len() <= MOST_BYTES { &offer } else { &[] });
        let mut answer = [0];
        let answer = job.receive_short(0, &mut answer).map_or(0, |a| a[0]);
        let Some(waiting) = waiting else { return };
        let received = match answer {
            1 => waiting.descriptor(),
            2 => waiting.connection(),
            _ => return,
        };
        match received {
            Some(input) => replace_stdin(&input),
            None => message::line(
                "this process has rank 0 now but did not receive the standard input; the program reads an \
                 empty input; try: use --fix 0",
            ),
        }
    }
}

/// Whether this process has a standard input other than /dev/null.
fn worth_forwarding() -> bool {
    // SAFETY: a structure of this type, filled before it is read.
    unsafe {
        let mut facts: libc::stat = std::mem::zeroed();
        if libc::fstat(0, &raw mut facts) != 0 {
            return false;
        }
        let device = facts.st_mode & libc::S_IFMT == libc::S_IFCHR;
        // /dev/null on Linux.
        !(device && facts.st_rdev == libc::makedev(1, 3))
    }
}

/// Makes `input` this process's standard input.
fn replace_stdin(input: &OwnedFd) {
    // SAFETY: both are open descriptors.
    let _ = unsafe { libc::dup2(input.as_raw_fd(), 0) };
}

fn nothing() -> Option<OwnedFd> {
    std::fs::File::open("/dev/null").ok().map(Into::into)
}

/// The side of the process that is to read the input.
struct Waiting {
    offer: Offer,
    local: UnixListener,
    remote: Option<TcpListener>,
}

impl Waiting {
    fn start() -> Option<Waiting> {
        let mut secret = [0u8; 16];
        // SAFETY: a buffer of this length.
        let got = unsafe { libc::getrandom(secret.as_mut_ptr().cast(), secret.len(), 0) };
        if got != secret.len() as isize {
            return None;
        }
        let local = UnixListener::bind_addr(&local_address(&secret)?).ok()?;
        let remote =
            TcpListener::bind(("::", 0)).or_else(|_| TcpListener::bind(("0.0.0.0", 0))).ok();
        let port = remote.as_ref().and_then(|l| l.local_addr().ok()).map_or(0, |a| a.port());
        let (node, addresses) = (node::identity(), addresses());
        Some(Waiting { offer: Offer { node, secret, port, addresses }, local, remote })
    }

    /// Receives the descriptor, and sends this process's own descriptor in exchange.
    fn descriptor(&self) -> Option<OwnedFd> {
        self.local.set_nonblocking(true).ok()?;
        let mut stream = patiently(|| self.local.accept().ok().map(|(stream, _)| stream))?;
        prepare_local(&stream)?;
        expect(&mut stream, &self.offer.secret)?;
        let input = receive(&stream)?;
        send(&stream, 0);
        Some(input)
    }

    fn connection(&self) -> Option<OwnedFd> {
        let listener = self.remote.as_ref()?;
        listener.set_nonblocking(true).ok()?;
        // A connection that does not send the secret is not from the process that is waited for.
        patiently(|| {
            let (mut stream, _) = listener.accept().ok()?;
            stream.set_nonblocking(false).ok()?;
            stream.set_read_timeout(Some(PATIENCE)).ok()?;
            expect(&mut stream, &self.offer.secret)?;
            stream.set_read_timeout(None).ok()?;
            Some(stream.into())
        })
    }
}

/// The side of the process that has the input, once it is connected to the reader.
enum Given {
    Descriptor(UnixStream),
    Connection(TcpStream),
}

/// Connects to the process of `offer`.
fn give(offer: &Offer) -> Option<Given> {
    if offer.node == node::identity()
        && let Some(stream) = give_locally(offer)
    {
        return Some(Given::Descriptor(stream));
    }
    if offer.port == 0 {
        return None;
    }
    offer.addresses.iter().take(MOST_ADDRESSES).find_map(|&address| {
        let address = SocketAddr::new(address, offer.port);
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE / 4).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(&offer.secret).ok()?;
        stream.set_write_timeout(None).ok()?;
        Some(Given::Connection(stream))
    })
}

fn give_locally(offer: &Offer) -> Option<UnixStream> {
    let mut stream = UnixStream::connect_addr(&local_address(&offer.secret)?).ok()?;
    prepare_local(&stream)?;
    stream.write_all(&offer.secret).ok()?;
    send(&stream, 0).then_some(stream)
}

impl Given {
    fn way(&self) -> Way {
        match self {
            Given::Descriptor(_) => Way::Descriptor,
            Given::Connection(_) => Way::Connection,
        }
    }

    /// Completes handing on, after the reader got the answer.
    fn finish(self) {
        match self {
            Given::Descriptor(stream) => {
                if let Some(other) = receive(&stream).or_else(nothing) {
                    replace_stdin(&other);
                }
            }
            Given::Connection(stream) => {
                // SAFETY: descriptor 0 is open, as was seen before; only this function has the copy.
                let copy = unsafe { libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3) };
                if copy < 0 {
                    return;
                }
                // SAFETY: dup has just made this descriptor; nothing else knows it.
                let input = unsafe { OwnedFd::from_raw_fd(copy) };
                if let Some(nothing) = nothing() {
                    replace_stdin(&nothing);
                }
                relay(input.into(), stream);
            }
        }
    }
}

/// Sends the input over the connection, in a thread that gets no signals of the program and no SIGPIPE.
fn relay(mut input: std::fs::File, mut output: TcpStream) {
    crate::sys::worker_thread::beside(move || {
        let mut buffer = [0u8; 16 << 10];
        loop {
            match input.read(&mut buffer) {
                Ok(read) if read > 0 && output.write_all(&buffer[..read]).is_ok() => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        let _ = output.shutdown(std::net::Shutdown::Both);
    });
}

fn local_address(secret: &[u8; 16]) -> Option<LocalAddr> {
    let mut name = b"rankweave-".to_vec();
    secret.iter().for_each(|byte| name.extend(format!("{byte:02x}").bytes()));
    LocalAddr::from_abstract_name(name).ok()
}

/// Gives a connection the time limit of a step.
fn prepare_local(stream: &UnixStream) -> Option<()> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()
}

/// Reads the first message of the other side.
fn expect(stream: &mut impl Read, secret: &[u8; 16]) -> Option<()> {
    let mut said = [0u8; 16];
    stream.read_exact(&mut said).ok()?;
    (said == *secret).then_some(())
}

/// Repeats an attempt until it succeeds, for a few seconds.
fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return Some(found);
        }
        if start.elapsed() > PATIENCE {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Room for one descriptor beside a message, aligned as its header has to be.
#[repr(C, align(8))]
struct Beside([u8; 32]);

/// Sends a descriptor of this process. `false` if the call of `sendmsg` fails.
fn send(stream: &UnixStream, descriptor: c_int) -> bool {
    let mut byte = [0u8; 1];
    let mut beside = Beside([0; 32]);
    // SAFETY: the structures point to buffers of these lengths that live until the call returns; a
    // header and one descriptor have room.
    unsafe {
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = beside.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(header).cast::<c_int>().write_unaligned(descriptor);
        libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) == 1
    }
}

/// Receives what [`send`] sends.
fn receive(stream: &UnixStream) -> Option<OwnedFd> {
    let mut byte = [0u8; 1];
    let mut beside = Beside([0; 32]);
    // SAFETY: the header names one part and one buffer beside it, both of which live until the call
    // returns; a descriptor that came belongs to this process alone.
    unsafe {
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = beside.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as usize;
        if libc::recvmsg(stream.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) != 1 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message).as_ref()?;
        let one = header.cmsg_level == libc::SOL_SOCKET
            && header.cmsg_type == libc::SCM_RIGHTS
            && header.cmsg_len as usize == libc::CMSG_LEN(4) as usize;
        let data = libc::CMSG_DATA(std::ptr::from_ref(header)).cast::<c_int>();
        one.then(|| OwnedFd::from_raw_fd(data.read_unaligned()))
    }
}

/// Addresses of this node. Those in its networks come before loopback addresses.
fn addresses() -> Vec<IpAddr> {
    let mut found = Vec::new();
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is the C library's until it is freed; addresses are of the family they say.
    unsafe {
        if libc::getifaddrs(&raw mut list) != 0 {
            return found;
        }
        let mut next = list;
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            let up = entry.ifa_flags & libc::IFF_UP as u32 != 0;
            let Some(address) = entry.ifa_addr.as_ref().filter(|_| up) else { continue };
            let address: IpAddr = match c_int::from(address.sa_family) {
                libc::AF_INET => {
                    let inet = &*entry.ifa_addr.cast::<libc::sockaddr_in>();
                    u32::from_be(inet.sin_addr.s_addr).to_be_bytes().into()
                }
                libc::AF_INET6 => {
                    let inet = &*entry.ifa_addr.cast::<libc::sockaddr_in6>();
                    inet.sin6_addr.s6_addr.into()
                }
                _ => continue,
            };
            // A link-local IPv6 address is left out. It is valid only together with the name of an interface, and
            // that name differs between nodes.
            let of_a_link = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
            if !of_a_link {
                found.push(address);
            }
        }
        libc::freeifaddrs(list);
    }
    found.arrange_by_key(|address| (address.is_loopback(), address.is_ipv6()));
    found.truncate(MOST_ADDRESSES);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_goes_over_a_socket() {
        let (left, right) = UnixStream::pair().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        assert!(send(&left, writer.as_raw_fd()));
        drop(writer);
        let mut other = std::fs::File::from(receive(&right).unwrap());
        other.write_all(b"here").unwrap();
        drop(other);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "here");
    }

    #[test]
    fn a_connection_without_the_secret_is_refused() {
        let waiting = Waiting::start().unwrap();
        let port = waiting.offer.port;
        let mut stranger = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stranger.write_all(&[0; 16]).unwrap();
        let mut friend = TcpStream::connect(("127.0.0.1", port)).unwrap();
        friend.write_all(&waiting.offer.secret).unwrap();
        friend.write_all(b"input").unwrap();
        drop(friend);
        let mut text = String::new();
        std::fs::File::from(waiting.connection().unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "input");
    }
}
