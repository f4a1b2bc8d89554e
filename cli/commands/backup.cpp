// thalweg backup and restore: the record in one file. The controller writes it, also while it runs
// sweeps; putting it back is a matter of files, and no controller may run meanwhile.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

namespace fs = std::filesystem;

struct BackupOptions {
  std::string file;
  Format format;
};

int backup(Context& context, const BackupOptions& options) {
  const std::string file = fs::absolute(options.file).lexically_normal().string();
  const Json answer = context.controller().post("/v1/backup", {{"file", file}});
  if (options.format.json)
    print_json(context.out, answer);
  else
    context.out << "the record is in " << file << " (" << format_bytes(number_at(answer, "bytes"))
                << "); run folders are not in it\n";
  return exit_ok;
}

/// Throws CommandError where the file is no record.
void check_record(const fs::path& file) {
  constexpr std::size_t header_bytes = 100, id_at = 68;
  char header[header_bytes] = {};
  std::ifstream in(file, std::ios::binary);
  if (!in.read(header, header_bytes) || std::string(header, 15) != "SQLite format 3" ||
      std::string(header + id_at, 4) != "Thwg")
    throw CommandError(exit_bad_input, file.string() + " is no record of Thalweg",
                       "thalweg backup writes them");
}

/// The controller's own lock, as long as it lives. Throws CommandError where a controller has it.
class Lock {
 public:
  explicit Lock(const fs::path& file)
      : fd_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    if (fd_ >= 0) close(fd_);
    throw CommandError(exit_failed, "a controller runs and has the record open",
                       "thalweg daemon stop first; running attempts continue meanwhile");
  }
  ~Lock() { close(fd_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

std::string moment() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", std::localtime(&now));
  return text;
}

int restore(Context& context, const BackupOptions& options) {
  const fs::path file = fs::absolute(options.file).lexically_normal();
  check_record(file);
  const fs::path record = context.home().database();
  fs::create_directories(record.parent_path());
  const Lock lock(context.home().lock());
  // Copied first: what fails here has changed nothing.
  const fs::path aside = record.string() + ".new";
  fs::copy_file(file, aside, fs::copy_options::overwrite_existing);
  fs::permissions(aside, fs::perms::owner_read | fs::perms::owner_write);
  std::string kept;
  if (fs::exists(record)) {
    kept = record.string() + ".before-" + moment();
    // The log beside it belongs to it; first, or it would be taken for the new record's.
    for (const char* part : {"-wal", "-shm"})
      if (fs::exists(record.string() + part)) fs::rename(record.string() + part, kept + part);
    fs::rename(record, kept);
  }
  fs::rename(aside, record);
  if (options.format.json) {
    print_json(context.out, {{"database", record.string()}, {"kept", kept}});
    return exit_ok;
  }
  context.out << "the record is that of " << file.string() << " now\n";
  if (!kept.empty()) context.out << "the one before is kept as " << kept << '\n';
  print_next(context, {{"thalweg daemon start", "continue with it: what ran then is looked for"}});
  return exit_ok;
}

}  // namespace

Action make_backup(Arguments& arguments) {
  auto options = std::make_shared<BackupOptions>();
  arguments.positional("FILE", options->file, "a file that is not there yet").completes =
      Completes::file;
  add_json(arguments, options->format);
  return [options](Context& context) { return backup(context, *options); };
}

Action make_restore(Arguments& arguments) {
  auto options = std::make_shared<BackupOptions>();
  arguments.positional("FILE", options->file, "what thalweg backup wrote").completes =
      Completes::file;
  add_json(arguments, options->format);
  return [options](Context& context) { return restore(context, *options); };
}

}  // namespace thalweg::cli
