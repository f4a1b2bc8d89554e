#include "engine/sync/compress/table.h"

#include <stdexcept>

#include "jobspec/option.h"

namespace thalweg::engine {

using jobspec::Option;
using jobspec::Value;

const std::vector<CompressRow>& compress_table() {
  static const std::vector<CompressRow> rows{no_compression(), fp16_compression(),
                                             bf16_compression(), power_sgd_compression(),
                                             top_k_compression()};
  return rows;
}

const CompressRow& compress_row(const Value& options) {
  const Value* given = options.find("compress");
  const std::string name = given == nullptr ? compress_table().front().name : given->to_text();
  std::vector<std::string> names;
  for (const CompressRow& row : compress_table()) {
    if (name == row.name) return row;
    names.emplace_back(row.name);
  }
  const std::string near = jobspec::nearest(name, names);
  throw std::invalid_argument("sync.compress: no compression \"" + name + "\"" +
                              (near.empty() ? "" : " (did you mean " + near + "?)"));
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
  for (const CompressRow& row : compress_table())
    section.variants.push_back({row.name, row.doc, row.options});
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
