// top-k: of each tensor only the largest gradients travel, with their places; what was left out is
// added to the next step's gradient. Aji & Heafield, arXiv:1704.05021; Stich et al.,
// arXiv:1809.07599 (why it converges with memory).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "engine/comm/reduction/reduce.h"
#include "engine/sync/compress/table.h"
#include "engine/tensor/buffer.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

constexpr double kShare = 0.01;

/// As it travels: place in the bucket, and value.
struct Entry {
  std::uint32_t place;
  float value;
};

/// Bits of the magnitude: ordered as the magnitudes are, NaN on top.
std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu;
}

class TopK : public BucketSum {
 public:
  TopK(const CompressParts& parts, double share, bool feedback, std::int64_t start)
      : p_(parts),
        share_(share),
        feedback_(feedback),
        start_(start),
        error_(Buffer::of_floats(parts.model.parameter_floats())) {}

  std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t step) override {
    if (step < start_)
      return p_.group.start_allreduce(part.leaves[0], part.count, comm::Type::f32, comm::Op::sum,
                                      part.label);
    mine_.clear();
    for (const int number : part.parameters)
      choose(part, p_.model.parameters()[static_cast<std::size_t>(number)]);
    const auto ranks = static_cast<std::size_t>(p_.group.size());
    all_.resize(mine_.size() * ranks);
    p_.group.start_allgather(mine_.data(), all_.data(), mine_.size() * sizeof(Entry), part.label)
        ->wait();
    float* sum = part.leaves[0];
    std::fill_n(sum, part.count, 0.0f);
    for (const Entry& entry : all_)  // in the order of the ranks
      sum[entry.place] += entry.value;
    return nullptr;
  }

  std::vector<SyncState> states() override {
    if (!feedback_) return {};
    return {{"error",
             SyncState::Ranks::summed,
             {error_.floats(), p_.model.parameter_floats()},
             {},
             true}};
  }

 private:
  /// Appends the entries of one tensor, always equally many; the rest stays in the error memory.
  void choose(const GradientPart& part, const ParameterInfo& info) {
    const auto numbers = static_cast<std::size_t>(elements(info.shape));
    const std::size_t keep = std::clamp<std::size_t>(
        static_cast<std::size_t>(std::ceil(share_ * static_cast<double>(numbers))), 1, info.count);
    const std::size_t first = info.offset - part.offset;
    float* error = error_.floats() + info.offset;
    if (!feedback_) std::fill_n(error, info.count, 0.0f);
    comm::add(error, part.leaves[0] + first, info.count);
    sizes_.resize(info.count);
    for (std::size_t i = 0; i < info.count; ++i)
      sizes_[i] = magnitude(error[i]);
    std::nth_element(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(keep) - 1,
                     sizes_.end(), std::greater<>());
    const std::uint32_t least = sizes_[keep - 1];
    auto equal = static_cast<std::ptrdiff_t>(keep) -
                 std::count_if(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(keep),
                               [&](std::uint32_t size) { return size > least; });
    for (std::size_t i = 0; i < info.count; ++i) {
      const std::uint32_t size = magnitude(error[i]);
      if (size < least || (size == least && equal-- <= 0)) continue;
      mine_.push_back({static_cast<std::uint32_t>(first + i), error[i]});
      error[i] = 0;
    }
  }

  CompressParts p_;
  double share_;
  bool feedback_;
  std::int64_t start_;
  Buffer error_;  ///< in the model's layout
  std::vector<std::uint32_t> sizes_;
  std::vector<Entry> mine_, all_;
};

std::unique_ptr<BucketSum> make_top_k(const jobspec::Options& options, const CompressParts& parts) {
  return std::make_unique<TopK>(parts, options.real("compress_share"), error_feedback(options),
                                options.integer("compress_start"));
}

}  // namespace

CompressRow top_k_compression() {
  return {"top-k",
          "only the largest gradients of each tensor travel; the rest is kept for later steps",
          {jobspec::above_min(jobspec::float_option(
               "compress_share", kShare, 0, 1,
               "share of each tensor's gradients that travels, the largest ones; 8 bytes each")),
           error_feedback_option(), compress_start_option(0)},
          make_top_k,
          error_feedback};
}

}  // namespace thalweg::engine
