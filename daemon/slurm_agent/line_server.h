// Lines in, lines out, on a Unix socket, for several connections of one user. None of them can make
// the others wait, or the process grow: one that sends too much, too slowly, or does not read is
// closed, and what is not read yet waits at the sender's.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace thalweg::slurm_agent {

struct LineLimits {
  std::size_t connections = 8;
  std::size_t workers = 32;      ///< more than calls of users (site.cpp) may hold
  std::size_t line = 32u << 20;  ///< bytes; any batch script that Slurm takes, escaped
  std::chrono::milliseconds line_time{30000};    ///< from a line's first byte to its end
  std::size_t pending = 64;                      ///< lines of one connection under way
  std::size_t unread = 96u << 20;                ///< bytes of answers that wait for one connection
  std::chrono::milliseconds unread_time{60000};  ///< in which it must read something
};

class LineServer {
 public:
  /// A whole line to a whole line with its end; called by several threads.
  using Answer = std::function<std::string(const std::string&)>;

  LineServer(LineLimits limits, Answer answer);
  ~LineServer();
  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;

  /// Serves connections of that user alone until `stop` can be read from. Workers may be inside a
  /// call then. Throws std::system_error.
  void serve(int listening, uid_t only, int stop);

 private:
  struct Shared;
  class Loop;
  Shared* shared_;  ///< never destroyed once workers run
};

}  // namespace thalweg::slurm_agent
