#include "engine/train/checkpoint.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "engine/sync/mode.h"
#include "engine/train/batch_growth.h"

namespace thalweg::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are");

constexpr std::string_view kMagic = "THALWEG\n";
constexpr std::string_view kStem = "step-";
constexpr std::string_view kEnding = ".ckpt";
constexpr std::size_t kFixedBytes = kMagic.size() + 2 * sizeof(std::uint32_t);
constexpr std::size_t kDigits = 12;
constexpr std::int64_t kMaxSteps = 999'999'999'999;  // what a name has digits for
constexpr std::int64_t kMaxRanks = 65536;            // of shards, pieces and states too

using jobspec::Map;
using jobspec::Value;

/// Adds up the checksum of everything that goes through it.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& file) : file_(file) {}
  void put(const void* data, std::size_t bytes) {
    if (bytes == 0) return;  // an empty vector has no address, and for zlib that means "begin anew"
    file_.write(data, bytes);
    sum_ = crc32_z(sum_, static_cast<const Bytef*>(data), bytes);
  }
  void put_number(std::uint32_t n) { put(&n, sizeof n); }
  template <class T>
  void put_numbers(const std::vector<T>& v) {
    put(v.data(), v.size() * sizeof(T));
  }
  void finish() {
    const auto sum = static_cast<std::uint32_t>(sum_);
    file_.write(&sum, sizeof sum);
    file_.commit();
  }

 private:
  AtomicFile file_;
  uLong sum_ = 0;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::filesystem::path& file) : bytes_(bytes), file_(file) {}
  [[noreturn]] void fail(const std::string& reason) const {
    throw BadCheckpoint(file_.string() + ": " + reason);
  }
  std::string_view take(std::size_t bytes) {
    if (bytes > bytes_.size()) fail("the file ends too early");
    const std::string_view part = bytes_.substr(0, bytes);
    bytes_.remove_prefix(bytes);
    return part;
  }
  std::uint32_t take_number() {
    std::uint32_t n = 0;
    std::memcpy(&n, take(sizeof n).data(), sizeof n);
    return n;
  }
  template <class T>
  std::vector<T> take_numbers(std::int64_t count) {
    if (count < 0 || static_cast<std::uint64_t>(count) > bytes_.size() / sizeof(T))
      fail("the file ends too early");
    std::vector<T> values(static_cast<std::size_t>(count));
    const std::string_view part = take(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), part.data(), part.size());
    return values;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  const std::filesystem::path& file_;
};

/// Name and shape of the parameters, or of the statistics.
Map names_of(const Checkpoint& c, bool statistics) {
  Map names;
  for (const WeightName& w : c.names)
    if (w.statistic == statistics)
      names.emplace_back(w.name, jobspec::List(w.shape.begin(), w.shape.end()));
  return names;
}

Value header_of(const Checkpoint& c) {
  jobspec::List schedule(c.schedule.begin(), c.schedule.end());
  jobspec::List noise(c.noise.begin(), c.noise.end());
  jobspec::List growth(c.growth.begin(), c.growth.end());
  jobspec::List stop(c.stop.begin(), c.stop.end());
  jobspec::List best(c.best.begin(), c.best.end());
  jobspec::List parts;
  for (const CheckpointPart& part : c.parts) {
    const bool floats = !part.floats.empty();
    const std::size_t ranks = floats ? part.floats.size() : part.doubles.size();
    const std::size_t count = floats ? part.floats[0].size() : part.doubles.at(0).size();
    parts.push_back(Map{{"name", part.name},
                        {"type", floats ? "f32" : "f64"},
                        {"ranks", static_cast<std::int64_t>(ranks)},
                        {"count", static_cast<std::int64_t>(count)}});
  }
  return Map{{"step", c.step},
             {"shards", c.shards},
             {"micro_batches", c.micro_batches},
             {"ranks", c.ranks},
             {"interval_loss", c.interval_loss},
             {"interval_steps", c.interval_steps},
             {"noise", std::move(noise)},
             {"growth", std::move(growth)},
             {"schedule", std::move(schedule)},
             {"stop", std::move(stop)},
             {"best", std::move(best)},
             {"parameters", static_cast<std::int64_t>(c.parameters.size())},
             {"running", static_cast<std::int64_t>(c.running.size())},
             {"parameter_names", names_of(c, false)},
             {"running_names", names_of(c, true)},
             {"states", static_cast<std::int64_t>(c.states.size())},
             {"own", static_cast<std::int64_t>(c.own.size())},
             {"scalars", static_cast<std::int64_t>(c.scalars.size())},
             {"parts", std::move(parts)},
             {"identity", c.identity}};
}

/// The checksum says that a file is as it was written, not that it makes sense.
const Value& member(const Value& header, const char* name) {
  if (const Value* found = header.find(name)) return *found;
  throw std::runtime_error(std::string(name) + " is missing");
}

std::int64_t whole(const Value& header, const char* name, std::int64_t least, std::int64_t most) {
  const std::int64_t number = member(header, name).as_int();
  if (number >= least && number <= most) return number;
  throw std::runtime_error(std::string(name) + " is " + std::to_string(number) + ", expected " +
                           std::to_string(least) + " to " + std::to_string(most));
}

int small(const Value& header, const char* name, int least) {
  return static_cast<int>(whole(header, name, least, kMaxRanks));
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

CheckpointPart take_part(Reader& reader, const Value& header) {
  CheckpointPart part;
  part.name = member(header, "name").as_string();
  const bool floats = member(header, "type").as_string() == "f32";
  const std::int64_t count = member(header, "count").as_int();
  for (int i = small(header, "ranks", 0); i > 0; --i) {
    if (floats)
      part.floats.push_back(reader.take_numbers<float>(count));
    else
      part.doubles.push_back(reader.take_numbers<double>(count));
  }
  return part;
}

std::int64_t step_of(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.size() != kStem.size() + kDigits + kEnding.size() || !name.starts_with(kStem) ||
      !name.ends_with(kEnding))
    return -1;
  std::int64_t step = -1;
  const char* first = name.data() + kStem.size();
  const auto [end, error] = std::from_chars(first, first + kDigits, step);
  return error == std::errc() && end == first + kDigits ? step : -1;
}

/// (step, file), most steps first; equal steps stay in the order of the folders.
std::vector<std::pair<std::int64_t, std::filesystem::path>> list_checkpoints(
    const std::vector<std::filesystem::path>& folders) {
  std::vector<std::pair<std::int64_t, std::filesystem::path>> files;
  for (const std::filesystem::path& folder : folders) {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing))
      if (const std::int64_t step = step_of(entry.path()); step >= 0)
        files.emplace_back(step, entry.path());
  }
  std::stable_sort(files.begin(), files.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return files;
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
/// judged at the end.
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

std::filesystem::path checkpoint_name(std::int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return std::string(kStem) + digits + std::string(kEnding);
}

void Checkpoint::drop_arrays() {
  for (std::vector<float>* array : {&parameters, &running, &own})
    *array = {};
  states.clear();
  parts.clear();
}

void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
  const std::string header = header_of(checkpoint).to_json();
  Writer writer(file);
  writer.put(kMagic.data(), kMagic.size());
  writer.put_number(Checkpoint::format);
  writer.put_number(static_cast<std::uint32_t>(header.size()));
  writer.put(header.data(), header.size());
  writer.put_numbers(checkpoint.parameters);
  writer.put_numbers(checkpoint.running);
  for (const std::vector<float>& state : checkpoint.states)
    writer.put_numbers(state);
  writer.put_numbers(checkpoint.own);
  writer.put_numbers(checkpoint.scalars);
  for (const CheckpointPart& part : checkpoint.parts) {
    for (const std::vector<float>& rank : part.floats)
      writer.put_numbers(rank);
    for (const std::vector<double>& rank : part.doubles)
      writer.put_numbers(rank);
  }
  writer.finish();
}

Checkpoint read_checkpoint(const std::filesystem::path& file) {
  const std::string bytes = read_file(file);
  Reader reader(bytes, file);
  if (bytes.size() < kFixedBytes + sizeof(std::uint32_t)) reader.fail("the file ends too early");
  if (reader.take(kMagic.size()) != kMagic) reader.fail("not a checkpoint");
  if (const std::uint32_t format = reader.take_number(); format != Checkpoint::format)
    reader.fail("format " + std::to_string(format) + ", this program reads format " +
                std::to_string(Checkpoint::format));
  const std::size_t body = bytes.size() - sizeof(std::uint32_t);
  std::uint32_t promised = 0;
  std::memcpy(&promised, bytes.data() + body, sizeof promised);
  if (crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), body) != promised)
    reader.fail("the checksum is wrong");
  try {
    const std::string_view header = reader.take(reader.take_number());
    const Value h = jobspec::read_yaml(header, file.string());
    Checkpoint c;
    c.step = whole(h, "step", 0, kMaxSteps);
    c.shards = small(h, "shards", 1);
    // Files of earlier versions have neither.
    if (h.find("micro_batches")) c.micro_batches = small(h, "micro_batches", 1);
    if (h.find("ranks")) c.ranks = small(h, "ranks", 0);
    c.interval_loss = member(h, "interval_loss").as_double();
    c.interval_steps = whole(h, "interval_steps", 0, kMaxSteps);
    c.identity = member(h, "identity");
    // Files of earlier versions lack some of them.
    for (const auto& [name, numbers] : {std::pair{"noise", &c.noise},
                                        {"growth", &c.growth},
                                        {"schedule", &c.schedule},
                                        {"stop", &c.stop},
                                        {"best", &c.best}})
      if (const Value* list = h.find(name))
        for (const Value& number : list->as_list())
          numbers->push_back(number.as_double());
    const std::int64_t count = member(h, "parameters").as_int();
    c.parameters = reader.take_numbers<float>(count);
    c.running = reader.take_numbers<float>(member(h, "running").as_int());
    take_names(h, "parameter_names", false, c.parameters.size(), c.names);
    take_names(h, "running_names", true, c.running.size(), c.names);
    for (int i = small(h, "states", 0); i > 0; --i)
      c.states.push_back(reader.take_numbers<float>(count));
    c.own = reader.take_numbers<float>(member(h, "own").as_int());
    c.scalars = reader.take_numbers<double>(member(h, "scalars").as_int());
    if (const Value* parts = h.find("parts"))  // files of earlier versions have none
      for (const Value& part : parts->as_list())
        c.parts.push_back(take_part(reader, part));
    return c;
  } catch (const BadCheckpoint&) {
    throw;
  } catch (const std::exception& e) {
    reader.fail(std::string("its header cannot be read: ") + e.what());
  }
}

FoundCheckpoint newest_checkpoint(const std::vector<std::filesystem::path>& folders) {
  FoundCheckpoint found;
  for (const auto& [step, file] : list_checkpoints(folders)) {
    try {
      found.checkpoint = read_checkpoint(file);
      found.file = file;
      return found;
    } catch (const std::exception& e) {
      found.rejected.emplace_back(e.what());
    }
  }
  return found;
}

FoundCheckpoint best_checkpoint(const std::vector<std::filesystem::path>& folders) {
  FoundCheckpoint newest = newest_checkpoint(folders);
  const std::string where = folders.empty() ? "no folder" : folders.front().string();
  if (!newest.checkpoint) throw std::invalid_argument("there is no checkpoint in " + where);
  if (newest.checkpoint->best.size() != 2)
    throw std::invalid_argument("none of the checkpoints in " + where +
                                " is known to be the best (checkpoint.best: true keeps it)");
  const auto step = static_cast<std::int64_t>(newest.checkpoint->best[1]);
  if (step == newest.checkpoint->step) return newest;
  const std::filesystem::path name = checkpoint_name(step);
  for (const std::filesystem::path& folder : folders) {
    std::error_code missing;
    if (std::filesystem::exists(folder / name, missing))
      return {read_checkpoint(folder / name), folder / name, {}};
  }
  throw std::invalid_argument("the best checkpoint, " + name.string() + ", is not in " + where +
                              " any more");
}

void prune_checkpoints(const std::filesystem::path& folder, int keep,
                       std::optional<std::int64_t> best) {
  const auto files = list_checkpoints({folder});
  std::error_code ignored;  // what cannot be removed now goes next time
  for (std::size_t i = static_cast<std::size_t>(keep); i < files.size(); ++i)
    if (files[i].first != best) std::filesystem::remove(files[i].second, ignored);
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == AtomicFile::kEnding)
      std::filesystem::remove(entry.path(), ignored);
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
