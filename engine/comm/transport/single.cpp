// A program that no launcher has started runs the same code as a rank of many, without UCX.
#include "engine/comm/transport/single.h"

#include <stdexcept>
#include <utility>

namespace thalweg::engine::comm {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("a single rank has no peer to exchange messages with");
}

class SingleRank final : public Transport {
 public:
  explicit SingleRank(std::string node) : node_(std::move(node)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::string& node_of(int) const override { return node_; }
  using Transport::receive;
  using Transport::send;
  std::unique_ptr<Request> send(int, std::uint64_t, const void*, std::size_t,
                                MessageMemory) override {
    refuse();
  }
  std::unique_ptr<Request> receive(int, std::uint64_t, void*, std::size_t, MessageMemory) override {
    refuse();
  }
  void progress() override {}
  std::uint64_t completed() const override { return 0; }
  void rest(std::chrono::milliseconds) override {}

  bool same_machine(int) const override { return true; }
  std::unique_ptr<Exposed> expose(std::size_t) override { return nullptr; }
  std::unique_ptr<Attached> attach(int, const std::string&) override { return nullptr; }

  std::uint32_t probe_peers(const std::string&) override { return 0; }
  std::optional<std::string> answer_of(int, std::uint32_t) const override { return {}; }
  void on_probe(std::function<std::string(const std::string&)>) override {}
  void give_up(const CommError&) override {}

 private:
  std::string node_;
};

}  // namespace

std::unique_ptr<Transport> single_rank_transport(std::string node) {
  return std::make_unique<SingleRank>(std::move(node));
}

}  // namespace thalweg::engine::comm
