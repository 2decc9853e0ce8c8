/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what simulate_reduction.py needs: `mpirun -n N measure_reduction`. Ranks 0 and 1 send
 * messages to and fro; then all ranks add vectors by the library's communicator. Each line has the
 * best of many times:
 *
 *   message BYTES SECONDS       one way
 *   all_reduce BYTES SECONDS */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include <gantry_train/mpi.h>

enum { MOST_BYTES = 1 << 26 };

static float *data;
static int rank;

static int repeats_of(size_t bytes) {
    const size_t wanted = ((size_t)256 << 20) / (bytes + 65536);
    return wanted < 40 ? 40 : wanted > 2000 ? 2000 : (int)wanted;
}

static double send_to_and_fro(size_t bytes) {
    double best = 1e9;
    for (int i = 0; i < repeats_of(bytes) && rank < 2; ++i) {
        const double begin = MPI_Wtime();
        if (rank == 0) (void)MPI_Send(data, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        (void)MPI_Recv(data, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) (void)MPI_Send(data, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        const double seconds = (MPI_Wtime() - begin) / 2;
        if (seconds < best) best = seconds;
    }
    return best;
}

static double all_reduce(const gantry_communicator_t *processes, size_t bytes) {
    double best = 1e9;
    for (int i = 0; i < repeats_of(bytes); ++i) {
        (void)MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        if (processes->all_reduce(processes->user, data, bytes / sizeof *data, GANTRY_FLOAT32,
                                  "a measurement") != GANTRY_OK) {
            (void)fprintf(stderr, "%s\n", gantry_last_message());
            exit(1);
        }
        const double seconds = MPI_Wtime() - begin;
        if (seconds < best) best = seconds;
    }
    return best;
}

static void print_line(const char *what, size_t bytes, double seconds) {
    if (rank == 0) (void)printf("%s %zu %.9g\n", what, bytes, seconds);
}

int main(void) {
    data = calloc(1, MOST_BYTES);
    gantry_communicator_t *processes = gantry_mpi_communicator(NULL);
    if (!data || !processes || processes->size < 2) {
        (void)fprintf(stderr, "measure_reduction: %s\n",
                      processes ? "two and more ranks are accepted" : gantry_last_message());
        return 1;
    }
    rank = (int)processes->rank;
    for (size_t bytes = 8; bytes <= MOST_BYTES; bytes *= 8)
        print_line("message", bytes, send_to_and_fro(bytes));
    for (size_t bytes = 8; bytes <= MOST_BYTES; bytes *= 8)
        print_line("all_reduce", bytes, all_reduce(processes, bytes));
    gantry_mpi_communicator_release(processes);
    free(data);
    return 0;
}
