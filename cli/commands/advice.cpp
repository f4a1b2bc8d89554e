// Trials that differ only in what no rule looks at are one configuration here: a sweep of 100,000
// learning rates is looked at once.
#include "cli/commands/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "base/machine.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/complete.h"
#include "jobspec/resources.h"

namespace thalweg::cli {
namespace {

namespace advise = jobspec::advise;
using daemon::api::PlannedShape;
using jobspec::ExpandedTrial;
using jobspec::Value;

/// Keys of `train` that no rule reads and that many sweeps vary.
constexpr const char* unread[] = {"optimizer.lr", "optimizer.weight_decay", "optimizer.epsilon"};

double kind_at(const std::map<std::string, double>& memory, const char* kind) {
  const auto found = memory.find(kind);
  return found == memory.end() ? 0 : found->second;
}

void put_plan(const PlannedShape& shape, advise::Configuration& configuration) {
  configuration.parameters = shape.parameters;
  configuration.training_flops = shape.training_flops;
  configuration.samples = shape.training_samples;
  configuration.sample_bytes = shape.sample_bytes;
  configuration.batch = shape.batch;
  configuration.ranks = std::max(1, shape.ranks);
  configuration.steps = shape.steps;
  configuration.steps_per_epoch = shape.steps_per_epoch;
  configuration.on_gpu = shape.on_gpu;
  if (shape.memory.empty()) return;
  configuration.memory =
      advise::RankMemory{kind_at(shape.memory, "parameters"),  kind_at(shape.memory, "gradients"),
                         kind_at(shape.memory, "optimizer"),   kind_at(shape.memory, "weights"),
                         kind_at(shape.memory, "activations"), kind_at(shape.memory, "workspace"),
                         kind_at(shape.memory, "staging")};
}

/// The shape of each trial, by number; none: nullptr.
std::vector<const PlannedShape*> shapes_by_trial(const AdviceSubject& subject) {
  std::vector<const PlannedShape*> shapes(subject.expansion.trials.size() + 1, nullptr);
  for (const PlannedShape& shape : subject.planned)
    for (const auto& [first, last] : shape.trials)
      for (auto number = std::max<std::int64_t>(1, first);
           number <= last && number < static_cast<std::int64_t>(shapes.size()); ++number)
        shapes[static_cast<std::size_t>(number)] = &shape;
  return shapes;
}

/// Equal for trials that the rules cannot tell apart.
std::string key_of(const ExpandedTrial& trial, const PlannedShape* shape) {
  Value train = trial.train;
  for (const char* key : unread)
    if (train.find(key)) train.set(key, Value());
  return fmt::format("{} {} {}", static_cast<const void*>(shape), train.canonical(),
                     jobspec::write_resources(trial.resources).canonical());
}

/// Of a file that names no model, as of programs of the user's own, `train` stays as it is.
Value completed(const Value& train, const AdviceSubject& subject) {
  if (subject.sweep.program) return train;
  return jobspec::complete_train(train, subject.schema, subject.sweep.file);
}

std::vector<advise::Configuration> configurations_of(const AdviceSubject& subject) {
  const auto shapes = shapes_by_trial(subject);
  std::vector<advise::Configuration> configurations;
  std::unordered_map<std::string, std::size_t> known;
  std::int64_t last = 0;
  std::size_t at = 0;
  for (const ExpandedTrial& trial : subject.expansion.trials) {
    if (trial.configuration != last) {
      const PlannedShape* const shape = shapes[static_cast<std::size_t>(trial.number)];
      const auto [found, fresh] = known.try_emplace(key_of(trial, shape), configurations.size());
      if (fresh) {
        advise::Configuration& added = configurations.emplace_back();
        added.train = completed(trial.train, subject);
        added.resources = trial.resources;
        added.ranks = trial.resources.ranks();
        if (shape) put_plan(*shape, added);
      }
      at = found->second;
      last = trial.configuration;
    }
    configurations[at].trials.push_back(trial.number);
  }
  return configurations;
}

/// Nothing where no controller runs, or one that is too old to tell.
advise::Experience experience_of(Context& context,
                                 const std::vector<advise::Configuration>& configurations) {
  std::set<std::string> models, data;
  for (const advise::Configuration& c : configurations) {
    models.insert(c.text("model.name"));
    data.insert(c.text("data.name"));
  }
  const auto list = [](const std::set<std::string>& names) {
    return daemon::api::url_encode(fmt::format("{}", fmt::join(names, ",")));
  };
  try {
    return read_answer<advise::Experience>(context.controller_if_any().get(
        fmt::format("/v1/experience?models={}&data={}", list(models), list(data))));
  } catch (const daemon::api::Unreachable&) {
  } catch (const daemon::api::ApiError& error) {
    if (error.status() != 404) throw;
  }
  return {};
}

advise::Machines machines_of(const AdviceSubject& subject, const advise::Experience& experience) {
  constexpr double mib = 1024.0 * 1024, gib = 1024 * mib;
  advise::Machines machines;
  machines.slurm = subject.slurm;
  machines.max_nodes_per_job = subject.limits.max_nodes_per_job;
  machines.link_bytes_per_s = subject.link_bytes_per_s;
  machines.gpu_bytes = subject.gpu_bytes > 0
                           ? subject.gpu_bytes
                           : static_cast<double>(subject.limits.gpu_memory_mib) * mib;
  machines.node_bytes = subject.node_bytes > 0 ? subject.node_bytes
                        : subject.slurm        ? experience.node_memory_gib * gib
                                               : static_cast<double>(machine_memory());
  return machines;
}

}  // namespace

SweepAdvice advise_on(Context& context, const AdviceSubject& subject) {
  advise::Study study{subject.sweep, configurations_of(subject)};
  study.experience = experience_of(context, study.configurations);
  study.machines = machines_of(subject, study.experience);
  return {advise::advise(study), study.experience.runs.size()};
}

Json json_of(const advise::Advice& advice) {
  const advise::Finding& finding = advice.finding;
  Json numbers = Json::object();
  for (const auto& [name, value] : finding.numbers)
    numbers[name] = value;
  return {{"rule", advice.rule->name},
          {"question", advice.rule->question},
          {"verdict", to_text(finding.verdict)},
          {"text", finding.text},
          {"basis", to_text(finding.basis)},
          {"source", advice.rule->source},
          {"numbers", numbers},
          {"trials", finding.trials}};
}

Json json_of(const std::vector<advise::Advice>& advice) {
  Json list = Json::array();
  for (const advise::Advice& each : advice)
    list.push_back(json_of(each));
  return list;
}

std::string which_trials(const std::vector<std::int64_t>& trials, std::size_t in_all) {
  if (trials.empty() || trials.size() >= in_all) return "";
  constexpr std::size_t most = 3;
  const std::size_t named = trials.size() > most + 1 ? most : trials.size();
  std::string text = trials.size() == 1 ? "trial " : "trials ";
  for (std::size_t i = 0; i < named; ++i)
    text += fmt::format("{}{}",
                        i == 0                                     ? ""
                        : i + 1 == trials.size() && named == i + 1 ? " and "
                                                                   : ", ",
                        trials[i]);
  if (named < trials.size()) text += fmt::format(" and {} more", trials.size() - named);
  return text;
}

}  // namespace thalweg::cli
