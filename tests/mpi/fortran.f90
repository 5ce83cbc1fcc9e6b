! SPDX-License-Identifier: BSD-3-Clause
! The collectives through the Fortran bindings.
program fortran
    use mpi
    implicit none
    integer :: code, me, ranks, call, root, failures, i, total
    integer :: numbers(10)
    integer, allocatable :: all(:), other(:), counts(:), places(:)
    double precision :: values(1000), sums(1000)
    logical :: mine, both

    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, code)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    allocate(all(10 * ranks), other(10 * ranks), counts(ranks), places(ranks))
    ! Blocks of 1, 2, ... numbers, the last rank's first.
    counts = (/ (i, i = 1, ranks) /)
    places = (/ (10 * (ranks - i), i = 1, ranks) /)
    failures = 0
    do call = 0, 9
        root = mod(call, ranks)
        call MPI_Barrier(MPI_COMM_WORLD, code)
        numbers = -1
        if (me == root) numbers = (/ (i + call, i = 1, 10) /)
        call MPI_Bcast(numbers, 10, MPI_INTEGER, root, MPI_COMM_WORLD, code)
        if (any(numbers /= (/ (i + call, i = 1, 10) /))) failures = failures + 1

        values = dble(me + call)
        sums = -1
        call MPI_Reduce(values, sums, 1000, MPI_DOUBLE_PRECISION, MPI_SUM, root, &
                        MPI_COMM_WORLD, code)
        total = ranks * (ranks - 1) / 2 + ranks * call
        if (me == root .and. any(sums /= dble(total))) failures = failures + 1
        call MPI_Allreduce(MPI_IN_PLACE, values, 1000, MPI_DOUBLE_PRECISION, MPI_SUM, &
                           MPI_COMM_WORLD, code)
        if (any(values /= dble(total))) failures = failures + 1
        mine = me == root
        call MPI_Allreduce(mine, both, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, code)
        if (.not. both) failures = failures + 1

        numbers = me
        all = -1
        call MPI_Gather(numbers, 10, MPI_INTEGER, all, 10, MPI_INTEGER, root, MPI_COMM_WORLD, code)
        if (me == root .and. any(all /= (/ ((i - 1) / 10, i = 1, 10 * ranks) /))) then
            failures = failures + 1
        end if
        all = (/ (i + call, i = 1, 10 * ranks) /)
        call MPI_Scatter(all, 10, MPI_INTEGER, numbers, 10, MPI_INTEGER, root, MPI_COMM_WORLD, code)
        if (any(numbers /= (/ (10 * me + i + call, i = 1, 10) /))) failures = failures + 1
        all = -1
        call MPI_Allgather(numbers, 10, MPI_INTEGER, all, 10, MPI_INTEGER, MPI_COMM_WORLD, code)
        if (any(all /= (/ (i + call, i = 1, 10 * ranks) /))) failures = failures + 1

        ! All ranks send alike, to each other what differs.
        other = -1
        call MPI_Alltoall(all, 10, MPI_INTEGER, other, 10, MPI_INTEGER, MPI_COMM_WORLD, code)
        if (any(other /= (/ (10 * me + mod(i - 1, 10) + 1 + call, i = 1, 10 * ranks) /))) then
            failures = failures + 1
        end if
        call MPI_Alltoall(MPI_IN_PLACE, 10, MPI_INTEGER, all, 10, MPI_INTEGER, MPI_COMM_WORLD, code)
        if (any(all /= other)) failures = failures + 1
        numbers = me + call
        call MPI_Scan(numbers, other, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
        if (any(other(1:10) /= me * (me + 1) / 2 + (me + 1) * call)) failures = failures + 1
        call MPI_Exscan(MPI_IN_PLACE, numbers, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
        total = me * (me - 1) / 2 + me * call
        if (me == 0) total = call
        if (any(numbers /= total)) failures = failures + 1

        numbers = me
        all = -1
        call MPI_Gatherv(numbers, me + 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, root, &
                         MPI_COMM_WORLD, code)
        do i = 1, ranks
            if (me == root .and. any(all(places(i) + 1:places(i) + i) /= i - 1)) then
                failures = failures + 1
            end if
        end do
        all = -1
        call MPI_Allgatherv(numbers, me + 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, &
                            MPI_COMM_WORLD, code)
        do i = 1, ranks
            if (any(all(places(i) + 1:places(i) + i) /= i - 1)) failures = failures + 1
        end do
        numbers = -1
        call MPI_Scatterv(all, counts, places, MPI_INTEGER, numbers, me + 1, MPI_INTEGER, root, &
                          MPI_COMM_WORLD, code)
        if (any(numbers(1:me + 1) /= me)) failures = failures + 1
        other = -1
        call MPI_Alltoallv(all, counts, places, MPI_INTEGER, other, (/ (me + 1, i = 1, ranks) /), &
                           places, MPI_INTEGER, MPI_COMM_WORLD, code)
        do i = 1, ranks
            if (any(other(places(i) + 1:places(i) + me + 1) /= me)) failures = failures + 1
        end do
        all = me
        call MPI_Reduce_scatter(all, other, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
        if (any(other(1:me + 1) /= ranks * (ranks - 1) / 2)) failures = failures + 1
    end do
    if (failures > 0) then
        print '(A,I0)', 'failed ', failures
        call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, code)
    if (me == 0) print '(A)', 'ok 130'
    call MPI_Finalize(code)
end program fortran
