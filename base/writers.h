// Who may change a file or folder that we are about to trust.
#pragma once

#include <filesystem>
#include <string>

namespace thalweg {

/// Why, with the command that mends it, somebody else than this process's user and root could
/// change the file or folder, links followed; empty where nobody else can. A group that only this
/// user is in does not count: with umask 002 everything is writable by it. An access control list
/// that lets a group or a user write shows in the mode's group bits (acl(5)) and counts. Throws
/// std::system_error.
std::string other_writers(const std::filesystem::path& path);

}  // namespace thalweg
