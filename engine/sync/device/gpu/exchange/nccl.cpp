// Gradients between GPUs by NCCL: all of it is put into a stream, the host stays a step ahead.
#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "engine/gpu/peers.h"
#include "engine/sync/device/gpu/exchange/part_on_gpu.h"
#include "engine/sync/device/gpu/exchange/table.h"

namespace thalweg::engine {
namespace {

/// Between two looks at a GPU that is still at work. A step takes milliseconds.
constexpr std::chrono::microseconds kNap{50};
/// As long as the group waits for ranks that all answer (comm/liveness/wait_policy.h).
constexpr int kStalls = 4;

using Clock = std::chrono::steady_clock;

using Messages = std::vector<gpu::Peers::Message>;

Messages messages_of(const std::vector<comm::ShardSumPlan::Message>& planned) {
  Messages messages;
  for (const comm::ShardSumPlan::Message& one : planned)
    messages.push_back({one.peer, one.data, one.bytes()});
  return messages;
}

class NcclExchange final : public GpuExchange {
 public:
  explicit NcclExchange(const ExchangeParts& e)
      : group_(e.parts.group),
        shards_(e.shards),
        overlap_(e.options.overlap),
        patience_(kStalls * e.options.stall_timeout),
        parts_(e.parts, e.shards, false),
        stream_(shards_.machine().stream(true)),
        back_(shards_.machine().event(false)),
        exceptions_(std::uncaught_exceptions()) {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const comm::ShardSumPlan& plan = parts_[part].plan();
      rounds_.push_back({messages_of(plan.send), messages_of(plan.receive),
                         messages_of(plan.send_slices), messages_of(plan.receive_slices)});
    }
    for (Slot& slot : slots_)
      for (std::size_t part = 0; part < parts_.size(); ++part) {
        slot.begun.push_back(shards_.machine().event());
        slot.done.push_back(shards_.machine().event());
      }
    version_ = gpu::peers_version(shards_.machine());
    gpu::PeersId id;
    if (group_.rank() == 0) id = gpu::new_peers_id(shards_.machine());
    group_.broadcast(id.bytes.data(), id.bytes.size(), 0);
    peers_ = gpu::join_peers(shards_.machine(), id, group_.rank(), group_.size(),
                             [this] { look_round(); });
  }

  ~NcclExchange() override {
    // After a failure nobody waits for anybody: work that waits for lost ranks is ended.
    const bool failed = failed_ || std::uncaught_exceptions() > exceptions_;
    if (failed) peers_->abort();
    try {
      for (Slot& slot : slots_)
        if (slot.joined && !failed) slot.joined->wait();
    } catch (const std::exception&) {
      peers_->abort();
    }
    wait_before_the_end(*stream_);
  }

  void begin(std::int64_t, bool stop, std::optional<std::size_t> slot) override {
    noting_failure([&] {
      since_ = Clock::now();
      if (slot) slots_[*slot].joined = group_.start_barrier();
      for (std::size_t i = 0; !overlap_ && i < shards_.results(); ++i)
        stream_->wait_for(shards_.ready(i, parts_.size() - 1));
      for (std::size_t part = 0; part < parts_.size(); ++part) {
        for (std::size_t i = 0; i < shards_.results(); ++i)
          stream_->wait_for(shards_.ready(i, part));
        if (slot) stream_->record(*slots_[*slot].begun[part]);
        parts_.add_own(*stream_, part, stop);
        const Rounds& rounds = rounds_[part];
        peers_->exchange(*stream_, rounds.send, rounds.receive);
        parts_[part].add_up(*stream_);
        peers_->exchange(*stream_, rounds.send_slices, rounds.receive_slices);
        if (slot) stream_->record(*slots_[*slot].done[part]);
      }
      stream_->record(*back_);
    });
  }
  void end() override { shards_.sums_stream().wait_for(*back_); }
  bool is_done() override { return back_->done(); }

  Times times(std::size_t number, const gpu::Event& begun, const gpu::Event& computed) override {
    const Slot& slot = slots_[number];
    std::vector<PartTime> parts;
    std::vector<double> own;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      parts.push_back({slot.begun[part]->ms_since(begun), slot.done[part]->ms_since(begun)});
      own.push_back(parts.back().duration());
    }
    const double computed_ms = computed.ms_since(begun);
    const double waited_ms = std::max(0.0, parts.back().end - computed_ms);
    return {waited_ms, split_times(parts, own, computed_ms, waited_ms)};
  }

  /// Messages between GPUs wait for a lost rank for ever, so the host looks round meanwhile. Once
  /// all ranks have put the step into their streams nobody is late any more: until then the group
  /// waits as for every other operation, and names who stalls.
  void wait(const gpu::Event& done, std::size_t slot) override {
    noting_failure([&] {
      if (const auto joined = std::exchange(slots_[slot].joined, nullptr)) joined->wait();
      since_ = Clock::now();
      while (!done.done()) {
        peers_->check();
        look_round();
        std::this_thread::sleep_for(kNap);
      }
    });
  }

  std::string way() const override { return "by " + version_; }

 private:
  /// Of a part.
  struct Rounds {
    Messages send, receive, send_slices, receive_slices;
  };
  struct Slot {
    std::unique_ptr<comm::Request> joined;  ///< all ranks have put the run into their streams
    std::vector<std::unique_ptr<gpu::Event>> begun, done;  ///< by part
  };

  /// For what waits for other ranks' GPUs.
  void look_round() {
    group_.look_round();
    if (Clock::now() - since_ > patience_)
      throw comm::CommError(
          "no progress for " +
              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(patience_).count()) +
              " s in messages between GPUs (" + version_ +
              "), though no rank is lost; NCCL_DEBUG=INFO says more, and sync.gpu_exchange: host "
              "does without them",
          -1, "");
  }

  template <class F>
  void noting_failure(const F& f) {
    try {
      f();
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  comm::Group& group_;
  GpuShards& shards_;
  bool overlap_;
  Clock::duration patience_;
  Clock::time_point since_ = Clock::now();  ///< what is waited for
  PartsOnGpu parts_;
  std::vector<Rounds> rounds_;
  std::unique_ptr<gpu::Stream> stream_;
  std::unique_ptr<gpu::Event> back_;
  std::array<Slot, slots> slots_;
  std::string version_;
  int exceptions_;
  bool failed_ = false;
  std::unique_ptr<gpu::Peers> peers_;  // last: its messages end before the memory goes
};

std::string why_not_nccl(const ExchangeRanks& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const ExchangeRank& r = ranks[rank];
    const std::string who = "rank " + std::to_string(rank) + " on " + r.node;
    if (r.peers.empty()) return who + ": " + r.why_no_peers;
    if (r.peers != ranks[0].peers)
      return who + " has " + r.peers + ", rank 0 " + ranks[0].peers +
             ": install one version on all nodes";
    if (r.emulated && (r.node != ranks[0].node || r.process != ranks[0].process))
      return "the emulated GPU sends messages only between threads of one process";
  }
  // Threads that share the emulated one do not wait for each other's work.
  const std::string shared = ranks[0].emulated ? "" : who_shares(ranks);
  return shared.empty() ? "" : shared + ", and NCCL needs one each: start as many ranks as GPUs";
}

std::string why_not_auto_nccl(const ExchangeRanks& ranks) {
  if (ranks[0].emulated) return "the GPU is emulated";
  for (const ExchangeRank& rank : ranks)
    if (rank.node != ranks[0].node) return "there are several nodes";
  return {};
}

}  // namespace

ExchangeRow nccl_exchange() {
  return {"nccl",
          "NVIDIA's library of that name, for ranks with a GPU each; the host waits for nothing",
          why_not_nccl,
          why_not_auto_nccl,
          true,
          [](const ExchangeParts& parts) -> std::unique_ptr<GpuExchange> {
            return std::make_unique<NcclExchange>(parts);
          }};
}

}  // namespace thalweg::engine
