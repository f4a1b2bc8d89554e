// What the literature says of training, and the examples show. Each claim is a function of a home
// whose sweep 1 is the example's record. Every change checks it on the record of an earlier run
// (data/records, made by record.py); the second tier trains anew and checks the same.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/examples.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRecords = fs::path(THALWEG_SOURCE_DIR) / "tests/end_to_end/data/records";

/// McCandlish et al. 2018: below the critical batch, a larger one saves steps and costs samples.
void larger_batches_reach_the_target_in_fewer_steps_and_more_samples(SweepHome& home) {
  std::map<int, std::pair<double, double>> taken;  // steps and samples by batch
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"]) {
    EXPECT_EQ(row["steps_to_target"]["reached"], 3) << row.dump();
    taken[row["group"]["batch.global"].get<int>()] = {
        row["steps_to_target"]["median"].get<double>(),
        row["samples_to_target"]["median"].get<double>()};
  }
  ASSERT_EQ(taken.size(), 4u);
  EXPECT_GT(taken[16].first, 2 * taken[64].first);
  EXPECT_GT(taken[64].first, 1.5 * taken[256].first);
  EXPECT_GE(taken[256].first, taken[1024].first);
  EXPECT_GT(taken[1024].second, 2 * taken[16].second);
  // Trials ended where they got there: no ten epochs of 55,000 samples.
  const auto ended = home.query("SELECT max(step) FROM metrics WHERE metric = 'val/error'");
  EXPECT_LT(ended["rows"][0][0].get<int>(), 10'000);
}

/// Mitliagkas et al. 2016: asynchronous workers act like momentum: good where there is none, too
/// much of it beside 0.9.
void asynchronous_workers_bring_momentum(SweepHome& home) {
  std::map<std::pair<std::string, double>, double> accuracy;  // by mode and momentum
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"])
    accuracy[{row["group"]["sync.mode"].get<std::string>(),
              row["group"]["optimizer.momentum"].get<double>()}] =
        row["best"]["median"].get<double>();
  ASSERT_EQ(accuracy.size(), 4u) << comparison.dump();
  EXPECT_GT((accuracy[{"sync", 0.9}]), (accuracy[{"sync", 0}]));
  EXPECT_GT((accuracy[{"async", 0}]), (accuracy[{"sync", 0}]));
  EXPECT_GT((accuracy[{"async", 0}] - accuracy[{"async", 0.9}]), 0.02) << "more, the staler";
}

/// Kurth et al. 2018: lag 1 costs little; more of it, and more of it at a large rate, costs much.
void later_gradients_need_smaller_rates(SweepHome& home) {
  std::map<std::pair<int, double>, double> accuracy;  // by lag and rate
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"])
    accuracy[{row["group"]["sync.lag"].get<int>(), row["group"]["optimizer.lr"].get<double>()}] =
        row["best"]["median"].get<double>();
  ASSERT_EQ(accuracy.size(), 8u) << comparison.dump();
  for (const double lr : {0.02, 0.1})
    for (const auto& [less, more] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{2, 4}})
      EXPECT_GT((accuracy[{less, lr}]), (accuracy[{more, lr}])) << lr << ", lag " << more;
  EXPECT_LT((accuracy[{0, 0.02}] - accuracy[{1, 0.02}]), 0.02);
  for (const int lag : {1, 2, 4})
    EXPECT_GT((accuracy[{lag, 0.02}] - accuracy[{lag, 0.1}]), 0.1) << "lag " << lag;
}

/// Goyal et al. 2017: a larger batch wants a larger rate, and that one a warm-up. At 32 times the
/// batch LARC has to help as well.
void a_larger_batch_wants_a_scaled_rate_and_a_warm_up(SweepHome& home) {
  std::map<std::pair<int, std::string>, double> accuracy;  // by batch and recipe
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"]) {
    const auto& group = row["group"];
    accuracy[{group["batch.global"].get<int>(), group["schedule.scaling"].get<std::string>() + " " +
                                                    group["schedule.warmup"].get<std::string>() +
                                                    " " +
                                                    group["optimizer.larc"].get<std::string>()}] =
        row["best"]["median"].get<double>();
  }
  ASSERT_EQ(accuracy.size(), 10u) << comparison.dump();
  const auto at = [&](int batch, const char* recipe) { return accuracy.at({batch, recipe}); };
  EXPECT_LT(at(512, "none none none"), at(512, "linear none none"));
  EXPECT_LT(at(512, "none none none"), at(512, "sqrt none none"));
  EXPECT_LT(at(512, "linear none none"), at(512, "linear linear none"));
  EXPECT_LT(at(2048, "linear none none"), at(2048, "none none none")) << "too much of it";
  EXPECT_LT(at(2048, "linear none none"), at(2048, "linear linear none"));
  EXPECT_LT(at(2048, "linear linear none"), at(2048, "linear linear clip"));
  EXPECT_LT(at(2048, "none none none"), at(2048, "sqrt none none"));
  EXPECT_LT(at(2048, "sqrt none none"), at(2048, "linear linear clip"));
}

/// Maleki et al. 2020: with one worker's rate Adasum learns faster than the average of 16 and does
/// not diverge as their sum does.
void adasum_needs_no_other_rate(SweepHome& home) {
  std::map<std::pair<std::string, double>, double> accuracy;  // by reduction and rate
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"]) {
    const auto& group = row["group"];
    const std::string scaling = group["schedule.scaling"], mode = group["sync.mode"];
    accuracy[{mode == "adasum"      ? "adasum"
              : scaling == "linear" ? "sum"
                                    : "average",
              group["optimizer.lr"].get<double>()}] = row["best"]["median"].get<double>();
  }
  ASSERT_EQ(accuracy.size(), 6u) << comparison.dump();
  const auto at = [&](const char* reduction, double rate) {
    return accuracy.at({reduction, rate});
  };
  EXPECT_LT(at("sum", 0.05), at("average", 0.02)) << "diverges";
  EXPECT_LT(at("average", 0.02), at("average", 0.05));
  EXPECT_LT(at("average", 0.02), at("sum", 0.02));
  EXPECT_LT(at("average", 0.05), at("adasum", 0.02));
  EXPECT_LT(at("sum", 0.02), at("adasum", 0.02));
  EXPECT_LT(at("adasum", 0.02), at("adasum", 0.05));
}

/// Smith et al. 2017: a batch that grows does what a rate that falls by as much does, in fewer
/// updates.
void a_growing_batch_takes_the_place_of_a_falling_rate(SweepHome& home) {
  std::map<std::pair<std::string, std::string>, double> accuracy;  // by decay and growth
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"])
    accuracy[{row["group"]["schedule.decay"].get<std::string>(),
              row["group"]["batch_growth.by"].get<std::string>()}] =
        row["best"]["median"].get<double>();
  ASSERT_EQ(accuracy.size(), 4u) << comparison.dump();
  const double neither = accuracy[{"constant", "none"}], falls = accuracy[{"multistep", "none"}],
               grows = accuracy[{"constant", "epochs"}];
  EXPECT_GT(grows - neither, 0.005);
  EXPECT_LT(std::abs(grows - falls), 0.005);
  EXPECT_GT((accuracy[{"constant", "noise_scale"}] - neither), 0.005);
  // Trials 1 to 6 make 859 updates an epoch of 55,000 samples; 7 to 9 two epochs of these, two of
  // 214 and two of 53; 10 to 12 what the noise says.
  const auto steps = home.query(
      "SELECT trial, max(step) FROM metrics WHERE metric = 'val/accuracy' GROUP BY trial ORDER BY "
      "1");
  ASSERT_EQ(steps["rows"].size(), 12u) << steps.dump();
  EXPECT_EQ(steps["rows"][0][1].get<int>(), 6 * 859);
  EXPECT_EQ(steps["rows"][8][1].get<int>(), 2 * 859 + 2 * 214 + 2 * 53);
  for (std::size_t trial = 9; trial < 12; ++trial)
    EXPECT_LT(steps["rows"][trial][1].get<int>(), 3 * 859);
}

struct Claim {
  const char* example;  ///< its file, and its recording: EXAMPLE.yaml and EXAMPLE.sql
  void (*check)(SweepHome& home);
};

void PrintTo(const Claim& claim, std::ostream* out) {
  *out << claim.example;
}

/// One more is a function and a row; then record.py makes its recording.
constexpr Claim kClaims[] = {
    {"critical-batch", larger_batches_reach_the_target_in_fewer_steps_and_more_samples},
    {"asynchronous", asynchronous_workers_bring_momentum},
    {"gradient-lag", later_gradients_need_smaller_rates},
    {"warm-up", a_larger_batch_wants_a_scaled_rate_and_a_warm_up},
    {"adasum", adasum_needs_no_other_rate},
    {"growing-batch", a_growing_batch_takes_the_place_of_a_falling_rate},
};

std::string claim_name(const testing::TestParamInfo<Claim>& tested) {
  return test_name_of(tested.param.example);
}

/// Makes the recording's SQL the record of the home, as one restores a backup.
void restore_recording(SweepHome& home, const std::string& example) {
  const fs::path recording = kRecords / (example + ".sql");
  ASSERT_TRUE(fs::exists(recording)) << "python3 tests/end_to_end/record.py " << example;
  const std::string backup = (home.folder() / "backup.db").string();
  const Outcome made = run({"python3", "-c",
                            "import sqlite3, sys\n"
                            "sqlite3.connect(sys.argv[1]).executescript(open(sys.argv[2]).read())",
                            backup, recording.string()});
  ASSERT_EQ(made.code, 0) << made.err;
  const Outcome restored = home.thalweg({"restore", backup});
  ASSERT_EQ(restored.code, 0) << restored.out << restored.err;
}

/// A sweep file's lines without those that are comments.
std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string kept, line;
  while (std::getline(lines, line))
    if (!line.starts_with("#")) kept += line + "\n";
  return kept;
}

class RecordedClaims : public testing::TestWithParam<Claim> {};

TEST_P(RecordedClaims, Hold) {
  SweepHome home;
  const std::string example = GetParam().example;
  ASSERT_NO_FATAL_FAILURE(restore_recording(home, example));
  const auto sweep = home.query("SELECT text FROM sweeps")["rows"];
  ASSERT_EQ(sweep.size(), 1u);
  EXPECT_EQ(without_comments(sweep[0][0]),
            without_comments(read_file(kExamples / (example + ".yaml"))))
      << "recorded of another file: python3 tests/end_to_end/record.py " << example;
  GetParam().check(home);
}

INSTANTIATE_TEST_SUITE_P(, RecordedClaims, testing::ValuesIn(kClaims), claim_name);

class TrainedClaims : public testing::TestWithParam<Claim> {};

TEST_P(TrainedClaims, Hold) {
  SweepHome home;
  copy_examples(home);
  const std::string file = std::string(GetParam().example) + ".yaml";
  const Outcome outcome = home.thalweg({"run", file, "--backend", "local"}, milliseconds(300000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  GetParam().check(home);
}

// Second tier: trains for minutes.
INSTANTIATE_TEST_SUITE_P(, TrainedClaims, testing::ValuesIn(kClaims), claim_name);

}  // namespace
}  // namespace thalweg::test
