#include "daemon/slurm_agent/grants.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "daemon/slurm_agent/log.h"
#include "daemon/slurm_agent/messages.h"

namespace thalweg::slurm_agent {
namespace {

namespace fs = std::filesystem;
using daemon::api::Reading;

constexpr std::size_t name_digits = 64;
/// For so long an expired grant is still told from one that never was.
constexpr std::int64_t remembered_s = 7 * day_s;

bool is_name(const std::string& text) {
  return text.size() == name_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string random_name() {
  std::array<unsigned char, name_digits / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  std::string name;
  for (const unsigned char byte : bytes) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

Descriptor open_private(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw std::runtime_error("cannot make " + folder.string() + ": " + std::strerror(errno));
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!opened || ::fstat(opened.get(), &info) != 0)
    throw std::runtime_error("cannot open " + folder.string() + ": " + std::strerror(errno));
  if (info.st_uid != ::geteuid() || (info.st_mode & 0077) != 0)
    throw std::runtime_error(folder.string() +
                             " must belong to the agent's user and be closed to all others "
                             "(chmod 0700): who writes there grants himself what he likes");
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0)
    throw std::runtime_error("another agent uses " + folder.string());
  return opened;
}

}  // namespace

Grants::Grants(fs::path folder, std::int64_t now)
    : folder_(std::move(folder)), lock_(open_private(folder_)) {
  load(now);
}

void Grants::load(std::int64_t now) {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (!is_name(name)) continue;
    try {
      const auto text = nlohmann::json::parse(read_file(entry.path()));
      all_[name] = daemon::api::from_json<Grant>(text, Reading::strict);
    } catch (const std::exception& error) {
      log_line("grant " + short_name(name) +
               " cannot be read and counts for nothing: " + error.what());
    }
  }
  forget_expired(now);
}

std::optional<std::string> Grants::add(const Grant& grant) {
  std::lock_guard lock(mutex_);
  const auto of_user = std::count_if(all_.begin(), all_.end(), [&](const auto& known) {
    return known.second.uid == grant.uid && known.second.expires > grant.made;
  });
  if (static_cast<std::size_t>(of_user) >= max_of_user) return {};
  const std::string name = random_name();
  AtomicFile file(folder_ / name, 0600);
  file.write(daemon::api::to_json(grant).dump() + "\n");
  file.commit();
  all_[name] = grant;
  return name;
}

std::optional<Grant> Grants::find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = all_.find(name);
  if (found == all_.end()) return {};
  return found->second;
}

bool Grants::remove(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (all_.erase(name) == 0) return false;
  std::error_code error;
  fs::remove(folder_ / name, error);
  return true;
}

void Grants::forget_expired(std::int64_t now) {
  std::lock_guard lock(mutex_);
  std::error_code error;
  std::erase_if(all_, [&](const auto& known) {
    if (known.second.expires + remembered_s > now) return false;
    fs::remove(folder_ / known.first, error);
    return true;
  });
}

std::string short_name(const std::string& grant) {
  return grant.substr(0, 8) + "...";
}

}  // namespace thalweg::slurm_agent
