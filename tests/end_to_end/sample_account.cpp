// The record counts steps; a checkpoint holds the samples that ranks have counted where they made
// passes, and what the mode of synchronisation knows of updates (engine/train/checkpoint.md). The
// file is read here anew: the engine's reader is not asked whether the engine is right.
#include "tests/end_to_end/sample_account.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace thalweg::test {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::int64_t kBatch = 64;              ///< of TinySweep
constexpr std::int64_t kSteps = 55000 / kBatch;  ///< of an epoch of it

struct CheckpointFile {
  json header;
  std::map<std::string, std::vector<double>> numbers;  ///< parts of doubles
};

CheckpointFile read_checkpoint(const fs::path& file) {
  const std::string bytes = read_file(file);
  CheckpointFile result;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 12, sizeof length);
  result.header = json::parse(bytes.substr(16, length));
  // The parts stand at the end, before the checksum; a sliced one stands in other files.
  const auto size = [](const json& part) -> std::size_t {
    if (part.value("sliced", false)) return 0;
    return (part["type"] == "f32" ? sizeof(float) : sizeof(double)) *
           part["ranks"].get<std::size_t>() * part["count"].get<std::size_t>();
  };
  std::size_t at = bytes.size() - sizeof(std::uint32_t);
  for (const json& part : result.header["parts"])
    at -= size(part);
  for (const json& part : result.header["parts"]) {
    if (part.value("type", "") == "f64") {
      std::vector<double>& numbers = result.numbers[part["name"]];
      numbers.resize(size(part) / sizeof(double));
      std::memcpy(numbers.data(), bytes.data() + at, size(part));
    }
    at += size(part);
  }
  return result;
}

/// One rank's part of a checkpoint.
bool is_slice(const fs::path& file) {
  return file.stem().extension().string().starts_with(".rank-");
}

/// The one with the most steps, of all attempts.
fs::path last_checkpoint(SweepHome& home, const std::string& which) {
  fs::path last;
  const auto attempts = home.query("SELECT folder FROM attempts" + which);
  for (const auto& row : attempts["rows"]) {
    std::error_code missing;
    const fs::path folder = fs::path(row[0].get<std::string>()) / "checkpoints";
    for (const auto& entry : fs::directory_iterator(folder, missing))
      if (entry.path().extension() == ".ckpt" && !is_slice(entry.path()) &&
          entry.path().filename() > last.filename())
        last = entry.path();
  }
  return last;
}

void expect_finite_losses(SweepHome& home, const std::string& which) {
  const auto losses = home.query("SELECT metric, step, value FROM metrics" + which +
                                 " AND metric IN ('train/loss', 'val/loss')");
  EXPECT_FALSE(losses["rows"].empty()) << which;
  for (const auto& row : losses["rows"])
    EXPECT_TRUE(row[2].is_number() && std::isfinite(row[2].get<double>())) << which << row.dump();
}

/// (step, value) of the metric's last point.
std::pair<std::int64_t, double> last_point(SweepHome& home, const std::string& which,
                                           const std::string& metric) {
  const auto last = home.query("SELECT step, value FROM metrics" + which + " AND metric = '" +
                               metric + "' ORDER BY step DESC, attempt DESC LIMIT 1");
  EXPECT_EQ(last["rows"].size(), 1u) << which << metric;
  if (last["rows"].size() != 1) return {};
  return {last["rows"][0][0].get<std::int64_t>(), last["rows"][0][1].get<double>()};
}

/// What the mode knows of its updates: all of them were made.
void expect_all_applied(const CheckpointFile& file, const TrialLength& length,
                        const std::string& who) {
  const auto step = file.header["step"].get<double>(),
             samples = file.header["samples"].get<double>();
  const auto number = [&](const char* part, std::size_t at) {
    const auto it = file.numbers.find(part);
    return it != file.numbers.end() && at < it->second.size() ? it->second[at] : NAN;
  };
  if (length.mode == "async" || length.mode == "hybrid") {
    EXPECT_EQ(number("updates", 0), step * length.gradients) << who;
  } else if (length.mode == "lag") {
    EXPECT_EQ(number("counts", 0), length.waiting) << who;
    EXPECT_EQ(number("counts", 1), step - length.waiting) << who;
  } else if (length.mode == "abs") {
    EXPECT_EQ(number("account", 0), step) << who << "updates";
    EXPECT_EQ(number("account", 1), 0) << who << "gradients wait";
    EXPECT_EQ(number("account", 4), step) << who << "rounds";
    double total = 0;  // after the last of the rounds whose sums are kept
    for (std::size_t kept = 5; kept < 9; ++kept)
      total = std::max(total, number("account", kept));
    EXPECT_EQ(total, samples) << who;
  }
}

}  // namespace

std::int64_t expect_samples_applied(SweepHome& home, const std::string& sweep, std::int64_t trial,
                                    const TrialLength& length) {
  const std::string who = sweep + "." + std::to_string(trial) + " (" + length.mode + "): ";
  const std::string which = " WHERE sweep = " + sweep + " AND trial = " + std::to_string(trial);
  expect_finite_losses(home, which);
  const auto [step, epochs] = last_point(home, which, "epoch");
  EXPECT_EQ(last_point(home, which, "val/loss").first, step) << who;
  const double recorded = epochs * static_cast<double>(kSteps * kBatch);
  EXPECT_NEAR(recorded, std::round(recorded), 1e-3) << who << "a part of a sample";

  const fs::path newest = last_checkpoint(home, which);
  EXPECT_FALSE(newest.empty()) << who << "no checkpoint";
  if (newest.empty()) return 0;
  const CheckpointFile file = read_checkpoint(newest);
  EXPECT_EQ(file.header["step"], step) << who << newest;
  const auto samples = file.header["samples"].get<std::int64_t>();
  EXPECT_EQ(std::llround(recorded), samples) << who << "recorded, and computed by the ranks";
  if (length.mode == "abs") {
    // As many samples in fewer, larger updates; the last may be larger than what is left.
    EXPECT_LE(step, length.steps) << who;
    EXPECT_GE(samples, length.steps * kBatch) << who;
    EXPECT_EQ(last_point(home, which, "batch/samples").second, static_cast<double>(samples)) << who;
  } else {
    EXPECT_EQ(step, length.steps) << who;
    EXPECT_EQ(samples, length.steps * kBatch) << who;
  }
  expect_all_applied(file, length, who);
  return samples;
}

}  // namespace thalweg::test
