//! The file behind the counters: it is made, grown, locked and removed here.
//!
//! These rules keep the mapped file from harming the job:
//!
//! - Space is reserved before it is mapped. A store into a hole of a full file system ends the process
//!   by SIGBUS. Where the file system cannot reserve space, the file is not used.
//! - Only directories of the node are used, because a page of a network file system can fail in the
//!   middle of a store. Memory (/dev/shm) comes first: pages of a disk are written back now and then,
//!   and a store into such a page waits.
//! - At most a thousandth of the free space is taken, at the start and later, because the MPI library
//!   and the other processes of the node use the same place.
//! - The limit on the size of files (RLIMIT_FSIZE) is read before space is reserved, and the signal
//!   that the kernel sends for it (SIGXFSZ) does not reach the program.
//! - No descriptor stays open, because some programs close all that they find. The lock that tells
//!   others that this process lives belongs to the mapping. To grow, the file is opened again and
//!   compared.

use crate::sys::signal::without_signal;
use rw::store::spill::layout;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file is at most this part of the free space.
const PART_OF_FREE: u64 = 1024;
/// Extents up to this size get their pages at once.
const POPULATE: usize = 256 << 10;
/// File systems whose data is elsewhere, or in a process that may stop: NFS, SMB, CIFS, Lustre, GPFS,
/// BeeGFS, Ceph, AFS, FUSE, OrangeFS, 9p, PanFS, OCFS2, GFS2.
const REMOTE: &[u32] = &[
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0bd0_0bd0,
    0x4750_4653,
    0x1983_0326,
    0x00c3_6400,
    0x5346_414f,
    0x6573_5546,
    0x2003_0528,
    0x0102_1997,
    0xaad7_aaea,
    0x7461_636f,
    0x0116_1970,
];

/// A spill file of this process.
#[derive(Debug)]
pub struct SpillFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    length: usize,
    /// The process that made it: a child has the mapping too, but not the file.
    pid: libc::pid_t,
}

/// Pages of the file.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub address: usize,
    pub length: usize,
}

impl SpillFile {
    /// Makes the file in `directory` with `length` bytes reserved and mapped, all zero.
    pub fn create(directory: &Path, name: &str, length: usize) -> io::Result<(SpillFile, Extent)> {
        let length = length.next_multiple_of(page());
        check_directory(directory, length)?;
        let path = directory.join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let descriptor = options.custom_flags(libc::O_NOFOLLOW).open(&path)?;
        let made = lock(&descriptor).and_then(|()| {
            let status = descriptor.metadata()?;
            let extent = reserve_and_map(&descriptor, 0, length)?;
            let file = SpillFile {
                path: path.clone(),
                device: status.dev(),
                inode: status.ino(),
                length: extent.length,
                // SAFETY: no preconditions.
                pid: unsafe { libc::getpid() },
            };
            Ok((file, extent))
        });
        if made.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        made
    }

    /// Adds `length` zero bytes, rounded up to pages.
    pub fn grow(&mut self, length: usize) -> io::Result<Extent> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let descriptor = options.open(&self.path)?;
        let status = descriptor.metadata()?;
        if !self.is_ours() || (status.dev(), status.ino()) != (self.device, self.inode) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let length = length.checked_next_multiple_of(page()).ok_or(io::ErrorKind::InvalidInput)?;
        check_space(&file_system(&descriptor)?, self.length, length)?;
        let extent = reserve_and_map(&descriptor, self.length, length)?;
        self.length += extent.length;
        Ok(extent)
    }

    /// Path of the file.
    pub fn path(&self) -> &str {
        self.path.to_str().unwrap_or_default()
    }

    /// False in a child of the process that made the file.
    pub fn is_ours(&self) -> bool {
        // SAFETY: no preconditions.
        unsafe { libc::getpid() == self.pid }
    }

    /// Removes the file, unless another file has its name by now.
    pub fn remove(&self) {
        if self.is_ours()
            && let Ok(status) = self.path.symlink_metadata()
            && (status.dev(), status.ino()) == (self.device, self.inode)
        {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Bytes of a page, or the alignment of the layout if that is more.
pub fn page() -> usize {
    crate::sys::elf::page().max(layout::ALIGN)
}

/// Refuses directories whose file system is not of this node or nearly full.
fn check_directory(directory: &Path, length: usize) -> io::Result<()> {
    let path = CString::new(directory.as_os_str().as_bytes())?;
    // SAFETY: a C string and a struct that is filled before it is read.
    let status = unsafe {
        let mut status: libc::statfs = std::mem::zeroed();
        match libc::statfs(path.as_ptr(), &raw mut status) {
            0 => status,
            _ => return Err(io::Error::last_os_error()),
        }
    };
    if REMOTE.contains(&(status.f_type as u32)) {
        return Err(io::Error::other("it is on a network file system"));
    }
    check_space(&status, 0, length)
}

/// Refuses `more` bytes for a file of `length` that would be too large a part of the free space.
fn check_space(status: &libc::statfs, length: usize, more: usize) -> io::Result<()> {
    let free = status.f_bavail.saturating_mul(status.f_bsize as u64);
    let wanted = (length as u64).saturating_add(more as u64);
    // The space that the file takes counts as free, because it was free at the start.
    let all = free.saturating_add(length as u64);
    if wanted > all / PART_OF_FREE {
        return Err(io::Error::other("it has too little space"));
    }
    Ok(())
}

fn file_system(descriptor: &File) -> io::Result<libc::statfs> {
    // SAFETY: an open descriptor and a struct that is filled before it is read.
    unsafe {
        let mut status: libc::statfs = std::mem::zeroed();
        match libc::fstatfs(descriptor.as_raw_fd(), &raw mut status) {
            0 => Ok(status),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Takes the lock by which others see that this process lives.
fn lock(descriptor: &File) -> io::Result<()> {
    let mut tries = 0;
    // SAFETY: an open descriptor.
    while unsafe { libc::flock(descriptor.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        // Another process holds the lock for a moment to see whether this process lives.
        tries += 1;
        if tries == 10 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: no preconditions.
        unsafe { libc::usleep(200) };
    }
    Ok(())
}

/// Reserves bytes of the file, unless a limit forbids it.
fn reserve(descriptor: &File, offset: usize, length: usize) -> io::Result<()> {
    let too_large = || io::Error::from_raw_os_error(libc::EFBIG);
    let end = offset.checked_add(length).ok_or_else(too_large)?;
    // SAFETY: a struct that is filled before it is read.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) == 0 && end as u64 > limit.rlim_cur {
            return Err(too_large());
        }
    }
    let (from, bytes) = (offset as libc::off_t, length as libc::off_t);
    // The kernel may send the signal of that limit in spite of the check above.
    without_signal(libc::SIGXFSZ, || {
        // SAFETY: an open descriptor. Not posix_fallocate, which writes blocks where the file system
        // cannot reserve them. A later store could then still need new blocks.
        let result = unsafe { libc::fallocate(descriptor.as_raw_fd(), 0, from, bytes) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    })
}

fn reserve_and_map(descriptor: &File, from: usize, length: usize) -> io::Result<Extent> {
    reserve(descriptor, from, length)?;
    let offset = from as libc::off_t;
    let populate = if length <= POPULATE { libc::MAP_POPULATE } else { 0 };
    // SAFETY: a fresh mapping of bytes that the file has.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | populate,
            descriptor.as_raw_fd(),
            offset,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(Extent { address: address as usize, length })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("rankweave-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn files_are_private_grow_and_go() {
        let place = directory("file");
        let (mut file, first) = SpillFile::create(&place, "x", 100).unwrap();
        assert_eq!(first.length, page());
        let path = place.join("x");
        let meta = std::fs::metadata(&path).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777, 0o600);
        let more = file.grow(page() + 1).unwrap();
        assert_eq!(more.length, 2 * page());
        // SAFETY: the last byte of the second extent.
        unsafe { *(more.address as *mut u8).add(more.length - 1) = 7 };
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes.len(), bytes[3 * page() - 1]), (3 * page(), 7));
        let handle = std::fs::File::open(&path).unwrap();
        assert!(handle.try_lock().is_err(), "a mapped file is locked");
        file.remove();
        assert!(!path.exists());
        assert!(file.grow(1).is_err());
        std::fs::remove_dir(&place).unwrap();
    }

    #[test]
    fn a_file_stays_a_small_part_of_the_free_space() {
        // SAFETY: a struct of numbers.
        let mut status: libc::statfs = unsafe { std::mem::zeroed() };
        (status.f_bsize, status.f_bavail) = (4096, 1024);
        assert!(check_space(&status, 0, 4096).is_ok());
        assert!(check_space(&status, 0, 4097).is_err());
        assert!(check_space(&status, 4096, 4096).is_err());
        assert!(check_space(&status, usize::MAX, 1).is_err());
    }

    #[test]
    fn nothing_that_exists_is_taken_or_removed() {
        let place = directory("taken");
        std::fs::write(place.join("target"), "keep").unwrap();
        std::os::unix::fs::symlink(place.join("target"), place.join("x")).unwrap();
        assert!(SpillFile::create(&place, "x", 1).is_err());
        std::fs::remove_file(place.join("x")).unwrap();
        let (mut file, _) = SpillFile::create(&place, "x", 1).unwrap();
        std::fs::remove_file(place.join("x")).unwrap();
        std::fs::write(place.join("x"), "another").unwrap();
        assert!(file.grow(1).is_err());
        file.remove();
        assert_eq!(std::fs::read(place.join("x")).unwrap(), b"another");
        assert_eq!(std::fs::read(place.join("target")).unwrap(), b"keep");
        assert!(SpillFile::create(Path::new("/proc"), "x", 1).is_err());
        assert!(SpillFile::create(&place.join("absent"), "x", 1).is_err());
        std::fs::remove_dir_all(&place).unwrap();
    }
}
