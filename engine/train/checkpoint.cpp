#include "engine/train/checkpoint.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "engine/sync/mode.h"
#include "engine/train/batch_growth.h"
#include "engine/train/checkpoint_bytes.h"
#include "engine/train/checkpoint_slice.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;

/// Name and shape of the parameters, or of the statistics.
Map names_of(const Checkpoint& c, bool statistics) {
  Map names;
  for (const WeightName& w : c.names)
    if (w.statistic == statistics)
      names.emplace_back(w.name, jobspec::List(w.shape.begin(), w.shape.end()));
  return names;
}

jobspec::List parts_of(const Checkpoint& c) {
  jobspec::List parts;
  for (const CheckpointPart& part : c.parts)
    parts.push_back(part.sliced ? Map{{"name", part.name}, {"sliced", true}} : part_header(part));
  return parts;
}

Value header_of(const Checkpoint& c) {
  const auto list = [](const std::vector<double>& numbers) {
    return jobspec::List(numbers.begin(), numbers.end());
  };
  Map header{{"step", c.step},
             {"shards", c.shards},
             {"micro_batches", c.micro_batches},
             {"ranks", c.ranks},
             {"interval_loss", c.interval_loss},
             {"interval_steps", c.interval_steps},
             {"noise", list(c.noise)},
             {"growth", list(c.growth)},
             {"schedule", list(c.schedule)},
             {"stop", list(c.stop)},
             {"best", list(c.best)},
             {"parameters", static_cast<std::int64_t>(c.parameters.size())},
             {"running", static_cast<std::int64_t>(c.running.size())},
             {"parameter_names", names_of(c, false)},
             {"running_names", names_of(c, true)},
             {"states", static_cast<std::int64_t>(c.states.size())},
             {"own", static_cast<std::int64_t>(c.own.size())},
             {"scalars", static_cast<std::int64_t>(c.scalars.size())},
             {"parts", parts_of(c)},
             {"identity", c.identity}};
  if (c.samples) header.emplace_back("samples", *c.samples);
  if (c.slices.empty()) return header;
  jobspec::List slices;
  for (const FileSeal& slice : c.slices)
    slices.push_back(Map{{"bytes", slice.bytes}, {"sum", std::int64_t{slice.sum}}});
  header.emplace_back("sliced_states", c.sliced_states);
  header.emplace_back("slices", std::move(slices));
  return header;
}

/// Throws where the shapes are not those of `count` numbers.
void take_names(const Value& header, const char* key, bool statistics, std::size_t count,
                std::vector<WeightName>& names) {
  const Value* const named = header.find(key);
  if (named == nullptr || named->as_map().empty()) return;
  std::size_t offset = 0;
  for (const auto& [name, sizes] : named->as_map()) {
    WeightName w{name, {}, statistics, offset};
    std::size_t numbers = 1;
    for (const Value& size : sizes.as_list()) {
      w.shape.push_back(size.as_int());
      if (w.shape.back() < 1 || static_cast<std::size_t>(w.shape.back()) > count)
        throw std::runtime_error(name + " has an impossible shape");
      numbers *= static_cast<std::size_t>(w.shape.back());
      if (numbers > count - offset) throw std::runtime_error(name + " is more than there is");
    }
    offset += numbers;
    names.push_back(std::move(w));
  }
  if (offset != count) throw std::runtime_error(std::string(key) + " does not name all");
}

/// Of a set: which slices it has.
void take_seals(const Value& header, Checkpoint& c) {
  const Value* const slices = header.find("slices");
  if (slices == nullptr) return;
  c.sliced_states = small_number(header, "sliced_states", 0);
  for (const Value& slice : slices->as_list())
    c.slices.push_back({member_of(slice, "bytes").as_int(),
                        static_cast<std::uint32_t>(whole_number(slice, "sum", 0, 0xffffffff))});
}

Checkpoint take_checkpoint(CheckpointReader& reader) {
  const Value h = reader.take_header();
  if (h.find("runs")) reader.fail("it is one rank's part of a checkpoint; name the whole one");
  Checkpoint c;
  c.step = whole_number(h, "step", 0, kMaxSteps);
  c.shards = small_number(h, "shards", 1);
  // Files of earlier versions have neither.
  if (h.find("micro_batches")) c.micro_batches = small_number(h, "micro_batches", 1);
  if (h.find("ranks")) c.ranks = small_number(h, "ranks", 0);
  c.interval_loss = member_of(h, "interval_loss").as_double();
  c.interval_steps = whole_number(h, "interval_steps", 0, kMaxSteps);
  c.samples.reset();
  if (h.find("samples"))
    c.samples = whole_number(h, "samples", 0, std::numeric_limits<std::int64_t>::max());
  c.identity = member_of(h, "identity");
  // Files of earlier versions lack some of them.
  for (const auto& [name, numbers] : {std::pair{"noise", &c.noise},
                                      {"growth", &c.growth},
                                      {"schedule", &c.schedule},
                                      {"stop", &c.stop},
                                      {"best", &c.best}})
    if (const Value* list = h.find(name))
      for (const Value& number : list->as_list())
        numbers->push_back(number.as_double());
  const std::int64_t count = member_of(h, "parameters").as_int();
  c.parameters = reader.take_numbers<float>(count);
  c.running = reader.take_numbers<float>(member_of(h, "running").as_int());
  take_names(h, "parameter_names", false, c.parameters.size(), c.names);
  take_names(h, "running_names", true, c.running.size(), c.names);
  for (int i = small_number(h, "states", 0); i > 0; --i)
    c.states.push_back(reader.take_numbers<float>(count));
  c.own = reader.take_numbers<float>(member_of(h, "own").as_int());
  c.scalars = reader.take_numbers<double>(member_of(h, "scalars").as_int());
  take_seals(h, c);
  if (const Value* parts = h.find("parts"))  // files of earlier versions have none
    for (const Value& part : parts->as_list()) {
      if (!c.slices.empty() && part.find("sliced"))
        c.parts.push_back({member_of(part, "name").as_string(), {}, {}, true});
      else
        c.parts.push_back(take_part(reader, part));
    }
  return c;
}

void find_difference(const Value& a, const Value& b, const std::string& path, std::string& found) {
  if (!found.empty() || a.canonical() == b.canonical()) return;
  if (!a.is_map() || !b.is_map()) {
    found = path + " was " + a.to_text() + " and is " + b.to_text();
    return;
  }
  static const Value none;
  const auto inner = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  const auto get = [&](const Value& map, const std::string& key) -> const Value& {
    const Value* value = map.find(key);
    return value == nullptr ? none : *value;
  };
  for (const auto& [key, value] : a.as_map())
    find_difference(value, get(b, key), inner(key), found);
  for (const auto& [key, value] : b.as_map())
    find_difference(get(a, key), value, inner(key), found);
}

/// Options of decisive sections that say where files lie and how fast they are read, or what is
/// evaluated at the end.
bool moves_nothing(const std::string& option) {
  const bool of_the_test = option.starts_with("test_") && option != "test_samples";
  return option == "dir" || option == "stage" || option == "workers" || option == "ahead" ||
         of_the_test;
}

/// Checkpoints from before there was a choice say nothing of it: defaults that mean what was done
/// before.
Value without_defaults(Value identity) {
  if (const Value* data = identity.find("data"); data != nullptr && data->is_map()) {
    Map kept;
    for (const auto& option : data->as_map()) {
      const auto& [key, value] = option;
      const bool as_before = (key == "split" && value == Value("random")) ||
                             (key == "test_samples" && value == Value(0)) ||
                             (key == "test" && value == Value(false));
      if (!as_before) kept.push_back(option);
    }
    identity.set("data", std::move(kept));
  }
  if (identity.find("precision") == nullptr) identity.set("precision", "fp32");
  return identity;
}

/// Empty where a run begins with its seed. Of a file its own name: it may have been moved.
Value init_from_identity(const Value& complete) {
  const auto text = [&](const char* key) -> std::string {
    const Value* const value = complete.find(key);
    return value != nullptr && value->is_string() ? value->as_string() : "";
  };
  if (text("init_from.trial").empty() && text("init_from.file").empty()) return Map{};
  Value identity = *complete.find("init_from");
  identity.set("file", std::filesystem::path(text("init_from.file")).filename().string());
  return identity;
}

}  // namespace

void Checkpoint::drop_arrays() {
  for (std::vector<float>* array : {&parameters, &running, &own})
    *array = {};
  states.clear();
  parts.clear();
}

std::int64_t write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
  const bool alone = checkpoint.slices.empty();
  CheckpointWriter writer(file, alone ? Checkpoint::format : Checkpoint::sliced_format,
                          header_of(checkpoint));
  writer.put_numbers(checkpoint.parameters);
  writer.put_numbers(checkpoint.running);
  for (const std::vector<float>& state : checkpoint.states)
    writer.put_numbers(state);
  writer.put_numbers(checkpoint.own);
  writer.put_numbers(checkpoint.scalars);
  for (const CheckpointPart& part : checkpoint.parts)
    put_part(writer, part);
  return writer.finish().bytes;
}

Checkpoint read_checkpoint(const std::filesystem::path& file) {
  Checkpoint c;
  {
    CheckpointReader reader(file);
    try {
      c = take_checkpoint(reader);
    } catch (const BadCheckpoint&) {
      throw;
    } catch (const std::exception& e) {
      reader.fail(std::string("its header cannot be read: ") + e.what());
    }
  }
  if (!c.slices.empty()) take_slices(c, file);
  return c;
}

Value run_identity(const Value& complete, std::uint64_t seed, std::int64_t total_steps) {
  // Seeds go up to 2^64 - 1, numbers of a Value to 2^63 - 1.
  Map identity{{"seed", std::to_string(seed)}, {"total_steps", total_steps}};
  for (const auto& [key, value] : complete.as_map()) {
    static const char* const kDecisive[] = {"model",      "data",     "augment",
                                            "optimizer",  "schedule", "clip_norm",
                                            "clip_value", "device",   "precision"};
    if (std::find(std::begin(kDecisive), std::end(kDecisive), key) == std::end(kDecisive)) continue;
    Map part;
    if (!value.is_map()) {
      identity.emplace_back(key, value);
      continue;
    }
    for (const auto& option : value.as_map())
      if (!moves_nothing(option.first)) part.push_back(option);
    identity.emplace_back(key, std::move(part));
  }
  identity.emplace_back("batch", Map{{"global", *complete.find("batch.global")}});
  if (Value part = batch_growth_identity(complete); !part.as_map().empty())
    identity.emplace_back("batch_growth", std::move(part));
  if (Value part = init_from_identity(complete); !part.as_map().empty())
    identity.emplace_back("init_from", std::move(part));
  const Value* sync = complete.find("sync");
  if (Value part = sync == nullptr ? Value(Map{}) : sync_identity(*sync); !part.as_map().empty())
    identity.emplace_back("sync", std::move(part));
  return identity;
}

void require_same_run(const Value& checkpoint, const Value& now,
                      const std::filesystem::path& file) {
  std::string difference;
  find_difference(without_defaults(checkpoint), without_defaults(now), "", difference);
  if (difference.empty()) return;
  throw std::invalid_argument(file.string() + " belongs to another run: " + difference +
                              "; remove the checkpoint or put the setting back");
}

}  // namespace thalweg::engine
