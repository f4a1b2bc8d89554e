// Weights go by name, so that a model that differs in its last layer can take the rest. A
// checkpoint tells the names of its arrays; one of an earlier version is taken where its sizes are
// this model's.
#include "engine/train/init_from.h"

#include <fnmatch.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "engine/data/dataset.h"
#include "engine/nn/graph.h"
#include "jobspec/option.h"
#include "jobspec/options.h"

namespace thalweg::engine {
namespace {

namespace fs = std::filesystem;
using jobspec::Value;

[[noreturn]] void refuse(const char* option, const std::string& reason) {
  throw std::invalid_argument(std::string("init_from.") + option + ": " + reason);
}

FoundCheckpoint checkpoint_of(const InitFrom& from, const std::vector<fs::path>& folders) {
  FoundCheckpoint found = from.best ? best_checkpoint(folders) : newest_checkpoint(folders);
  if (found.checkpoint) return found;
  std::string why = "there is no checkpoint in " + folders.front().string();
  for (const std::string& reason : found.rejected)
    why += "; " + reason;
  throw std::invalid_argument(why);
}

/// Names and shapes of what a checkpoint holds.
std::vector<WeightName> names_in(const Checkpoint& c, const fs::path& file,
                                 const std::vector<WeightName>& ours) {
  if (!c.names.empty()) return c.names;
  std::size_t parameters = 0, running = 0;
  for (const WeightName& w : ours)
    (w.statistic ? running : parameters) += static_cast<std::size_t>(elements(w.shape));
  if (parameters == c.parameters.size() && running == c.running.size()) return ours;
  throw std::invalid_argument(file.string() +
                              " was written by an earlier version, which did not name its arrays, "
                              "and its sizes are not those of this model");
}

/// Arrays by name, whatever they stand in.
struct Source {
  fs::path file;
  std::vector<std::string> names;
  std::function<NamedTensor(const std::string&)> read;
  std::shared_ptr<const Checkpoint> checkpoint;
};

Source source_of(FoundCheckpoint found, const std::vector<WeightName>& ours) {
  Source source;
  source.file = found.file;
  source.checkpoint = std::make_shared<const Checkpoint>(std::move(*found.checkpoint));
  std::map<std::string, WeightName> by_name;
  for (WeightName& w : names_in(*source.checkpoint, source.file, ours)) {
    source.names.push_back(w.name);
    by_name.emplace(w.name, w);
  }
  source.read = [c = source.checkpoint, by_name = std::move(by_name)](const std::string& name) {
    const WeightName& w = by_name.at(name);
    const std::vector<float>& all = w.statistic ? c->running : c->parameters;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(w.offset);
    return NamedTensor{w.name, w.shape, {begin, begin + elements(w.shape)}};
  };
  return source;
}

Source open_file(const InitFrom& from, const std::vector<WeightName>& ours) {
  const fs::path& file = from.file;
  if (fs::is_directory(file)) {
    const bool attempt = fs::is_directory(file / checkpoints_folder);
    return source_of(checkpoint_of(from, {attempt ? file / checkpoints_folder : file}), ours);
  }
  if (from.best) refuse("checkpoint", "best is one of a folder; " + file.string() + " is a file");
  if (file.extension() == ".ckpt") return source_of({read_checkpoint(file), file, {}}, ours);
  const auto tensors = std::make_shared<TensorFile>(file);
  if (from.all) refuse("state", "all needs a checkpoint; " + file.string() + " holds weights only");
  return {file,
          tensors->names(),
          [tensors](const std::string& name) { return tensors->read(name); },
          {}};
}

Source open(const InitFrom& from, const std::vector<fs::path>& folders,
            const std::vector<WeightName>& ours) {
  const char* const option = from.trial.empty() ? "file" : "trial";
  try {
    if (from.trial.empty()) return open_file(from, ours);
    if (folders.empty())
      refuse("trial", "trial " + from.trial +
                          " has no folder of checkpoints here. The controller looks it up; without "
                          "one, name the folder with init_from.file");
    return source_of(checkpoint_of(from, folders), ours);
  } catch (const std::exception& e) {
    const std::string text = e.what();
    if (text.starts_with("init_from.")) throw;
    refuse(option, text);
  }
}

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// Throws where a pattern names nothing: it was meant to.
void require_matches(const std::vector<std::string>& patterns,
                     const std::vector<WeightName>& ours) {
  for (const std::string& pattern : patterns) {
    if (std::any_of(ours.begin(), ours.end(),
                    [&](const WeightName& w) { return matches(pattern, w.name); }))
      continue;
    std::string names;
    for (const WeightName& w : ours)
      names += (names.empty() ? "" : ", ") + w.name;
    refuse("except", pattern + " is none of this model's arrays: " + names);
  }
}

std::string names_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text.empty() ? "none" : text;
}

}  // namespace

jobspec::Section init_from_section() {
  jobspec::Section section;
  section.path = "init_from";
  section.doc = "Where the initial weights come from, instead of the seed";
  section.options = {
      jobspec::string_option("trial", {},
                             "of a trial in the controller's record, in quotes: \"12.3\"; or of "
                             "one of its attempts: \"12.3.1\""),
      jobspec::path_option("file", {},
                           "of a file: a checkpoint, a folder of checkpoints (or an attempt's), "
                           ".npz or .safetensors with the names that thalweg export gives"),
      jobspec::choice_option("checkpoint", {"last", "best"},
                             "which one of a trial or folder; best: that of the best validation "
                             "(checkpoint.best)"),
      jobspec::choice_option(
          "state", {"weights", "all"},
          "weights: a new run from these weights and running statistics; all: it continues from "
          "that step with the state of the optimizer, whatever the other settings are now"),
      jobspec::string_option("prefix", "", "what precedes this model's names in the file"),
      jobspec::list_option("except", jobspec::List{},
                           "names that start afresh, as patterns: [head.*]")};
  return section;
}

std::optional<InitFrom> read_init_from(const Value& tree) {
  const jobspec::Options options(tree, init_from_section().options, "init_from.");
  InitFrom from;
  if (options.has("trial")) from.trial = options.text("trial");
  if (options.has("file")) from.file = options.text("file");
  from.best = options.text("checkpoint") == "best";
  from.all = options.text("state") == "all";
  from.prefix = options.text("prefix");
  for (const Value& text : options.list("except")) {
    if (!text.is_string()) refuse("except", "a list of names is expected: [\"head.*\"]");
    from.except.push_back(text.as_string());
  }
  if (from.trial.empty() && from.file.empty()) {
    if (from.best || from.all || !from.prefix.empty() || !from.except.empty())
      refuse("trial", "neither init_from.trial nor init_from.file says where from");
    return {};
  }
  if (!from.trial.empty() && !from.file.empty())
    refuse("file", "both init_from.trial and init_from.file are set; keep one of them");
  if (from.all && (!from.prefix.empty() || !from.except.empty()))
    refuse("state", "all takes everything; prefix and except go with weights");
  return from;
}

void Beginning::put(std::vector<float>& parameters, std::vector<float>& running) const {
  for (const LoadedArray& array : arrays)
    std::copy(array.values.begin(), array.values.end(),
              (array.where.statistic ? running : parameters).begin() +
                  static_cast<std::ptrdiff_t>(array.where.offset));
}

Value Beginning::record(const InitFrom& from) const {
  jobspec::Map map;
  if (!from.trial.empty()) map.emplace_back("trial", from.trial);
  map.emplace_back("file", file.string());
  if (step) map.emplace_back("step", *step);
  map.emplace_back("state", from.all ? "all" : "weights");
  map.emplace_back("arrays", static_cast<std::int64_t>(arrays.size()));
  if (!fresh.empty()) map.emplace_back("fresh", jobspec::List(fresh.begin(), fresh.end()));
  return map;
}

Beginning load_beginning(const InitFrom& from, const std::vector<fs::path>& folders,
                         const Graph& graph) {
  const std::vector<WeightName> ours = weight_names(graph);
  require_matches(from.except, ours);
  Source source = open(from, folders, ours);
  const char* const option = from.trial.empty() ? "file" : "trial";
  Beginning beginning;
  beginning.file = source.file;
  for (const WeightName& w : ours) {
    const auto is_of = [&](const std::string& pattern) { return matches(pattern, w.name); };
    if (std::any_of(from.except.begin(), from.except.end(), is_of)) {
      beginning.fresh.push_back(w.name);
      continue;
    }
    const std::string name = from.prefix + w.name;
    const std::string cure =
        from.all ? "" : "; init_from.except: [" + w.name + "] lets it start afresh";
    if (std::find(source.names.begin(), source.names.end(), name) == source.names.end())
      refuse(option, source.file.string() + " has no " + name + " " + to_text(w.shape) +
                         "; there are: " + names_of(source.names) + cure);
    NamedTensor tensor;
    try {
      tensor = source.read(name);
    } catch (const std::exception& e) {
      refuse(option, e.what());
    }
    if (tensor.shape != w.shape)
      refuse(option, name + " in " + source.file.string() + " is " + to_text(tensor.shape) +
                         ", this model's is " + to_text(w.shape) + cure);
    beginning.arrays.push_back({w, std::move(tensor.values)});
  }
  if (source.checkpoint) beginning.step = source.checkpoint->step;
  if (from.all) beginning.checkpoint = *source.checkpoint;
  return beginning;
}

Checkpoint continued(const Beginning& beginning, const Value& identity) {
  Checkpoint c = *beginning.checkpoint;
  const auto differs = [&](const char* key) {
    const Value *then = c.identity.find(key), *now = identity.find(key);
    return then == nullptr || now == nullptr || !(*then == *now);
  };
  if (differs("optimizer.name"))
    refuse("state", "all needs the same optimizer: that of " + beginning.file.string() + " is " +
                        (c.identity.find("optimizer.name") != nullptr
                             ? c.identity.find("optimizer.name")->to_text()
                             : "not known") +
                        "; use state: weights");
  const std::int64_t total = identity.find("total_steps")->as_int();
  if (c.step >= total)
    refuse("state", "all continues from step " + std::to_string(c.step) + ", and this run has " +
                        std::to_string(total) +
                        " steps; give it more epochs, or use state: "
                        "weights");
  c.stop.clear();
  c.best.clear();
  if (differs("batch_growth") || differs("batch")) c.growth.clear();
  if (differs("schedule.decay")) c.schedule.clear();
  return c;
}

}  // namespace thalweg::engine
