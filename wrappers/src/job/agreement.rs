//! The first collective step of a job: whether all processes have the library, and what they have in
//! common.
//!
//! Limit: if some processes do not have the library, this step stays unfinished in the others, and so
//! does the gather of the locations that goes along with it. The program's own nonblocking collectives
//! on its world may then be matched with it.

use crate::comm::request;
use crate::job::hooks;
use crate::mpi::abi::Abi;
use crate::mpi::pmpi::pmpi;
use crate::mpi::ucx;
use crate::sys::lasting;
use libc::c_int;
use rw::base::clock::since_1970;
use rw::launch::Program;
use std::time::Duration;

/// How long to wait where some processes may never come: at the end of a job whose start was not seen or
/// that uses sessions, and for the locations, when some process has the library switched off.
pub const PATIENCE_AT_END: Duration = Duration::from_secs(10);

/// What the processes have in common.
#[derive(Debug)]
pub struct Agreement {
    /// At least one process has the library switched off, or came so late that other processes may have stopped
    /// waiting.
    pub off: bool,
    /// In every process the library sees all calls of the program.
    pub complete: bool,
    /// All processes run the same program with the same arguments.
    pub one_program: bool,
}

impl Agreement {
    /// Takes the step with all processes. `None` if not all of them answer within `patience`: then some
    /// processes do not have the library, and the job would hang if the others waited longer.
    ///
    /// The step is one nonblocking maximum over all processes. A value that must be the same in all of them is
    /// sent together with its complement. The value is the same in all processes if the largest complement is
    /// the complement of the largest value.
    pub fn reach<A: Abi>(all_of: A::Comm, off: bool, patience: Duration) -> Option<Agreement> {
        let now = since_1970().as_secs();
        let program = Program::number_of_this_process();
        let incomplete = !hooks::complete();
        let mine = lasting::keep([now, !now, program, !program, off.into(), incomplete.into()]);
        let all = lasting::keep([0u64; 6]);
        let mut request = A::request_null();
        let mpi = pmpi::<A>();
        // SAFETY: MPI is initialised; the buffers are leaked, because the request may outlive this
        // function.
        unsafe {
            let code = mpi.iallreduce(
                mine.as_ptr().cast(),
                all.as_mut_ptr().cast(),
                mine.len() as c_int,
                A::uint64(),
                A::op_max(),
                all_of,
                &raw mut request,
            );
            if code != 0 {
                return None;
            }
            if !request::wait::<A>(&mut request, Some(patience)) {
                ucx::only_errors();
                return None;
            }
        }
        let skew = all[0].saturating_sub(!all[1]);
        Some(Agreement {
            off: all[4] != 0 || skew > patience.as_secs() / 2,
            complete: all[5] == 0,
            one_program: all[2] == !all[3],
        })
    }
}
