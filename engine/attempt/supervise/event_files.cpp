#include "engine/attempt/supervise/event_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>

#include "base/event_records.h"
#include "base/file.h"

namespace thalweg::engine {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBlock = 4 << 20;
constexpr int kMaxDepth = 4;

/// Of the folder itself as well.
std::string name_within(const fs::path& folder, const fs::path& file) {
  const fs::path parent = file.parent_path().lexically_relative(folder);
  return parent == "." ? "" : parent.string() + "/";
}

}  // namespace

EventFiles::EventFiles(fs::path folder) : folder_(std::move(folder)) {
  for_files([this](const fs::path& path) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (!error) files_[path.string()].offset = static_cast<std::int64_t>(size);
  });
}

template <class Each>
void EventFiles::for_files(const Each& each) const {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end;
       it.increment(error)) {
    if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
    if (it->path().filename().string().find("tfevents") != std::string::npos) each(it->path());
  }
}

bool EventFiles::read_file(const fs::path& path, File& file, const Scalar& each) {
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened) return true;
  std::string block(kBlock, '\0');
  const ssize_t count = ::pread(opened.get(), block.data(), block.size(), file.offset);
  if (count <= 0) return true;
  block.resize(static_cast<std::size_t>(count));
  std::string_view rest = block;
  const std::string within = name_within(folder_, path);
  while (rest.size() >= kRecordHead) {
    const auto length = record_length(rest.substr(0, kRecordHead));
    if (!length) return false;
    const std::size_t whole = kRecordHead + *length + kRecordFoot;
    if (whole > kBlock) {  // a picture: no scalar is as long
      file.offset += static_cast<std::int64_t>(whole);
      return true;
    }
    if (rest.size() < whole) break;
    const auto data = record_data(rest, *length);
    if (!data) return false;
    read_event(*data, [&](const ScalarEvent& scalar) {
      each(within + scalar.tag, scalar.step, scalar.value);
    });
    rest.remove_prefix(whole);
    file.offset += static_cast<std::int64_t>(whole);
    bytes_ += static_cast<std::int64_t>(whole);
  }
  return true;
}

void EventFiles::read(const Scalar& each,
                      const std::function<void(const std::string& text)>& trouble) {
  for_files([&](const fs::path& path) {
    File& file = files_[path.string()];
    if (file.broken) return;
    try {
      file.broken = !read_file(path, file, each);
    } catch (const std::invalid_argument&) {
      file.broken = true;
    }
    if (file.broken)
      trouble(path.string() + " is damaged after byte " + std::to_string(file.offset) +
              "; nothing more is read from it");
  });
}

}  // namespace thalweg::engine
