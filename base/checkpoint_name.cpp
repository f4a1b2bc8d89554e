#include "base/checkpoint_name.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace thalweg {
namespace {

constexpr std::string_view kStem = "step-", kEnding = ".ckpt", kOfRank = ".rank-";
constexpr std::size_t kDigits = 12;  // names sort as their steps

std::string padded(std::int64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

std::string stem_of(std::int64_t step) {
  return std::string(kStem) + padded(step, kDigits);
}

}  // namespace

std::filesystem::path checkpoint_name(std::int64_t step) {
  return stem_of(step) + std::string(kEnding);
}

std::filesystem::path slice_name(std::int64_t step, int rank, int ranks) {
  return stem_of(step) + std::string(kOfRank) + padded(rank, 4) + "-of-" + padded(ranks, 4) +
         std::string(kEnding);
}

std::optional<CheckpointFile> parse_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kStem) || !name.ends_with(kEnding)) return {};
  const char* const first = name.data() + kStem.size();
  const char* const last = name.data() + name.size() - kEnding.size();
  CheckpointFile file;
  const auto [end, error] = std::from_chars(first, last, file.step);
  if (error != std::errc() || static_cast<std::size_t>(end - first) < kDigits) return {};
  file.slice = std::string_view(end, last).starts_with(kOfRank);
  if (end != last && !file.slice) return {};
  return file;
}

}  // namespace thalweg
