// Which filesystems cannot hold the database: SQLite's write-ahead log shares memory between
// processes, which does not work between machines, and file locks over a network have lost and
// doubled records for others.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace thalweg::db {

/// The name of the network filesystem with this statfs(2) f_type; nothing for a local one.
std::optional<std::string> network_filesystem(long type);

/// statfs(2) f_type of the filesystem that holds `folder`. Throws Error.
long filesystem_type(const std::filesystem::path& folder);

}  // namespace thalweg::db
