// What a program appends to the file $THALWEG_REPORTS: one JSON object a line (protocol.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg::engine {

struct Report {
  enum class Kind { metrics, checkpoint, note, hello, stopping };
  Kind kind = Kind::metrics;
  std::optional<std::int64_t> step;
  std::vector<std::pair<std::string, double>> values;  ///< metrics
  std::string text;                                    ///< checkpoint: the path; note; hello
  double seconds = 0;                                  ///< that training waited for the checkpoint
  std::vector<std::string> left_out;                   ///< metrics: what is wrong with some
};

/// Throws std::invalid_argument with what is wrong; where it is wrong with single metrics only, the
/// others are taken.
Report parse_report(std::string_view line);

/// Lines of a file that grows.
class GrowingLines {
 public:
  explicit GrowingLines(std::filesystem::path file) : file_(std::move(file)) {}
  /// Complete ones of at most the next 4 MiB; of one beyond 1 MiB its first KiB. True where there
  /// may be more at once.
  bool read(const std::function<void(std::string_view line)>& each);
  /// What has no newline behind it, once nothing more will come.
  void finish(const std::function<void(std::string_view line)>& each);
  std::int64_t bytes() const { return offset_; }

 private:
  std::filesystem::path file_;
  void end_line(const std::function<void(std::string_view line)>& each);

  std::int64_t offset_ = 0;
  std::string unfinished_;  ///< one byte more than a line may have where it has more
};

}  // namespace thalweg::engine
