#include "daemon/slurm_agent/log.h"

#include <unistd.h>

namespace thalweg::slurm_agent {
namespace {

constexpr std::size_t max_length = 500;

}  // namespace

std::string printable(const std::string& text) {
  std::string line = text.substr(0, max_length);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text.size() > max_length ? line + "..." : line;
}

// One write: lines of several threads do not mix.
void log_line(const std::string& text) {
  const std::string line = "thalweg-slurm-agent: " + printable(text) + "\n";
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace thalweg::slurm_agent
