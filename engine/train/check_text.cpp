// Checked configurations for people, and as JSON.
#include <algorithm>
#include <utility>

#include "engine/train/check.h"
#include "engine/train/check_sweep.h"

namespace thalweg::engine {
namespace {

std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string counted(std::int64_t n, const std::string& noun) {
  return grouped(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string in_words(const CheckReport& r) {
  return grouped(r.global_batch) + " in " + counted(r.shards, "shard") + " of " +
         std::to_string(r.global_batch / r.shards) +
         (r.micro_batches == 1
              ? ""
              : " (each as " + std::to_string(r.micro_batches) + " micro-batches)") +
         ", " + counted(r.ranks, "rank") + ", " + counted(r.lanes, "thread") + " each";
}

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

Value json_of(const jobspec::Diagnostic& d) {
  return Map{{"file", d.file}, {"line", d.place.line}, {"column", d.place.column},
             {"key", d.key},   {"message", d.message}, {"hint", d.hint}};
}

Value json_of(const std::vector<std::string>& texts) {
  return List(texts.begin(), texts.end());
}

Value json_of(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

Value json_of(const CheckedShape& shape) {
  const CheckReport& r = shape.report;
  Map map{{"first", shape.first}, {"trials", shape.trials}, {"checked", shape.checked}};
  if (!shape.checked) return map;
  map.emplace_back("ok", r.errors.empty());
  map.emplace_back("what", r.what);
  map.emplace_back("parameters", r.parameters);
  map.emplace_back("training_samples", json_of(r.training));
  map.emplace_back("validation_samples", json_of(r.validation));
  map.emplace_back("test_samples", json_of(r.test));
  map.emplace_back("batch", r.global_batch);
  map.emplace_back("shards", r.shards);
  map.emplace_back("ranks", r.ranks);
  map.emplace_back("steps", r.length.total_steps);
  map.emplace_back("steps_per_epoch", r.length.steps_per_epoch);
  if (r.needs)
    map.emplace_back("memory", Map{{"host_bytes_per_rank", json_of(r.host_bytes())},
                                   {"gpu_bytes_per_rank",
                                    json_of(r.on_gpu ? r.needs->total() : std::size_t{0})}});
  List metrics;
  for (const MetricInfo& m : r.metrics)
    metrics.push_back(m.name);
  map.emplace_back("metrics", std::move(metrics));
  if (r.default_metric) map.emplace_back("default_metric", r.default_metric->name);
  return map;
}

}  // namespace

std::int64_t SweepCheck::checked() const {
  return std::count_if(shapes.begin(), shapes.end(),
                       [](const CheckedShape& shape) { return shape.checked; });
}

std::string SweepCheck::to_json() const {
  List mistakes, checked_shapes;
  for (const PlacedError& error : errors) {
    Value item = json_of(error.diagnostic);
    item.set("trials", error.trials);
    item.set("first", error.first);
    item.set("missing_file", error.missing_file);
    mistakes.push_back(std::move(item));
  }
  for (const CheckedShape& shape : shapes)
    checked_shapes.push_back(json_of(shape));
  Map map{{"format", 1},
          {"file", name},
          {"ok", ok()},
          {"trials", trials},
          {"shapes", json_of(shapes.size())},
          {"checked", checked()},
          {"diagnostics", std::move(mistakes)},
          {"notes", json_of(notes)},
          {"metrics", json_of(metrics)}};
  if (!metric.empty())
    map.emplace_back("metric", Map{{"name", metric}, {"goal", maximize ? "maximize" : "minimize"}});
  map.emplace_back("results", std::move(checked_shapes));
  return Value(std::move(map)).to_json() + "\n";
}

std::string SweepCheck::text() const {
  constexpr std::size_t kShown = 20;
  std::string text = name + ": " + counted(trials, "trial") + " of " +
                     counted(static_cast<std::int64_t>(shapes.size()), "shape");
  if (checked() < static_cast<std::int64_t>(shapes.size()))
    text += ", of which " + grouped(checked()) + " were checked: time ran out";
  text += "\n";
  std::size_t shown = 0;
  for (const CheckedShape& shape : shapes) {
    if (!shape.checked || !shape.report.errors.empty()) continue;
    if (++shown > kShown) {
      text += "\n… more shapes (--json lists all)\n";
      break;
    }
    text += "\ntrial       " + std::to_string(shape.first) +
            (shape.trials == 1 ? "" : " and " + grouped(shape.trials - 1) + " more") + ": " +
            shape.report.text();
  }
  return text;
}

std::size_t CheckReport::host_bytes() const {
  if (!needs) return 0;
  return data_bytes + (on_gpu ? 0 : needs->total());
}

std::string CheckReport::text() const {
  std::string text = what + "\n";
  const auto line = [&](const char* name, const std::string& value) {
    text += name + std::string(12 - std::string(name).size(), ' ') + value + "\n";
  };
  if (parameters > 0) line("parameters", grouped(parameters));
  if (training > 0)
    line("samples",
         grouped(static_cast<std::int64_t>(training)) + " to train on, " +
             grouped(static_cast<std::int64_t>(validation)) + " to validate" +
             (test == 0 ? "" : ", " + grouped(static_cast<std::int64_t>(test)) + " to test"));
  if (shards > 0) line("batch", in_words(*this));
  if (length.total_steps > 0)
    line("steps",
         grouped(length.total_steps) + ", " + grouped(length.steps_per_epoch) + " an epoch");
  if (!schedule.empty()) line("schedule", schedule);
  if (default_metric)
    line("metric", default_metric->name + " (of " + std::to_string(metrics.size()) +
                       " that are reported; thalweg-train --metrics FILE lists them)");
  if (needs && on_gpu)
    line("memory", in_mebibytes(data_bytes) + " of the host a rank: samples");
  else if (needs)
    line("memory", in_mebibytes(host_bytes()) + " a rank: samples " + in_mebibytes(data_bytes) +
                       ", and " + needs->line());
  text += gpu_lines;
  for (const std::string* note : {&rate_note, &shards_note})
    if (!note->empty()) line("note", *note);
  for (const std::string& note : notes)
    line("note", note);
  return text;
}

}  // namespace thalweg::engine
