#include "daemon/backend/local_gpus.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <sstream>
#include <system_error>

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 5 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// A byte of the lock file. GPUs named by UUID come behind all those that are numbered.
off_t byte_of(const std::string& name) {
  constexpr std::size_t numbered = 10'000, others = 1'000'000'000;
  if (is_number(name)) return static_cast<off_t>(std::stoi(name));
  return static_cast<off_t>(numbered + std::hash<std::string>()(name) % others);
}

/// Device files, since containers see all GPUs of their host in /proc and these files only of
/// theirs.
int gpus_of_machine() {
  int count = 0;
  std::error_code error;
  for (fs::directory_iterator it("/dev", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    count += name.starts_with("nvidia") && is_number(name.substr(6)) ? 1 : 0;
  }
  return count;
}

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// Of ours alone: others may write into the folder above it.
void make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail(errno, folder.string());
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) fail(errno, folder.string());
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid())
    fail(EPERM, folder.string() + " is not a folder of this user");
}

}  // namespace

std::vector<std::string> gpu_names(const std::string& visible) {
  std::vector<std::string> names;
  std::istringstream parts(visible);
  for (std::string name; std::getline(parts, name, ',') && !name.empty() && name[0] != '-';)
    names.push_back(name);
  return names;
}

std::vector<std::string> local_gpus(int count) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<std::string> names = gpu_names(visible != nullptr ? visible : "");
  const int all = visible != nullptr ? static_cast<int>(names.size()) : gpus_of_machine();
  const int wanted = count >= 0 ? count : all;
  if (static_cast<int>(names.size()) < wanted) names.clear();
  for (int i = static_cast<int>(names.size()); i < wanted; ++i)
    names.push_back(std::to_string(i));
  names.resize(static_cast<std::size_t>(wanted));
  return names;
}

fs::path gpu_lock_folder() {
  return fs::temp_directory_path() / ("thalweg-gpus-" + std::to_string(::geteuid()));
}

std::optional<GpuLocks::Taken> GpuLocks::take(int wanted,
                                              const std::vector<std::string>& without) const {
  std::vector<std::string> names;
  std::copy_if(names_.begin(), names_.end(), std::back_inserter(names), [&](const auto& name) {
    return std::find(without.begin(), without.end(), name) == without.end();
  });
  if (static_cast<int>(names.size()) < wanted) names = names_;
  make_folder(folder_);
  const fs::path file = folder_ / "locks";
  Taken taken{Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)), ""};
  if (!taken.lock) fail(errno, file.string());
  int found = 0;
  for (const std::string& name : names) {
    if (found == wanted) break;
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte_of(name);
    lock.l_len = 1;
    if (::fcntl(taken.lock.get(), F_OFD_SETLK, &lock) != 0) {
      if (errno == EAGAIN || errno == EACCES) continue;
      fail(errno, file.string());
    }
    taken.visible += (found++ == 0 ? "" : ",") + name;
  }
  if (found < wanted) return std::nullopt;
  return taken;
}

}  // namespace thalweg::daemon
