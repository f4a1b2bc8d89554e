// Entries go to journald's datagram socket: what only stands on standard error would have no level
// and no fields to filter by.
#include "daemon/controller/journald.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace thalweg::daemon::log {

namespace {

constexpr const char* journald_address = "/run/systemd/journal/socket";

}  // namespace

std::optional<Journald> Journald::of_standard_error() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat info {};
  if (stream == nullptr || fstat(STDERR_FILENO, &info) != 0) return {};
  if (stream != fmt::format("{}:{}", info.st_dev, info.st_ino)) return {};
  try {
    return Journald(journald_address);
  } catch (const std::system_error&) {
    return {};  // lines go to standard error, which the same service reads
  }
}

Journald::Journald(const std::filesystem::path& path)
    : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.size() >= sizeof address.sun_path)
    throw std::system_error(ENAMETOOLONG, std::generic_category(), text);
  text.copy(address.sun_path, text.size());
  if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::system_error(errno, std::generic_category(), text);
}

bool Journald::send(const JournalFields& fields) const {
  std::string entry;
  for (const auto& [name, value] : fields)
    entry += fmt::format("{}={}\n", name, value);
  return ::send(socket_.get(), entry.data(), entry.size(), MSG_NOSIGNAL) >= 0;
}

}  // namespace thalweg::daemon::log
