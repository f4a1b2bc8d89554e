// Small files that other programs write: an attempt's folder may hold anything under their names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace thalweg::daemon::api {

/// The file's content, from `from_end` bytes before its end on where it is longer. Nothing where
/// there is no regular file that can be read: a folder, a pipe, a loop of links, no permission.
/// Never throws for the file's sake, never waits for a writer.
std::optional<std::string> read_end_of_file(const std::filesystem::path& file,
                                            std::size_t from_end);

/// A JSON file of at most 1 MiB; discarded JSON where it is not whole. Nothing as above.
std::optional<nlohmann::json> read_json_file(const std::filesystem::path& file);

}  // namespace thalweg::daemon::api
