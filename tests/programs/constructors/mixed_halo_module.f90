! The halo exchange of mixed_halo.c on a Cartesian communicator, with `use mpi`:
!
!     mixed_halo_module right      on the new communicator
!     mixed_halo_module numbers    by the numbers of the new neighbours, on MPI_COMM_WORLD
program mixed_halo
  use mpi
  implicit none
  integer :: ierr, rank, world, n, cart, comm, k, got, mine(2), total(2)
  integer :: dims(2), to(4), requests(4), statuses(MPI_STATUS_SIZE, 4), s(MPI_STATUS_SIZE)
  logical :: periods(2)
  character(16) :: how
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, world, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, n, ierr)
  call get_command_argument(1, how)
  dims = 0
  periods = .true.
  call mpi_dims_create(n, 2, dims, ierr)
  call mpi_cart_create(MPI_COMM_WORLD, 2, dims, periods, .true., cart, ierr)
  call mpi_comm_rank(cart, rank, ierr)
  call mpi_cart_shift(cart, 0, 1, to(1), to(2), ierr)
  call mpi_cart_shift(cart, 1, 1, to(3), to(4), ierr)
  comm = cart
  if (how == 'numbers') comm = MPI_COMM_WORLD
  do k = 1, 4
    call mpi_isend(rank, 1, MPI_INTEGER, to(k), 5, comm, requests(k), ierr)
  end do
  mine = 0
  if (rank /= world) mine(1) = 1
  do k = 1, 4
    call mpi_recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 5, comm, s, ierr)
    mine(2) = mine(2) + got - to(k)
  end do
  call mpi_waitall(4, requests, statuses, ierr)
  if (mine(2) /= 0) mine(2) = 1
  call mpi_reduce(mine, total, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (world == 0) then
    print '(A,I0,A,I0)', 'new ranks ', total(1), ', wrong ', total(2)
    print '(A)', 'ok mixed_halo_module'
  end if
  call mpi_comm_free(cart, ierr)
  call mpi_finalize(ierr)
end program mixed_halo
