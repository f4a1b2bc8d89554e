// Journals of trials by seed, with kills, resumes from earlier checkpoints, repeated steps, late
// lines, gaps, NaN and infinities; and what they say, found in the plainest way there is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::test {

struct Report {
  std::string metric;
  std::int64_t step = 0;
  double value = 0;
};

struct AttemptJournal {
  bool starts = true;        ///< it has a start record
  bool program = true;       ///< of a program of one's own, not of the engine
  std::int64_t resumed = 0;  ///< the checkpoint that it goes on from; 0: none
  std::vector<Report> reports;
};

/// The attempts of a trial, and in which parts they come: attempt (from 0) and how many reports;
/// the start record comes with the first part.
struct TrialJournal {
  std::vector<AttemptJournal> attempts;
  std::vector<std::pair<std::size_t, std::size_t>> parts;
};

struct PlainPoint {
  std::int64_t step = 0;
  double value = 0;
  std::int64_t attempt = 0;  ///< from 1
};

/// The points of a metric that count, by step.
inline std::vector<PlainPoint> counting(const TrialJournal& trial, const std::string& metric) {
  std::map<std::int64_t, PlainPoint> curve;
  for (std::size_t i = 0; i < trial.attempts.size(); ++i) {
    const AttemptJournal& attempt = trial.attempts[i];
    std::map<std::int64_t, double> own;  // a later line of a step replaces the one before
    for (const Report& report : attempt.reports)
      if (report.metric == metric) own[report.step] = report.value;
    auto from = std::numeric_limits<std::int64_t>::max();
    if (attempt.starts && attempt.resumed > 0) from = attempt.resumed + 1;
    if (attempt.starts && attempt.resumed == 0 && !attempt.program) from = 0;
    if (!own.empty()) from = std::min(from, own.begin()->first);
    std::erase_if(curve, [&](const auto& point) { return point.first >= from; });
    for (const auto& [step, value] : own)
      curve[step] = {step, value, static_cast<std::int64_t>(i + 1)};
  }
  std::vector<PlainPoint> points;
  for (const auto& [step, point] : curve)
    points.push_back(point);
  return points;
}

/// Of what is finite; NaN where nothing is.
inline double plain_best(const std::vector<PlainPoint>& points, bool maximize) {
  double best = std::nan("");
  for (const PlainPoint& point : points)
    if (std::isfinite(point.value) &&
        (std::isnan(best) || (maximize ? point.value > best : point.value < best)))
      best = point.value;
  return best;
}

/// Nothing where it is not reached.
inline std::optional<std::int64_t> plain_steps_to(const std::vector<PlainPoint>& points,
                                                  double target, bool maximize) {
  for (const PlainPoint& point : points)
    if (std::isfinite(point.value) && (maximize ? point.value >= target : point.value <= target))
      return point.step;
  return std::nullopt;
}

/// Draws one journal after the other.
class Journals {
 public:
  /// `late`: lines of an attempt may come after those of the next one.
  Journals(std::uint64_t seed, bool late) : random_(seed), late_(late) {}

  TrialJournal next() {
    TrialJournal trial;
    const std::size_t count = 1 + below(4);
    const bool program = chance(2);
    std::int64_t reached = 0;
    for (std::size_t i = 0; i < count; ++i) {
      AttemptJournal attempt;
      attempt.program = program;
      attempt.starts = !chance(6);
      if (i > 0 && !chance(4)) attempt.resumed = static_cast<std::int64_t>(below(reached + 1));
      std::int64_t at = attempt.resumed;
      for (std::size_t n = below(25); n > 0; --n)
        at = report(at, attempt);
      reached = std::max(reached, at);
      trial.attempts.push_back(std::move(attempt));
    }
    deal(trial);
    return trial;
  }

 private:
  std::size_t below(std::int64_t n) { return random_() % static_cast<std::uint64_t>(n); }
  bool chance(std::int64_t one_in) { return below(one_in) == 0; }

  std::int64_t report(std::int64_t at, AttemptJournal& attempt) {
    if (chance(8))
      at = std::max<std::int64_t>(0, at - static_cast<std::int64_t>(below(6)));  // again
    else
      at += static_cast<std::int64_t>(below(chance(10) ? 40 : 3));  // a gap, or the same step
    attempt.reports.push_back({"loss", at, value()});
    if (chance(3)) attempt.reports.push_back({"val/score", at, value()});
    return at;
  }

  double value() {
    switch (below(24)) {
      case 0:
        return std::nan("");
      case 1:
        return std::numeric_limits<double>::infinity();
      case 2:
        return -std::numeric_limits<double>::infinity();
      default:
        return static_cast<double>(below(200)) / 8 - 5;
    }
  }

  void deal(TrialJournal& trial) {
    for (std::size_t i = 0; i < trial.attempts.size(); ++i) {
      std::size_t left = trial.attempts[i].reports.size();
      do {
        const std::size_t part = std::min<std::size_t>(left, below(12));
        trial.parts.emplace_back(i, part);
        left -= part;
      } while (left > 0);
    }
    for (std::size_t i = 0; late_ && i + 1 < trial.parts.size(); ++i)
      if (trial.parts[i].first != trial.parts[i + 1].first && chance(2))
        std::swap(trial.parts[i], trial.parts[i + 1]);
  }

  std::mt19937_64 random_;
  bool late_;
};

}  // namespace thalweg::test
