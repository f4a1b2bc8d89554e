// Checked configurations for people, and as JSON.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "engine/train/check.h"
#include "engine/train/check_sweep.h"

namespace thalweg::engine {
namespace {

std::string counted(std::int64_t n, const std::string& noun) {
  return grouped(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string in_words(const CheckReport& r) {
  return grouped(r.global_batch) + " in " + counted(r.shards, "shard") + " of " +
         std::to_string(r.global_batch / r.shards) +
         (r.micro_batches == 1
              ? ""
              : " (each as " + std::to_string(r.micro_batches) + " micro-batches)") +
         ", " + (r.min_ranks < r.ranks ? grouped(r.min_ranks) + " to " : "") +
         counted(r.ranks, "rank") + ", " + counted(r.executors, "thread") + " each";
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

Value json_of(const MemoryNeeds& needs) {
  return Map{{"parameters", json_of(needs.parameters)},   {"gradients", json_of(needs.gradients)},
             {"optimizer", json_of(needs.optimizer)},     {"weights", json_of(needs.weights)},
             {"activations", json_of(needs.activations)}, {"workspace", json_of(needs.workspace)},
             {"staging", json_of(needs.staging)},         {"total", json_of(needs.total())}};
}

Value json_of(const Shape& shape) {
  return List(shape.begin(), shape.end());
}

Value first_of(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t kListed = 1000;
  return List(numbers.begin(),
              numbers.begin() + static_cast<std::ptrdiff_t>(std::min(kListed, numbers.size())));
}

std::int64_t count_of(const std::vector<std::int64_t>& numbers) {
  return static_cast<std::int64_t>(numbers.size());
}

/// Ascending numbers as [[first, last]...]; of very many ranges the first ones.
Value ranges_of(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t most = 10'000;
  List ranges;
  for (std::size_t i = 0; i < numbers.size() && ranges.size() < most; ++i) {
    const std::size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1)
      ++i;
    ranges.push_back(List{numbers[first], numbers[i]});
  }
  return ranges;
}

Value json_of(const CheckedShape& shape) {
  const CheckReport& r = shape.report;
  Map map{{"first", shape.trials.front()},
          {"trials", count_of(shape.trials)},
          {"numbers", ranges_of(shape.trials)},
          {"checked", shape.checked}};
  if (!shape.checked) return map;
  map.emplace_back("ok", r.errors.empty());
  for (auto& entry : r.to_json())
    map.push_back(std::move(entry));
  return map;
}

/// 4.1e9 as "4.1 G".
std::string with_unit(double count) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  char text[32];
  for (const auto& [unit, name] : kUnits)
    if (count >= unit) {
      std::snprintf(text, sizeof text, "%.3g%s", count / unit, name);
      return text;
    }
  std::snprintf(text, sizeof text, "%.0f", count);
  return text;
}

}  // namespace

Map CheckReport::to_json() const {
  const CheckReport& r = *this;
  Map map;
  map.emplace_back("what", r.what);
  map.emplace_back("parameters", r.parameters);
  map.emplace_back("flops", Map{{"forward", r.flops.forward}, {"training", r.flops.training()}});
  map.emplace_back("training_samples", json_of(r.training));
  map.emplace_back("validation_samples", json_of(r.validation));
  map.emplace_back("test_samples", json_of(r.test));
  map.emplace_back("sample_bytes", json_of(r.sample_bytes));
  map.emplace_back("batch", r.global_batch);
  map.emplace_back("shards", r.shards);
  map.emplace_back("micro_batches", r.micro_batches);
  map.emplace_back("ranks", r.ranks);
  if (r.min_ranks < r.ranks) map.emplace_back("fewest_ranks", r.min_ranks);
  map.emplace_back("steps", r.length.total_steps);
  map.emplace_back("steps_per_epoch", r.length.steps_per_epoch);
  if (r.needs)
    map.emplace_back(
        "memory", Map{{"host_bytes_per_rank", json_of(r.host_bytes())},
                      {"gpu_bytes_per_rank", json_of(r.on_gpu ? r.needs->total() : std::size_t{0})},
                      {"sample_bytes_per_rank", json_of(r.data_bytes)},
                      {"by_kind", json_of(*r.needs)}});
  List metric_names, unseen_things;
  for (const MetricInfo& m : r.metrics)
    metric_names.push_back(m.name);
  map.emplace_back("metrics", std::move(metric_names));
  if (r.default_metric) map.emplace_back("default_metric", r.default_metric->name);
  for (const Unseen& u : r.unseen)
    unseen_things.push_back(Map{{"what", u.what}, {"why", u.why}});
  map.emplace_back("unseen", std::move(unseen_things));
  return map;
}

List CheckReport::layer_json() const {
  List layers;
  if (!graph) return layers;
  const std::vector<Flops> work = layer_flops(*graph);
  for (std::size_t l = 0; l < work.size(); ++l) {
    const LayerPlan& layer = graph->layers[l];
    layers.push_back(
        Map{{"name", layer.name},
            {"kind", layer.kind->name},
            {"output", json_of(layer.out)},
            {"parameters", parameter_count(layer)},
            {"flops", Map{{"forward", work[l].forward}, {"training", work[l].training()}}}});
  }
  return layers;
}

std::string CheckReport::layer_text() const {
  if (!graph) return "";
  std::size_t names = 5, shapes = 6;
  for (const LayerPlan& layer : graph->layers) {
    names = std::max(names, layer.name.size());
    shapes = std::max(shapes, to_text(layer.out).size());
  }
  const auto row = [&](const std::string& name, const std::string& kind, const std::string& shape,
                       const std::string& count, const std::string& work) {
    const auto left = [](std::string text, std::size_t width) {
      return text.append(width - std::min(width, text.size()), ' ') + "  ";
    };
    const auto right = [](const std::string& text, std::size_t width) {
      return std::string(width - std::min(width, text.size()), ' ') + text;
    };
    return left(name, names) + left(kind, 16) + left(shape, shapes) + right(count, 13) +
           right(work, 16) + "\n";
  };
  std::string text = row("layer", "kind", "output", "parameters", "training FLOPs");
  const std::vector<Flops> each = layer_flops(*graph);
  for (std::size_t l = 0; l < each.size(); ++l) {
    const LayerPlan& layer = graph->layers[l];
    text += row(layer.name, layer.kind->name, to_text(layer.out), grouped(parameter_count(layer)),
                with_unit(each[l].training()));
  }
  return text;
}

std::int64_t SweepCheck::checked() const {
  return std::count_if(shapes.begin(), shapes.end(),
                       [](const CheckedShape& shape) { return shape.checked; });
}

std::string SweepCheck::to_json() const {
  List mistakes, checked_shapes;
  for (const PlacedError& error : errors) {
    Value item = json_of(error.diagnostic);
    item.set("trials", count_of(error.trials));
    if (!error.trials.empty()) item.set("first", error.trials.front());
    item.set("numbers", first_of(error.trials));
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
    const std::int64_t others = count_of(shape.trials) - 1;
    text += "\ntrial       " + std::to_string(shape.trials.front()) +
            (others == 0 ? "" : " and " + grouped(others) + " more") + ": " + shape.report.text();
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
  if (flops.forward > 0)
    line("FLOPs", with_unit(flops.forward) + " forward and " + with_unit(flops.training()) +
                      " in training, for a sample");
  if (training > 0)
    line("samples",
         grouped(static_cast<std::int64_t>(training)) + " to train on, " +
             grouped(static_cast<std::int64_t>(validation)) + " to validate" +
             (test == 0 ? "" : ", " + grouped(static_cast<std::int64_t>(test)) + " to test") +
             ", " + grouped(static_cast<std::int64_t>(sample_bytes)) + " bytes each");
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
  for (const Unseen& u : unseen)
    line("unseen", u.what + " " + u.why);
  return text;
}

}  // namespace thalweg::engine
