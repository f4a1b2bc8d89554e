// Messages through one table under a lock: ranks as threads, without UCX.
#include "tests/support/memory_transport.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>

namespace thalweg::engine::comm {
namespace {

// Shorter messages are copied at send, longer ones wait in the sender's memory: the two ways of
// real networks, so that tests also meet both.
constexpr std::size_t kCopyUpTo = 256;

struct Message {
  const void* data;
  std::size_t bytes;
  std::vector<std::byte> copy;
  bool* taken;  ///< the sender's flag; nullptr once the message was copied
};

/// (from, to, tag)
using Address = std::tuple<int, int, std::uint64_t>;

/// What the ranks share; all but `node` is guarded by `mutex`.
struct Hub {
  std::vector<std::string> node;  ///< by rank; does not change
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Address, std::list<Message>> sent;
  std::vector<bool> gone;
  struct Roll {
    int from;
    std::uint32_t number;
    std::string text;
  };
  std::vector<std::vector<Roll>> calls;         ///< that a rank has not answered
  std::map<std::pair<int, int>, Roll> answers;  ///< (from, to): the last one
  /// Not as an exception: each thread throws one of its own.
  struct FailureReport {
    std::string text;
    int rank;
    std::string node;
    CommError error() const { return {text, rank, node}; }
  };
  std::optional<FailureReport> given_up;
  std::map<std::uint64_t, std::weak_ptr<std::byte[]>> exposed;
  std::uint64_t exposures = 0;
};

class MemoryTransport;

/// Stays as long as anybody holds it, as between processes.
class ThreadsMemory : public Exposed {
 public:
  ThreadsMemory(std::shared_ptr<std::byte[]> data, std::size_t bytes, std::string token)
      : data_(std::move(data)), bytes_(bytes), token_(std::move(token)) {}
  std::byte* data() const override { return data_.get(); }
  std::size_t bytes() const override { return bytes_; }
  const std::string& token() const override { return token_; }

 private:
  std::shared_ptr<std::byte[]> data_;
  std::size_t bytes_;
  std::string token_;
};

class ThreadsView : public Attached {
 public:
  explicit ThreadsView(std::shared_ptr<std::byte[]> data) : data_(std::move(data)) {}
  std::byte* data() const override { return data_.get(); }

 private:
  std::shared_ptr<std::byte[]> data_;
};

class Send : public Request {
 public:
  Send(Hub& hub, Address address, bool* taken) : hub_(hub), address_(address), taken_(taken) {}
  ~Send() override;
  bool test() override {
    std::lock_guard lock(hub_.mutex);
    return *taken_;
  }
  void wait() override {
    std::unique_lock lock(hub_.mutex);
    hub_.changed.wait(lock, [this] { return *taken_; });
  }

 private:
  Hub& hub_;
  Address address_;
  std::unique_ptr<bool> taken_;
};

Send::~Send() {
  std::lock_guard lock(hub_.mutex);
  if (*taken_) return;
  auto& queue = hub_.sent[address_];
  queue.remove_if([this](const Message& m) { return m.taken == taken_.get(); });
}

class Receive : public Request {
 public:
  Receive(MemoryTransport& transport, int from, std::uint64_t tag, void* data, std::size_t bytes)
      : transport_(transport), from_(from), tag_(tag), data_(data), bytes_(bytes) {}
  Receive(const Receive&) = delete;
  Receive& operator=(const Receive&) = delete;
  ~Receive() override;
  bool test() override;
  void wait() override;

 private:
  friend class MemoryTransport;
  MemoryTransport& transport_;
  int from_;
  std::uint64_t tag_;
  void* data_;
  std::size_t bytes_;
  bool done_ = false;
};

class MemoryTransport : public Transport {
 public:
  MemoryTransport(std::shared_ptr<Hub> hub, int rank)
      : hub_(std::move(hub)), rank_(rank), node_(node_of(rank)) {}
  ~MemoryTransport() override {
    std::lock_guard lock(hub_->mutex);
    hub_->gone[static_cast<std::size_t>(rank_)] = true;
    hub_->changed.notify_all();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hub_->node.size()); }
  const std::string& node_of(int rank) const override {
    return hub_->node[static_cast<std::size_t>(rank)];
  }
  std::uint64_t completed() const override { return completed_; }

  using Transport::receive;
  using Transport::send;
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                                MessageMemory) override {
    const auto* first = static_cast<const std::byte*>(data);
    std::lock_guard lock(hub_->mutex);
    auto& queue = hub_->sent[{rank_, peer, tag}];
    hub_->changed.notify_all();
    if (bytes <= kCopyUpTo) {
      queue.push_back({nullptr, bytes, {first, first + bytes}, nullptr});
      return nullptr;
    }
    auto taken = std::make_unique<bool>(false);
    queue.push_back({data, bytes, {}, taken.get()});
    return std::make_unique<Send>(*hub_, Address{rank_, peer, tag}, taken.release());
  }

  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes,
                                   MessageMemory) override {
    auto request = std::make_unique<Receive>(*this, peer, tag, data, bytes);
    posted_.push_back(request.get());
    return request;
  }

  bool same_machine(int peer) const override { return node_of(peer) == node_; }
  std::unique_ptr<Exposed> expose(std::size_t bytes) override {
    constexpr std::align_val_t kPage{4096};
    const std::shared_ptr<std::byte[]> data(new (kPage) std::byte[bytes](), [](std::byte* block) {
      ::operator delete[](block, kPage);
    });
    std::lock_guard lock(hub_->mutex);
    hub_->exposed[++hub_->exposures] = data;
    return std::make_unique<ThreadsMemory>(data, bytes, std::to_string(hub_->exposures));
  }
  std::unique_ptr<Attached> attach(int peer, const std::string& token) override {
    if (!same_machine(peer)) return nullptr;
    std::lock_guard lock(hub_->mutex);
    auto data = hub_->exposed.at(std::stoull(token)).lock();
    return data ? std::make_unique<ThreadsView>(std::move(data)) : nullptr;
  }

  void progress() override {
    std::lock_guard lock(hub_->mutex);
    for (const auto& call : hub_->calls[static_cast<std::size_t>(rank_)]) {
      hub_->answers[{rank_, call.from}] = {rank_, call.number,
                                           answer_ ? answer_(call.text) : std::string()};
    }
    hub_->calls[static_cast<std::size_t>(rank_)].clear();
    if (hub_->given_up) throw hub_->given_up->error();
    // In the order of posting, which is the order of matching.
    std::erase_if(posted_, [this](Receive* receive) { return take(*receive); });
    for (const Receive* receive : posted_) {
      if (hub_->gone[static_cast<std::size_t>(receive->from_)]) {
        fail(CommError("rank " + std::to_string(receive->from_) + " is gone", receive->from_,
                       node_of(receive->from_)));
      }
    }
  }

  void rest(std::chrono::milliseconds limit) override {
    std::unique_lock lock(hub_->mutex);
    hub_->changed.wait_for(lock, std::min(limit, std::chrono::milliseconds(1)));
  }

  std::uint32_t probe_peers(const std::string& question) override {
    std::lock_guard lock(hub_->mutex);
    ++roll_;
    for (int r = 0; r < size(); ++r) {
      if (r != rank_) hub_->calls[static_cast<std::size_t>(r)].push_back({rank_, roll_, question});
    }
    return roll_;
  }

  std::optional<std::string> answer_of(int rank, std::uint32_t since) const override {
    std::lock_guard lock(hub_->mutex);
    const auto found = hub_->answers.find({rank, rank_});
    if (found == hub_->answers.end() || found->second.number < since) return std::nullopt;
    return found->second.text;
  }

  void on_probe(std::function<std::string(const std::string&)> answer) override {
    answer_ = std::move(answer);
  }

  void give_up(const CommError& why) override {
    std::lock_guard lock(hub_->mutex);
    if (!hub_->given_up) hub_->given_up = {why.what(), why.rank(), why.node()};
    hub_->changed.notify_all();
  }

  void forget(Receive* receive) { std::erase(posted_, receive); }

 private:
  /// With the hub locked: the others hear of it too.
  [[noreturn]] void fail(const CommError& error) {
    if (!hub_->given_up) hub_->given_up = {error.what(), error.rank(), error.node()};
    hub_->changed.notify_all();
    throw error;
  }

  /// With the hub locked: fills `receive` from a waiting message, if there is one.
  bool take(Receive& receive) {
    auto found = hub_->sent.find({receive.from_, rank_, receive.tag_});
    if (found == hub_->sent.end() || found->second.empty()) return false;
    const Message message = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) hub_->sent.erase(found);
    if (message.taken) *message.taken = true;
    hub_->changed.notify_all();
    if (message.bytes != receive.bytes_) {
      fail(wrong_length(receive.from_, message.bytes, rank_, receive.bytes_,
                        node_of(receive.from_)));
    }
    if (message.bytes > 0) {
      std::memcpy(receive.data_, message.taken ? message.data : message.copy.data(), message.bytes);
    }
    receive.done_ = true;
    ++completed_;
    return true;
  }

  std::shared_ptr<Hub> hub_;
  int rank_;
  const std::string& node_;
  std::uint64_t completed_ = 0;
  std::vector<Receive*> posted_;
  std::uint32_t roll_ = 0;
  std::function<std::string(const std::string&)> answer_;
};

Receive::~Receive() {
  if (!done_) transport_.forget(this);
}

bool Receive::test() {
  return done_;
}

void Receive::wait() {
  while (!done_) {
    transport_.progress();
    if (!done_) transport_.rest(std::chrono::milliseconds(1));
  }
}

}  // namespace

std::vector<std::unique_ptr<Transport>> memory_transports(int ranks) {
  return memory_transports(std::vector<int>(static_cast<std::size_t>(ranks)));
}

std::vector<std::unique_ptr<Transport>> memory_transports(std::vector<int> machine_of) {
  auto hub = std::make_shared<Hub>();
  hub->gone.resize(machine_of.size());
  hub->calls.resize(machine_of.size());
  for (const int machine : machine_of) {
    hub->node.push_back(machine == 0 ? "memory" : "memory" + std::to_string(machine));
  }
  std::vector<std::unique_ptr<Transport>> transports;
  for (std::size_t rank = 0; rank < machine_of.size(); ++rank) {
    transports.push_back(std::make_unique<MemoryTransport>(hub, static_cast<int>(rank)));
  }
  return transports;
}

}  // namespace thalweg::engine::comm
