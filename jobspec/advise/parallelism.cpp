// What has to fit where. The bytes are the engine's own plan, not a second model of memory.
#include <fmt/format.h>

#include <algorithm>

#include "jobspec/advise/formulas.h"
#include "jobspec/advise/rules.h"

namespace thalweg::jobspec::advise {
namespace {

/// Of the memory that a rank's model lives in, and what a model there takes.
struct Room {
  double needed = 0, there = 0;
  std::string where;
};

Room room_of(const Configuration& c, const Machines& machines) {
  if (c.on_gpu) return {c.memory->total(), machines.gpu_bytes, "a GPU"};
  const double asked = static_cast<double>(c.resources.memory_mib) * 1024 * 1024;
  return {c.memory->total() * c.resources.ranks_per_node, asked > 0 ? asked : machines.node_bytes,
          "a node"};
}

std::string where_memory_is_said(bool on_gpu) {
  return on_gpu ? "a GPU's memory is not known: gpu_memory in config.yaml, or --gpu-memory, says it"
                : "a node's memory is not known: resources.memory, or --node-memory, says it";
}

}  // namespace

std::vector<Finding> advise_parallelism(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (!c.memory) return std::nullopt;
    const Room room = room_of(c, study.machines);
    if (room.there <= 0)
      return Finding{Verdict::unknown, where_memory_is_said(c.on_gpu), Basis::arithmetic};
    const double data = c.samples * c.sample_bytes;
    Finding finding;
    finding.basis = Basis::arithmetic;
    finding.numbers = {{"parameters", plain(c.parameters)},
                       {"parameters' bytes", bytes_text(c.memory->parameters + c.memory->weights)},
                       {"gradients", bytes_text(c.memory->gradients)},
                       {"optimizer", bytes_text(c.memory->optimizer)},
                       {"activations", bytes_text(c.memory->activations)},
                       {"needed", bytes_text(room.needed)},
                       {"memory of " + room.where, bytes_text(room.there)},
                       {"data", bytes_text(data)}};
    switch (parallelism_for(room.needed, data, room.there)) {
      case Parallelism::data:
        finding.text = fmt::format("data-parallel: the model takes {} of the {} that {} has",
                                   bytes_text(room.needed), bytes_text(room.there), room.where);
        break;
      case Parallelism::model:
        finding.verdict = Verdict::warning;
        finding.text = fmt::format(
            "the model takes {} and {} has {}: use model parallelism in a program of your own, or "
            "save memory with precision: bf16, recompute: blocks, sync.accumulate, "
            "sync.shard_optimizer",
            bytes_text(room.needed), room.where, bytes_text(room.there));
        break;
      case Parallelism::model_and_data:
        finding.verdict = Verdict::warning;
        finding.text = fmt::format(
            "neither the model ({}) nor the data ({}) fits into the {} of {}. Use model and data "
            "parallelism in a program of your own, or save memory with precision: bf16, recompute: "
            "blocks, sync.accumulate, sync.shard_optimizer",
            bytes_text(room.needed), bytes_text(data), bytes_text(room.there), room.where);
        break;
    }
    return finding;
  });
}

std::vector<Finding> advise_minibatch(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (!c.memory || c.memory->activations <= 0 || c.batch <= 0) return std::nullopt;
    const Room room = room_of(c, study.machines);
    if (room.there <= 0)
      return Finding{Verdict::unknown, where_memory_is_said(c.on_gpu), Basis::arithmetic};
    const int sharing = c.on_gpu ? 1 : std::max(1, c.resources.ranks_per_node);
    const double micro = c.local_batch() / std::max(1.0, c.number("sync.accumulate"));
    const double per_sample = (c.memory->activations + c.memory->staging) / micro;
    const double fixed = c.memory->total() - c.memory->activations - c.memory->staging;
    const double bound = room.there / sharing - fixed;
    const double most = bound / per_sample;
    Finding finding;
    finding.basis = Basis::arithmetic;
    finding.numbers = {{"left for activations", bytes_text(std::max(0.0, bound))},
                       {"activations of a sample", bytes_text(per_sample)},
                       {"local batch", plain(c.local_batch())}};
    const std::int64_t whole = power_of_two_below(most);
    if (whole < 1) {
      finding.verdict = Verdict::warning;
      finding.text = "not even one sample's activations fit beside the model: see parallelism";
    } else if (micro > most) {
      finding.verdict = Verdict::warning;
      finding.text = fmt::format(
          "a rank's {} samples at once do not fit: at most {}, with sync.accumulate for the rest",
          plain(micro), plain(static_cast<double>(whole)));
    } else {
      finding.text =
          fmt::format("local batches up to {} fit into memory", plain(static_cast<double>(whole)));
    }
    return finding;
  });
}

}  // namespace thalweg::jobspec::advise
