// A message is copied when it is sent, and put into the receiver's memory when its last byte is
// there; until somebody wants it, it waits with the receiver.
#include "engine/simulate/network.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace thalweg::engine::simulate {
namespace {

using comm::CommError;
using comm::MessageMemory;
using comm::Request;

threads::Clock::duration seconds(double s) {
  return std::chrono::duration_cast<threads::Clock::duration>(std::chrono::duration<double>(s));
}

struct Message {
  std::size_t bytes = 0;
  std::unique_ptr<std::byte[]> data;
};

class Receive;

/// Of one sender and tag, the oldest first; seldom more than one.
struct Queue {
  std::vector<Message> arrived;
  std::vector<Receive*> wanted;
  bool empty() const { return arrived.empty() && wanted.empty(); }
};

// Tags are below 2^40 (transport.h).
constexpr unsigned kTagBits = 40;
std::uint64_t key_of(int from, std::uint64_t tag) {
  return static_cast<std::uint64_t>(from) << kTagBits | tag;
}

struct Endpoint {
  Link link;
  threads::Time sends_from{}, receives_from{};  ///< when the link is free
  std::unordered_map<std::uint64_t, Queue> queues;
  std::uint64_t completed = 0;
};

class Receive final : public Request {
 public:
  Receive(Scheduler& scheduler, Endpoint& endpoint, std::uint64_t key, void* data,
          std::size_t bytes)
      : scheduler_(scheduler), endpoint_(endpoint), key_(key), data_(data), bytes_(bytes) {}
  ~Receive() override {
    if (done_) return;
    Queue& queue = endpoint_.queues[key_];
    std::erase(queue.wanted, this);
    if (queue.empty()) endpoint_.queues.erase(key_);
  }
  Receive(const Receive&) = delete;
  Receive& operator=(const Receive&) = delete;

  bool test() override {
    if (done_ && sent_ != bytes_)
      throw CommError("a message of " + std::to_string(sent_) + " bytes came where " +
                          std::to_string(bytes_) + " were expected",
                      static_cast<int>(key_ >> kTagBits), "");
    return done_;
  }
  void wait() override {
    while (!test())
      scheduler_.wait(&endpoint_);
  }
  void take(const Message& message) {
    sent_ = message.bytes;
    done_ = true;
    ++endpoint_.completed;
    if (sent_ == bytes_ && bytes_ > 0) std::memcpy(data_, message.data.get(), bytes_);
  }

 private:
  Scheduler& scheduler_;
  Endpoint& endpoint_;
  std::uint64_t key_;
  void* data_;
  std::size_t bytes_, sent_ = 0;
  bool done_ = false;
};

}  // namespace

struct NetworkState {
  Scheduler& scheduler;
  std::vector<Endpoint> endpoints{};
  std::vector<std::string> names{};
  std::uint64_t messages = 0;

  Endpoint& at(int rank) { return endpoints[static_cast<std::size_t>(rank)]; }
};

namespace {

/// When the last byte is there; the links are taken until theirs has gone by.
threads::Time last_byte(threads::Time now, Endpoint& from, Endpoint& to, std::size_t bytes) {
  const auto takes = [bytes](const Link& link) {
    return link.bytes_per_s > 0 ? static_cast<double>(bytes) / link.bytes_per_s : 0.0;
  };
  const threads::Time begin = std::max(now, from.sends_from);
  const threads::Time enters = std::max(begin, to.receives_from);
  from.sends_from = begin + seconds(takes(from.link));
  to.receives_from = enters + seconds(takes(to.link));
  return std::max(from.sends_from, to.receives_from) +
         seconds(std::max(from.link.latency_s, to.link.latency_s));
}

class Arrival final : public Happening {
 public:
  Arrival(NetworkState& network, int to, std::uint64_t key, Message message)
      : network_(network), to_(to), key_(key), message_(std::move(message)) {}

  void happen() override {
    Endpoint& endpoint = network_.at(to_);
    Queue& queue = endpoint.queues[key_];
    if (queue.wanted.empty()) return queue.arrived.push_back(std::move(message_));
    queue.wanted.front()->take(message_);
    queue.wanted.erase(queue.wanted.begin());
    if (queue.empty()) endpoint.queues.erase(key_);
    network_.scheduler.wake(&endpoint);
  }

 private:
  NetworkState& network_;
  int to_;
  std::uint64_t key_;
  Message message_;
};

class SimulatedTransport final : public comm::Transport {
 public:
  SimulatedTransport(NetworkState& network, int rank) : network_(network), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(network_.endpoints.size()); }
  const std::string& node_of(int rank) const override {
    return network_.names[static_cast<std::size_t>(rank)];
  }
  std::string route_to(int) const override { return "simulated"; }

  using Transport::receive;
  using Transport::send;
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                                MessageMemory) override {
    Message message{bytes, std::make_unique_for_overwrite<std::byte[]>(bytes)};
    if (bytes > 0) std::memcpy(message.data.get(), data, bytes);
    const threads::Time due =
        last_byte(network_.scheduler.now(), network_.at(rank_), network_.at(peer), bytes);
    ++network_.messages;
    network_.scheduler.at(
        due, std::make_unique<Arrival>(network_, peer, key_of(rank_, tag), std::move(message)));
    return nullptr;
  }

  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes,
                                   MessageMemory) override {
    Endpoint& endpoint = network_.at(rank_);
    const std::uint64_t key = key_of(peer, tag);
    auto request = std::make_unique<Receive>(network_.scheduler, endpoint, key, data, bytes);
    Queue& queue = endpoint.queues[key];
    if (queue.arrived.empty()) {
      queue.wanted.push_back(request.get());
      return request;
    }
    request->take(queue.arrived.front());
    queue.arrived.erase(queue.arrived.begin());
    if (queue.empty()) endpoint.queues.erase(key);
    return request;
  }

  void progress() override {}  // messages come by themselves
  std::uint64_t completed() const override { return network_.at(rank_).completed; }
  void rest(std::chrono::milliseconds) override { network_.scheduler.wait(&network_.at(rank_)); }
  bool only_rests() const override { return true; }

  bool same_machine(int) const override { return false; }
  std::unique_ptr<comm::Exposed> expose(std::size_t) override { return nullptr; }
  std::unique_ptr<comm::Attached> attach(int, const std::string&) override { return nullptr; }

  // Nobody is lost, and nobody asks.
  std::uint32_t probe_peers(const std::string&) override { return 0; }
  std::optional<std::string> answer_of(int, std::uint32_t) const override { return {}; }
  void on_probe(std::function<std::string(const std::string&)>) override {}
  void give_up(const CommError&) override {}

 private:
  NetworkState& network_;
  int rank_;
};

}  // namespace

Network::Network(Scheduler& scheduler, std::vector<Link> links)
    : state_(std::make_unique<NetworkState>(scheduler)) {
  state_->endpoints.resize(links.size());
  for (std::size_t rank = 0; rank < links.size(); ++rank) {
    state_->endpoints[rank].link = links[rank];
    state_->names.push_back("simulated" + std::to_string(rank));
  }
}

Network::~Network() = default;

std::unique_ptr<comm::Transport> Network::transport(int rank) {
  return std::make_unique<SimulatedTransport>(*state_, rank);
}

std::uint64_t Network::messages() const {
  return state_->messages;
}

}  // namespace thalweg::engine::simulate
