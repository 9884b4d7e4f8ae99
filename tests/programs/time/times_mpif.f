C Time in MPI as every task measures it by itself, with mpif.h.
      program times
      implicit none
      include 'mpif.h'
      integer ierr, rank, n, i, value, request, s(MPI_STATUS_SIZE)
      integer got, length
      double precision start, mine
      character*(MPI_MAX_ERROR_STRING) text
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
      mine = 0
      if (rank .eq. 0) call sleep(1)
      do i = 1, 3
        value = i
        start = MPI_WTIME()
        if (rank .eq. 0) then
          call MPI_BCAST(value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
        else
          call MPI_BCAST(got, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
          if (got .ne. i) print '(A)', 'FAIL bcast'
        end if
        call MPI_IRECV(got, 1, MPI_INTEGER, mod(rank + n - 1, n), 3,
     &                 MPI_COMM_WORLD, request, ierr)
        call MPI_SEND(rank, 1, MPI_INTEGER, mod(rank + 1, n), 3,
     &                MPI_COMM_WORLD, ierr)
        call MPI_WAIT(request, s, ierr)
        if (got .ne. mod(rank + n - 1, n)) print '(A)', 'FAIL wait'
        call MPI_SENDRECV(rank, 1, MPI_INTEGER, mod(rank + 1, n), 4,
     &                    got, 1, MPI_INTEGER, mod(rank + n - 1, n), 4,
     &                    MPI_COMM_WORLD, s, ierr)
        mine = mine + MPI_WTIME() - start
        if (got .ne. mod(rank + n - 1, n)) print '(A)', 'FAIL sendrecv'
        if (s(MPI_TAG) .ne. 4) print '(A)', 'FAIL status'
      end do
      call MPI_ERROR_STRING(MPI_ERR_RANK, text, length, ierr)
      if (length .le. 0) print '(A)', 'FAIL text'
      print '(A,F12.6)', 'ok times', mine
      call MPI_FINALIZE(ierr)
      end
