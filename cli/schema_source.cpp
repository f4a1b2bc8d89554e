#include "cli/schema_source.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/exit_code.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

namespace fs = std::filesystem;

std::string engine_program() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error && fs::exists(self.parent_path() / "thalweg-train", error))
    return self.parent_path() / "thalweg-train";
  return "thalweg-train";
}

/// What the program prints; nothing where it cannot be started or fails.
std::optional<std::string> output_of(const std::string& program, const char* argument) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  const char* const words[] = {program.c_str(), argument, nullptr};
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, program.c_str(), &files, nullptr,
                                  const_cast<char* const*>(words), environ);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  std::string text;
  std::array<char, 65536> block;
  for (ssize_t n; failed == 0 && (n = ::read(ends[0], block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(n));
  ::close(ends[0]);
  if (failed != 0) return std::nullopt;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

}  // namespace

jobspec::Schema find_schema(Context& context) {
  const std::string engine = engine_program();
  if (const auto text = output_of(engine, "--schema")) return jobspec::Schema::from_json(*text);
  try {
    return jobspec::Schema::from_json(context.controller_if_any().get("/v1/schema").dump());
  } catch (const daemon::api::Unreachable&) {
    throw CommandError(exit_failed,
                       "cannot learn what `train:` may contain: `" + engine +
                           " --schema` does not work and no controller answers",
                       "install thalweg-train beside thalweg or in PATH");
  }
}

}  // namespace thalweg::cli
