// c2c FOLDER: what a cache line costs on its way between cores 0 and 1. Takes turns as a group of
// one rank; a call moves a line once per element, to and fro.
#include <atomic>
#include <thread>

#include "tests/bench/allreduce/peer.h"

namespace {

class CacheLine : public bench::Peer {
 public:
  void allreduce(float*, std::size_t count) override {
    alignas(64) std::atomic<std::size_t> line{0};
    const auto turns = [&](int core, std::size_t parity) {
      bench::pin(core);
      for (std::size_t i = parity; i < count; i += 2) {
        while (line.load(std::memory_order_acquire) != i) {
        }
        line.store(i + 1, std::memory_order_release);
      }
    };
    std::thread other(turns, 1, 1);
    turns(0, 0);
    other.join();
  }
  void barrier() override {}
  bool adds_up() const override { return false; }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  CacheLine peer;
  return bench::take_turns(argv[1], 0, 1, peer);
}
