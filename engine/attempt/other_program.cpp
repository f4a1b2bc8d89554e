#include "engine/attempt/other_program.h"

#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "base/process.h"

namespace thalweg::engine {

void become(const std::string& program, const std::string& file) {
  const std::string path = find_program(program).string();
  if (path.empty())
    throw std::runtime_error(
        file + ": it is a trial for " + program +
        ", which is neither beside this program nor in PATH: install package " +
        (program == "thalweg-train" ? "thalweg-engine" : program));
  ::execl(path.c_str(), path.c_str(), file.c_str(), static_cast<char*>(nullptr));
  throw std::system_error(errno, std::generic_category(), "cannot run " + path);
}

}  // namespace thalweg::engine
