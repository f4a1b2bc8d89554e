// Early ends by what was remembered of curves against the same by whole curves, on random journals;
// and how little of the record is read for it.
#include "daemon/controller/early_stops.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/db/fixture.h"
#include "tests/support/fuzz.h"
#include "tests/support/journals.h"

namespace thalweg::daemon {
namespace {

using test::AttemptJournal;
using test::Journals;
using test::TrialJournal;

using Ends = std::map<std::int64_t, std::string>;

/// The rule as its words have it, over whole curves.
struct PlainRule {
  const jobspec::EarlyTerminate& rule;
  double sign;

  double oriented(double value) const {
    return std::isfinite(value) ? sign * value : std::numeric_limits<double>::infinity();
  }
  std::optional<std::string> end(const std::map<std::int64_t, std::vector<double>>& curves,
                                 const std::vector<double>& own) const {
    std::size_t at = 0, longest = 0;
    for (const auto& [trial, values] : curves)
      longest = std::max(longest, values.size());
    for (const std::int64_t band : rule.bands(static_cast<std::int64_t>(longest)))
      if (static_cast<std::size_t>(band) <= own.size()) at = static_cast<std::size_t>(band);
    if (at == 0) return {};
    if (std::none_of(own.begin() + static_cast<std::ptrdiff_t>(at - 1), own.end(),
                     [](double value) { return std::isfinite(value); }))
      return fmt::format("ended early: loss is {} after {} values (hyperband)", own.back(),
                         own.size());
    std::vector<double> there;
    for (const auto& [trial, values] : curves)
      if (values.size() >= at) there.push_back(oriented(values[at - 1]));
    std::sort(there.begin(), there.end());
    const double limit =
        there[static_cast<std::size_t>(1.0 / rule.eta * static_cast<double>(there.size()))];
    double counts = oriented(own[at - 1]);
    if (!rule.strict)
      for (const double value : own)
        counts = std::min(counts, oriented(value));
    if (counts <= limit) return {};
    return fmt::format(
        "ended early: loss {:.6g} after {} values, {:.6g} of {} trials is the limit (hyperband)",
        sign * counts, at, sign * limit, there.size());
  }
};

std::vector<db::Point> points_of(const AttemptJournal& attempt, std::size_t first,
                                 std::size_t count) {
  std::vector<db::Point> points;
  for (std::size_t i = first; i < first + count; ++i)
    points.push_back({attempt.reports[i].metric, attempt.reports[i].step, attempt.reports[i].value,
                      1700000003 + static_cast<double>(i) / 4});
  return points;
}

class EarlyStopsTest : public db::StoreTest {
 protected:
  EarlyStopsTest() {
    store.connection().script("hurry", "PRAGMA synchronous = OFF");
    early_stops.emplace(store);
  }

  std::int64_t sweep_of(std::int64_t trials) {
    const std::int64_t id = store.insert_sweep(db::sample_sweep());
    SweepState& sweep = state.sweeps[id];
    sweep.id = id;
    sweep.metric.name = "loss";
    sweep.early_terminate.emplace();
    sweep.trials.resize(static_cast<std::size_t>(trials));
    for (std::int64_t trial = 1; trial <= trials; ++trial)
      store.insert_trials({db::sample_trial(id, trial)});
    return id;
  }
  void launch(const Id& attempt) {
    store.insert_attempt(db::sample_attempt(attempt.sweep, attempt.trial, attempt.attempt));
    SweepState& sweep = state.sweeps.at(attempt.sweep);
    auto& attempts = sweep.trials[static_cast<std::size_t>(attempt.trial - 1)].attempts;
    attempts = std::max(attempts, static_cast<std::int32_t>(attempt.attempt));
    Id& live = sweep.live[attempt.trial].id;
    if (live.attempt < attempt.attempt) live = attempt;
  }
  Ends look(const std::vector<Id>& news) {
    Ends ends;
    for (const auto& [trial, reason] : early_stops->look(state, news))
      ends[trial.trial] = reason;
    return ends;
  }
  /// As it was before curves were remembered: the whole curve of each trial with news is read, and
  /// at the first look those of all that have begun.
  Ends look_plainly(std::int64_t id, const std::vector<Id>& news) {
    const SweepState& sweep = state.sweeps.at(id);
    std::set<std::int64_t> wanted;
    for (const Id& attempt : news)
      wanted.insert(attempt.trial);
    if (curves.empty())
      for (std::size_t i = 0; i < sweep.trials.size(); ++i)
        if (sweep.trials[i].attempts > 0) wanted.insert(static_cast<std::int64_t>(i + 1));
    for (const std::int64_t trial : wanted) {
      std::vector<double>& values = curves[trial];
      values.clear();
      for (const auto& point : store.curve({id, trial, 0}, "loss"))
        values.push_back(point.value);
    }
    const double sign = sweep.metric.goal == jobspec::Goal::maximize ? -1 : 1;
    Ends ends;
    for (const auto& [trial, values] : curves) {
      const auto reason = PlainRule{*sweep.early_terminate, sign}.end(curves, values);
      if (reason && sweep.live.count(trial) != 0) ends[trial] = *reason;
    }
    return ends;
  }
  /// A new controller, which knows nothing.
  void restart() {
    early_stops.reset();
    early_stops.emplace(store);
    curves.clear();
  }
  /// What `count` of the attempt's reports say, as the controller's ingest writes it.
  void take(const Id& id, const AttemptJournal& attempt, std::size_t count) {
    if (taken.count(id) == 0) launch(id);
    Taken& before = taken[id];
    ++before.lines;
    store.transaction([&] {
      ASSERT_TRUE(store.add_points(id, before.lines, before.lines,
                                   points_of(attempt, before.reports, count)));
      if (before.lines == 1 && attempt.starts)
        store.put_start(id, fmt::format(R"({{"device":"{}","resumed_step":{}}})",
                                        attempt.program ? "program" : "cpu", attempt.resumed));
    });
    before.reports += count;
  }
  void add_values(const Id& attempt, std::int64_t first_step, std::int64_t count) {
    AttemptJournal journal;
    journal.starts = false;
    journal.reports.resize(taken[attempt].reports);
    for (std::int64_t step = first_step; step < first_step + count; ++step)
      journal.reports.push_back({"loss", step, static_cast<double>(attempt.trial)});
    if (taken[attempt].lines == 0) launch(attempt);
    take(attempt, journal, static_cast<std::size_t>(count));
  }

  struct Taken {
    std::int64_t lines = 0;
    std::size_t reports = 0;
  };
  State state;
  std::optional<EarlyStops> early_stops;
  std::map<std::int64_t, std::vector<double>> curves;  ///< that the plain way has read last
  std::map<Id, Taken> taken;
};

jobspec::EarlyTerminate drawn_rule(std::mt19937& random) {
  jobspec::EarlyTerminate rule;
  rule.eta = 1.5 + static_cast<double>(random() % 4);
  rule.strict = random() % 2 == 0;
  if (random() % 3 == 0) {
    rule.max_iter = 10 + static_cast<std::int64_t>(random() % 40);
    rule.s = 1 + static_cast<double>(random() % 4);
  } else {
    rule.min_iter = 1 + static_cast<std::int64_t>(random() % 4);
  }
  return rule;
}

// Resumes, which replace points; late lines of attempts before; steps once more; NaN; thinning; and
// controllers that know nothing yet.
TEST_F(EarlyStopsTest, EndWhatWholeCurvesEnd) {
  std::size_t ends = 0, restarts = 0, thinned = 0;
  test::fuzz(40, [&](int number, std::mt19937& random) {
    constexpr std::int64_t trials = 5;
    const std::int64_t id = sweep_of(trials);
    SweepState& sweep = state.sweeps.at(id);
    sweep.early_terminate = drawn_rule(random);
    sweep.metric.goal = random() % 2 == 0 ? jobspec::Goal::maximize : jobspec::Goal::minimize;
    curves.clear();
    Journals drawn(static_cast<std::uint64_t>(number), true);
    std::vector<TrialJournal> journals;
    std::vector<std::size_t> parts(trials);
    for (std::int64_t trial = 1; trial <= trials; ++trial)
      journals.push_back(drawn.next());
    for (bool more = true; more && !HasFatalFailure();) {
      more = false;
      std::vector<Id> news;
      for (std::int64_t trial = 1; trial <= trials; ++trial) {
        const TrialJournal& journal = journals[static_cast<std::size_t>(trial - 1)];
        std::size_t& part = parts[static_cast<std::size_t>(trial - 1)];
        if (part == journal.parts.size()) continue;
        more = true;
        if (random() % 3 == 0) continue;
        const auto [attempt, count] = journal.parts[part++];
        const Id from{id, trial, static_cast<std::int64_t>(attempt + 1)};
        const auto live = sweep.live.find(trial);
        const bool late = live != sweep.live.end() && live->second.id.attempt > from.attempt;
        take(from, journal.attempts[attempt], count);
        if (!late) news.push_back(from);  // late lines are nobody's news
      }
      if (random() % 12 == 0 && !news.empty())
        thinned += store.thin_points(news.front(), 3, "other") > 0;
      const bool again = random() % 20 == 0;
      if (again) restart();
      restarts += again;
      if (news.empty()) continue;
      const Ends plain = look_plainly(id, news);
      EXPECT_EQ(look(news), plain);
      ends += plain.size();
    }
  });
  if (test::fuzz_range(40).count < 40) return;
  EXPECT_GT(ends, 100u);
  EXPECT_GT(restarts, 5u);
  EXPECT_GT(thinned, 5u);
}

// What is read does not grow with what was read before: a row of the record, at most, besides the
// new points.
TEST_F(EarlyStopsTest, ReadOnlyWhatIsNew) {
  constexpr std::int64_t trials = 4, long_ago = 20000, a_row = 1024;
  const std::int64_t id = sweep_of(trials);
  state.sweeps.at(id).early_terminate->min_iter = 1'000'000;
  std::vector<Id> all;
  for (std::int64_t trial = 1; trial <= trials; ++trial) {
    all.push_back({id, trial, 1});
    add_values(all.back(), 1, long_ago);
  }
  look(all);
  EXPECT_EQ(early_stops->points_read(), trials * long_ago) << "the first look";
  for (std::int64_t round = 0; round < 50; ++round) {
    const std::int64_t before = early_stops->points_read();
    add_values(all[0], long_ago + 1 + 3 * round, 3);
    look({all[0]});
    EXPECT_LE(early_stops->points_read() - before, a_row + 3) << round;
  }
  const std::int64_t before = early_stops->points_read();
  look({all[1]});
  EXPECT_EQ(early_stops->points_read(), before) << "it said nothing of the metric";
}

// A resume near the end of a long curve is read from there on.
TEST_F(EarlyStopsTest, ReadAgainFromWhereAnAttemptResumed) {
  const std::int64_t id = sweep_of(1);
  state.sweeps.at(id).early_terminate->min_iter = 1'000'000;
  const Id first{id, 1, 1}, second{id, 1, 2};
  add_values(first, 1, 20000);
  look({first});
  const std::int64_t before = early_stops->points_read();
  AttemptJournal resumed;
  resumed.resumed = 19000;
  resumed.reports = {{"loss", 19001, 0.5}};
  take(second, resumed, 1);
  look({second});
  EXPECT_GT(early_stops->points_read(), before);
  EXPECT_LE(early_stops->points_read() - before, 2 * 1024);
}

}  // namespace
}  // namespace thalweg::daemon
