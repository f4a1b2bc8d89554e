// peer_mpi FOLDER: one rank of MPI's allreduce; built once with Open MPI and once with MPICH.
#include <mpi.h>

#include "tests/bench/allreduce/peer.h"

namespace {

class Mpi : public bench::Peer {
 public:
  void allreduce(float* data, std::size_t count) override {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bench::pin(rank);
  Mpi peer;
  const int code = bench::take_turns(argv[1], rank, size, peer);
  MPI_Finalize();
  return code;
}
