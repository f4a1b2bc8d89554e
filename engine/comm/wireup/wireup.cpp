// PMIx carries the addresses of UCX and of the sockets.
#include "engine/comm/wireup/wireup.h"

#include <sys/resource.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "base/machine.h"
#include "engine/comm/liveness/wait_policy.h"
#include "engine/comm/liveness/watchdog.h"
#include "engine/comm/transport/routed.h"
#include "engine/comm/transport/single.h"
#include "engine/comm/wireup/pmix_client.h"

namespace thalweg::engine::comm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kKey = "thalweg.rank";
constexpr milliseconds kNap{100};
// Leaving peers are seen to go a little before the fence's answer reaches us (it takes another
// way). If it has not come this long after, they died instead of leaving.
constexpr seconds kFarewell{5};
constexpr seconds kTellAfter{30};
constexpr seconds kLook{5};

/// "node\nmachine\nsockets\npid\nprobe\n" and the address.
std::string pack(const PeerInfo& info) {
  return info.node + "\n" + info.machine + "\n" + info.socket_place + "\n" +
         std::to_string(info.pid) + "\n" + std::to_string(info.probe) + "\n" + info.address;
}

PeerInfo unpack(const std::string& text) {
  PeerInfo info;
  std::istringstream in(text);
  std::string pid;
  std::string probe;
  std::getline(in, info.node);
  std::getline(in, info.machine);
  std::getline(in, info.socket_place);
  std::getline(in, pid);
  std::getline(in, probe);
  info.pid = static_cast<pid_t>(std::atol(pid.c_str()));
  info.probe = std::strtoull(probe.c_str(), nullptr, 10);
  if (in) info.address = text.substr(static_cast<std::size_t>(in.tellg()));
  if (info.address.empty()) throw std::runtime_error("a peer sent no UCX address");
  return info;
}

/// Each peer may take a few descriptors; the soft limit is often 1024 for the sake of select(2),
/// which nothing here calls.
void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

class PmixWireup : public Wireup {
 public:
  explicit PmixWireup(const WireupOptions& options) : options_(options) {
    std::vector<PeerInfo> infos;
    client_.put(kKey, pack(transport_->self()));
    client_.commit();
    meet();
    for (int r = 0; r < client_.size(); ++r) {
      infos.push_back(unpack(client_.get(r, kKey)));
    }
    world_.rank = client_.rank();
    world_.size = client_.size();
    world_.node = infos[static_cast<std::size_t>(world_.rank)].node;
    world_.local_size = 0;
    for (int r = 0; r < world_.size; ++r) {
      if (infos[static_cast<std::size_t>(r)].node != world_.node) continue;
      if (r < world_.rank) ++world_.local_rank;
      ++world_.local_size;
    }
    transport_->connect(world_.rank, std::move(infos), options_.start_timeout);
  }

  const World& world() const override { return world_; }

  std::shared_ptr<Transport> transport() override {
    if (std::exchange(taken_, true)) throw std::logic_error("Wireup::transport is for one caller");
    return transport_;
  }

  void fence() override {
    fence_with("all ranks at a fence", [] {});
  }

  void finalize() override {
    // Short naps: nothing wakes a sender up when shared memory has room again.
    Watchdog watchdog(*transport_, options_.timeout, "the last messages to leave", milliseconds(1));
    transport_->flush([&] { watchdog.look(); });
    transport_->expect_departures();
    std::optional<Clock::time_point> first_left;
    fence_with("all ranks to come to the end", [&] {
      if (!transport_->somebody_left()) return;
      if (!first_left) first_left = Clock::now();
      if (Clock::now() - *first_left > kFarewell) transport_->fail_for_lost_ranks();
    });
    transport_->close();
    client_.finalize();
  }

 private:
  /// The first fence: nobody is connected yet.
  void meet() {
    const std::string all = "all of " + std::to_string(client_.size()) + " ranks";
    const auto begin = Clock::now();
    auto looked = begin;
    bool told = false;
    const bool all_came = client_.fence(
        [&] {
          transport_->await_wake(kNap);
          const auto waited = Clock::now() - begin;
          if (waited >= options_.start_timeout) {
            throw std::runtime_error("not " + all + " have started within " +
                                     seconds_text(options_.start_timeout));
          }
          if (options_.look && Clock::now() - looked >= kLook) {
            looked = Clock::now();
            options_.look();
          }
          if (waited < kTellAfter || std::exchange(told, true) || !options_.warn) return;
          options_.warn("still waiting for " + all + " to start, until " +
                        seconds_text(options_.start_timeout) + " have passed");
        },
        [transport = transport_] { transport->wake(); });
    if (!all_came) throw CommError("a rank was gone before all had started", -1, "");
  }

  template <class F>
  void fence_with(const char* what, F&& check) {
    Watchdog watchdog(*transport_, options_.timeout, what);
    const bool all_came = client_.fence(
        [&] {
          watchdog.look();
          check();
        },
        [transport = transport_] { transport->wake(); });
    if (all_came) return;
    // PMIx knows that somebody is missing, our connections know who.
    const auto end = Clock::now() + seconds(1);
    while (!transport_->somebody_left() && Clock::now() < end) {
      transport_->progress();
      transport_->rest(kNap);
    }
    if (transport_->somebody_left()) transport_->fail_for_lost_ranks();
    throw CommError("a rank is gone: a fence was completed without it", -1, "");
  }

  WireupOptions options_;
  std::shared_ptr<RoutedTransport> transport_ = std::make_shared<RoutedTransport>();
  PmixClient client_;
  World world_;
  bool taken_ = false;
};

/// No PMIx server: one rank, alone, without UCX.
class Alone : public Wireup {
 public:
  Alone() { world_.node = host_name(); }
  const World& world() const override { return world_; }
  std::shared_ptr<Transport> transport() override { return single_rank_transport(world_.node); }
  void fence() override {}
  void finalize() override {}

 private:
  World world_;
};

/// A Slurm step of several tasks without PMIx would be as many worlds of one, all doing the same.
void refuse_step_without_pmix() {
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (!tasks || std::atoi(tasks) < 2) return;
  throw std::runtime_error(std::string("this Slurm step has ") + tasks +
                           " tasks but no PMIx server: start it with srun --mpi=pmix");
}

}  // namespace

std::unique_ptr<Wireup> Wireup::connect(const WireupOptions& options) {
  if (PmixClient::available()) {
    allow_many_files();
    return std::make_unique<PmixWireup>(options);
  }
  refuse_step_without_pmix();
  return std::make_unique<Alone>();
}

}  // namespace thalweg::engine::comm
