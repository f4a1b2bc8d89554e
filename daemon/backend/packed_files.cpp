#include "daemon/backend/packed_files.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "base/hash.h"
#include "daemon/api/file.h"
#include "daemon/state/resources.h"
#include "jobspec/enum_names.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* handle_begin = "pack:";
constexpr std::size_t last_words = 4096;  // of a job that failed, for each attempt

json template_json(const LaunchRequest& request) {
  return {{"resources", resources_json(request.resources)},
          {"slurm", slurm_json(request.slurm)},
          {"launch", jobspec::name_of(request.launch)},
          {"environment", request.environment}};
}

}  // namespace

std::optional<PackHandle> PackHandle::parse(const std::string& text) {
  const std::size_t colon = text.rfind(':'), begin = std::string(handle_begin).size();
  if (!text.starts_with(handle_begin) || colon <= begin) return {};
  return PackHandle{text.substr(begin, colon - begin), text.substr(colon + 1)};
}

PackHandle pack_handle(const LaunchRequest& request) {
  LaunchRequest alike = request;
  alike.slurm.options.erase("exclude");  // grows as nodes fail; the next job leaves them out
  return {hash_text(template_json(alike).dump()),
          pack::task_name(request.id.trial, request.id.attempt, request.token)};
}

fs::path pack_folder(const fs::path& attempt, const std::string& hash) {
  return attempt.parent_path().parent_path() / "pack" / hash;
}

void write_template(const fs::path& pack, const LaunchRequest& request) {
  json content = template_json(request);
  content["sweep"] = request.id.sweep;
  const std::string text = content.dump() + "\n";
  const fs::path file = pack / "pack.json";
  if (pack::read_text(file).value_or("") + "\n" != text) pack::write_text(file, text);
}

std::optional<LaunchRequest> read_template(const fs::path& pack) {
  const auto content = api::read_json_file(pack / "pack.json");
  if (!content || !content->is_object()) return {};
  try {
    LaunchRequest request;
    request.id.sweep = content->at("sweep").get<std::int64_t>();
    request.resources = resources_from(content->at("resources"));
    request.slurm = slurm_from(content->at("slurm"));
    request.environment = content->at("environment").get<std::vector<std::string>>();
    const auto launch =
        jobspec::find_name<jobspec::LaunchMode>(content->at("launch").get<std::string>());
    if (launch) request.launch = *launch;
    return request;
  } catch (const json::exception&) {
    return {};
  }
}

std::vector<PackedJob> unsettled_jobs(const fs::path& pack) {
  std::vector<PackedJob> jobs;
  for (const std::string& token : pack::jobs_in(pack)) {
    const fs::path folder = pack::job_folder(pack, token);
    if (pack::is_there(folder / "settled") || !pack::read_job(folder)) continue;
    PackedJob job;
    job.token = token;
    job.handle = pack::read_text(folder / "handle").value_or("");
    job.began = pack::is_there(folder / "worker.json");
    job.took = !pack::tasks_in(folder / "claimed").empty();
    job.withdrawn = pack::is_there(folder / "withdrawn");
    if (job.began) {
      job.heartbeat = pack::read_text(folder / "heartbeat").value_or("");
      std::istringstream who(pack::read_text(folder / "worker.json").value_or(""));
      std::string host, pid;
      who >> host >> pid >> job.node;
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void settle(const fs::path& pack, const std::string& token) {
  for (const char* name : {"withdrawn", "settled"})
    pack::write_text(pack::job_folder(pack, token) / name, "");
}

// A task moves away from the queue: what has left it before the look is in a job, or was withdrawn.
// One that goes back meanwhile is found by the next look.
TaskPlace find_task(const fs::path& pack, const std::string& name,
                    const std::vector<std::string>& jobs) {
  TaskPlace place;
  if (pack::is_there(pack::queued(pack, name))) {
    place.where = TaskPlace::Where::queue;
    return place;
  }
  for (const std::string& token : jobs) {
    const fs::path job = pack::job_folder(pack, token);
    if (!pack::is_there(pack::claimed(job, name))) continue;
    place.where = TaskPlace::Where::job;
    place.job = token;
    place.start = pack::read_start(pack::started(job, name));
    place.end = pack::read_end(pack::ended(job, name));
    return place;
  }
  if (pack::is_there(pack::withdrawn(pack, name))) place.where = TaskPlace::Where::withdrawn;
  return place;
}

TaskPlace find_task_anywhere(const fs::path& pack, const std::string& name) {
  const TaskPlace place = find_task(pack, name, pack::jobs_in(pack));
  if (place.where == TaskPlace::Where::job)
    fs::remove(pack::job_folder(pack, place.job) / "settled");
  return place;
}

void enqueue(const fs::path& pack, const std::string& name, const pack::Task& task) {
  const TaskPlace place = find_task(pack, name, pack::jobs_in(pack));
  if (place.where == TaskPlace::Where::nowhere) pack::write_task(pack::queued(pack, name), task);
}

void cancel_task(const fs::path& pack, const std::string& name, Ending how) {
  if (pack::move_task(pack::queued(pack, name), pack::withdrawn(pack, name))) return;
  const TaskPlace place = find_task(pack, name, pack::jobs_in(pack));
  if (place.where == TaskPlace::Where::nowhere)
    pack::write_first(pack::withdrawn(pack, name), "");  // it was never queued, and now never is
  if (place.where != TaskPlace::Where::job || place.end) return;
  const fs::path job = pack::job_folder(pack, place.job);
  pack::write_text(pack::order(job, name, how == Ending::by_force), "");
}

void share_end(const fs::path& pack, const std::string& job,
               const std::vector<std::string>& names) {
  const fs::path folder = pack::job_folder(pack, job);
  const std::string words = api::read_end_of_file(folder / "stderr.log", last_words).value_or("");
  for (const std::string& name : names) {
    if (!pack::move_task(pack::queued(pack, name), pack::claimed(folder, name))) continue;
    const auto task = pack::read_task(pack::claimed(folder, name));
    if (!task) continue;
    for (const auto& [log, text] : {std::pair{"stdout.log", std::string()}, {"stderr.log", words}})
      std::ofstream(task->folder / log, std::ios::app) << text;
  }
}

}  // namespace thalweg::daemon
