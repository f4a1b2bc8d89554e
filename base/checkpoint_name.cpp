#include "base/checkpoint_name.h"

#include <charconv>
#include <cstdio>

namespace thalweg {
namespace {

constexpr std::string_view kStem = "step-", kEnding = ".ckpt", kOfRank = ".rank-";
constexpr int kDigits = 12;  // names sort as their steps

}  // namespace

std::filesystem::path checkpoint_name(std::int64_t step) {
  char name[48];
  std::snprintf(name, sizeof name, "step-%0*lld.ckpt", kDigits, static_cast<long long>(step));
  return name;
}

std::filesystem::path slice_name(std::int64_t step, int rank, int ranks) {
  char name[80];
  std::snprintf(name, sizeof name, "step-%0*lld.rank-%04d-of-%04d.ckpt", kDigits,
                static_cast<long long>(step), rank, ranks);
  return name;
}

std::optional<CheckpointFile> parse_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kStem) || !name.ends_with(kEnding)) return {};
  const char* const first = name.data() + kStem.size();
  const char* const last = name.data() + name.size() - kEnding.size();
  CheckpointFile file;
  const auto [end, error] = std::from_chars(first, last, file.step);
  if (error != std::errc() || end - first < kDigits) return {};
  file.slice = std::string_view(end, last).starts_with(kOfRank);
  if (end != last && !file.slice) return {};
  return file;
}

}  // namespace thalweg
