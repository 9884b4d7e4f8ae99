! The same ring with `use mpi`.
program ring
  use mpi
  implicit none
  integer :: ierr, rank, n, left, right, i, request(2), s(MPI_STATUS_SIZE), bad, total
  double precision :: a(125), b(125)
  bad = 0
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, n, ierr)
  right = mod(rank + 1, n)
  left = mod(rank + n - 1, n)
  a = rank
  do i = 1, 10
    call mpi_sendrecv(a, 125, MPI_DOUBLE_PRECISION, right, 1, b, 125, MPI_DOUBLE_PRECISION, &
                      left, 1, MPI_COMM_WORLD, s, ierr)
    if (b(125) /= left .or. s(MPI_SOURCE) /= left) bad = bad + 1
    call mpi_irecv(b, 125, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, request(1), ierr)
    call mpi_send(a, 125, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, ierr)
    call mpi_wait(request(1), MPI_STATUS_IGNORE, ierr)
    if (b(1) /= left) bad = bad + 1
  end do
  total = 1
  call mpi_allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (total /= n) bad = bad + 1
  call verdict('use mpi')
  call mpi_finalize(ierr)
  if (bad /= 0) stop 1
contains
  include 'verdict.inc'
end program ring
