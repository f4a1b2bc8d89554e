// Small trials, ranks as threads, and journals as numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/attempt/failure.h"
#include "engine/attempt/stop.h"
#include "engine/train/train.h"
#include "jobspec/trial.h"
#include "jobspec/value.h"

namespace thalweg::engine {

/// A small mlp on synthetic samples: 20 steps an epoch, well under a second.
jobspec::Trial tiny_trial();

/// How a rank ended: its outcome, or what it threw.
struct RankEnd {
  Outcome outcome;
  Failure failure;  ///< only where `threw`
  bool threw = false;
};

/// Runs the trial with ranks as threads. `prepare` may wait in a rank's thread before it starts.
std::vector<RankEnd> run_ranks(const jobspec::Trial& trial, const std::filesystem::path& folder,
                               int ranks, const StopFlag& stop,
                               const std::function<void(int rank)>& prepare = {});
/// The same without a wish to stop; expects every rank to finish.
void run_to_end(const jobspec::Trial& trial, const std::filesystem::path& folder, int ranks);

/// Leaves nothing in the attempt's folder of checkpoints but that of this step, as if it had been
/// killed then.
void keep_only(const std::filesystem::path& folder, std::int64_t step);

/// What is wrong with a checkpoint's file; "accepted": nothing.
std::string complaint(const std::filesystem::path& file);

std::vector<jobspec::Value> read_journal(const std::filesystem::path& folder);
/// The lines of one type.
std::vector<jobspec::Value> lines_of(const std::vector<jobspec::Value>& journal, const char* type);
/// "name step value" of every point outside perf/; where a step was measured twice, the later
/// value.
std::vector<std::string> curve(const std::vector<std::filesystem::path>& folders);
/// Without what modes report of themselves.
std::vector<std::string> without_rounds(std::vector<std::string> points);

}  // namespace thalweg::engine
