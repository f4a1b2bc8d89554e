// Plain system calls: streams throw on a folder, and opening a pipe waits for its other end.
#include "daemon/api/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace thalweg::daemon::api {

namespace {

constexpr std::size_t max_json = 1 << 20;

}  // namespace

Descriptor open_regular(const std::filesystem::path& file) {
  Descriptor in(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat info {};
  if (in && (fstat(in.get(), &info) != 0 || !S_ISREG(info.st_mode))) return {};
  return in;
}

std::optional<std::string> read_end_of_file(const std::filesystem::path& file,
                                            std::size_t from_end) {
  const Descriptor in = open_regular(file);
  struct stat info {};
  if (!in || fstat(in.get(), &info) != 0) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  std::string text(std::min(size, from_end), '\0');
  const ssize_t count =
      pread(in.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  if (count < 0) return {};
  text.resize(static_cast<std::size_t>(count));
  return text;
}

std::optional<nlohmann::json> read_json_file(const std::filesystem::path& file) {
  const auto text = read_end_of_file(file, max_json);
  if (!text) return {};
  return nlohmann::json::parse(*text, nullptr, false);
}

}  // namespace thalweg::daemon::api
