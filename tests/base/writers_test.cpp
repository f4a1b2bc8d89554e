// Every owner, group and mode of a folder and of a file.
#include "base/writers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>

#include "tests/support/process.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 65534;

TEST(OtherWriters, OfEveryOwnerGroupAndMode) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const test::TempDir dir;
  const fs::path file = dir.path() / "file", folder = dir.path() / "folder";
  test::write_file(file, "x");
  fs::create_directory(folder);
  for (const fs::path& path : {file, folder})
    for (const uid_t owner : {uid_t{0}, kStranger})
      for (const gid_t group : {gid_t{0}, gid_t{kStranger}})
        for (mode_t mode = 0; mode < 01000; ++mode) {
          ASSERT_EQ(chown(path.c_str(), owner, group), 0);
          ASSERT_EQ(chmod(path.c_str(), mode), 0);
          const bool others =
              owner != 0 || (mode & 0002) != 0 || (group != 0 && (mode & 0020) != 0);
          ASSERT_EQ(!other_writers(path).empty(), others)
              << path << ' ' << owner << ' ' << group << ' ' << std::oct << mode;
        }
}

TEST(OtherWriters, FollowLinks) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const test::TempDir dir;
  const fs::path file = dir.path() / "file", link = dir.path() / "link";
  test::write_file(file, "x");
  fs::create_symlink(file, link);
  EXPECT_EQ(other_writers(link), "");
  ASSERT_EQ(chown(file.c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(other_writers(link), "it belongs to the user nobody");
  EXPECT_THROW(other_writers(dir.path() / "none"), std::system_error);
}

/// `setfacl -m u:65534:rw file`, in the form of acl(5) that Linux keeps.
TEST(OtherWriters, CountAccessControlLists) {
  if (geteuid() != 0) GTEST_SKIP() << "the caller's group is only known to be private for root";
  const test::TempDir dir;
  const fs::path file = dir.path() / "file";
  test::write_file(file, "x");
  struct Entry {
    std::uint16_t tag, permissions;
    std::uint32_t id;
  };
  struct {
    std::uint32_t version = 2;
    Entry entries[5] = {{0x01, 6, UINT32_MAX},
                        {0x02, 6, kStranger},
                        {0x04, 4, UINT32_MAX},
                        {0x10, 6, UINT32_MAX},
                        {0x20, 4, UINT32_MAX}};
  } list;
  if (setxattr(file.c_str(), "system.posix_acl_access", &list, sizeof list, 0) != 0)
    GTEST_SKIP() << "no access control lists on the filesystem of temporary folders";
  EXPECT_EQ(other_writers(file), "its access control list lets others write to it (setfacl -b)");
}

}  // namespace
}  // namespace thalweg
