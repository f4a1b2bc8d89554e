// Small JSON files, each written aside and renamed, and the renames that hand a trial from the
// controller to a job.
#include "daemon/pack/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>

#include "base/file.h"
#include "base/machine.h"

namespace thalweg::daemon::pack {

using nlohmann::json;

namespace {

constexpr const char* kTask = ".task";
constexpr mode_t private_mode = 0600;  // commands and tokens are nobody else's
constexpr std::size_t name_digits = 8;

std::optional<json> read_object(const fs::path& file) {
  try {
    json content = json::parse(read_file(file), nullptr, false);
    if (content.is_object()) return content;
  } catch (const std::system_error&) {  // not there, or not ours to read
  }
  return {};
}

/// Nothing where a member is of another type: not written by us.
template <class F>
auto read_as(const fs::path& file, F read) -> std::optional<decltype(read(json()))> {
  const auto content = read_object(file);
  if (!content) return {};
  try {
    return read(*content);
  } catch (const json::exception&) {
    return {};
  }
}

std::string text_of(const json& content) {
  return content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Trial and attempt, for the order; names that are not ours come last.
std::tuple<std::int64_t, std::int64_t, std::string> place_of(const std::string& name) {
  std::int64_t trial = INT64_MAX, attempt = 0;
  const auto [dot, error] = std::from_chars(name.data(), name.data() + name.size(), trial);
  if (error == std::errc{} && *dot == '.')
    std::from_chars(dot + 1, name.data() + name.size(), attempt);
  return {trial, attempt, name};
}

}  // namespace

std::string task_name(std::int64_t trial, std::int64_t attempt, const std::string& token) {
  return std::to_string(trial) + "." + std::to_string(attempt) + "-" + token.substr(0, name_digits);
}

fs::path queued(const fs::path& pack, const std::string& name) {
  return pack / "queue" / (name + kTask);
}
fs::path withdrawn(const fs::path& pack, const std::string& name) {
  return pack / "withdrawn" / (name + kTask);
}
fs::path job_folder(const fs::path& pack, const std::string& token) {
  return pack / "jobs" / token;
}
fs::path claimed(const fs::path& job, const std::string& name) {
  return job / "claimed" / (name + kTask);
}
fs::path started(const fs::path& job, const std::string& name) {
  return job / "started" / name;
}
fs::path ended(const fs::path& job, const std::string& name) {
  return job / "ended" / name;
}
fs::path order(const fs::path& job, const std::string& name, bool by_force) {
  return job / "orders" / (name + (by_force ? ".kill" : ".term"));
}

void make_pack(const fs::path& pack) {
  for (const char* folder : {"queue", "withdrawn", "jobs"})
    fs::create_directories(pack / folder);
}

void make_job(const fs::path& job) {
  for (const char* folder : {"claimed", "started", "ended", "orders"})
    fs::create_directories(job / folder);
}

std::optional<Task> read_task(const fs::path& file) {
  return read_as(file, [](const json& content) {
    Task task;
    task.token = content.at("token").get<std::string>();
    task.folder = content.at("folder").get<std::string>();
    task.command = content.at("command").get<std::vector<std::string>>();
    task.limit_s = content.at("limit_s").get<std::int64_t>();
    task.warning_s = content.at("warning_s").get<std::int64_t>();
    return task;
  });
}

void write_task(const fs::path& file, const Task& task) {
  write_text(file, text_of({{"token", task.token},
                            {"folder", task.folder.string()},
                            {"command", task.command},
                            {"limit_s", task.limit_s},
                            {"warning_s", task.warning_s}}));
}

std::optional<Job> read_job(const fs::path& job) {
  return read_as(job / "job.json", [](const json& content) {
    Job result;
    result.token = content.at("token").get<std::string>();
    result.trials = content.at("trials").get<int>();
    result.limit_s = content.at("limit_s").get<std::int64_t>();
    result.grace_s = content.at("grace_s").get<std::int64_t>();
    return result;
  });
}

void write_job(const fs::path& job, const Job& content) {
  write_text(job / "job.json", text_of({{"token", content.token},
                                        {"trials", content.trials},
                                        {"limit_s", content.limit_s},
                                        {"grace_s", content.grace_s}}));
}

std::optional<Start> read_start(const fs::path& file) {
  return read_as(file, [](const json& content) {
    return Start{content.at("time").get<double>(), content.at("node").get<std::string>(),
                 content.at("step").get<std::string>()};
  });
}

// Whole or not there, as the others, but not waited for until it is on the disk: a trial waits for
// this, and a node that loses it loses its steps, too.
void write_start(const fs::path& file, const Start& start) {
  const fs::path aside = file.string() + AtomicFile::kEnding;
  Descriptor out(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, private_mode));
  if (!out) throw std::system_error(errno, std::generic_category(), aside.string());
  write_all(out.get(), text_of({{"time", start.time}, {"node", start.node}, {"step", start.step}}),
            aside);
  out = Descriptor();
  fs::rename(aside, file);
}

std::optional<End> read_end(const fs::path& file) {
  return read_as(file, [](const json& content) {
    End end;
    end.time = content.at("time").get<double>();
    end.code = content.at("code").get<int>();
    end.signal = content.at("signal").get<int>();
    end.timed_out = content.at("timed_out").get<bool>();
    end.warned = content.at("warned").get<bool>();
    end.node_failed = content.at("node_failed").get<bool>();
    end.may_go_on = content.at("may_go_on").get<bool>();
    end.reason = content.at("reason").get<std::string>();
    return end;
  });
}

void write_end(const fs::path& file, const End& end) {
  write_text(file, text_of({{"time", end.time},
                            {"code", end.code},
                            {"signal", end.signal},
                            {"timed_out", end.timed_out},
                            {"warned", end.warned},
                            {"node_failed", end.node_failed},
                            {"may_go_on", end.may_go_on},
                            {"reason", end.reason}}));
}

void write_text(const fs::path& file, const std::string& text) {
  AtomicFile out(file, private_mode);
  out.write(text);
  out.commit();
}

bool write_first(const fs::path& file, const std::string& text) {
  // A name of its own: another writer may be at the same file.
  const std::string own = "." + host_name() + "-" + std::to_string(getpid()) + AtomicFile::kEnding;
  AtomicFile out(file, file.string() + own, private_mode);
  out.write(text);
  return out.commit_new();
}

std::optional<std::string> read_text(const fs::path& file) {
  try {
    std::string text = read_file(file);
    while (!text.empty() && text.back() == '\n')
      text.pop_back();
    return text;
  } catch (const std::system_error&) {
    return {};
  }
}

bool move_task(const fs::path& from, const fs::path& to) {
  return std::rename(from.c_str(), to.c_str()) == 0 || (errno == ENOENT && is_there(to));
}

std::vector<std::string> tasks_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code unreadable;
  for (fs::directory_iterator in(folder, unreadable), end; !unreadable && in != end;
       in.increment(unreadable))
    if (in->path().extension() == kTask) names.push_back(in->path().stem().string());
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return place_of(a) < place_of(b); });
  return names;
}

std::vector<std::string> jobs_in(const fs::path& pack) {
  std::vector<std::string> tokens;
  std::error_code unreadable;
  for (fs::directory_iterator in(pack / "jobs", unreadable), end; !unreadable && in != end;
       in.increment(unreadable))
    tokens.push_back(in->path().filename().string());
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

bool is_there(const fs::path& file) {
  struct stat info {};
  return lstat(file.c_str(), &info) == 0;
}

}  // namespace thalweg::daemon::pack
