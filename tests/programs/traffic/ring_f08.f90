! The same ring with `use mpi_f08`. ierror is optional there, and most calls omit it.
program ring
  use mpi_f08
  implicit none
  type(MPI_Request) :: request(2)
  type(MPI_Status) :: s
  type(MPI_Comm) :: reversed
  integer :: ierr, rank, n, left, right, i, bad, total, r
  double precision :: a(125), b(125)
  bad = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  right = mod(rank + 1, n)
  left = mod(rank + n - 1, n)
  a = rank
  do i = 1, 10
    call MPI_Sendrecv(a, 125, MPI_DOUBLE_PRECISION, right, 1, b, 125, MPI_DOUBLE_PRECISION, &
                      left, 1, MPI_COMM_WORLD, s)
    if (b(125) /= left .or. s%MPI_SOURCE /= left) bad = bad + 1
    call MPI_Irecv(b, 125, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, request(1))
    call MPI_Isend(a, 125, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, request(2), ierr)
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
    if (b(1) /= left) bad = bad + 1
  end do
  total = 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (total /= n) bad = bad + 1
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, reversed)
  call MPI_Comm_rank(reversed, r)
  if (r /= n - 1 - rank) bad = bad + 1
  call MPI_Comm_free(reversed)
  if (reversed /= MPI_COMM_NULL) bad = bad + 1
  call verdict('use mpi_f08')
  call MPI_Finalize()
  if (bad /= 0) stop 1
contains
  include 'verdict.inc'
end program ring
