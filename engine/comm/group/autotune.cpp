#include "engine/comm/group/autotune.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/comm/algorithms/choice.h"

namespace thalweg::engine::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr std::size_t kMinBytes = 64;
constexpr std::size_t kStep = 4;  // from one length to the next
constexpr int kMaxCalls = 15;
constexpr int kMinCalls = 3;
// Algorithms that are this much slower than the best at three lengths in a row are given up.
constexpr double kHopeless = 3;
constexpr int kStrikes = 3;
// What "auto" takes stays, unless another needs less than this share of its time.
constexpr double kWorthIt = 0.9;

double largest_of_all(Group& group, double value) {
  group.allreduce(&value, 1, Type::f64, Op::max);
  return value;
}

struct Candidate {
  const Row* row;
  int strikes = 0;
};

/// Measures one collective.
class Tuner {
 public:
  Tuner(Group& group, Collective collective, const AutotuneOptions& options)
      : group_(group),
        collective_(collective),
        options_(options),
        begin_(Clock::now()),
        budget_(options.budget / std::max<std::size_t>(1, options.collectives.size())),
        memory_(group.allocate(2 * options.longest + kMinBytes)) {
    for (const Row& row : rows_of(collective)) {
      const Layout& layout = group.layout();
      if (row.needs == Needs::shared_memory ? layout.shares : layout.allows(row.needs)) {
        candidates_.push_back({&row});
      }
    }
  }

  /// The choice's text; adds to `timings`.
  std::string run(std::vector<Timing>& timings) {
    for (std::size_t bytes = kMinBytes; bytes <= options_.longest; bytes *= kStep) {
      if (out_of_time()) break;
      const Row* best = fastest(bytes, timings);
      if (winners_.empty() || winners_.back().row != best) winners_.push_back({best, bytes});
      last_bytes_ = bytes;
    }
    return text();
  }

 private:
  struct Winner {
    const Row* row;
    std::size_t from;  ///< shortest length measured
  };

  bool out_of_time() const {
    const double spent = Microseconds(Clock::now() - begin_).count();
    return largest_of_all(group_, spent) > Microseconds(budget_).count();
  }

  const Row* fastest(std::size_t bytes, std::vector<Timing>& timings) {
    const Row* usual = &choose_row(collective_, group_.layout(), bytes);
    const Row* best = nullptr;
    double best_time = HUGE_VAL, usual_time = HUGE_VAL;
    const std::size_t first = timings.size();
    for (const Candidate& candidate : candidates_) {
      if (candidate.strikes >= kStrikes && candidate.row != usual) continue;
      const double time = measure(*candidate.row, bytes);
      timings.push_back({collective_, bytes, candidate.row->name, time});
      if (candidate.row == usual) usual_time = time;
      if (time < best_time) {
        best_time = time;
        best = candidate.row;
      }
    }
    std::size_t at = first;
    for (Candidate& candidate : candidates_) {
      if (at == timings.size() || timings[at].algorithm != candidate.row->name) continue;
      const bool hopeless = timings[at++].microseconds > kHopeless * best_time;
      candidate.strikes = hopeless ? candidate.strikes + 1 : 0;
    }
    return best_time < kWorthIt * usual_time ? best : usual;
  }

  /// The same number on all ranks.
  double measure(const Row& row, std::size_t bytes) {
    group_.use(collective_, row.name);
    const double once = call(bytes);  // warms up
    group_.use(collective_, "auto");
    const double share = Microseconds(budget_).count() / 200;
    const double wanted = share / std::max(1.0, largest_of_all(group_, once));
    const int calls = std::clamp(static_cast<int>(wanted), kMinCalls, kMaxCalls);
    group_.use(collective_, row.name);
    std::vector<double> times;
    for (int i = 0; i < calls; ++i) {
      times.push_back(call(bytes));
    }
    group_.use(collective_, "auto");
    std::nth_element(times.begin(), times.begin() + calls / 2, times.end());
    return largest_of_all(group_, times[static_cast<std::size_t>(calls / 2)]);
  }

  double call(std::size_t bytes) {
    group_.barrier();
    const auto start = Clock::now();
    const auto ranks = static_cast<std::size_t>(group_.size());
    std::byte* data = memory_->data();
    const std::size_t each = bytes / ranks;
    switch (collective_) {
      case Collective::allreduce:
        group_.allreduce(data, bytes / sizeof(float), Type::f32, Op::sum);
        break;
      case Collective::reduce_scatter:
        group_.reduce_scatter(data, bytes / sizeof(float), Type::f32, Op::sum);
        break;
      case Collective::allgather:
        group_.allgather(data + static_cast<std::size_t>(group_.rank()) * each, data, each);
        break;
      case Collective::broadcast:
        group_.broadcast(data, bytes, 0);
        break;
      case Collective::all_to_all:
        group_.all_to_all(data, data + options_.longest, each);
        break;
      case Collective::barrier:
        group_.barrier();
        break;
    }
    return Microseconds(Clock::now() - start).count();
  }

  /// Between two lengths that were measured the change is at their geometric mean.
  std::string text() const {
    if (winners_.empty()) return "auto";
    std::string text;
    for (std::size_t i = 0; i < winners_.size(); ++i) {
      const auto middle = [&](std::size_t k) { return winners_[k].from / 2; };
      text += (i > 0 ? "," : "") + std::string(winners_[i].row->name) + ":" +
              std::to_string(i > 0 ? middle(i) : 0) + "-";
      if (i + 1 < winners_.size()) {
        text += std::to_string(middle(i + 1));
      } else if (last_bytes_ * kStep <= options_.longest) {
        text += std::to_string(last_bytes_ * 2);  // out of time
      }
    }
    return Choice::parse(collective_, text).text();
  }

  Group& group_;
  Collective collective_;
  const AutotuneOptions& options_;
  Clock::time_point begin_;
  std::chrono::milliseconds budget_;
  std::unique_ptr<Memory> memory_;
  std::vector<Candidate> candidates_;
  std::vector<Winner> winners_;
  std::size_t last_bytes_ = 0;
};

}  // namespace

Autotuned autotune(Group& group, const AutotuneOptions& options) {
  Autotuned result;
  group.barrier();  // from here on all know whether they share memory
  for (const Collective collective : options.collectives) {
    group.use(collective, "auto");
    if (group.size() > 1) {
      Tuner tuner(group, collective, options);
      result.choices.push_back({collective, tuner.run(result.timings)});
    } else {
      result.choices.push_back({collective, "auto"});
    }
    group.use(collective, result.choices.back().choice);
  }
  return result;
}

std::string Autotuned::text() const {
  std::string text;
  for (const Tuned& tuned : choices) {
    text += std::string(text.empty() ? "" : "\n") + name_of(tuned.collective) + " " + tuned.choice;
    std::size_t bytes = 0;
    for (const Timing& timing : timings) {
      if (timing.collective != tuned.collective) continue;
      text += timing.bytes == bytes ? ", " : "\n" + std::to_string(timing.bytes) + " bytes: ";
      bytes = timing.bytes;
      char time[32];
      std::snprintf(time, sizeof time, " %.1f us", timing.microseconds);
      text += timing.algorithm;
      text += time;
    }
  }
  return text;
}

}  // namespace thalweg::engine::comm
