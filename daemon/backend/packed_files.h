// What the packed backend reads and writes in a pack's folder (daemon/pack/folder.h). Everything
// here works on the disk at once and keeps nothing: the backend calls it on its disk's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/backend/backend.h"
#include "daemon/pack/folder.h"

namespace thalweg::daemon {

/// "pack:HASH:NAME": the pack's folder, in the sweep's, and the task's name in it.
struct PackHandle {
  std::string hash, name;

  std::string text() const { return "pack:" + hash + ":" + name; }
  static std::optional<PackHandle> parse(const std::string& text);
};

/// Attempts share jobs where this is the same.
PackHandle pack_handle(const LaunchRequest& request);
/// Of an attempt's folder.
std::filesystem::path pack_folder(const std::filesystem::path& attempt, const std::string& hash);

/// pack.json: what a job of the pack asks for, for the controller that finds it after a restart.
/// The attempt's request without what is the attempt's own.
void write_template(const std::filesystem::path& pack, const LaunchRequest& request);
std::optional<LaunchRequest> read_template(const std::filesystem::path& pack);

/// A job that has not been settled.
struct PackedJob {
  std::string token, handle;  ///< handle: empty = the backend has not said
  bool began = false;         ///< its worker did
  bool took = false;          ///< it has, or had, tasks
  bool withdrawn = false;     ///< the controller ended it: nobody needs it, or its worker is gone
  std::string heartbeat{};    ///< changes while the worker lives
  std::string node{};         ///< where the worker began; empty = it does not say
};
std::vector<PackedJob> unsettled_jobs(const std::filesystem::path& pack);
/// From now on nobody asks for it, and where its worker should live all the same it takes no task.
void settle(const std::filesystem::path& pack, const std::string& token);

/// Where an attempt's task is.
struct TaskPlace {
  enum class Where { nowhere, queue, withdrawn, job };
  Where where = Where::nowhere;
  std::string job;  ///< token
  std::optional<pack::Start> start;
  std::optional<pack::End> end;
};
/// `jobs`: those to look into, by token.
TaskPlace find_task(const std::filesystem::path& pack, const std::string& name,
                    const std::vector<std::string>& jobs);
/// In any job; one that was settled is asked for again.
TaskPlace find_task_anywhere(const std::filesystem::path& pack, const std::string& name);

/// Puts the task into the queue, unless it is or was somewhere. Throws std::system_error.
void enqueue(const std::filesystem::path& pack, const std::string& name, const pack::Task& task);

/// Takes it out of the queue, or tells the job that has it. Throws std::system_error.
void cancel_task(const std::filesystem::path& pack, const std::string& name, Ending how);

/// A job ended before its worker began, as where a line of slurm.setup failed: these tasks take
/// their part in that end, with what it said.
void share_end(const std::filesystem::path& pack, const std::string& job,
               const std::vector<std::string>& names);

}  // namespace thalweg::daemon
