#include "engine/device/memory_needs.h"

#include <array>
#include <cstdio>
#include <utility>

namespace thalweg::engine {
namespace {

using Kind = std::pair<const char*, std::size_t>;

std::array<Kind, 7> kinds_of(const MemoryNeeds& needs) {
  return {{{"parameters", needs.parameters},
           {"gradients", needs.gradients},
           {"optimizer", needs.optimizer},
           {"weights in other types", needs.weights},
           {"activations", needs.activations},
           {"workspace", needs.workspace},
           {"batches", needs.staging}}};
}

std::string one_digit(std::size_t bytes) {
  constexpr double mebibyte = 1 << 20;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / mebibyte);
  return text;
}

std::string row(const std::string& name, std::size_t bytes) {
  char text[96];
  std::snprintf(text, sizeof text, "  %-24s%12s\n", name.c_str(), in_mebibytes(bytes).c_str());
  return text;
}

/// The largest number of samples below `wanted` that fits; 0: none does.
int max_samples(ShardSize size, std::size_t free, const MemoryPlanner& plan) {
  int fits = 0, too_many = size.samples;
  while (too_many - fits > 1) {
    size.samples = fits + (too_many - fits) / 2;
    (plan(size).total() <= free ? fits : too_many) = size.samples;
  }
  return fits;
}

std::string more_micro_batches(const ShardSize& wanted, std::size_t free,
                               const MemoryPlanner& plan) {
  const int shard = wanted.samples * wanted.micro_batches;
  for (int micro_batches = wanted.micro_batches + 1; micro_batches <= shard; ++micro_batches) {
    if (shard % micro_batches != 0) continue;
    const std::size_t bytes =
        plan({shard / micro_batches, micro_batches, wanted.recompute}).total();
    if (bytes <= free)
      return "  sync.accumulate: " + std::to_string(micro_batches) + " (micro-batches of " +
             std::to_string(shard / micro_batches) + " samples, " + in_mebibytes(bytes) + ")\n";
  }
  return "";
}

std::string smaller_batch(const ShardSize& wanted, int shards, std::size_t free,
                          const MemoryPlanner& plan) {
  const int samples = max_samples(wanted, free, plan);
  if (samples == 0) return "";
  const std::size_t bytes = plan({samples, wanted.micro_batches, wanted.recompute}).total();
  return "  batch.global: " + std::to_string(samples * wanted.micro_batches * shards) +
         " at most (" + in_mebibytes(bytes) +
         "); or the same batch in more batch.shards, on more ranks\n";
}

std::string computed_again(ShardSize size, std::size_t free, const MemoryPlanner& plan) {
  if (size.recompute) return "";
  size.recompute = true;
  const std::size_t bytes = plan(size).total();
  return bytes > free ? ""
                      : "  recompute: blocks (" + in_mebibytes(bytes) +
                            "; one more forward pass, the same numbers)\n";
}

}  // namespace

std::string in_mebibytes(std::size_t bytes) {
  return one_digit(bytes) + " MiB";
}

std::size_t MemoryNeeds::total() const {
  std::size_t sum = 0;
  for (const auto& [name, bytes] : kinds_of(*this))
    sum += bytes;
  return sum;
}

std::string MemoryNeeds::line() const {
  std::string text = in_mebibytes(total());
  const char* between = ": ";
  for (const auto& [name, bytes] : kinds_of(*this)) {
    if (bytes == 0) continue;
    text += std::exchange(between, ", ") + std::string(name) + " " + one_digit(bytes);
  }
  return text;
}

std::string MemoryNeeds::table() const {
  std::string text;
  for (const auto& [name, bytes] : kinds_of(*this))
    if (bytes > 0) text += row(name, bytes);
  return text + row("together", total());
}

std::string refuse_memory(const ShardSize& wanted, int shards, std::size_t free,
                          const std::string& machine, const MemoryPlanner& plan) {
  const MemoryNeeds needs = plan(wanted);
  if (needs.total() <= free) return "";
  std::string text = "the run does not fit " + machine + ": it takes " +
                     in_mebibytes(needs.total()) + " of a GPU's memory, and " + in_mebibytes(free) +
                     " are free\n" + needs.table();
  std::string fits = computed_again(wanted, free, plan) + more_micro_batches(wanted, free, plan) +
                     smaller_batch(wanted, shards, free, plan);
  if (fits.empty() && !wanted.recompute) {
    const ShardSize least{1, wanted.samples * wanted.micro_batches, true};
    if (plan(least).total() <= free)
      fits = "  recompute: blocks together with sync.accumulate: " +
             std::to_string(least.micro_batches) + "\n";
  }
  if (fits.empty()) return text + "not one sample at a time fits: take a smaller model";
  fits.pop_back();
  return text + "what fits (one of these):\n" + fits;
}

}  // namespace thalweg::engine
