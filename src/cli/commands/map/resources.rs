//! The CPU time and the memory that this process used so far.

use std::time::Duration;

fn usage() -> Option<libc::rusage> {
    // SAFETY: getrusage fills the structure it is given and touches nothing else.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) == 0).then_some(usage)
    }
}

/// CPU time of this process so far, user and system.
pub(super) fn cpu_time() -> Duration {
    let of = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    usage().map_or(Duration::ZERO, |u| of(u.ru_utime) + of(u.ru_stime))
}

/// Most memory this process had so far, in bytes.
pub(super) fn peak_rss() -> u64 {
    usage().map_or(0, |u| u.ru_maxrss as u64 * 1024)
}
