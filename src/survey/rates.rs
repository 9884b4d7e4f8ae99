//! How many bytes an exchange needs, and the bandwidth of each level.
//!
//! A switch or a token bucket lets the first bytes pass at once. Bandwidths are therefore differences: the bytes
//! that a larger exchange has more, divided by the time that it takes longer.

use super::matching::{pairs_across, random_pairs};
use super::partition::median;
use super::session::{LimitReached, Measured, Session};
use super::surveyed::count;
use crate::base::sorting::Arrange;

/// Bytes of the first exchange.
const FIRST: u64 = 64 << 10;
/// Seconds that an exchange between two hosts should take if no other pair is active. On fast links a shorter
/// time will do, because [`PLENTY`] bytes are enough.
const SECONDS: f64 = 0.006;
const PLENTY: u64 = 1 << 20;
const SECONDS_OF_PLENTY: f64 = 0.002;
/// Seconds of a round in which all hosts exchange, if twice the bytes are enough for it.
const SECONDS_OF_ROUND: f64 = 0.03;
/// The bursts that links let pass at once must not hide their rates.
const LEAST: u64 = 144 << 10;

/// Links on which [`LEAST`] bytes take longer than this are slower than those that the limits are meant for (their
/// rate is below 40 Mbit/s): the survey gets more time.
const SECONDS_OF_LEAST: f64 = 0.03;
/// Parts of the time of the survey after which bandwidths are measured with one exchange instead of two, and not at all.
const DIFFERENCES_END: f64 = 0.85;
const RATES_END: f64 = 0.96;

/// The bytes of an exchange that takes long enough to be measured, from exchanges of a few pairs.
pub(super) fn bytes_of_exchange(session: &mut Session) -> Result<u64, LimitReached> {
    let hosts = session.present();
    let half = hosts.len() / 2;
    let mut last: Option<(u64, f64)> = None;
    let mut bytes = FIRST;
    loop {
        let mut best = f64::INFINITY;
        // Different pairs: one host or one pair may be slow.
        for k in 0..2 {
            let pair = (hosts[k % half], hosts[half + k % half]);
            for (.., time) in session.exchange(&[pair], bytes)? {
                best = best.min(time);
            }
        }
        if best.is_infinite() {
            return Ok(LEAST);
        }
        let target = if bytes >= PLENTY { SECONDS_OF_PLENTY } else { SECONDS };
        if best >= target {
            session.allow_more(best * LEAST as f64 / bytes.max(LEAST) as f64 / SECONDS_OF_LEAST);
            let (less, sooner) = last.unwrap_or((0, 0.0));
            let rate = (bytes - less) as f64 / (best - sooner).max(1e-9);
            let missing = ((SECONDS - best) * rate) as i64;
            let wanted = bytes.saturating_add_signed(missing);
            // At most four times less than what took too long.
            return Ok(wanted.clamp(bytes / 4, bytes).max(LEAST).min(bytes.max(LEAST)));
        }
        if 2 * bytes > session.limits.bytes_per_exchange {
            return Ok(bytes);
        }
        last = Some((bytes, best));
        bytes *= 2;
    }
}

/// More bytes, if rounds in which all hosts exchange are short: processes do not begin at exactly the same time, and
/// may not get a processor at once, so that longer exchanges are more certain. Returns the times of these rounds too, if
/// their bytes are those of all later ones.
pub(super) fn for_all_at_once(
    session: &mut Session,
    bytes: u64,
) -> Result<(u64, Vec<Measured>), LimitReached> {
    let mut measured = Vec::new();
    let mut longest = f64::INFINITY;
    for _ in 0..2 {
        let pairs = random_pairs(&session.present(), &mut session.random);
        let times = session.exchange(&pairs, bytes)?;
        longest = longest.min(times.iter().map(|m| m.2).fold(0.0, f64::max));
        measured.extend(times);
        // Much longer than that is no accident.
        if longest > 1.5 * SECONDS_OF_ROUND {
            break;
        }
    }
    let factor = if longest > 0.0 { (SECONDS_OF_ROUND / longest).clamp(1.0, 2.0) } else { 1.0 };
    let wanted = ((bytes as f64 * factor) as u64).min(session.limits.bytes_per_exchange);
    measured.retain(|_| wanted == bytes);
    Ok((wanted, measured))
}

/// For each level and for the hosts at the end: bytes per second of the link above a group. Empty if the
/// limits end the measurement.
///
/// In the rounds of a level, all hosts exchange with hosts that first differ in this level. The link above a
/// group then carries the traffic of all hosts of the group.
pub(super) fn bandwidths(session: &mut Session, levels: &[Vec<u32>], bytes: u64) -> Vec<f64> {
    let mut found = Vec::with_capacity(levels.len() + 1);
    for depth in 0..=levels.len() {
        let Ok(mut rates) = rates_at(session, levels, depth, bytes) else { return Vec::new() };
        let Some(rate) = median(&mut rates) else {
            // No pair of hosts first differs here.
            found.push(f64::NAN);
            continue;
        };
        let size = match levels.get(depth) {
            Some(groups) => {
                let mut sizes = vec![0.0; count(groups)];
                session.present().iter().for_each(|&h| sizes[groups[h as usize] as usize] += 1.0);
                sizes.retain(|&size| size > 0.0);
                median(&mut sizes).unwrap_or(1.0)
            }
            None => 1.0,
        };
        found.push(rate * size);
    }
    // Levels without a pair get the bandwidth of the level inside them.
    let mut inner = found.iter().rev().copied().find(|rate| !rate.is_nan()).unwrap_or(0.0);
    for rate in found.iter_mut().rev() {
        if rate.is_nan() {
            *rate = inner;
        }
        inner = *rate;
    }
    if inner > 0.0 { found } else { Vec::new() }
}

/// Bytes per second in each pair of a round of hosts that first differ in the level `depth`.
fn rates_at(
    session: &mut Session,
    levels: &[Vec<u32>],
    depth: usize,
    bytes: u64,
) -> Result<Vec<f64>, LimitReached> {
    let hosts = session.present();
    let mut by_outer = hosts.clone();
    let outer = |host: u32| depth.checked_sub(1).map_or(0, |d| levels[d][host as usize]);
    by_outer.arrange_by_key(|&host| outer(host));
    let inner = |host: u32| levels.get(depth).map_or(host, |groups| groups[host as usize]);
    let mut pairs = Vec::new();
    for members in by_outer.chunk_by(|&a, &b| outer(a) == outer(b)) {
        pairs.extend(pairs_across(members, inner, &mut session.random));
    }
    if session.is_past(RATES_END) {
        return Err(LimitReached);
    }
    let short: Vec<Measured> = session.exchange(&pairs, bytes)?;
    if session.is_past(DIFFERENCES_END) {
        return Ok(short.iter().map(|&(.., time)| bytes as f64 / time).collect());
    }
    let long = session.exchange(&pairs, 2 * bytes)?;
    let more = bytes.min(session.limits.bytes_per_exchange.saturating_sub(bytes));
    let time = |(a, b)| long.iter().find(|&&(c, d, _)| (a, b) == (c, d)).map(|&(.., time)| time);
    let rate = |&(a, b, sooner): &Measured| {
        let later = time((a, b))?;
        // Where noise is larger than the difference, the whole exchange counts.
        Some(match later - sooner {
            difference if difference > 0.2 * later && more > 0 => more as f64 / difference,
            _ => 2.0 * bytes as f64 / later,
        })
    };
    Ok(short.iter().filter_map(rate).collect())
}
