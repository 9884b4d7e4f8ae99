//! The memory that this process may still allocate.

/// Bytes of available memory on this node by /proc/meminfo; `u64::MAX` if it cannot be read.
pub fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map_or(u64::MAX, |kib| kib.saturating_mul(1024))
}

/// Whether this process can allocate `bytes` more. They may be at most half of the memory that is available
/// on its node and in its control group, and its own limit (RLIMIT_AS) has to allow them.
pub fn has_room(bytes: u64) -> bool {
    let free = available().min(group_available());
    bytes <= free / 2 && can_map(bytes)
}

/// Bytes that the memory control groups (version 2) of this process leave free; `u64::MAX` without a limit.
fn group_available() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let of_process = || {
        let groups = read("/proc/self/cgroup")?;
        let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?.to_string();
        // A limit may stand at any level above.
        let mut free = u64::MAX;
        let mut path = path.trim_end_matches('/');
        loop {
            let directory = format!("/sys/fs/cgroup{path}");
            let most = number(&format!("{directory}/memory.max"));
            let used = number(&format!("{directory}/memory.current"));
            if let (Some(most), Some(used)) = (most, used) {
                free = free.min(most.saturating_sub(used));
            }
            match path.rfind('/') {
                Some(at) => path = &path[..at],
                None => return Some(free),
            }
        }
    };
    of_process().unwrap_or(u64::MAX)
}

/// Whether so many bytes of address space can be mapped. They are unmapped at once.
fn can_map(bytes: u64) -> bool {
    let Ok(length) = usize::try_from(bytes) else { return false };
    if length == 0 {
        return true;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping that nothing else knows of; unmapped with the same length.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return false;
        }
        libc::munmap(start, length) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_limited() {
        assert!(has_room(1 << 20));
        assert!(!has_room(u64::MAX / 2));
        assert!(group_available() > 0);
    }
}
