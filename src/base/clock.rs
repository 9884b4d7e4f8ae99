//! The time of day, and the processor time and memory of this process.

use std::time::{Duration, SystemTime};

/// The time since 1970-01-01 UTC; 0 if the clock of the system is set to an earlier time.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn usage() -> Option<libc::rusage> {
    // SAFETY: getrusage fills the structure it is given and touches nothing else.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) == 0).then_some(usage)
    }
}

/// The processor time of this process so far, of all its threads, user and system; 0 if the system does not tell.
pub fn cpu_time() -> Duration {
    let of = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    usage().map_or(Duration::ZERO, |u| of(u.ru_utime) + of(u.ru_stime))
}

/// The most memory that this process had so far, in bytes; 0 if the system does not tell.
pub fn peak_memory() -> u64 {
    usage().map_or(0, |u| u.ru_maxrss as u64 * 1024)
}
