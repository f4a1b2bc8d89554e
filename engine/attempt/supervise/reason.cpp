// The last line alone is often empty words: the rule of torchrun's table, Hydra's advice how to get
// a whole stack trace, the source line of a warning.
#include "engine/attempt/supervise/reason.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace thalweg::engine {
namespace {

constexpr std::size_t kMaxReason = 300;

enum Worth { kNone, kWords, kError, kLauncher, kException };

/// "ValueError: no such set", "[rank0]: torch.cuda.OutOfMemoryError: ...", "  what():  broken".
/// One that ends with its colon has its message elsewhere.
bool names_exception(const std::string& line) {
  static const re2::RE2 field(R"(^\s+Error:\s)");  // of a table, as Open MPI's
  static const re2::RE2 python(
      R"(^\s*(\[?[Rr]ank ?\d+\]?: ?)?([A-Za-z_]\w*\.)*\w*(Error|Exception|Interrupt|Exit|Fault)(: +\S.*)?\s*$)");
  static const re2::RE2 cpp(R"(^\s*what\(\): +\S)");
  if (re2::RE2::PartialMatch(line, field)) return false;
  return re2::RE2::PartialMatch(line, python) || re2::RE2::PartialMatch(line, cpp);
}

bool speaks_of_error(const std::string& line) {
  static const re2::RE2 words(
      R"((?i)(^|[\s\["'(:])(error|fatal|exception|failure|panic)\s*[:\])]|^\s*(error|fatal|panic|killed|aborted)\b|)"
      R"(panicked|out of memory|\boom\b|oom-kill|segmentation fault|core dumped|\bcannot\b|\bcan't\b|)"
      R"(\bcould not\b|couldn't|\bfailed\b|no such|not found|denied|unrecognized|\bambiguous\b|\binvalid\b|terminate called|no space)");
  return re2::RE2::PartialMatch(line, words);
}

/// Open MPI's sentence about the rank that failed; what other ranks say of it is its consequence.
bool names_rank(const std::string& line) {
  return line.find(" noticed that process rank ") != line.npos ||
         line.find("MPI_ABORT was invoked on rank ") != line.npos;
}

Worth worth_of(const std::string& line) {
  const bool any = std::any_of(line.begin(), line.end(),
                               [](unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80; });
  static const re2::RE2 pointer(R"(^\s*(See|Visit) https?://)");
  const bool advice =
      line.find("HYDRA_FULL_ERROR") != line.npos || re2::RE2::PartialMatch(line, pointer);
  if (!any || advice || line.find("Warning:") != line.npos) return kNone;
  if (names_exception(line)) return kException;
  if (names_rank(line)) return kLauncher;
  return speaks_of_error(line) ? kError : kWords;
}

/// Fit to be shown.
std::string shown(std::string_view line) {
  std::string text;
  for (const char c : without_escapes(cut_utf8(line, 2 * kMaxReason)))
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) text += c;
  text = valid_utf8(text);
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : std::string(cut_utf8(text, kMaxReason));
}

}  // namespace

std::string reason_in(std::string_view text, bool certain) {
  std::string found;
  Worth best = certain ? kWords : kNone;  // to be exceeded
  for (std::size_t end = text.size(); best < kException;) {
    const std::size_t newline = end == 0 ? text.npos : text.find_last_of("\n\r", end - 1);
    const std::size_t begin = newline == text.npos ? 0 : newline + 1;
    std::string line = shown(text.substr(begin, end - begin));
    if (const Worth worth = worth_of(line); worth > best) {
      best = worth;
      found = std::move(line);
    }
    if (newline == text.npos) break;
    end = newline;
  }
  const std::size_t first = found.find_first_not_of(' ');
  return first == found.npos ? "" : found.substr(first);
}

}  // namespace thalweg::engine
