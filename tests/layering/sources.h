// The files of the checkout, as these tests read them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

inline const std::filesystem::path kRoot = THALWEG_SOURCE_DIR;

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Those under these folders of the checkout with one of these extensions (".h").
inline std::vector<std::filesystem::path> files_under(const std::vector<std::string>& folders,
                                                      const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> files;
  for (const std::string& folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder))
      if (std::find(extensions.begin(), extensions.end(), entry.path().extension()) !=
          extensions.end())
        files.push_back(entry.path());
  return files;
}
