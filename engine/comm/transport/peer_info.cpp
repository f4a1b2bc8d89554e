// A node's name is not enough to tell machines apart: containers and reboots repeat it. So boot and
// namespaces belong to it.
#include "engine/comm/transport/peer_info.h"

#include <unistd.h>

#include "base/machine.h"

namespace thalweg::engine::comm {
namespace {

std::string link_text(const char* path) {
  char text[256];
  const ssize_t n = ::readlink(path, text, sizeof text);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

}  // namespace

PeerInfo describe_process() {
  PeerInfo info;
  info.node = host_name();
  info.machine = boot_id() + " " + info.node + " " + link_text("/proc/self/ns/pid") + " " +
                 link_text("/proc/self/ns/ipc");
  info.pid = ::getpid();
  return info;
}

}  // namespace thalweg::engine::comm
