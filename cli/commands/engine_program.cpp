// Replaced, not started: the terminal, Ctrl-C and the exit code are the program's own.
#include "cli/commands/engine_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/process.h"
#include "cli/exit_code.h"

namespace thalweg::cli {

std::filesystem::path engine_program(const std::string& program) {
  std::filesystem::path path = find_program(program);
  if (path.empty())
    throw CommandError(exit_failed, program + " is not here",
                       "install " + program + " beside thalweg or in PATH");
  return path;
}

int become_engine(const std::string& program, std::vector<std::string> words) {
  const std::filesystem::path path = engine_program(program);
  words.insert(words.begin(), path.string());
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  throw CommandError(exit_failed, "cannot run " + path.string() + ": " + std::strerror(errno));
}

}  // namespace thalweg::cli
