! Tests MPI_Win_allocate and MPI_Win_allocate_shared with a base of TYPE(C_PTR): a window has the ranks of its
! communicator.
program window_pointer
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: ierr, rank, n, window, group, rank_in_window, right, got, bad, kind
  integer(MPI_ADDRESS_KIND), parameter :: bytes = 4, start = 0
  type(c_ptr) :: base
  integer, pointer :: own(:)
  bad = 0
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, n, ierr)
  right = mod(rank + 1, n)
  do kind = 1, 2
    if (kind == 1) then
      call mpi_win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, window, ierr)
    else
      ! All processes are on one node here, so the world itself may share memory.
      call mpi_win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, window, ierr)
    end if
    call c_f_pointer(base, own, [1])
    call mpi_win_get_group(window, group, ierr)
    call mpi_group_rank(group, rank_in_window, ierr)
    if (rank_in_window /= rank) bad = bad + 1
    call mpi_win_fence(0, window, ierr)
    own(1) = rank
    call mpi_win_fence(0, window, ierr)
    call mpi_get(got, 1, MPI_INTEGER, right, start, 1, MPI_INTEGER, window, ierr)
    call mpi_win_fence(0, window, ierr)
    if (got /= right) bad = bad + 1
    call mpi_group_free(group, ierr)
    call mpi_win_free(window, ierr)
  end do
  call verdict('window_pointer')
  call mpi_finalize(ierr)
  if (bad /= 0) stop 1
contains
  include 'verdict.inc'
end program
