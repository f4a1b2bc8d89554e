// The presets of unequal machines, and how a thread is made slower. Nothing here touches a number
// that is trained: bits are those of the same trial at full speed.
#include "engine/sync/emulate.h"

#include <ctime>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "engine/tensor/random.h"
#include "jobspec/option.h"
#include "jobspec/options.h"

namespace thalweg::engine {
namespace {

struct Preset {
  const char* name;
  const char* doc;
  Emulation values;
};

/// What clusters of unequal workers are made of: processors of several generations, links of
/// several speeds, or both.
const std::vector<Preset>& presets() {
  static const std::vector<Preset> rows = [] {
    Emulation none, compute, network, mixed;
    compute.slowdown = {4, 4, 2, 1};
    compute.jitter = 0.05;
    network.latency_us = {500, 500, 200, 100};
    network.mib_per_s = {60, 60, 120, 1000};
    mixed.slowdown = {4, 2, 2, 1};
    mixed.jitter = 0.05;
    mixed.pause_every = 100;
    mixed.pause_ms = 200;
    mixed.pauses = {1, 0, 0, 0};
    mixed.latency_us = {100, 200, 500, 500};
    mixed.mib_per_s = {1000, 120, 60, 60};
    return std::vector<Preset>{
        {"none", "ranks and links as they are", none},
        {"compute", "compute-heterogeneous: ranks of speeds 1:1:2:4", compute},
        {"network", "network-heterogeneous: links of 60, 60, 120 and 1000 MiB/s", network},
        {"mixed", "both, the slower ranks not those with the slower links, and pauses of the first",
         mixed}};
  }();
  return rows;
}

std::string in_words(const std::vector<double>& list) {
  std::string text;
  for (const double number : list) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", number);
    text += (text.empty() ? "" : ", ") + std::string(digits);
  }
  return text;
}

double of_rank(const std::vector<double>& list, int rank, double without) {
  return list.empty() ? without : list[static_cast<std::size_t>(rank) % list.size()];
}

std::vector<double> read_list(const jobspec::Options& options, const char* name, double least,
                              const std::vector<double>& preset) {
  if (!options.has(name)) return preset;
  std::vector<double> list = options.reals(name);
  for (const double number : list)
    if (!(number >= least) || !std::isfinite(number))
      throw std::invalid_argument(std::string("emulate.") + name +
                                  ": a number for each rank, each at least " + in_words({least}));
  return list;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

bool Emulation::any() const {
  const auto above = [](const std::vector<double>& list, double limit) {
    for (const double number : list)
      if (number > limit) return true;
    return false;
  };
  return above(slowdown, 1) || jitter > 0 || (pause_every > 0 && pause_ms > 0) ||
         above(latency_us, 0) || above(mib_per_s, 0);
}

double Emulation::slowdown_of(int rank) const {
  return of_rank(slowdown, rank, 1);
}

bool Emulation::pauses_at(int rank, std::int64_t step) const {
  return pause_every > 0 && pause_ms > 0 && step > 0 && step % pause_every == 0 &&
         of_rank(pauses, rank, 1) != 0;
}

std::vector<comm::LinkLimit> Emulation::links(int ranks) const {
  std::vector<comm::LinkLimit> all;
  bool some = false;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back({of_rank(latency_us, rank, 0), of_rank(mib_per_s, rank, 0)});
    some = some || all.back().limits();
  }
  return some ? all : std::vector<comm::LinkLimit>();
}

std::string Emulation::label() const {
  if (!any()) return "";
  std::string parts;
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty()) parts += (parts.empty() ? "" : "; ") + std::string(what) + " " + value;
  };
  add("slowdown", in_words(slowdown));
  if (jitter > 0) add("jitter", in_words({jitter}));
  if (pause_every > 0 && pause_ms > 0) {
    add("pauses", in_words({pause_ms}) + " ms every " + std::to_string(pause_every) + " steps");
    add("of", in_words(pauses));
  }
  add("latency_us", in_words(latency_us));
  add("mib_per_s", in_words(mib_per_s));
  return name + " (" + parts + ")";
}

Emulation read_emulation(const jobspec::Value& tree) {
  const jobspec::Options options(tree, emulate_section().options, "emulate.");
  Emulation e;
  for (const Preset& preset : presets())
    if (options.text("preset") == preset.name) e = preset.values;
  e.name = options.text("preset");
  e.slowdown = read_list(options, "slowdown", 1, e.slowdown);
  e.pauses = read_list(options, "pauses", 0, e.pauses);
  e.latency_us = read_list(options, "latency_us", 0, e.latency_us);
  e.mib_per_s = read_list(options, "mib_per_s", 0, e.mib_per_s);
  if (options.has("jitter")) e.jitter = options.real("jitter");
  if (options.has("pause_every")) e.pause_every = options.integer("pause_every");
  if (options.has("pause_ms")) e.pause_ms = options.real("pause_ms");
  if (e.name == presets().front().name && e.any()) e.name = "own";
  return e;
}

jobspec::Section emulate_section() {
  jobspec::Section section;
  section.path = "emulate";
  section.doc =
      "Ranks and links slowed on purpose (device cpu), to try out synchronisation on unequal "
      "machines; changes times alone, and every record says it";
  std::vector<std::string> names;
  std::string doc = "where the numbers below come from that are not set: ";
  for (const Preset& preset : presets()) {
    names.emplace_back(preset.name);
    doc += (names.size() > 1 ? "; " : "") + std::string(preset.name) + ": " + preset.doc;
  }
  section.options = {
      jobspec::choice_option("preset", names, doc),
      jobspec::list_option("slowdown", {},
                           "how many times as long forward and backward of each rank take, at "
                           "least 1; begins again where there are more ranks: [4, 4, 2, 1] makes "
                           "speeds 1:1:2:4"),
      jobspec::float_option("jitter", jobspec::Value(), 0, 1,
                            "share by which the time of each shard differs up or down"),
      jobspec::int_option("pause_every", jobspec::Value(), 0, 1e9,
                          "steps between two pauses of a rank; 0 = never"),
      jobspec::float_option("pause_ms", jobspec::Value(), 0, 3.6e6,
                            "how long a pause lasts, in ms"),
      jobspec::list_option("pauses", {}, "which ranks pause, 1 or 0 for each (all)"),
      jobspec::list_option("latency_us", {},
                           "what a message takes longer over each rank's link, in microseconds"),
      jobspec::list_option("mib_per_s", {}, "what each rank's link carries in MiB/s; 0 = any")};
  return section;
}

Pace::Pace(double factor) : factor_(factor), start_(std::chrono::steady_clock::now()) {
  if (factor_ > 1) processor_s_ = processor_seconds();
}

void Pace::hold() const {
  if (!(factor_ > 1)) return;
  const std::chrono::duration<double> due(factor_ * (processor_seconds() - processor_s_));
  std::this_thread::sleep_until(
      start_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(due));
}

double pass_factor(const Emulation& emulation, std::uint64_t seed, int rank, std::int64_t step,
                   int shard) {
  const double factor = emulation.slowdown_of(rank);
  if (emulation.jitter == 0) return factor;
  // Of another key than the data's noise.
  const auto drawn =
      philox(~seed, Stream::noise, static_cast<std::uint32_t>(step),
             static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(shard));
  return factor * (1 + emulation.jitter * (2 * static_cast<double>(uniform01(drawn[0])) - 1));
}

}  // namespace thalweg::engine
