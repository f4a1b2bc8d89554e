#include "engine/perf/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "engine/comm/algorithms/choice.h"

namespace thalweg::engine::perf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMicro = 1e6;
constexpr double kWarmupShare = 0.1;      // of the time of a row
constexpr double kSecondsOfAPart = 0.25;  // between looks at whether somebody wants to stop
constexpr double kMaxCalls = 200'000;     // of a row, when the time says how many
constexpr double kMinCalls = 5;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double slowest(comm::Group& group, double mine) {
  group.allreduce(&mine, 1, comm::Type::f64, comm::Op::max);
  return mine;
}

/// Fills, calls once, and counts what is wrong on any rank.
std::uint64_t check(comm::Group& group, Work& work) {
  work.fill();
  group.barrier();
  work.call();
  auto wrong = static_cast<std::int64_t>(work.wrong());
  group.allreduce(&wrong, 1, comm::Type::i64, comm::Op::sum);
  work.clear();
  return static_cast<std::uint64_t>(wrong);
}

class Timer {
 public:
  Timer(comm::Group& group, const Subject& subject, Work& work, const Options& options)
      : group_(group), work_(work), options_(options), apart_(!subject.joins || options.touch) {}

  /// `calls` calls; appends their times in microseconds.
  void run(std::size_t calls, std::vector<double>& us) {
    group_.barrier();
    for (std::size_t i = 0; i < calls; ++i) {
      if (options_.touch) work_.clear();
      if (apart_) group_.barrier();
      const auto start = Clock::now();
      work_.call();
      us.push_back(seconds_since(start) * kMicro);
    }
  }

  /// Warms up; returns how long a call takes with all that goes with it, the same on all ranks.
  double warm_up() {
    std::vector<double> us;
    if (options_.warmup >= 0) {
      const auto start = Clock::now();
      run(static_cast<std::size_t>(options_.warmup), us);
      return slowest(group_, seconds_since(start)) / std::max(1, options_.warmup);
    }
    const double budget = options_.seconds * kWarmupShare;
    double spent = 0, per_call = 0;
    for (std::size_t calls = 1; us.empty() || spent < budget; calls *= 2) {
      const auto start = Clock::now();
      run(calls, us);
      const double took = slowest(group_, seconds_since(start));
      spent += took;
      per_call = took / static_cast<double>(calls);
    }
    return per_call;
  }

  std::size_t calls_in(double seconds, double per_call) const {
    if (options_.iterations > 0) return static_cast<std::size_t>(options_.iterations);
    const double calls = seconds / std::max(per_call, 1e-8);
    return static_cast<std::size_t>(std::clamp(calls, kMinCalls, kMaxCalls));
  }

 private:
  comm::Group& group_;
  Work& work_;
  const Options& options_;
  bool apart_;
};

std::string algorithm_name(const comm::Group& group, const Subject& subject,
                           const std::string& choice, std::size_t bytes) {
  if (!subject.collective) return "";
  return comm::Choice::parse(*subject.collective, choice)(group.layout(), bytes).name;
}

}  // namespace

bool any_rank(comm::Group& group, bool mine) {
  std::int32_t flag = mine ? 1 : 0;
  group.allreduce(&flag, 1, comm::Type::i32, comm::Op::max);
  return flag != 0;
}

Latency latency_of(std::vector<double> us) {
  std::sort(us.begin(), us.end());
  const auto at = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(us.size()));
    return us[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  };
  const double sum = std::accumulate(us.begin(), us.end(), 0.0);
  return {us.front(), at(0.50),  at(0.95),
          at(0.99),   us.back(), sum / static_cast<double>(us.size())};
}

std::optional<Result> measure(comm::Group& group, const Subject& subject, const std::string& choice,
                              std::size_t bytes, const Options& options,
                              const std::atomic<bool>& stop) {
  if (subject.collective) group.use(*subject.collective, choice);
  const auto work = subject.make(group, options, bytes);
  Result result;
  result.collective = subject.name;
  result.choice = choice;
  result.bytes = work->bytes();
  result.count = work->count();
  if (options.check && subject.sized) result.wrong = check(group, *work);

  Timer timer(group, subject, *work, options);
  const double per_call = timer.warm_up();
  const std::size_t part = std::max<std::size_t>(
      1, static_cast<std::size_t>(kSecondsOfAPart / std::max(per_call, 1e-8)));
  result.calls = timer.calls_in(options.seconds, per_call);
  std::vector<double> us;
  us.reserve(result.calls);
  while (us.size() < result.calls) {
    if (any_rank(group, stop)) return std::nullopt;
    timer.run(std::min(part, result.calls - us.size()), us);
  }
  group.allreduce(us.data(), us.size(), comm::Type::f64, comm::Op::max);
  result.us = latency_of(std::move(us));
  // Only calls show whether these ranks can share memory.
  result.algorithm = algorithm_name(group, subject, choice, work->bytes());
  if (result.bytes > 0) {
    result.algorithm_bandwidth = static_cast<double>(result.bytes) / result.us.p50 / 1e3;
    result.bus_bandwidth = result.algorithm_bandwidth * subject.bus_factor(group.size());
  }
  return result;
}

}  // namespace thalweg::engine::perf
