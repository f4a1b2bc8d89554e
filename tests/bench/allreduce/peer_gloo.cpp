// peer_gloo FOLDER RANK SIZE ADDRESS: one rank of Gloo's allreduce over TCP; ADDRESS is this host's
// own.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <exception>

#include "tests/bench/allreduce/peer.h"

namespace {

class Gloo : public bench::Peer {
 public:
  Gloo(const std::string& folder, int rank, int size, const std::string& address)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, size)), store_(folder) {
    gloo::transport::tcp::attr where;
    where.hostname = address;
    auto device = gloo::transport::tcp::CreateDevice(where);
    context_->connectFullMesh(store_, device);
  }
  void allreduce(float* data, std::size_t count) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(data, count);
    options.setReduceFunction([](void* into, const void* left, const void* right, std::size_t n) {
      gloo::sum<float>(into, left, right, n);
    });
    options.setTag(1);
    gloo::allreduce(options);
  }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    options.setTag(2);
    gloo::barrier(options);
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
  gloo::rendezvous::FileStore store_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  const int rank = std::atoi(argv[2]), size = std::atoi(argv[3]);
  // Not pinned: its own thread for the sockets would share the core with the one that calls.
  try {
    Gloo peer(argv[1], rank, size, argv[4]);
    return bench::take_turns(argv[1], rank, size, peer);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_gloo: %s\n", error.what());
    return 1;
  }
}
