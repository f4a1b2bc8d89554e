#include "daemon/controller/folder.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "daemon/api/file.h"
#include "daemon/api/messages.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path attempt_folder(const fs::path& runs, const Id& attempt) {
  return runs / std::to_string(attempt.sweep) / std::to_string(attempt.trial) /
         std::to_string(attempt.attempt);
}

std::optional<Id> attempt_of_folder(const fs::path& folder) {
  const fs::path trial = folder.parent_path(), sweep = trial.parent_path();
  std::string attempt = folder.filename();
  attempt.resize(std::min(attempt.find('-'), attempt.size()));
  const std::string text =
      sweep.filename().string() + "." + trial.filename().string() + "." + attempt;
  const auto id = Id::parse(text);
  return id && id->to_string() == text ? id : std::nullopt;  // 01 is no number
}

fs::path new_attempt_folder(const fs::path& runs, const Id& attempt, const std::string& token) {
  fs::path folder = attempt_folder(runs, attempt);
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  // What cannot be made here cannot be made when it is prepared, which says so.
  if (!fs::create_directory(folder, error) && !error) folder += "-" + token.substr(0, 8);
  return folder;
}

namespace {

void make_passage(const fs::path& folder) {
  constexpr fs::perms wanted = static_cast<fs::perms>(02771);
  fs::create_directory(folder);
  const auto perms = [&] { return fs::status(folder).permissions(); };
  std::error_code error;
  if (perms() != wanted) fs::permissions(folder, wanted, error);
  if (perms() != wanted)
    throw std::runtime_error(folder.string() +
                             " must have mode 2771, so that a user's attempt can be made in it and "
                             "nothing else; give the folder of runs mode 2771 (chmod 2771)");
}

}  // namespace

fs::path owned_attempt_folder(const fs::path& runs, const Id& attempt, const std::string& token) {
  fs::path folder = attempt_folder(runs, attempt);
  fs::create_directories(runs);
  make_passage(folder.parent_path().parent_path());
  make_passage(folder.parent_path());
  if (fs::symlink_status(folder).type() != fs::file_type::not_found)
    folder += "-" + token.substr(0, 8);
  return folder;
}

std::vector<fs::path> resume_list(const std::vector<fs::path>& attempts) {
  std::vector<fs::path> result;
  std::error_code error;
  for (const fs::path& attempt : attempts)
    if (fs::is_directory(attempt / "checkpoints", error)) result.push_back(attempt / "checkpoints");
  return result;
}

void prepare_folder(const fs::path& folder, const jobspec::Trial& trial,
                    const std::string& script) {
  fs::create_directories(folder);
  fs::permissions(folder, fs::perms::owner_all);
  jobspec::write_trial(trial, folder / "trial.yaml");
  if (script.empty()) return;
  AtomicFile out(folder / batch_script_name);
  out.write(script);
  out.commit();
}

bool fence_folder(const fs::path& folder, const std::string& reason) {
  try {
    AtomicFile out(folder / "fenced");
    out.write(api::json_text({{"reason", reason}}) + "\n");
    out.commit();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

namespace {

/// Written by the launcher (message) or by a rank (reason); the reporter is also in the file's
/// name.
std::optional<FailureFile> read_failure(const fs::path& file) {
  const auto content = api::read_json_file(file);
  if (!content || !content->is_object()) return {};
  try {
    FailureFile failure;
    failure.time = api::time_from(content->value("time", json()), 0);
    failure.rank = content->value("rank", -1);
    failure.node = content->value("node", "");
    failure.reason = content->value("reason", content->value("message", ""));
    failure.reporter = file.stem().extension().string().substr(1);
    return failure;
  } catch (const json::exception&) {
    return {};
  }
}

bool has(const std::string& line, std::string_view words) {
  return line.find(words) != line.npos;
}

/// "srun: error: n1: task 0: Exited with exit code 2", in parts.
struct SrunEnd {
  std::string node;         ///< empty: the line is another
  std::optional<int> rank;  ///< nothing where it speaks of several
  bool exited = false;      ///< by itself, with a code; else by a signal
};

SrunEnd srun_end(const std::string& line) {
  constexpr std::string_view begin = "srun: error: ", of_task = ": task",
                             exit = "Exited with exit code ";
  const std::size_t task = line.find(of_task);
  if (!line.starts_with(begin) || task == line.npos) return {};
  SrunEnd end;
  end.node = line.substr(begin.size(), task - begin.size());
  end.exited = has(line, exit);
  int rank = 0;
  if (std::sscanf(line.c_str() + task, ": task %6d: ", &rank) == 1 && rank >= 0) end.rank = rank;
  return end;
}

/// How others ended, and what was done with the rest then: no reason.
bool is_notice_of_srun(const std::string& line) {
  return srun_end(line).exited || line.starts_with("srun: launch/slurm: _step_signal:") ||
         line.starts_with("srun: Force Terminated ") ||
         (has(line, "error: *** ") && has(line, " CANCELLED AT "));
}

bool is_failure_file(const std::string& name) {
  return name.rfind("failure.", 0) == 0 && name.size() > 13 &&
         name.compare(name.size() - 5, 5, ".json") == 0;
}

}  // namespace

std::vector<FailureFile> read_failures(const fs::path& folder) {
  // Of some hundred bytes each; a rank's program could write others.
  constexpr std::uintmax_t largest = 64 << 10, max_bytes = 4 << 20;
  std::vector<FailureFile> result;
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!is_failure_file(entry->path().filename())) continue;
    std::error_code unknown;
    const std::uintmax_t size = fs::file_size(entry->path(), unknown);
    if (unknown || size > largest || bytes + size > max_bytes) continue;
    bytes += size;
    if (auto failure = read_failure(entry->path())) result.push_back(*std::move(failure));
  }
  return result;
}

bool has_output(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "stdout.log", ignored);
}

StderrWords stderr_words(const fs::path& folder) {
  constexpr std::size_t looked_at = 4096, longest = 300;
  std::istringstream in(api::read_end_of_file(folder / "stderr.log", looked_at).value_or(""));
  StderrWords words;
  std::string line, notice;
  bool any_killed = false;
  while (std::getline(in, line)) {
    line.erase(std::remove_if(line.begin(), line.end(), [](unsigned char c) { return c < 32; }),
               line.end());
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    const SrunEnd end = srun_end(line);
    if (end.exited && words.node.empty()) words.node = end.node;
    // After the first that a signal ended the others are ended, too.
    const bool killed = !end.node.empty() && !end.exited;
    const bool consequence = killed && any_killed;
    if (killed && !any_killed) {
      any_killed = true;
      words.killed_rank = end.rank;
      if (end.rank) words.killed_node = end.node;
    }
    (consequence || is_notice_of_srun(line) ? notice : words.last) = line;
  }
  if (words.last.empty()) words.last = notice;
  words.last = words.last.substr(0, longest);
  return words;
}

}  // namespace thalweg::daemon
