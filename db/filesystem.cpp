#include "db/filesystem.h"

#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "db/store.h"

namespace thalweg::db {
namespace {

struct Kind {
  std::uint32_t type;
  const char* name;
};

// linux/magic.h, statfs(2) and the filesystems' own sources; FUSE stands for sshfs, GlusterFS,
// MooseFS and the like.
constexpr Kind kNetwork[] = {
    {0x6969, "NFS"},          {0xFF534D42, "CIFS"},        {0xFE534D42, "SMB2/SMB3"},
    {0x517B, "SMB"},          {0x0BD00BD0, "Lustre"},      {0x47504653, "GPFS (Spectrum Scale)"},
    {0x19830326, "BeeGFS"},   {0x00C36400, "CephFS"},      {0x65735546, "FUSE"},
    {0x5346414F, "AFS"},      {0x6B414653, "AFS (kAFS)"},  {0x01021997, "9p"},
    {0xAAD7AAEA, "PanFS"},    {0x01161970, "GFS2"},        {0x7461636F, "OCFS2"},
    {0x73757245, "Coda"},     {0x20030528, "OrangeFS"},    {0x013111A8, "IBRIX"},
    {0xBEEFDEAD, "StorNext"}, {0xBACBACBC, "VMware hgfs"}, {0x786F4256, "VirtualBox shared folder"},
};

}  // namespace

std::optional<std::string> network_filesystem(long type) {
  // f_type is signed on some machines: the high magic numbers come out negative.
  const auto wanted = static_cast<std::uint32_t>(type);
  for (const Kind& kind : kNetwork) {
    if (kind.type == wanted) return kind.name;
  }
  return std::nullopt;
}

long filesystem_type(const std::filesystem::path& folder) {
  struct statfs found {};
  if (::statfs(folder.c_str(), &found) != 0) {
    throw Error("cannot look at the filesystem of " + folder.string() + ": " +
                std::strerror(errno));
  }
  return static_cast<long>(found.f_type);
}

}  // namespace thalweg::db
