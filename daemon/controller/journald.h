// Structured lines for journald, where it reads this program's standard error. Its protocol is
// stable and small (systemd's JOURNAL_NATIVE_PROTOCOL), so libsystemd is not needed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"

namespace thalweg::daemon::log {

/// Names as journald takes them: A-Z, 0-9 and _, beginning with a letter. Values hold no line
/// break.
using JournalFields = std::vector<std::pair<std::string_view, std::string>>;

/// A connection to journald. Safe from several threads.
class Journald {
 public:
  /// Where standard error is the stream that systemd connected (JOURNAL_STREAM, systemd.exec(5));
  /// nothing elsewhere.
  static std::optional<Journald> of_standard_error();
  /// Throws std::system_error where nobody listens at `address`.
  explicit Journald(const std::filesystem::path& address);

  /// False: it does not take the entry now (it restarts, or its queue is full). Never waits.
  bool send(const JournalFields& fields) const;

 private:
  Descriptor socket_;
};

}  // namespace thalweg::daemon::log
