#include "engine/sync/compress/table.h"

#include <stdexcept>

#include "jobspec/option.h"

namespace thalweg::engine {

using jobspec::Option;
using jobspec::Value;

const jobspec::Table<CompressRow>& compress_table() {
  static const jobspec::Table<CompressRow> rows(
      "compression", {no_compression(), fp16_compression(), bf16_compression(),
                      power_sgd_compression(), top_k_compression()});
  return rows;
}

const CompressRow& compress_row(const Value& options) {
  const Value* given = options.find("compress");
  return given == nullptr ? compress_table().front()
                          : compress_table().at(given->to_text(), "sync.compress");
}

jobspec::Section compress_section() {
  jobspec::Section section;
  section.path = "sync";
  section.doc = "How gradients are made smaller for their way between the ranks";
  section.selector = "compress";
  section.default_value = compress_table().front().name;
  section.variants = compress_table().variants();
  return section;
}

Option compress_start_option(std::int64_t fallback) {
  return jobspec::int_option("compress_start", fallback, 0, jobspec::no_limit,
                             "steps that are made uncompressed at first");
}

Option error_feedback_option() {
  return jobspec::flag_option(
      "error_feedback", true,
      "what compression left out is kept and added to the next step's gradient");
}

bool error_feedback(const jobspec::Options& options) {
  return options.flag("error_feedback");
}

}  // namespace thalweg::engine
