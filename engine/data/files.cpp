#include "engine/data/files.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "engine/data/dataset.h"
#include "jobspec/value.h"

namespace thalweg::engine::data {
namespace {

namespace fs = std::filesystem;

/// Where ":NAME" of an array in a file begins; its length where there is none.
std::size_t member_at(const std::string& path) {
  for (const std::string ending : {".npz:", ".h5:", ".hdf5:"})
    if (const std::size_t at = path.find(ending); at != std::string::npos)
      return at + ending.size() - 1;
  return path.size();
}

std::vector<std::string> in_folder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().front() != '.' && at->is_regular_file(error))
      files.push_back(at->path().string());
  if (error) throw DataError(folder, DataError::kNoOffset, "cannot read: " + error.message());
  if (files.empty()) throw DataError(folder, DataError::kNoOffset, "the folder has no files");
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> freed(&found, globfree);
  const int code = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  if (code == GLOB_NOMATCH)
    throw DataError(pattern, DataError::kNoOffset,
                    std::string("no file matches: ") + std::strerror(ENOENT));
  if (code != 0) throw DataError(pattern, DataError::kNoOffset, "cannot look for matching files");
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> files_of_path(const std::string& path) {
  const std::size_t end = member_at(path);
  const std::string file = path.substr(0, end);
  std::error_code none;
  if (fs::is_directory(file, none)) return in_folder(file);
  if (file.find_first_of("*?[") == std::string::npos || fs::exists(file, none)) return {path};
  std::vector<std::string> files = matching(file);
  for (std::string& one : files)
    one += path.substr(end);
  return files;
}

}  // namespace

std::vector<std::string> files_of(const jobspec::Value& value) {
  if (!value.is_list()) return files_of_path(value.as_string());
  std::vector<std::string> all;
  for (const jobspec::Value& item : value.as_list())
    for (std::string& file : files_of_path(item.as_string()))
      all.push_back(std::move(file));
  return all;
}

}  // namespace thalweg::engine::data
