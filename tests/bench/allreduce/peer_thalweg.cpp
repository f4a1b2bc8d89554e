// peer_thalweg FOLDER: one rank of Thalweg's allreduce, by the default choice of algorithms.
#include <cstdio>
#include <exception>

#include "engine/comm/group.h"
#include "engine/comm/wireup/wireup.h"
#include "tests/bench/allreduce/peer.h"

namespace {

using namespace thalweg::engine::comm;

class Thalweg : public bench::Peer {
 public:
  explicit Thalweg(Group& group) : group_(group) {}
  void allreduce(float* data, std::size_t count) override {
    group_.allreduce(data, count, Type::f32, Op::sum);
  }
  void barrier() override { group_.barrier(); }
  bench::Memory memory(std::size_t bytes, const std::string& kind) override {
    if (kind != "group") return Peer::memory(bytes, kind);
    const std::shared_ptr<Memory> whole = group_.allocate(bytes);
    return {whole, reinterpret_cast<float*>(whole->data())};
  }

 private:
  Group& group_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  try {
    const auto wireup = Wireup::connect();
    const World world = wireup->world();
    bench::pin(world.rank);
    int code = 0;
    {
      Group group(wireup->transport());
      Thalweg peer(group);
      code = bench::take_turns(argv[1], world.rank, world.size, peer);
    }
    wireup->finalize();
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_thalweg: %s\n", error.what());
    return 1;
  }
}
