// Appends to journal.jsonl (format: journal.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jobspec/fwd.h"

namespace thalweg::engine {

/// One value of a metric, for the number of steps completed when it was measured.
struct MetricPoint {
  std::string name;
  std::int64_t step = 0;
  double value = 0;
};

/// Lines may come from any thread. Every line is written with one call and is in the file when the
/// function returns.
class Journal {
 public:
  /// Gets each line as it stands in the file, newline included.
  using Listener = std::function<void(const std::string& line)>;

  /// Unix seconds.
  using Now = std::function<double()>;
  /// Goes on after the last whole line of an older journal; what stands after it is cut off. Throws
  /// std::system_error with the path, std::runtime_error where the file is no journal. `now` is the
  /// lines' clock; empty: the machine's.
  explicit Journal(std::filesystem::path file, Listener listener = {}, Now now = {});
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// Every line from now on has this field behind its own.
  void stamp(const char* key, std::string value);
  /// `fields` follow n, t and type. After a `last` line nothing more is written.
  void write(const char* type, jobspec::Map fields, bool last = false);
  void metrics(const std::vector<MetricPoint>& points);
  void note(const char* level, const std::string& text);
  /// Until the lines are on the disk.
  void sync();

 private:
  std::filesystem::path file_;
  std::mutex mutex_;  ///< guards what follows
  Listener listener_;
  Now now_;
  int descriptor_ = -1;
  std::int64_t lines_ = 0;
  std::int64_t size_ = 0;  ///< bytes of whole lines
  bool closed_ = false;
  std::vector<std::pair<std::string, std::string>> stamps_;
};

}  // namespace thalweg::engine
