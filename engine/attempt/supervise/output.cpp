#include "engine/attempt/supervise/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/attempt/supervise/reason.h"

namespace thalweg::engine {
namespace {

constexpr std::size_t kReadBytes = 1 << 16;
constexpr int kBlocksAtOnce = 16;
constexpr std::size_t kMaxLine = 1 << 16;  // longer ones are cut into several
constexpr std::size_t kTail = 1 << 15;
constexpr std::size_t kLeftOut = 1 << 16;

void append_bounded(std::string& text, std::string_view more, std::size_t bytes) {
  text += more;
  if (text.size() > 2 * bytes) text.erase(0, text.size() - bytes);
}

}  // namespace

Output::Output(int from, int to, std::int64_t max_bytes, Line line)
    : from_(from), to_(to), max_bytes_(max_bytes), line_(std::move(line)) {}

bool Output::read() {
  char block[kReadBytes];
  for (int i = 0; open_ && i < kBlocksAtOnce; ++i) {
    const ssize_t count = ::read(from_, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;  // nothing there now
    open_ = count > 0;
    if (count > 0) pass_on({block, static_cast<std::size_t>(count)});
  }
  return open_;
}

void Output::pass_on(std::string_view block) {
  bytes_ += static_cast<std::int64_t>(block.size());
  append_bounded(tail_, block, kTail);
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(0, max_bytes_ - written_));
  write(block.substr(0, room));
  if (block.size() > room) append_bounded(left_out_, block.substr(room), kLeftOut);
  if (line_) cut(block);
}

void Output::write(std::string_view block) {
  while (!block.empty()) {
    const ssize_t count = ::write(to_, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      trouble_ = std::strerror(errno);  // the program goes on; what it prints is lost
      return;
    }
    written_ += count;
    block.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Output::cut(std::string_view block) {
  std::size_t begin = 0;
  for (std::size_t end; (end = block.find_first_of("\n\r", begin)) != block.npos; begin = end + 1) {
    unfinished_.append(block, begin, end - begin);
    if (!unfinished_.empty()) line_(unfinished_);
    unfinished_.clear();
  }
  unfinished_.append(block, begin);
  if (unfinished_.size() > kMaxLine) {
    line_(unfinished_);
    unfinished_.clear();
  }
}

void Output::finish() {
  if (line_ && !unfinished_.empty()) line_(unfinished_);
  unfinished_.clear();
  if (left_out_.empty()) return;
  const std::int64_t over = bytes_ - written_;
  if (left_out_.size() > kLeftOut) left_out_.erase(0, left_out_.size() - kLeftOut);
  const std::string mark =
      "\n[thalweg: " + std::to_string(over - static_cast<std::int64_t>(left_out_.size())) +
      " bytes left out]\n";
  write(mark + left_out_);
  left_out_.clear();
}

std::string Output::reason(bool certain) const {
  return reason_in(tail_, certain);
}

}  // namespace thalweg::engine
