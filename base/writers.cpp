// The rule is sshd's for a user's files (StrictModes), with Debian's exception for a user's own
// group.
#include "base/writers.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/machine.h"

namespace thalweg {
namespace {

/// A group of the user's name, which is his first, in which nobody else is.
bool is_private(gid_t group, uid_t user) {
  const passwd* const account = ::getpwuid(user);
  if (account == nullptr || account->pw_gid != group) return false;
  const std::string name = account->pw_name;
  const struct group* const entry = ::getgrgid(group);
  if (entry == nullptr || name != entry->gr_name) return false;
  for (char** member = entry->gr_mem; *member != nullptr; ++member)
    if (name != *member) return false;
  return true;
}

std::string group_name(gid_t group) {
  const struct group* const entry = ::getgrgid(group);
  return entry != nullptr ? entry->gr_name : std::to_string(group);
}

}  // namespace

std::string other_writers(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    throw std::system_error(errno, std::generic_category(), path.string());
  const uid_t me = ::geteuid();
  if (info.st_uid != me && info.st_uid != 0)
    return "it belongs to the user " + user_name(info.st_uid);
  if ((info.st_mode & S_IWOTH) != 0) return "every user may write to it (chmod go-w)";
  if ((info.st_mode & S_IWGRP) == 0) return {};
  if (::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0)
    return "its access control list lets others write to it (setfacl -b)";
  if (is_private(info.st_gid, me)) return {};
  return "the group " + group_name(info.st_gid) + " may write to it (chmod g-w)";
}

}  // namespace thalweg
