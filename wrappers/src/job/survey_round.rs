//! The part of one process in a round of a survey: messages to and from its partner, and the report.
//!
//! A process polls without a pause only from the beginning of its part to the end. If a message does not come
//! in time, the buffers stay in memory, because MPI may still use them, and the communicator is not freed.
//! Every round has message tags of its own, so that a late message never counts for another round.

use crate::comm::private::PrivateComm;
use crate::mpi::abi::Abi;
use crate::mpi::pmpi::pmpi;
use crate::sys::lasting;
use crate::sys::panic_barrier::guarded;
use libc::c_int;
use std::time::{Duration, Instant};

/// From the order to the beginning: the longest pause of a process that waits for an order, and the time until
/// it gets a processor.
pub const BEGIN_AFTER: Duration = Duration::from_micros(1200);
/// Bytes of an encoded order.
pub const ORDER_BYTES: usize = 32;
/// Bytes of a ping, and of a report.
const SMALL: usize = 8;
/// A process that polls for longer yields its processor after each try.
const SPIN: Duration = Duration::from_micros(20);
/// The tags of reports and of pings and exchanges, each for so many rounds.
const REPORTS: c_int = 1 << 10;
const PROBES: c_int = 1 << 14;
const ROUNDS: u32 = 1 << 13;

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing more.
    End = 1,
    Ping = 2,
    Exchange = 3,
}

/// What rank 0 asks of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub kind: Kind,
    /// It begins the ping.
    pub first: bool,
    /// The rank of the other process.
    pub partner: u32,
    /// Round trips, or bytes.
    pub amount: u64,
    /// Number of the round.
    pub number: u32,
    /// How long it may take.
    pub patience: Duration,
    /// When to begin, from the arrival of the order.
    pub begin_after: Duration,
}

impl Order {
    /// The last order.
    pub fn end() -> Order {
        Order {
            kind: Kind::End,
            first: false,
            partner: 0,
            amount: 0,
            number: 0,
            patience: Duration::ZERO,
            begin_after: Duration::ZERO,
        }
    }

    pub fn to_bytes(self) -> [u8; ORDER_BYTES] {
        let micros = |time: Duration| time.as_micros().min(u128::from(u32::MAX)) as u32;
        let mut bytes = [0; ORDER_BYTES];
        (bytes[0], bytes[1]) = (self.kind as u8, u8::from(self.first));
        bytes[4..8].copy_from_slice(&self.partner.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.amount.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.number.to_le_bytes());
        bytes[20..24].copy_from_slice(&micros(self.patience).to_le_bytes());
        bytes[24..28].copy_from_slice(&micros(self.begin_after).to_le_bytes());
        bytes
    }

    /// `None` if the bytes are no order.
    pub fn from_bytes(bytes: &[u8; ORDER_BYTES]) -> Option<Order> {
        let number =
            |at: usize| bytes[at..at + 4].iter().rev().fold(0, |n, &byte| n << 8 | u32::from(byte));
        let kinds = [Kind::End, Kind::Ping, Kind::Exchange];
        Some(Order {
            kind: kinds.into_iter().find(|&kind| kind as u8 == bytes[0])?,
            first: bytes[1] != 0,
            partner: number(4),
            amount: u64::from(number(12)) << 32 | u64::from(number(8)),
            number: number(16),
            patience: Duration::from_micros(number(20).into()),
            begin_after: Duration::from_micros(number(24).into()),
        })
    }

    fn tag(&self, first: c_int) -> c_int {
        first + (self.number % ROUNDS) as c_int
    }
}

/// A message that is being received, with its buffer.
pub struct Pending<A: Abi> {
    request: Option<A::Request>,
    buffer: Vec<u8>,
}

impl<A: Abi> Pending<A> {
    /// Begins to receive the report of a process.
    pub fn report(job: &PrivateComm<A>, from: u32, order: &Order) -> Self {
        let mut buffer = vec![0; SMALL];
        let request = receive(job, from, order.tag(REPORTS), &mut buffer);
        Pending { request, buffer }
    }

    /// The seconds that the report states; `None` if it does not come before the deadline.
    pub fn end(&mut self, job: &PrivateComm<A>, deadline: Instant) -> Option<f64> {
        let Some(request) = self.request.take() else {
            // The report will come nevertheless.
            job.leaves_message();
            return None;
        };
        if finish::<A>(&mut [request], deadline).is_err() {
            given_up(job, &mut self.buffer);
            return None;
        }
        Some(f64::from_le_bytes(self.buffer.as_slice().try_into().ok()?))
    }
}

/// After a panic between the beginning and the end.
impl<A: Abi> Drop for Pending<A> {
    fn drop(&mut self) {
        if self.request.is_some() {
            lasting::kept(std::mem::take(&mut self.buffer).leak());
        }
    }
}

/// Keeps a buffer that MPI may use later, because its request did not end. Its message may stay unreceived.
fn given_up<A: Abi>(job: &PrivateComm<A>, buffer: &mut Vec<u8>) {
    job.leaves_message();
    lasting::kept(std::mem::take(buffer).leak());
}

/// The buffers of a process.
#[derive(Debug, Default)]
pub struct Buffers {
    out: Vec<u8>,
    into: Vec<u8>,
    /// How often they were given up.
    losses: u32,
}

/// After so many losses of its buffers, a process exchanges nothing more: they cost memory, and the time of others.
const MOST_LOSSES: u32 = 2;

impl Buffers {
    /// [`Buffers::play`] behind a barrier for panics, after which MPI may still use the buffers.
    pub fn play_guarded<A: Abi>(
        &mut self,
        job: &PrivateComm<A>,
        order: &Order,
        arrived: Instant,
    ) -> Option<f64> {
        let played = guarded(|| Some(self.play(job, order, arrived)));
        if played.is_none() {
            self.give_up(job);
        }
        played.flatten()
    }

    fn give_up<A: Abi>(&mut self, job: &PrivateComm<A>) {
        self.losses += 1;
        given_up(job, &mut self.out);
        given_up(job, &mut self.into);
    }

    /// Sends the time of a part to rank 0.
    pub fn report<A: Abi>(&mut self, job: &PrivateComm<A>, order: &Order, seconds: f64) {
        self.resize(SMALL);
        self.out[..SMALL].copy_from_slice(&seconds.to_le_bytes());
        let sent = send(job, 0, order.tag(REPORTS), &self.out[..SMALL]);
        self.finish(job, sent.as_slice(), Instant::now() + order.patience);
    }

    /// Does what an order says, which came at `arrived`. Returns the seconds, or `None` if the partner is too
    /// late.
    fn play<A: Abi>(
        &mut self,
        job: &PrivateComm<A>,
        order: &Order,
        arrived: Instant,
    ) -> Option<f64> {
        if self.losses >= MOST_LOSSES {
            return None;
        }
        let deadline = arrived + order.begin_after + order.patience;
        let bytes = match order.kind {
            Kind::Exchange => usize::try_from(order.amount).ok()?,
            Kind::Ping | Kind::End => SMALL,
        };
        self.resize(bytes);
        begin_at(arrived + order.begin_after);
        if order.kind == Kind::Exchange {
            let begin = Instant::now();
            self.swap(job, order, bytes, deadline)?;
            return Some(begin.elapsed().as_secs_f64());
        }
        // The first round trip may set up a connection.
        let mut shortest = f64::INFINITY;
        for _ in 0..=order.amount {
            let begin = Instant::now();
            if order.first {
                self.swap(job, order, bytes, deadline)?;
            } else {
                let came = receive(job, order.partner, order.tag(PROBES), &mut self.into);
                self.finish(job, came.as_slice(), deadline)?;
                let sent = send(job, order.partner, order.tag(PROBES), &self.out[..bytes]);
                self.finish(job, sent.as_slice(), deadline)?;
            }
            shortest = shortest.min(begin.elapsed().as_secs_f64());
        }
        Some(shortest)
    }

    /// Sends and receives at the same time.
    fn swap<A: Abi>(
        &mut self,
        job: &PrivateComm<A>,
        order: &Order,
        bytes: usize,
        deadline: Instant,
    ) -> Option<()> {
        let (partner, tag) = (order.partner, order.tag(PROBES));
        let came = receive(job, partner, tag, &mut self.into[..bytes]);
        let sent = send(job, partner, tag, &self.out[..bytes]);
        let requests: Vec<A::Request> = came.into_iter().chain(sent).collect();
        if requests.len() < 2 {
            // What the partner sends or awaits has no counterpart.
            job.leaves_message();
            self.finish(job, &requests, deadline);
            return None;
        }
        self.finish(job, &requests, deadline)
    }

    /// Waits for requests that use the buffers. If they do not end in time, the buffers are given up.
    fn finish<A: Abi>(
        &mut self,
        job: &PrivateComm<A>,
        requests: &[A::Request],
        deadline: Instant,
    ) -> Option<()> {
        let mut requests = requests.to_vec();
        if requests.is_empty() {
            return None;
        }
        if finish::<A>(&mut requests, deadline).is_ok() {
            return Some(());
        }
        self.give_up(job);
        None
    }

    /// Makes the buffers large enough, and touches their pages.
    fn resize(&mut self, bytes: usize) {
        for buffer in [&mut self.out, &mut self.into] {
            if buffer.len() < bytes {
                *buffer = vec![1; bytes];
            }
        }
    }
}

/// Waits until a moment. The process sleeps if that is far, because other processes may need the processor.
fn begin_at(moment: Instant) {
    const FAR: Duration = Duration::from_micros(200);
    let left = moment.saturating_duration_since(Instant::now());
    if left > FAR {
        std::thread::sleep(left - FAR);
    }
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}

fn send<A: Abi>(job: &PrivateComm<A>, to: u32, tag: c_int, data: &[u8]) -> Option<A::Request> {
    let mut request = A::request_null();
    // SAFETY: a buffer of this length that stays until the request is done, or for ever.
    let code = unsafe {
        let (start, count) = (data.as_ptr().cast(), data.len() as c_int);
        pmpi::<A>().isend(start, count, A::byte(), to as c_int, tag, job.comm, &raw mut request)
    };
    (code == 0).then_some(request)
}

fn receive<A: Abi>(
    job: &PrivateComm<A>,
    from: u32,
    tag: c_int,
    buffer: &mut [u8],
) -> Option<A::Request> {
    let mut request = A::request_null();
    // SAFETY: a buffer of this length that stays until the request is done, or for ever.
    let code = unsafe {
        let (start, count) = (buffer.as_mut_ptr().cast(), buffer.len() as c_int);
        pmpi::<A>().irecv(start, count, A::byte(), from as c_int, tag, job.comm, &raw mut request)
    };
    (code == 0).then_some(request)
}

/// Polls until all requests are done. An error means that some are not done at the deadline, or failed.
fn finish<A: Abi>(requests: &mut [A::Request], deadline: Instant) -> Result<(), ()> {
    let begin = Instant::now();
    // Large enough for the status of each ABI.
    let mut status = [0u64; 16];
    let mut open: Vec<&mut A::Request> = requests.iter_mut().collect();
    loop {
        let mut failed = false;
        open.retain_mut(|request| {
            let mut flag = 0;
            // SAFETY: an active request of ours.
            let code = unsafe {
                let request = std::ptr::from_mut::<A::Request>(request);
                pmpi::<A>().test(request, &raw mut flag, status.as_mut_ptr().cast())
            };
            failed |= code != 0;
            code != 0 || flag == 0
        });
        if open.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        if failed || now > deadline {
            return Err(());
        }
        if now - begin > SPIN {
            // SAFETY: no preconditions.
            unsafe { libc::sched_yield() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_pass_through_bytes() {
        for kind in [Kind::End, Kind::Ping, Kind::Exchange] {
            let order = Order {
                kind,
                first: true,
                partner: 0x0102_0304,
                amount: 0x0102_0304_0506_0708,
                number: 77,
                patience: Duration::from_millis(600),
                begin_after: Duration::from_micros(123),
            };
            assert_eq!(Order::from_bytes(&order.to_bytes()), Some(order));
        }
        assert_eq!(Order::from_bytes(&[0; ORDER_BYTES]), None);
    }
}
