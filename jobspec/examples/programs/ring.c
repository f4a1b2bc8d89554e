/* Passes a message around all ranks. Usage: ring rounds=N bytes=N */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number(int argc, char** argv, const char* name) {
  size_t length = strlen(name);
  int i;
  for (i = 1; i < argc; ++i)
    if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') return atoi(argv[i] + length + 1);
  return 1;
}

int main(int argc, char** argv) {
  int rank, size, i, rounds, bytes;
  double start;
  char* data;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rounds = number(argc, argv, "rounds");
  bytes = number(argc, argv, "bytes");
  data = calloc((size_t)bytes, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  for (i = 0; i < rounds; ++i) {
    if (rank > 0) MPI_Recv(data, bytes, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, bytes, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(data, bytes, MPI_CHAR, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) printf("ranks %d\nFOM %g us\n", size, 1e6 * (MPI_Wtime() - start) / rounds);
  free(data);
  MPI_Finalize();
  return 0;
}
