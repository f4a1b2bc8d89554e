// The engine runs under thalweg-launch as it would by hand; its journal is read as it grows, so
// that a difference in the first step does not cost the whole training.
#include "cli/commands/reproduction.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/process.h"
#include "cli/commands/common.h"
#include "cli/commands/engine_program.h"
#include "cli/output/text.h"
#include "jobspec/diagnostic.h"
#include "jobspec/trial.h"

namespace thalweg::cli {

namespace fs = std::filesystem;
namespace api = daemon::api;

PointCheck::PointCheck(const Capsule& capsule) {
  for (const auto& [metric, points] : capsule.curves)
    for (const CapsulePoint& point : points) {
      open_[{metric, point.step}] = point.value;
      last_step_ = std::max(last_step_, point.step);
    }
  recorded_ = static_cast<std::int64_t>(open_.size());
  if (capsule.earlier_ends)
    earlier_ends_.insert(capsule.earlier_ends->begin(), capsule.earlier_ends->end());
}

void PointCheck::differs(const PointDifference& difference) {
  if (!difference_ || difference.step < difference_->step) difference_ = difference;
}

void PointCheck::take(const std::string& metric, std::int64_t step, double value) {
  const auto found = open_.find({metric, step});
  if (found == open_.end()) return;
  const double recorded = found->second;
  open_.erase(found);
  const bool same = std::bit_cast<std::uint64_t>(recorded) == std::bit_cast<std::uint64_t>(value) ||
                    (std::isnan(recorded) && std::isnan(value));
  if (same && (!difference_ || step < difference_->step))
    ++equal_;
  else if (!same)
    differs({step, metric, recorded, value});
}

void PointCheck::end() {
  for (const auto& [key, value] : open_)
    if (earlier_ends_.contains(key.second))
      --recorded_;
    else
      differs({key.second, key.first, value, {}});
  open_.clear();
}

std::vector<ChangedFact> changed_facts(const Json& recorded, const Json& here) {
  std::vector<ChangedFact> changed;
  const auto compare = [&](const std::string& what, const Json& before, const Json& now) {
    if (before != now) changed.push_back({what, plain_text(before), plain_text(now)});
  };
  for (const char* key : {"version", "commit", "device", "device_name", "ranks", "threads"})
    compare(key, member(recorded, key), member(here, key));
  std::set<std::string> names;
  for (const Json* start : {&recorded, &here})
    for (const auto& [name, version] : member(*start, "libraries").items())
      names.insert(name);
  for (const std::string& name : names)
    compare(name, member(member(recorded, "libraries"), name.c_str()),
            member(member(here, "libraries"), name.c_str()));
  return changed;
}

namespace {

using std::chrono::milliseconds;

/// thalweg-launch and its ranks; ended with this.
class TrainingRun {
 public:
  TrainingRun(const fs::path& folder, int ranks, int threads) : folder_(folder) {
    Spawn spawn;
    for (const auto& [descriptor, name] : {std::pair{1, "stdout.log"}, std::pair{2, "stderr.log"}})
      posix_spawn_file_actions_addopen(&spawn.files, descriptor, (folder / name).c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addopen(&spawn.files, 0, "/dev/null", O_RDONLY, 0);
    spawn.close_private_files();
    pid_ = spawn.start({engine_program("thalweg-launch").string(), "-n", std::to_string(ranks),
                        "--threads", std::to_string(threads), "--no-bind", "--",
                        engine_program("thalweg-train").string(), (folder / "trial.yaml").string()},
                       0);
  }
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;
  ~TrainingRun() { stop(); }

  /// Its exit code once it has ended; 128 and the signal where one ended it.
  std::optional<int> ended() {
    if (code_) return code_;
    int status = 0;
    const pid_t done = waitpid(pid_, &status, WNOHANG);
    if (done == 0 || (done < 0 && errno == EINTR)) return {};
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return code_;
  }

  /// Gently first: the ranks are the launcher's, which ends them.
  void stop() {
    constexpr int gentle = 100, tries = 200;
    for (int i = 0; i < tries && !ended(); ++i) {
      if (i == 0) kill(pid_, SIGTERM);
      if (i == gentle) kill(pid_, SIGINT);  // again: at once
      std::this_thread::sleep_for(milliseconds(100));
    }
    if (ended()) return;
    kill(pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    code_ = 128 + SIGKILL;
  }

  /// For a message: the end of what the engine wrote, else of what its launcher did.
  std::string last_words() const {
    std::ifstream file(folder_ / "stderr.log");
    std::string last, of_engine;
    for (std::string line; std::getline(file, line);) {
      if (line.empty()) continue;
      last = line;
      if (!line.starts_with("thalweg-launch:")) of_engine = line;
    }
    return printable(of_engine.empty() ? last : of_engine);
  }

 private:
  fs::path folder_;
  pid_t pid_ = 0;
  std::optional<int> code_;
};

/// Whole lines of a journal that grows.
class JournalReader {
 public:
  explicit JournalReader(fs::path file) : file_(std::move(file)) {}

  template <class Each>
  void read(Each each) {
    if (!stream_.is_open()) stream_.open(file_);
    if (!stream_) return;
    for (std::string part; std::getline(stream_, part);) {
      line_ += part;
      if (stream_.eof()) break;  // not yet ended
      each(Json::parse(line_, nullptr, false));
      line_.clear();
    }
    stream_.clear();
  }

 private:
  fs::path file_;
  std::ifstream stream_;
  std::string line_;
};

class Session {
 public:
  Session(const Capsule& capsule, const ReproductionOptions& options)
      : capsule_(capsule),
        options_(options),
        check_(capsule),
        journal_(options.folder / "journal.jsonl") {
    result_.id = capsule.id;
  }

  Reproduction run() {
    write_trial();
    TrainingRun training(options_.folder, result_.ranks, threads_);
    while (!over_) {
      const auto code = training.ended();  // before the journal is read: nothing comes after it
      journal_.read([&](const Json& line) { take(line); });
      if (options_.interrupted && options_.interrupted()) {
        training.stop();
        throw CommandError(exit_interrupted, "interrupted");
      }
      if (options_.progress) options_.progress(step_, check_.equal());
      over_ = over_ || check_.difference();
      if (!code) {
        if (!over_) std::this_thread::sleep_for(milliseconds(20));
        continue;
      }
      over_ = true;
      // Stopped on purpose or diverged, as recorded: the points say whether it went the same way.
      if (*code != 0 && check_.equal() < check_.recorded() && !check_.difference())
        result_.failure = "the run here failed (exit code " + std::to_string(*code) +
                          "): " + training.last_words();
      if (result_.failure.empty()) check_.end();
    }
    training.stop();
    finish();
    return std::move(result_);
  }

 private:
  void write_trial() {
    jobspec::Trial trial = jobspec::parse_trial(capsule_.trial, "trial.yaml of " + capsule_.id);
    const Json& ranks = member(capsule_.start, "ranks");
    result_.ranks = options_.ranks > 0          ? options_.ranks
                    : ranks.is_number_integer() ? ranks.get<int>()
                                                : trial.resources.ranks();
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    threads_ = std::clamp(trial.resources.threads_per_rank, 1, std::max(1, cores / result_.ranks));
    trial.resources.nodes = 1;
    trial.resources.min_nodes = 0;
    trial.resources.ranks_per_node = result_.ranks;
    trial.resources.threads_per_rank = threads_;
    const Json& shards = member(member(member(capsule_.start, "config"), "batch"), "shards");
    if (shards.is_number_integer() && shards.get<int>() < result_.ranks)
      throw CommandError(exit_bad_input,
                         "trial " + capsule_.id + " cannot be trained on " +
                             count_of(result_.ranks, "rank") + ": its batch has " +
                             count_of(shards.get<int>(), "shard"),
                         "--ranks " + std::to_string(shards.get<int>()) + " is the most");
    fs::create_directories(options_.folder);
    if (fs::exists(options_.folder / "journal.jsonl"))
      throw CommandError(exit_bad_input, options_.folder.string() + " holds a run already",
                         "name a new folder, or remove it");
    jobspec::write_trial(trial, options_.folder / "trial.yaml");
    keep_kernels();
  }

  /// Algorithms of a GPU's libraries round differently, and were chosen by the clock.
  void keep_kernels() const {
    for (const fs::path& folder : capsule_.folders) {
      std::error_code none;
      const fs::path measured = folder / "checkpoints" / "kernels.json";
      if (!fs::exists(measured, none)) continue;
      fs::create_directories(options_.folder / "checkpoints", none);
      fs::copy_file(measured, options_.folder / "checkpoints" / "kernels.json", none);
      return;
    }
  }

  void take(const Json& line) {
    const std::string type = text_at(line, "type");
    if (type == "start") start_ = line;
    if (type == "end" && text_at(line, "status") == "failed") reason_ = text_at(line, "reason");
    if (type != "metrics") return;
    for (const Json& point : list_at(line, "points")) {
      if (!point.is_array() || point.size() != 3) continue;
      const auto value = number_of(point[2]);
      if (!value || !point[0].is_string() || !point[1].is_number_integer()) continue;
      step_ = std::max(step_, point[1].get<std::int64_t>());
      check_.take(point[0].get<std::string>(), point[1], *value);
    }
    // The recorded run was stopped there.
    if (step_ > check_.last_step()) over_ = true;
  }

  void finish() {
    if (step_ > check_.last_step()) check_.end();
    result_.points = check_.recorded();
    result_.equal = check_.equal();
    result_.last_step = check_.last_step();
    result_.difference = check_.difference();
    if (!result_.failure.empty() && !reason_.empty())
      result_.failure = "the run here failed: " + reason_;
    if (!result_.difference && result_.failure.empty()) compare_weights();
    if (!start_.is_null()) result_.changed = changed_facts(capsule_.start, start_);
    // It was evaluated there once more, which schedules and rules that wait for progress notice.
    if (capsule_.earlier_ends)
      for (const std::int64_t end : *capsule_.earlier_ends)
        result_.changed.push_back(
            {"the course", "extended after step " + std::to_string(end), "in one go"});
  }

  void compare_weights() {
    const auto here = checkpoints_in({options_.folder});
    std::optional<WeightsHash> recorded = capsule_.weights;
    if (!recorded) {
      const auto there = checkpoints_in(capsule_.folders);
      const auto both = std::find_if(there.rbegin(), there.rend(), [&](const auto& checkpoint) {
        return here.contains(checkpoint.first);
      });
      if (both == there.rend()) return;
      recorded = hash_weights(both->second.parent_path().parent_path(), both->first, both->second);
    }
    const auto same_step = here.find(recorded->step);
    if (same_step == here.end()) return;
    const WeightsHash now = hash_weights(options_.folder, same_step->first, same_step->second);
    result_.weights_step = now.step;
    result_.arrays = static_cast<std::int64_t>(now.arrays.size());
    const auto [before, after] = std::mismatch(recorded->arrays.begin(), recorded->arrays.end(),
                                               now.arrays.begin(), now.arrays.end());
    if (before != recorded->arrays.end())
      result_.array = before->name;
    else if (after != now.arrays.end())
      result_.array = after->name;
  }

  const Capsule& capsule_;
  const ReproductionOptions& options_;
  PointCheck check_;
  JournalReader journal_;
  Reproduction result_;
  Json start_;
  std::string reason_;
  std::int64_t step_ = 0;
  int threads_ = 1;
  bool over_ = false;
};

}  // namespace

Reproduction reproduce_trial(const Capsule& capsule, const ReproductionOptions& options) {
  return Session(capsule, options).run();
}

}  // namespace thalweg::cli
