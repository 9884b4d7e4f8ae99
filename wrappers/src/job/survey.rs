//! A survey of the network between the nodes of the job, with one process of each node.
//!
//! Rank 0 conducts it: for each round it sends an order to the processes of the pairs, and each of them reports
//! its time. All other processes wait for the next broadcast as usual, so they hardly use their processors. No
//! wait is without a bound, except that for the next order of rank 0, which always sends a last one. A process
//! that does not report in time takes part in no further round, and the survey goes on without it.

use crate::comm::private::PrivateComm;
use crate::job::survey_round::{BEGIN_AFTER, Buffers, Kind, ORDER_BYTES, Order, Pending};
use crate::mpi::abi::Abi;
use crate::sys::panic_barrier::guarded;
use rw::survey::{Limits, Probe, Round, Surveyed, Wire, conduct};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How long a pair may take at most.
const PATIENCE: Duration = Duration::from_millis(600);
/// How long rank 0 waits for reports after that, at most.
const EXTRA: Duration = Duration::from_millis(300);

/// The call of rank 0 for a survey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyCall {
    /// A process of each node, rank 0 first.
    pub leaders: Vec<u32>,
}

/// What every process except rank 0 does.
pub fn take_part<A: Abi>(job: &PrivateComm<A>, call: &SurveyCall) {
    if !call.leaders.contains(&(job.rank as u32)) {
        return;
    }
    let mut buffers = Buffers::default();
    loop {
        let mut bytes = [0; ORDER_BYTES];
        let received = job.receive_short(0, &mut bytes).is_some();
        let Some(order) = Order::from_bytes(&bytes).filter(|_| received) else { return };
        if order.kind == Kind::End {
            return;
        }
        let seconds = buffers.play_guarded(job, &order, Instant::now());
        buffers.report(job, &order, seconds.unwrap_or(f64::NAN));
    }
}

/// What rank 0 does.
pub fn lead<A: Abi>(job: &PrivateComm<A>, call: &SurveyCall, seed: u64) -> Surveyed {
    let mut wire = MpiWire {
        job,
        leaders: &call.leaders,
        out: vec![false; call.leaders.len()],
        buffers: Buffers::default(),
        number: 0,
        started: Instant::now(),
    };
    let limits = Limits::for_hosts(call.leaders.len());
    let found = guarded(|| Some(conduct(&mut wire, limits, seed)));
    for &leader in call.leaders.iter().filter(|&&leader| leader != 0) {
        job.send_short(leader, &Order::end().to_bytes());
    }
    found.unwrap_or_else(|| Surveyed {
        reason: "the network is taken for flat, because of an internal error".into(),
        ..Surveyed::default()
    })
}

struct MpiWire<'j, A: Abi> {
    job: &'j PrivateComm<A>,
    leaders: &'j [u32],
    /// Hosts that did not report in time.
    out: Vec<bool>,
    buffers: Buffers,
    number: u32,
    started: Instant,
}

impl<A: Abi> MpiWire<'_, A> {
    /// The orders of both hosts of a pair.
    fn orders(&self, probe: Probe, (a, b): (u32, u32), patience: Duration) -> [(u32, Order); 2] {
        let (kind, amount) = match probe {
            Probe::Ping { repeats } => (Kind::Ping, u64::from(repeats)),
            Probe::Exchange { bytes } => (Kind::Exchange, bytes),
        };
        let order = |first: bool, partner: u32| Order {
            kind,
            first,
            partner: self.leaders[partner as usize],
            amount,
            number: self.number,
            patience,
            begin_after: Duration::ZERO,
        };
        [(a, order(true, b)), (b, order(false, a))]
    }
}

impl<A: Abi> Wire for MpiWire<'_, A> {
    fn hosts(&self) -> usize {
        self.leaders.len()
    }

    fn run(&mut self, round: &Round) -> Vec<Option<f64>> {
        self.number += 1;
        let patience =
            Duration::try_from_secs_f64(round.patience).unwrap_or(PATIENCE).min(PATIENCE);
        let mut answers = vec![[f64::NAN; 2]; round.pairs.len()];
        let mut orders: Vec<(usize, u32, Order)> = Vec::new();
        for (k, &(a, b)) in round.pairs.iter().enumerate() {
            if !self.out[a as usize] && !self.out[b as usize] {
                let both = self.orders(round.probe, (a, b), patience);
                orders.extend(
                    both.map(|(host, order)| (2 * k + usize::from(!order.first), host, order)),
                );
            }
        }
        // Reports are awaited before the orders are sent, so that they never come unexpected.
        let rank_of = |host: u32| self.leaders[host as usize];
        let mut pending: Vec<(usize, u32, Pending<A>)> = orders
            .iter()
            .filter(|&&(_, host, _)| rank_of(host) != 0)
            .map(|(k, host, order)| (*k, *host, Pending::report(self.job, rank_of(*host), order)))
            .collect();
        // All begin at the same time, although the orders are sent one after the other.
        let sent = Instant::now();
        let begin = BEGIN_AFTER + Duration::from_micros(2 * orders.len() as u64);
        let mut mine = None;
        for (k, host, order) in &mut orders {
            order.begin_after = begin.saturating_sub(sent.elapsed());
            match rank_of(*host) {
                0 => mine = Some((*k, *order)),
                rank => {
                    self.job.send_short(rank, &order.to_bytes());
                }
            }
        }
        if let Some((k, mut order)) = mine {
            order.begin_after = begin.saturating_sub(sent.elapsed());
            let seconds = self.buffers.play_guarded(self.job, &order, Instant::now());
            answers[k / 2][k % 2] = seconds.unwrap_or(f64::NAN);
        }
        let deadline = sent + begin + patience + EXTRA.min(patience);
        for (k, host, report) in &mut pending {
            match report.end(self.job, deadline) {
                Some(seconds) => answers[*k / 2][*k % 2] = seconds,
                None => self.out[*host as usize] = true,
            }
        }
        // A process that began or looked late sees a longer time than its partner. The message of each of the
        // two takes at least the shorter one.
        answers
            .iter()
            .map(|[first, second]| match round.probe {
                Probe::Ping { .. } => *first,
                Probe::Exchange { .. } if first.is_nan() || second.is_nan() => f64::NAN,
                Probe::Exchange { .. } => first.min(*second),
            })
            .map(|seconds| (!seconds.is_nan()).then_some(seconds))
            .collect()
    }

    /// The partner of a host that did not report has reported that it got no answer.
    fn is_silent(&self, host: u32) -> bool {
        self.out[host as usize]
    }

    fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}
