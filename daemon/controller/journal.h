// journal.jsonl, format 1 (engine/attempt/journal.md): one line of it, and a file that grows. Knows
// no database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/backend/disk.h"
#include "daemon/state/verdict.h"
#include "db/store.h"

namespace thalweg::daemon {

struct JournalStart {
  std::int64_t steps = 0, steps_per_epoch = 0, resumed_step = 0;
  double epochs = 0;  ///< that the run takes in all; may be a fraction
  int ranks = 0;
  std::string node_list;  ///< names joined by commas, each once
  std::string token;
  std::string record;  ///< the whole line as JSON, without what is the journal's own and the token
};

struct JournalLine {
  enum class Type { start, metrics, note, checkpoint, ranks, end, other };
  std::int64_t n = 0;
  double time = 0;  ///< Unix seconds
  Type type = Type::other;
  JournalStart start;
  std::vector<db::Point> points;        ///< metrics
  std::int64_t step = 0;                ///< checkpoint
  std::string level, text;              ///< note
  std::optional<std::string> lost{};    ///< note: why numbers are not in the record
  std::optional<std::int64_t> count{};  ///< note: how many
  std::string ranks;  ///< the whole line as JSON, without what is the journal's own
  EndRecord end;
};

/// Nothing where the line is malformed, numbers out of all reason included. Types that are not
/// known are `other`: their number counts.
std::optional<JournalLine> parse_journal_line(std::string_view line);

/// What can be told without parsing: the line's number and time (0 where it does not start with
/// them) and whether it is a metrics line.
struct LineHeader {
  std::int64_t n = 0;
  double time = 0;
  bool metrics = false;
};
LineHeader peek(std::string_view line);

/// Bytes of a journal that are read; of what is longer only the end.
inline constexpr std::uint64_t max_journal_bytes = std::uint64_t{4} << 30;

/// Reads a growing file by complete lines. The file is opened anew each time (a network filesystem
/// shows what others wrote only then); a file that shrank or was replaced is read from its start.
class FileTail {
 public:
  static constexpr std::uint64_t block_bytes = 4 << 20;

  /// Read on the disk's thread, where one is given. Once `max_bytes` were read, each look takes the
  /// last 64 KiB at most and passes over what is before them: how it ends is still seen.
  explicit FileTail(std::filesystem::path file, Disk* disk = nullptr,
                    std::uint64_t max_bytes = max_journal_bytes)
      : file_(std::move(file)), disk_(disk), max_bytes_(max_bytes) {}

  struct Result {
    bool more = false;          ///< there may be more to read at once
    std::int64_t too_long = 0;  ///< lines passed over because of their length
    std::uint64_t bytes = 0;    ///< that were read
  };
  /// Hands out the complete lines of at most the next `most` bytes, a block if there are more. A
  /// missing file has none. Throws DiskHangs; nothing has been read then.
  Result read(const std::function<void(std::string_view line)>& each,
              std::uint64_t most = block_bytes);
  void rewind();
  /// Lines were passed over because the file is too long.
  bool cut() const { return cut_; }
  const std::filesystem::path& file() const { return file_; }
  /// Of the line being handed out: 1, 2 … in the order of the file, those passed over counted.
  std::int64_t line() const { return line_; }

 private:
  std::filesystem::path file_;
  Disk* disk_;
  std::uint64_t max_bytes_;
  std::uint64_t offset_ = 0;  ///< of what comes next; the unfinished line is before it
  std::uint64_t taken_ = 0;   ///< bytes that were read, those passed over not counted
  std::uint64_t inode_ = 0;
  std::int64_t line_ = 0;
  std::string unfinished_;
  bool passing_over_ = false;  ///< inside a line that is too long
  bool cut_ = false;
};

}  // namespace thalweg::daemon
