! Tests the module rankweave_f08, for mpi_f08. With the argument `moved` the ranks must change after traffic
! between r and ieor(r, 1). The module is compiled with this program.
program api
    use, intrinsic :: iso_fortran_env, only: int64
    use mpi_f08
    use rankweave_f08
    implicit none
    integer :: rank, size, other, code, relation, takes, taker, new_rank, failures, all, i
    integer :: loaded_code, mapped, major, minor
    type(MPI_Status) :: status
    type(MPI_Comm) :: better
    double precision :: mine(1000), taken(1000)
    character(len=16) :: argument

    failures = 0
    call rankweave_reset(code)
    if (code /= RANKWEAVE_NOT_NOW) call failed('reset before MPI_Init')
    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call MPI_Comm_size(MPI_COMM_WORLD, size, code)
    argument = ''
    if (command_argument_count() > 0) call get_command_argument(1, argument)
    call rankweave_version(major, minor, code)
    loaded_code = merge(RANKWEAVE_OK, RANKWEAVE_NOT_NOW, rankweave_loaded())
    if (code /= loaded_code) call failed('version')

    call rankweave_reset(code)
    other = ieor(rank, 1)
    mine = [(1000d0 * rank + i, i = 1, 1000)]
    if (other < size) then
        do i = 1, 5
            call MPI_Sendrecv(mine, 1000, MPI_DOUBLE_PRECISION, other, 1, taken, 1000, &
                MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, status, code)
        end do
    end if
    call rankweave_reorder(MPI_COMM_WORLD, better, code)
    if (code /= RANKWEAVE_OK) call failed('reorder')
    call MPI_Comm_compare(MPI_COMM_WORLD, better, relation, code)
    if (relation /= MPI_CONGRUENT .and. relation /= MPI_SIMILAR) call failed('other processes')
    if (argument == 'moved' .and. relation /= MPI_SIMILAR) call failed('not moved')

    call MPI_Comm_rank(better, new_rank, code)
    call rankweave_reorder_roles(MPI_COMM_WORLD, better, takes, taker, code)
    if (code /= RANKWEAVE_OK .or. takes /= new_rank .or. taker < 0) call failed('roles')
    taken = 0
    call rankweave_move(MPI_COMM_WORLD, better, mine, 8000_int64, taken, 8000_int64, code)
    if (code /= RANKWEAVE_OK) call failed('move')
    if (taken(1) /= 1000d0 * new_rank + 1 .or. taken(1000) /= 1000d0 * new_rank + 1000) &
        call failed('data')
    call rankweave_newrank(better, mapped, code)
    if (mapped /= new_rank) call failed('newrank')
    ! Levels of MPI_Pcontrol without further arguments must not fail.
    call MPI_Pcontrol(1)
    call MPI_Pcontrol(1381433346)
    call MPI_Pcontrol(1381433345)
    call MPI_Comm_free(better, code)
    call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    if (rank == 0 .and. all == 0) print '(a)', 'ok api_f08'
    call MPI_Finalize(code)
    if (all /= 0) stop 1
contains
    subroutine failed(what)
        character(len=*), intent(in) :: what
        print '(a,i0,2a)', 'FAIL task ', rank, ': ', what
        failures = failures + 1
    end subroutine
end program
