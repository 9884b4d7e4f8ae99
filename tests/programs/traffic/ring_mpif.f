C     A ring in Fortran with mpif.h: 10 messages of 125 double precision
C     numbers to the next task, once blocking and once nonblocking, so
C     C(i, i+1) = 20 * 1000 bytes. Then the constants that have special
C     addresses: MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS(ES)_IGNORE.
      program ring
      implicit none
      include 'mpif.h'
      integer ierr, rank, n, left, right, i, req(2), s(MPI_STATUS_SIZE)
      integer bad, total, comm, r, key
      double precision a(125), b(125)
      bad = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
      right = mod(rank + 1, n)
      left = mod(rank + n - 1, n)
      a = rank
      do i = 1, 10
         call MPI_SENDRECV(a, 125, MPI_DOUBLE_PRECISION, right, 1,
     &        b, 125, MPI_DOUBLE_PRECISION, left, 1,
     &        MPI_COMM_WORLD, s, ierr)
         if (b(125) .ne. left) bad = bad + 1
         if (s(MPI_SOURCE) .ne. left) bad = bad + 1
         call MPI_IRECV(b, 125, MPI_DOUBLE_PRECISION, left, 2,
     &        MPI_COMM_WORLD, req(1), ierr)
         call MPI_ISEND(a, 125, MPI_DOUBLE_PRECISION, right, 2,
     &        MPI_COMM_WORLD, req(2), ierr)
         call MPI_WAITALL(2, req, MPI_STATUSES_IGNORE, ierr)
         if (ierr .ne. MPI_SUCCESS) bad = bad + 1
      end do
      total = 1
      call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      if (total .ne. n) bad = bad + 1
      call MPI_BCAST(MPI_BOTTOM, 0, MPI_INTEGER, 0, MPI_COMM_WORLD,
     &     ierr)
      key = -rank
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, key, comm, ierr)
      call MPI_COMM_RANK(comm, r, ierr)
      if (r .ne. n - 1 - rank) bad = bad + 1
      call MPI_COMM_FREE(comm, ierr)
      if (comm .ne. MPI_COMM_NULL) bad = bad + 1
      call MPI_REDUCE(bad, total, 1, MPI_INTEGER, MPI_SUM, 0,
     &     MPI_COMM_WORLD, ierr)
      if (rank .eq. 0 .and. total .eq. 0) print '(A)', 'ok mpif.h'
      if (rank .eq. 0 .and. total .ne. 0) print '(A,I0)', 'FAIL ', total
      call MPI_FINALIZE(ierr)
      if (bad .ne. 0) stop 1
      end
