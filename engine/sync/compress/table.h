// The table of ways to make gradients smaller for their way between the ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/nn/model.h"
#include "engine/sync/bucket_sum.h"
#include "jobspec/fwd.h"
#include "jobspec/options.h"
#include "jobspec/table.h"

namespace thalweg::engine {

/// The references must outlive what is made of them.
struct CompressParts {
  comm::Group& group;
  const Model& model;
  std::uint64_t seed = 1;  ///< of the trial
};

/// A row: one function and one file each.
struct CompressRow {
  const char* name;
  const char* doc;
  std::vector<jobspec::Option> options;
  std::unique_ptr<BucketSum> (*make)(const jobspec::Options& options, const CompressParts& parts);
  /// Whether it keeps something of a step's gradient for the next; null: never.
  bool (*remembers)(const jobspec::Options& options) = nullptr;
};
CompressRow no_compression();
CompressRow fp16_compression();
CompressRow bf16_compression();
CompressRow power_sgd_compression();
CompressRow top_k_compression();

const jobspec::Table<CompressRow>& compress_table();

/// By `options.compress` (the `train.sync` tree), "none" where it is missing. Throws
/// std::invalid_argument ("did you mean").
const CompressRow& compress_row(const jobspec::Value& options);

jobspec::Section compress_section();

// What several rows have.
jobspec::Option compress_start_option(std::int64_t fallback);
jobspec::Option error_feedback_option();
bool error_feedback(const jobspec::Options& options);

}  // namespace thalweg::engine
