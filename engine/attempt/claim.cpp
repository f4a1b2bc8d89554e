// The claim is made with O_EXCL, which is atomic on network filesystems too; taking over is not,
// and need not be: that is done by hand, after an end.
#include "engine/attempt/claim.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "base/machine.h"
#include "engine/attempt/failure.h"
#include "engine/attempt/journal.h"
#include "jobspec/trial.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using jobspec::Value;

constexpr const char* kClaim = "claim";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Value own_claim() {
  std::random_device random;
  std::ostringstream start;
  start << std::hex << random() << random();
  return jobspec::Map{{"job", environment("SLURM_JOB_ID")},
                      {"step", environment("SLURM_STEP_ID")},
                      {"host", host_name()},
                      {"pid", std::int64_t{getpid()}},
                      {"start_time", process_start_time(getpid()).value_or(0)},
                      {"boot_id", boot_id()},
                      {"start", start.str()},
                      {"time", unix_now()}};
}

std::string text_of(const Value& claim, const char* key) {
  const Value* value = claim.is_map() ? claim.find(key) : nullptr;
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

std::int64_t number_of(const Value& claim, const char* key) {
  const Value* value = claim.is_map() ? claim.find(key) : nullptr;
  return value != nullptr && value->is_int() ? value->as_int() : 0;
}

/// Null where it cannot be read: its writer died over it, or is just writing it.
Value read_claim(const std::filesystem::path& file) {
  try {
    return jobspec::read_yaml(read_file(file), file.string());
  } catch (const std::exception&) {
    return {};
  }
}

/// The last whole line of the journal is an end record.
bool journal_has_ended(const std::filesystem::path& folder) {
  std::string text;
  try {
    text = read_file(folder / "journal.jsonl");
  } catch (const std::system_error&) {
    return false;
  }
  if (text.empty() || text.back() != '\n') return false;
  const std::size_t before =
      text.size() < 2 ? std::string::npos : text.rfind('\n', text.size() - 2);
  const std::string line = text.substr(before == std::string::npos ? 0 : before + 1, 80);
  return line.find("\"type\":\"end\"") != std::string::npos;
}

/// Only this machine's processes can be looked for.
bool process_is_gone(const Value& claim) {
  const std::int64_t pid = number_of(claim, "pid");
  if (pid == 0 || text_of(claim, "host") != host_name()) return false;
  return pid == getpid() || text_of(claim, "boot_id") != boot_id() ||
         process_start_time(static_cast<pid_t>(pid)) != number_of(claim, "start_time");
}

bool create(const std::filesystem::path& file, const std::string& text) {
  const Descriptor made(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made && errno == EEXIST) return false;
  if (!made)
    throw std::system_error(errno, std::generic_category(), "cannot create " + file.string());
  write_all(made.get(), text, file);
  sync_file(made.get(), file);
  return true;
}

}  // namespace

void claim_attempt(const jobspec::Trial& trial, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kClaim;
  if (standing_of(folder) == Standing::fenced)
    throw Superseded("the controller has given this attempt up (" + (folder / fence_name).string() +
                     "); a later one continues");
  const Value mine = own_claim();
  const std::string text = mine.to_json() + "\n";
  if (create(file, text)) return;
  const Value other = read_claim(file);
  const std::string job = text_of(other, "job");
  if (!trial.token.empty() && !job.empty() && job == text_of(mine, "job"))
    throw Superseded("Slurm has started this attempt before, in the same job " + job + " on " +
                     text_of(other, "host") + "; a new attempt will continue");
  if (!journal_has_ended(folder) && !process_is_gone(other))
    throw Superseded("another start of this attempt" +
                     (job.empty() ? "" : ", in Slurm job " + job + ",") + " on " +
                     text_of(other, "host") +
                     " has not ended; where you know that it has, remove " + file.string());
  AtomicFile taken(file);
  taken.write(text);
  taken.commit();
  // Those of the earlier start would end this one's ranks.
  std::error_code gone;
  for (const std::filesystem::path& failure : failure_files(folder))
    std::filesystem::remove(failure, gone);
}

Standing standing_of(const std::filesystem::path& folder) {
  // A network filesystem asks its server what a folder holds when the folder is opened.
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return errno == ENOENT || errno == ESTALE ? Standing::gone : Standing::ours;
  const bool there = ::faccessat(directory, fence_name, F_OK, 0) == 0;
  ::close(directory);
  return there ? Standing::fenced : Standing::ours;
}

}  // namespace thalweg::engine
