// Reading the keys of a `slurm` block. An option of sbatch may stand as a key of its own or under
// `sbatch`; both end in one map. What Thalweg itself decides is refused with the reason.
#include "jobspec/slurm_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "jobspec/reader.h"
#include "jobspec/resources.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t max_signal_s = 65535;  // Slurm keeps it in 16 bits

void wrong(const Value& value, const std::string& path, const std::string& expected,
           Diagnostics& diagnostics, const std::string& hint = {}) {
  diagnostics.add(value.place, path, "found " + describe(value) + ", expected " + expected, hint);
}

void read_option(const SlurmOption& option, const Value& value, const std::string& path,
                 SlurmOptions& slurm, Diagnostics& diagnostics) {
  const std::string name(option.name);
  if (is_off(option, value)) {
    slurm.options.erase(name);
  } else if (auto canonical = slurm_value(option, value)) {
    slurm.options[name] = *std::move(canonical);
  } else {
    const bool text = option.type == SlurmType::text && !value.is_string();
    wrong(value, path, text ? "text" : expected_of(option), diagnostics,
          text && value.is_number() ? "put it in quotes" : "");
  }
}

void read_sbatch(const Value& value, const std::string& path, SlurmOptions& slurm,
                 Diagnostics& diagnostics) {
  if (!value.is_map()) {
    wrong(value, path, "options of sbatch, as {mail-type: END, nice: 100}", diagnostics);
    return;
  }
  std::vector<std::string> names;
  for (const SlurmOption& option : slurm_options())
    if (option.free()) names.emplace_back(option.name);
  for (const auto& [name, one] : value.as_map()) {
    const SlurmOption* option = find_slurm_option(name);
    const std::string key = path + "." + name;
    if (option == nullptr) {
      const std::string near = did_you_mean(name, names);
      diagnostics.add(one.place, key, "no option of sbatch that can be passed on",
                      (near.empty() ? "" : near + " ") + "There are " + any_of(names));
    } else if (!option->free()) {
      diagnostics.add(one.place, key, refusal_of(*option));
    } else {
      read_option(*option, one, key, slurm, diagnostics);
    }
  }
}

/// Those that the batch script gives itself, or that would change whose ranks run where.
constexpr std::array<std::string_view, 20> our_srun_options = {
    "mpi",      "kill-on-bad-exit", "input",  "nodes", "ntasks",    "ntasks-per-node",
    "error",    "cpus-per-task",    "output", "jobid", "het-group", "distribution",
    "job-name", "multi-prog",       "pty",    "bcast", "label",     "chdir",
    "overlap",  "unbuffered"};

void read_srun(const Value& value, const std::string& path, SlurmOptions& slurm,
               Diagnostics& diagnostics) {
  const List items = value.is_list() ? value.as_list() : List{value};
  std::vector<std::string> options;
  for (const Value& item : items) {
    const std::string text = item.is_string() ? item.as_string() : "";
    const std::string name = text.substr(0, text.find('='));
    const bool good =
        name.size() > 2 && text.starts_with("--") &&
        std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 32; });
    if (!good) {
      wrong(item, path, "a list of long options, as [--cpu-bind=cores]", diagnostics);
      return;
    }
    if (std::find(our_srun_options.begin(), our_srun_options.end(), name.substr(2)) !=
        our_srun_options.end()) {
      diagnostics.add(item.place, path, "Thalweg gives srun its " + name + " itself",
                      name == "--mpi" ? "slurm.mpi sets it" : "");
      return;
    }
    options.push_back(text);
  }
  slurm.srun = std::move(options);
}

void read_mpi(const Value& value, const std::string& path, SlurmOptions& slurm,
              Diagnostics& diagnostics) {
  const std::string text = value.is_string() ? value.as_string() : "";
  const bool good =
      text.starts_with("pmix") && text.find_first_not_of("pmix_v0123456789") == text.npos;
  if (good) {
    slurm.mpi = text;
  } else {
    wrong(value, path, "pmix, or one version of it as pmix_v4: ranks find each other by PMIx",
          diagnostics);
  }
}

constexpr int max_places = 10'000, max_pack_jobs = 1000;
/// Of the default limit of a job: so many trials' limits, since a job takes no trial for which the
/// time that it has left may be too short.
constexpr std::int64_t limits_in_a_job = 4;

/// `pack: 16`, or a map.
void read_pack(const Value& value, const std::string& path, SlurmOptions& slurm,
               Diagnostics& diagnostics) {
  if (!value.is_map()) {
    const bool fits = value.is_int() && value.as_int() >= 0 && value.as_int() <= max_places;
    if (fits)
      slurm.pack = Pack{static_cast<int>(value.as_int()), 1, 0};
    else
      wrong(value, path,
            fmt::format("how many trials run at once in one job (0 to {}), as 16, or {{trials: 16, "
                        "jobs: 2, time_limit: \"04:00:00\"}}",
                        max_places),
            diagnostics);
    return;
  }
  Pack pack;
  pack.trials = 1;
  Fields fields(value, path, diagnostics);
  if (value.find("trials") == nullptr)
    diagnostics.add(value.place, path + ".trials", "missing: how many trials run at once in a job");
  fields.integer("trials", pack.trials, {1, max_places});
  fields.integer("jobs", pack.jobs, {1, max_pack_jobs});
  if (const Value* time = fields.take("time_limit")) {
    if (const auto seconds = parse_time(*time))
      pack.time_limit_s = *seconds;
    else
      wrong(*time, path + ".time_limit",
            "\"HH:MM:SS\", \"D-HH:MM:SS\" or a whole number of minutes", diagnostics);
  }
  fields.finish();
  slurm.pack = pack;
}

void read_others(std::string_view key, const Value& value, const std::string& path,
                 SlurmOptions& slurm, Diagnostics& diagnostics) {
  // Fields takes a map and the key's last part.
  const Value map = Map{{std::string(key), value}};
  Fields fields(map, path.substr(0, path.size() - std::min(path.size(), key.size() + 1)),
                diagnostics);
  if (key == "setup") fields.texts(key, slurm.setup);
  if (key == "signal_before_end_s")
    fields.integer(key, slurm.signal_before_end_s, {0, max_signal_s});
}

}  // namespace

std::int64_t pack_limit_s(const Pack& pack, std::int64_t trial_limit_s) {
  return pack.time_limit_s > 0 ? pack.time_limit_s : limits_in_a_job * trial_limit_s;
}

std::string SlurmOptions::option(const std::string& name) const {
  const auto found = options.find(name);
  return found == options.end() ? "" : found->second;
}

const std::vector<std::string>& slurm_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    for (const SlurmOption& option : slurm_options())
      if (option.use == SlurmUse::key) all.emplace_back(option.name);
    for (const char* other : {"setup", "signal_before_end_s", "sbatch", "srun", "mpi", "pack"})
      all.emplace_back(other);
    return all;
  }();
  return keys;
}

void read_slurm_key(std::string_view key, const Value& value, const std::string& path,
                    SlurmOptions& slurm, Diagnostics& diagnostics) {
  if (key == "sbatch") {
    read_sbatch(value, path, slurm, diagnostics);
  } else if (key == "srun") {
    read_srun(value, path, slurm, diagnostics);
  } else if (key == "mpi") {
    read_mpi(value, path, slurm, diagnostics);
  } else if (key == "pack") {
    read_pack(value, path, slurm, diagnostics);
  } else if (const SlurmOption* option = find_slurm_option(key);
             option && option->use == SlurmUse::key) {
    read_option(*option, value, path, slurm, diagnostics);
  } else {
    read_others(key, value, path, slurm, diagnostics);
  }
}

Value write_slurm(const SlurmOptions& slurm) {
  const SlurmOptions defaults;
  Map block, others;
  for (const auto& [name, text] : slurm.options) {
    const SlurmOption* option = find_slurm_option(name);
    if (option == nullptr) continue;
    Value value = text;
    if (option->type == SlurmType::flag && text.empty()) value = true;
    if (option->type == SlurmType::count || option->type == SlurmType::minutes)
      value = static_cast<std::int64_t>(std::stoll(text));
    (option->use == SlurmUse::key ? block : others).emplace_back(name, std::move(value));
  }
  if (!others.empty()) block.emplace_back("sbatch", std::move(others));
  if (!slurm.srun.empty()) block.emplace_back("srun", List(slurm.srun.begin(), slurm.srun.end()));
  if (slurm.mpi != defaults.mpi) block.emplace_back("mpi", slurm.mpi);
  if (!slurm.setup.empty())
    block.emplace_back("setup", List(slurm.setup.begin(), slurm.setup.end()));
  if (slurm.signal_before_end_s != defaults.signal_before_end_s)
    block.emplace_back("signal_before_end_s", slurm.signal_before_end_s);
  if (slurm.pack.trials > 0) {
    Map pack{{"trials", static_cast<std::int64_t>(slurm.pack.trials)},
             {"jobs", static_cast<std::int64_t>(slurm.pack.jobs)}};
    if (slurm.pack.time_limit_s > 0)
      pack.emplace_back("time_limit", format_time(slurm.pack.time_limit_s));
    block.emplace_back("pack", std::move(pack));
  }
  return block;
}

}  // namespace thalweg::jobspec
