// SiteLimits as JSON.
#include "jobspec/site.h"

#include <limits>

#include "jobspec/reader.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {

std::string SiteLimits::source_of(const std::string& setting) const {
  const auto source = sources.find(setting);
  return source == sources.end() ? "" : " (" + setting + " in " + source->second + ")";
}

std::string SiteLimits::to_json() const {
  Map files;
  for (const auto& [setting, file] : sources)
    files.emplace_back(setting, file);
  Map partitions;
  for (const auto& [partition, price] : prices.partitions)
    partitions.emplace_back(partition, price);
  const List fixed(locked.begin(), locked.end());
  return Value(Map{{"max_nodes_per_job", max_nodes_per_job},
                   {"max_trials", max_trials},
                   {"gpu_memory_mib", gpu_memory_mib},
                   {"slurm", write_slurm(slurm)},
                   {"keep", write_keep(keep)},
                   {"prices", Map{{"currency", prices.currency},
                                  {"node_hour", prices.node_hour},
                                  {"partitions", partitions}}},
                   {"sources", files},
                   {"locked", fixed}})
      .to_json();
}

SiteLimits SiteLimits::from_json(std::string_view json) {
  const std::string name = "limits";
  const Value value = read_yaml(json, name);
  Diagnostics diagnostics(name);
  SiteLimits limits;
  Fields fields(value, "", diagnostics);
  fields.integer("max_nodes_per_job", limits.max_nodes_per_job, {1});
  fields.integer("max_trials", limits.max_trials, {1});
  fields.integer("gpu_memory_mib", limits.gpu_memory_mib, {0});
  if (const Value* slurm = fields.take("slurm"); slurm && slurm->is_map())
    for (const auto& [key, one] : slurm->as_map())
      read_slurm_key(key, one, "slurm." + key, limits.slurm, diagnostics);
  if (const Value* kept = fields.take("keep"); kept && kept->is_map())
    for (const auto& [key, one] : kept->as_map())
      read_keep_key(key, one, "keep." + key, limits.keep, diagnostics);
  if (const Value* prices = fields.take("prices"); prices && prices->is_map()) {
    Fields inner(*prices, "prices", diagnostics);
    inner.text("currency", limits.prices.currency);
    inner.real("node_hour", limits.prices.node_hour);
    if (const Value* partitions = inner.take("partitions"); partitions && partitions->is_map())
      for (const auto& [partition, price] : partitions->as_map())
        limits.prices.partitions[partition] = price.is_number() ? price.as_double() : 0;
    inner.finish();
  }
  if (const Value* files = fields.take("sources"); files && files->is_map())
    for (const auto& [setting, file] : files->as_map())
      limits.sources[setting] = file.to_text();
  std::vector<std::string> fixed;
  fields.texts("locked", fixed);
  limits.locked.insert(fixed.begin(), fixed.end());
  fields.finish();
  diagnostics.throw_if_any();
  return limits;
}

}  // namespace thalweg::jobspec
