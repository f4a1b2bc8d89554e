#include "engine/device/cuda/kernel_choice.h"

#include <algorithm>
#include <limits>

namespace thalweg::engine::cuda {
namespace {

/// More bytes for less time.
struct Step {
  std::size_t bytes = 0;
  double saved = 0;
  double rate() const { return saved / static_cast<double>(bytes); }
};

/// Numbers of the ways on the lower convex hull of (workspace, time), by workspace.
std::vector<int> hull_of(const Ways& ways) {
  std::vector<int> order(ways.size());
  for (std::size_t w = 0; w < order.size(); ++w)
    order[w] = static_cast<int>(w);
  const auto at = [&](int w) -> const Way& { return ways[static_cast<std::size_t>(w)]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return at(a).workspace != at(b).workspace ? at(a).workspace < at(b).workspace
                                              : at(a).time < at(b).time;
  });
  const auto rate = [&](int from, int to) {
    return (at(from).time - at(to).time) /
           static_cast<double>(at(to).workspace - at(from).workspace);
  };
  std::vector<int> hull;
  for (const int w : order) {
    if (!hull.empty() && at(w).time >= at(hull.back()).time) continue;
    while (hull.size() > 1 &&
           rate(hull[hull.size() - 2], hull.back()) <= rate(hull[hull.size() - 2], w))
      hull.pop_back();
    hull.push_back(w);
  }
  return hull;
}

/// The linear relaxation of the calls from one on: how little time they can take.
class Relaxed {
 public:
  Relaxed() : bytes_{0}, saved_{0} {}
  /// `steps` of all those calls, the best rate first.
  Relaxed(std::size_t base_bytes, double base_time, const std::vector<Step>& steps)
      : base_bytes_(base_bytes), base_time_(base_time), bytes_{0}, saved_{0} {
    for (const Step& step : steps) {
      bytes_.push_back(bytes_.back() + step.bytes);
      saved_.push_back(saved_.back() + step.saved);
    }
  }
  std::size_t base_bytes() const { return base_bytes_; }
  /// With at most `bytes`, which is at least base_bytes().
  double least_time(std::size_t bytes) const {
    const std::size_t left = bytes - base_bytes_;
    const auto next = std::upper_bound(bytes_.begin(), bytes_.end(), left);
    const auto whole = static_cast<std::size_t>(next - bytes_.begin()) - 1;
    double saved = saved_[whole];
    if (next != bytes_.end())
      saved += (saved_[whole + 1] - saved_[whole]) * static_cast<double>(left - bytes_[whole]) /
               static_cast<double>(*next - bytes_[whole]);
    return base_time_ - saved;
  }

 private:
  std::size_t base_bytes_ = 0;
  double base_time_ = 0;
  std::vector<std::size_t> bytes_;  ///< of the first steps
  std::vector<double> saved_;
};

/// [k]: of the calls from k on.
std::vector<Relaxed> relax(const std::vector<Ways>& calls) {
  std::vector<Relaxed> from(calls.size() + 1);
  std::vector<Step> steps;
  std::size_t bytes = 0;
  double time = 0;
  for (std::size_t k = calls.size(); k-- > 0;) {
    const std::vector<int> hull = hull_of(calls[k]);
    const auto at = [&](std::size_t i) { return calls[k][static_cast<std::size_t>(hull[i])]; };
    bytes += at(0).workspace;
    time += at(0).time;
    for (std::size_t i = 1; i < hull.size(); ++i)
      steps.push_back({at(i).workspace - at(i - 1).workspace, at(i - 1).time - at(i).time});
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.rate() > b.rate(); });
    from[k] = Relaxed(bytes, time, steps);
  }
  return from;
}

/// Of the first calls.
struct Choice {
  std::size_t bytes = 0;
  double time = 0;
  std::size_t before = 0;  ///< the choice of one call less that it goes on from
  int way = 0;
};

/// Leaves out what takes at least as much of both as another one.
void keep_useful(std::vector<Choice>& choices) {
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.time < b.time;
  });
  double least = std::numeric_limits<double>::infinity();
  const auto end = std::remove_if(choices.begin(), choices.end(), [&](const Choice& choice) {
    if (choice.time >= least) return true;
    least = choice.time;
    return false;
  });
  choices.erase(end, choices.end());
}

/// A choice that fits: the least workspaces, then the steps that save most a byte, call by call.
double greedy_time(const std::vector<Ways>& calls, std::size_t bound, std::size_t least_bytes) {
  std::size_t left = bound - least_bytes;
  double time = 0;
  for (const Ways& ways : calls) {
    const std::vector<int> hull = hull_of(ways);
    const auto at = [&](std::size_t i) { return ways[static_cast<std::size_t>(hull[i])]; };
    std::size_t taken = 0;
    for (std::size_t i = 1; i < hull.size(); ++i)
      if (at(i).workspace - at(0).workspace <= left) taken = i;
    left -= at(taken).workspace - at(0).workspace;
    time += at(taken).time;
  }
  return time;
}

}  // namespace

std::optional<std::vector<int>> choose_in_turn(const std::vector<Ways>& calls, std::size_t bound) {
  std::vector<int> chosen;
  for (const Ways& ways : calls) {
    int best = -1;
    for (std::size_t w = 0; w < ways.size(); ++w) {
      if (ways[w].workspace > bound) continue;
      if (best < 0 || ways[w].time < ways[static_cast<std::size_t>(best)].time)
        best = static_cast<int>(w);
    }
    if (best < 0) return std::nullopt;
    chosen.push_back(best);
  }
  return chosen;
}

std::optional<std::vector<int>> choose_together(const std::vector<Ways>& calls, std::size_t bound) {
  const std::vector<Relaxed> rest = relax(calls);
  if (rest[0].base_bytes() > bound) return std::nullopt;
  // Rounding must not leave out the best.
  const double known = greedy_time(calls, bound, rest[0].base_bytes()) * (1 + 1e-9);
  std::vector<std::vector<Choice>> choices{{Choice{}}};
  for (std::size_t k = 0; k < calls.size(); ++k) {
    std::vector<Choice> next;
    for (std::size_t i = 0; i < choices[k].size(); ++i)
      for (std::size_t w = 0; w < calls[k].size(); ++w) {
        const Choice& before = choices[k][i];
        const Choice choice{before.bytes + calls[k][w].workspace, before.time + calls[k][w].time, i,
                            static_cast<int>(w)};
        if (choice.bytes + rest[k + 1].base_bytes() > bound) continue;
        if (choice.time + rest[k + 1].least_time(bound - choice.bytes) > known) continue;
        next.push_back(choice);
      }
    keep_useful(next);
    choices.push_back(std::move(next));
  }
  // Useful choices get faster with their bytes: the last one is the fastest.
  std::vector<int> chosen(calls.size());
  std::size_t at = choices.back().size() - 1;
  for (std::size_t k = calls.size(); k-- > 0; at = choices[k + 1][at].before)
    chosen[k] = choices[k + 1][at].way;
  return chosen;
}

std::optional<WayTime> fastest_within(const CallTimes& times, std::size_t bound) {
  Ways ways;
  for (const WayTime& way : times.ways)
    ways.push_back({way.ms, way.workspace});
  const auto chosen = choose_in_turn({ways}, bound);
  if (!chosen) return std::nullopt;
  return times.ways[static_cast<std::size_t>(chosen->front())];
}

int choose_way(const gpu::Call& call, const KernelOptions& options) {
  if (options.times != nullptr) {
    const auto measured = options.times->find(call.key());
    if (measured != options.times->end())
      if (const auto best = fastest_within(measured->second, options.workspace))
        if (call.way_name(best->way) == best->name) return best->way;
  }
  // Counting the ways makes all of them, which may take seconds: only where the first is too big.
  std::size_t least = call.workspace(0);
  if (least <= options.workspace) return 0;
  int leanest = 0;
  for (int way = 1; way < call.ways(); ++way) {
    const std::size_t bytes = call.workspace(way);
    if (bytes <= options.workspace) return way;
    if (bytes >= least) continue;
    least = bytes;
    leanest = way;
  }
  return leanest;
}

}  // namespace thalweg::engine::cuda
