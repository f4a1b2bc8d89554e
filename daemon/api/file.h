// Small files that other programs write: an attempt's folder may hold anything under their names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/file.h"

namespace thalweg::daemon::api {

/// Open to be read; nothing where it is no regular file, or a symbolic link: in a folder of another
/// user's it might lead to what is not his. Never waits for a writer.
Descriptor open_regular(const std::filesystem::path& file);

/// The file's content, from `from_end` bytes before its end on where it is longer. Nothing where
/// there is no regular file that can be read: a folder, a pipe, a link, no permission.
/// Never throws for the file's sake, never waits for a writer.
std::optional<std::string> read_end_of_file(const std::filesystem::path& file,
                                            std::size_t from_end);

/// A JSON file of at most 1 MiB; discarded JSON where it is not whole. Nothing as above.
std::optional<nlohmann::json> read_json_file(const std::filesystem::path& file);

}  // namespace thalweg::daemon::api
