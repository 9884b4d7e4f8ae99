! Fortran interface of librankweave.so. include/rankweave.h describes what each procedure does. Compile this
! file together with the program. Nothing has to be linked (before glibc 2.34: -ldl).
!
! The library is preloaded. Every call looks up the function of the library by its name. Without the library
! the procedures keep the rank order and the data as they are: rankweave_reorder makes a communicator with
! the same order.
!
!     use mpi_f08                                    use mpi       (or mpif.h)
!     use rankweave_f08                              use rankweave
!     type(MPI_Comm) :: better                       integer :: better
!     call rankweave_reset(code)                     call rankweave_reset(code)
!     call rankweave_reorder(comm, better, code)     call rankweave_reorder(comm, better, code)
!
! `code` is RANKWEAVE_OK, RANKWEAVE_NOT_NOW, RANKWEAVE_BAD_ARGUMENT or RANKWEAVE_MPI_FAILED. Ranks begin
! with 0, as everywhere in MPI. rankweave_move takes arrays of any type. Numbers of bytes are integer(int64).
! MPI_Pcontrol takes only the level in Fortran, so a program cannot use it to reorder.

module rankweave
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_char, c_ptr, c_funptr, c_null_ptr, &
        c_null_char, c_associated, c_f_procpointer
    implicit none
    private

    integer, parameter, public :: RANKWEAVE_OK = 0
    integer, parameter, public :: RANKWEAVE_NOT_NOW = 1
    integer, parameter, public :: RANKWEAVE_BAD_ARGUMENT = 2
    integer, parameter, public :: RANKWEAVE_MPI_FAILED = 3

    public :: rankweave_loaded, rankweave_version, rankweave_reset, rankweave_flush, &
        rankweave_reorder, rankweave_newrank, rankweave_reorder_roles, rankweave_move

    abstract interface
        function no_arguments() bind(c) result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function two_numbers(first, second) bind(c) result(code)
            import :: c_int
            integer(c_int), intent(inout) :: first, second
            integer(c_int) :: code
        end function
        function four_numbers(first, second, third, fourth) bind(c) result(code)
            import :: c_int
            integer(c_int), intent(in) :: first, second
            integer(c_int), intent(inout) :: third, fourth
            integer(c_int) :: code
        end function
        function moves(comm, new, mine, mine_bytes, taken, taken_bytes) bind(c) result(code)
            import :: c_int, c_int64_t
            integer(c_int), intent(in) :: comm, new
            type(*), intent(in) :: mine(*)
            integer(c_int64_t), value :: mine_bytes, taken_bytes
            type(*), intent(inout) :: taken(*)
            integer(c_int) :: code
        end function
    end interface

    interface
        function dlsym(handle, name) bind(c, name='dlsym') result(address)
            import :: c_ptr, c_funptr, c_char
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: name(*)
            type(c_funptr) :: address
        end function
        function memcpy(to, from, bytes) bind(c, name='memcpy') result(address)
            import :: c_ptr, c_int64_t
            type(*), intent(inout) :: to(*)
            type(*), intent(in) :: from(*)
            integer(c_int64_t), value :: bytes
            type(c_ptr) :: address
        end function
    end interface

    external :: MPI_Comm_rank, MPI_Comm_split, MPI_Comm_group, MPI_Group_free, &
        MPI_Group_translate_ranks

contains

    ! Finds a function of the library among all global symbols of the process.
    function found(name) result(address)
        character(len=*), intent(in) :: name
        type(c_funptr) :: address
        address = dlsym(c_null_ptr, name//c_null_char)
    end function

    logical function rankweave_loaded()
        rankweave_loaded = c_associated(found('rankweave_version'))
    end function

    ! Gives 0 and 0 without the library.
    subroutine rankweave_version(major, minor, code)
        integer, intent(out) :: major, minor, code
        procedure(two_numbers), pointer :: call_it
        type(c_funptr) :: address
        major = 0
        minor = 0
        code = RANKWEAVE_NOT_NOW
        address = found('rankweave_version')
        if (.not. c_associated(address)) return
        call c_f_procpointer(address, call_it)
        code = call_it(major, minor)
    end subroutine

    subroutine rankweave_reset(code)
        integer, intent(out) :: code
        procedure(no_arguments), pointer :: call_it
        type(c_funptr) :: address
        code = RANKWEAVE_NOT_NOW
        address = found('rankweave_reset')
        if (.not. c_associated(address)) return
        call c_f_procpointer(address, call_it)
        code = call_it()
    end subroutine

    subroutine rankweave_flush(code)
        integer, intent(out) :: code
        procedure(no_arguments), pointer :: call_it
        type(c_funptr) :: address
        code = RANKWEAVE_NOT_NOW
        address = found('rankweave_flush')
        if (.not. c_associated(address)) return
        call c_f_procpointer(address, call_it)
        code = call_it()
    end subroutine

    subroutine rankweave_reorder(comm, new, code)
        integer, intent(in) :: comm
        integer, intent(out) :: new
        integer, intent(out) :: code
        procedure(two_numbers), pointer :: call_it
        type(c_funptr) :: address
        integer :: rank, given
        address = found('rankweave_reorder_f')
        given = comm
        if (c_associated(address)) then
            call c_f_procpointer(address, call_it)
            code = call_it(given, new)
            return
        end if
        call MPI_Comm_rank(comm, rank, code)
        call MPI_Comm_split(comm, 0, rank, new, code)
        if (code /= 0) code = RANKWEAVE_MPI_FAILED
    end subroutine

    subroutine rankweave_newrank(comm, rank, code)
        integer, intent(in) :: comm
        integer, intent(out) :: rank, code
        procedure(two_numbers), pointer :: call_it
        type(c_funptr) :: address
        integer :: given
        address = found('rankweave_newrank_f')
        given = comm
        if (c_associated(address)) then
            call c_f_procpointer(address, call_it)
            code = call_it(given, rank)
            return
        end if
        call MPI_Comm_rank(comm, rank, code)
        if (code /= 0) code = RANKWEAVE_MPI_FAILED
    end subroutine

    subroutine rankweave_reorder_roles(comm, new, takes, taker, code)
        integer, intent(in) :: comm, new
        integer, intent(out) :: takes, taker, code
        procedure(four_numbers), pointer :: call_it
        type(c_funptr) :: address
        integer :: before, after, rank(1), answer(1)
        address = found('rankweave_reorder_roles_f')
        if (c_associated(address)) then
            call c_f_procpointer(address, call_it)
            code = call_it(comm, new, takes, taker)
            return
        end if
        call MPI_Comm_group(comm, before, code)
        call MPI_Comm_group(new, after, code)
        call MPI_Comm_rank(comm, rank(1), code)
        call MPI_Group_translate_ranks(after, 1, rank, before, answer, code)
        taker = answer(1)
        call MPI_Comm_rank(new, takes, code)
        call MPI_Group_free(before, code)
        call MPI_Group_free(after, code)
        code = merge(RANKWEAVE_BAD_ARGUMENT, RANKWEAVE_OK, taker < 0)
    end subroutine

    subroutine rankweave_move(comm, new, mine, mine_bytes, taken, taken_bytes, code)
        integer, intent(in) :: comm, new
        type(*), intent(in) :: mine(*)
        type(*), intent(inout) :: taken(*)
        integer(c_int64_t), intent(in) :: mine_bytes, taken_bytes
        integer, intent(out) :: code
        procedure(moves), pointer :: call_it
        type(c_funptr) :: address
        type(c_ptr) :: start
        integer :: before, after
        address = found('rankweave_move_f')
        if (c_associated(address)) then
            call c_f_procpointer(address, call_it)
            code = call_it(comm, new, mine, mine_bytes, taken, taken_bytes)
            return
        end if
        call MPI_Comm_rank(comm, before, code)
        call MPI_Comm_rank(new, after, code)
        code = RANKWEAVE_BAD_ARGUMENT
        if (before /= after .or. mine_bytes /= taken_bytes) return
        start = memcpy(taken, mine, mine_bytes)
        code = RANKWEAVE_OK
    end subroutine
end module rankweave

module rankweave_f08
    use, intrinsic :: iso_c_binding, only: c_int64_t
    use mpi_f08, only: MPI_Comm
    use rankweave, only: RANKWEAVE_OK, RANKWEAVE_NOT_NOW, RANKWEAVE_BAD_ARGUMENT, &
        RANKWEAVE_MPI_FAILED, rankweave_loaded, rankweave_version, rankweave_reset, rankweave_flush, &
        reorder => rankweave_reorder, newrank => rankweave_newrank, &
        roles => rankweave_reorder_roles, moves => rankweave_move
    implicit none
    private
    public :: RANKWEAVE_OK, RANKWEAVE_NOT_NOW, RANKWEAVE_BAD_ARGUMENT, RANKWEAVE_MPI_FAILED, &
        rankweave_loaded, rankweave_version, rankweave_reset, rankweave_flush, rankweave_reorder, &
        rankweave_newrank, rankweave_reorder_roles, rankweave_move

contains

    subroutine rankweave_reorder(comm, new, code)
        type(MPI_Comm), intent(in) :: comm
        type(MPI_Comm), intent(out) :: new
        integer, intent(out) :: code
        call reorder(comm%MPI_VAL, new%MPI_VAL, code)
    end subroutine

    subroutine rankweave_newrank(comm, rank, code)
        type(MPI_Comm), intent(in) :: comm
        integer, intent(out) :: rank, code
        call newrank(comm%MPI_VAL, rank, code)
    end subroutine

    subroutine rankweave_reorder_roles(comm, new, takes, taker, code)
        type(MPI_Comm), intent(in) :: comm, new
        integer, intent(out) :: takes, taker, code
        call roles(comm%MPI_VAL, new%MPI_VAL, takes, taker, code)
    end subroutine

    subroutine rankweave_move(comm, new, mine, mine_bytes, taken, taken_bytes, code)
        type(MPI_Comm), intent(in) :: comm, new
        type(*), intent(in) :: mine(*)
        type(*), intent(inout) :: taken(*)
        integer(c_int64_t), intent(in) :: mine_bytes, taken_bytes
        integer, intent(out) :: code
        call moves(comm%MPI_VAL, new%MPI_VAL, mine, mine_bytes, taken, taken_bytes, code)
    end subroutine
end module rankweave_f08
