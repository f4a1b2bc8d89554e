// Messages between ranks that are threads of one process: copied when they are sent, waited for
// when it is the stream's turn, and then by whoever does the stream's work.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/gpu/capture_guard.h"
#include "tests/support/emulated_gpu/library.h"

namespace thalweg::engine::gpu {
namespace {

/// As a PeersId.
struct Name {
  pid_t process;
  int number;
  bool operator<(const Name& other) const { return number < other.number; }
};

struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  int joined = 0;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> sent;  ///< by from and to

  /// Until `here` holds, under the lock.
  template <class F>
  void wait(const F& here, const std::function<void()>& look) {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(1), here)) {
      lock.unlock();
      look();
      lock.lock();
    }
  }
};

std::mutex mutex;
int meetings = 0;
std::map<Name, std::weak_ptr<Meeting>> open;

std::shared_ptr<Meeting> meeting_of(const PeersId& id) {
  Name name{};
  std::memcpy(&name, id.bytes.data(), sizeof name);
  if (name.process != getpid())
    throw GpuError(
        "the emulated GPU sends messages only between threads of one process: take another "
        "exchange, or real GPUs");
  const std::lock_guard lock(mutex);
  std::weak_ptr<Meeting>& known = open[name];
  auto meeting = known.lock();
  if (!meeting) known = meeting = std::make_shared<Meeting>();
  return meeting;
}

/// A rank in its meeting; work in streams may outlive whoever asked for it.
struct Here {
  std::shared_ptr<Meeting> meeting;
  int rank;
  std::atomic<bool> aborted{false};

  void put(const Peers::Message& message) {
    const auto* const first = static_cast<const std::byte*>(message.data);
    {
      const std::lock_guard lock(meeting->mutex);
      meeting->sent[{rank, message.peer}].emplace_back(first, first + message.bytes);
    }
    meeting->changed.notify_all();
  }
  void take(const Peers::Message& message, const std::function<void()>& look) {
    auto& box = [&]() -> std::deque<std::vector<std::byte>>& {
      const std::lock_guard lock(meeting->mutex);
      return meeting->sent[{message.peer, rank}];
    }();
    meeting->wait([&] { return !box.empty() || aborted; }, look);
    const std::lock_guard lock(meeting->mutex);
    if (aborted) return;
    if (box.front().size() != message.bytes)
      throw GpuError("GPU " + std::to_string(message.peer) + " sent " +
                     std::to_string(box.front().size()) + " bytes where GPU " +
                     std::to_string(rank) + " expects " + std::to_string(message.bytes));
    std::memcpy(message.data, box.front().data(), message.bytes);
    box.pop_front();
  }
};

class EmulatedPeers final : public Peers {
 public:
  EmulatedPeers(const PeersId& id, int rank, int ranks, std::function<void()> look)
      : here_(std::make_shared<Here>()), look_(std::move(look)) {
    here_->meeting = meeting_of(id);
    here_->rank = rank;
    Meeting& meeting = *here_->meeting;
    {
      const std::lock_guard lock(meeting.mutex);
      ++meeting.joined;
    }
    meeting.changed.notify_all();
    meeting.wait([&] { return meeting.joined >= ranks; }, look_);
  }

  void exchange(Stream& stream, std::span<const Message> send,
                std::span<const Message> receive) override {
    refuse_while_capturing("an exchange between GPUs");
    // Only the thread that asks may look round. A stream's own thread waits until it is ended, as a
    // GPU does.
    stream.on_host([here = here_, look = look_, asker = std::this_thread::get_id(),
                    out = std::vector(send.begin(), send.end()),
                    in = std::vector(receive.begin(), receive.end())] {
      const bool may_look = std::this_thread::get_id() == asker;
      for (const Message& message : out)
        here->put(message);
      for (const Message& message : in)
        here->take(
            message, may_look ? look : [] {});
    });
  }
  void check() override {}
  void abort() noexcept override { here_->aborted = true; }

 private:
  std::shared_ptr<Here> here_;
  std::function<void()> look_;
};

}  // namespace

std::string emulated_peers_version() {
  return "the emulated GPU's messages";
}

PeersId new_emulated_peers_id() {
  const std::lock_guard lock(mutex);
  const Name name{getpid(), ++meetings};
  PeersId id;
  std::memcpy(id.bytes.data(), &name, sizeof name);
  return id;
}

std::unique_ptr<Peers> join_emulated_peers(Gpu&, const PeersId& id, int rank, int ranks,
                                           std::function<void()> look) {
  return std::make_unique<EmulatedPeers>(id, rank, ranks, std::move(look));
}

}  // namespace thalweg::engine::gpu
