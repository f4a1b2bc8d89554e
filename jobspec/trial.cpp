// trial.yaml, format 1: keys format, seed, train, program, resources, metric, sweep_ranks (the
// trial), pause_epochs or pause_steps (where it pauses) and attempt (id, token, push, push_secret,
// node_failure_s, resume, init_from).
#include "jobspec/trial.h"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>

#include "base/file.h"
#include "jobspec/resources.h"

namespace thalweg::jobspec {
namespace {

Value trial_to_value(const Trial& trial) {
  const auto texts = [](const std::vector<std::filesystem::path>& folders) {
    List list;
    for (const auto& folder : folders)
      list.push_back(folder.string());
    return list;
  };
  Map map{
      {"format", Trial::format},
      {"seed", static_cast<std::int64_t>(trial.seed)},
      {"train", trial.train},
      {"resources", write_resources(trial.resources)},
      {"metric", write_metric(trial.metric)},
      {"sweep_ranks", trial.sweep_ranks},
      {"attempt", Map{{"id", trial.id.to_string()},
                      {"token", trial.token},
                      {"push", trial.push},
                      {"push_secret", trial.push_secret},
                      {"node_failure_s", trial.node_failure_s},
                      {"resume", texts(trial.resume)},
                      {"init_from", texts(trial.init_from)}}},
  };
  if (trial.program) map.emplace_back("program", write_program(*trial.program));
  if (trial.pause_epochs > 0) map.emplace_back("pause_epochs", trial.pause_epochs);
  if (trial.pause_steps > 0) map.emplace_back("pause_steps", trial.pause_steps);
  return map;
}

void read_attempt(const Value& value, Trial& trial, Diagnostics& diagnostics) {
  Fields fields(value, "attempt", diagnostics);
  std::string id = "0.0.0";
  fields.text("id", id);
  if (const auto parsed = Id::parse(id)) {
    trial.id = *parsed;
  } else {
    fields.wrong(*fields.take("id"), "id", "sweep.trial.attempt, as \"12.3.1\"");
  }
  fields.text("token", trial.token);
  fields.text("push", trial.push);
  fields.text("push_secret", trial.push_secret);
  if (fields.real("node_failure_s", trial.node_failure_s) && trial.node_failure_s < 0)
    fields.wrong(*fields.take("node_failure_s"), "node_failure_s", "a number of at least 0");
  std::vector<std::string> resume;
  fields.texts("resume", resume);
  trial.resume.assign(resume.begin(), resume.end());
  std::vector<std::string> init_from;
  fields.texts("init_from", init_from);
  trial.init_from.assign(init_from.begin(), init_from.end());
  fields.finish();
}

}  // namespace

std::string Id::to_string() const {
  if (attempt > 0 || sweep == 0) return fmt::format("{}.{}.{}", sweep, trial, attempt);
  if (trial > 0) return fmt::format("{}.{}", sweep, trial);
  return fmt::format("{}", sweep);
}

std::optional<Id> Id::parse(std::string_view text) {
  Id id;
  std::int64_t* const parts[] = {&id.sweep, &id.trial, &id.attempt};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int i = 0; i < 3; ++i) {
    if (at == end || *at < '0' || *at > '9') return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, *parts[i]);
    if (error != std::errc()) return std::nullopt;
    // Counted from 1, where there is a sweep: what has no number 0 must not become the whole of it.
    if (i > 0 && id.sweep > 0 && *parts[i] == 0) return std::nullopt;
    if (next == end) return id;
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
  return std::nullopt;
}

void write_trial(const Trial& trial, const std::filesystem::path& path) {
  std::filesystem::path aside = path;
  aside += ".new." + std::to_string(::getpid());
  AtomicFile file(path, aside, 0600);
  file.write(trial_text(trial));
  file.commit();
}

std::string trial_text(const Trial& trial) {
  return to_yaml(trial_to_value(trial));
}

Trial read_trial(const std::filesystem::path& path) {
  return parse_trial(read_file(path), path.string());
}

Trial parse_trial(const std::string& text, const std::string& name) {
  const Value value = read_yaml(text, name);
  Diagnostics diagnostics(name);
  Trial trial;
  for (const char* key : {"method", "parameters", "seeds", "name"})
    if (const Value* of_a_sweep = value.is_map() ? value.find(key) : nullptr) {
      diagnostics.add(of_a_sweep->place, key, "this is a sweep file: thalweg run starts it",
                      "thalweg-train --check checks it");
      diagnostics.throw_if_any();
    }
  Fields fields(value, "", diagnostics);
  std::int64_t format = Trial::format;
  fields.integer("format", format, {Trial::format, Trial::format});
  std::int64_t seed = 1;
  fields.integer("seed", seed, {0});
  trial.seed = static_cast<std::uint64_t>(seed);
  const Value* train = fields.take("train");
  if (train && train->is_map()) {
    trial.train = *train;
  } else if (train) {
    fields.wrong(*train, "train", "a map of keys");
  } else if (fields.is_map()) {
    fields.missing("train", "the section that says what to train");
  }
  if (const Value* program = fields.take("program"))
    trial.program = read_written_program(*program, "program", diagnostics);
  if (const Value* resources = fields.take("resources")) {
    trial.resources = read_resources(*resources, "resources", diagnostics);
  }
  if (const Value* metric = fields.take("metric")) {
    trial.metric = read_metric(*metric, "metric", diagnostics);
  }
  fields.integer("sweep_ranks", trial.sweep_ranks, {0, 1 << 20});
  fields.integer("pause_epochs", trial.pause_epochs, {0});
  fields.integer("pause_steps", trial.pause_steps, {0});
  if (const Value* attempt = fields.take("attempt")) read_attempt(*attempt, trial, diagnostics);
  fields.finish();
  diagnostics.throw_if_any();
  return trial;
}

}  // namespace thalweg::jobspec
