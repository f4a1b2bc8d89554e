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
};

/// Throws std::invalid_argument with what is wrong.
Report parse_report(std::string_view line);

/// Complete lines of a file that grows; of a line beyond 1 MiB nothing.
class GrowingLines {
 public:
  explicit GrowingLines(std::filesystem::path file) : file_(std::move(file)) {}
  /// Those of at most the next 4 MiB. True where there may be more at once.
  bool read(const std::function<void(std::string_view line)>& each);
  std::int64_t bytes() const { return offset_; }

 private:
  std::filesystem::path file_;
  std::int64_t offset_ = 0;
  std::string unfinished_;
};

}  // namespace thalweg::engine
