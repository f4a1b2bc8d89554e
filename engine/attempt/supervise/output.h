// What a program prints: passed on to a log that stays bounded, and cut into lines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace thalweg::engine {

class Output {
 public:
  using Line = std::function<void(std::string_view line)>;

  /// Bytes from `from` (does not block) go to `to`. Of what exceeds `max_bytes` only the end is
  /// written, when it is over.
  Output(int from, int to, std::int64_t max_bytes, Line line = {});

  /// Reads what is there, at most about a MiB. True where there may be more at once.
  bool read();
  /// After the last read(): the last line without a newline, and the end of what was left out.
  void finish();

  bool open() const { return open_; }
  std::int64_t bytes() const { return bytes_; }
  /// Which of the last lines says what went wrong: reason.h.
  std::string reason(bool certain) const;
  /// Why it could not be passed on (a full disk); empty = it could.
  const std::string& trouble() const { return trouble_; }

 private:
  void pass_on(std::string_view block);
  void write(std::string_view block);
  void cut(std::string_view block);

  int from_, to_;
  std::int64_t max_bytes_;
  Line line_;
  bool open_ = true;
  std::int64_t bytes_ = 0, written_ = 0;
  std::string left_out_;    ///< the end of what exceeds the bound
  std::string unfinished_;  ///< the start of a line without its end yet
  std::string tail_, trouble_;
};

}  // namespace thalweg::engine
