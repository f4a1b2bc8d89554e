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

std::unique_ptr<BucketSum> make_compressor(const Value& options, const CompressParts& parts) {
  return compress_row(options).make(options, parts);
}

jobspec::Section compress_section() {
  jobspec::Section section;
  section.path = "sync";
  section.doc = "How gradients are made smaller for their way between the ranks";
  section.selector = "compress";
  section.fallback = compress_table().front().name;
  section.variants = compress_table().variants();
  return section;
}

Option compress_start_option(std::int64_t fallback) {
  return jobspec::whole_option("compress_start", fallback, 0, jobspec::no_limit,
                               "steps that are made uncompressed at first");
}

Option error_feedback_option() {
  return jobspec::flag_option(
      "error_feedback", true,
      "what compression left out is kept and added to the next step's gradient");
}

std::int64_t compress_start(const Value& options, std::int64_t fallback) {
  const Value* given = options.find("compress_start");
  return given == nullptr ? fallback : given->as_int();
}

bool error_feedback(const Value& options) {
  const Value* given = options.find("error_feedback");
  return given == nullptr || given->as_bool();
}

}  // namespace thalweg::engine
