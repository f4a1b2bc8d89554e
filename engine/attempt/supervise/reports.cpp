#include "engine/attempt/supervise/reports.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/file.h"

namespace thalweg::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kReportsBlock = 4 << 20, kMaxReport = 1 << 20, kBeginning = 1 << 10;
constexpr std::int64_t kMaxStep = 1'000'000'000'000'000;

double number_from(const std::string& name, const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return infinity;
  if (text == "-inf") return -infinity;
  throw std::invalid_argument("the metric " + name + " is no number");
}

std::string text_at(const json& line, const char* key) {
  const json& value = line.at(key);
  if (!value.is_string()) throw std::invalid_argument(std::string(key) + " is no text");
  return value.get<std::string>();
}

Report report_from(const json& line) {
  if (!line.is_object()) throw std::invalid_argument("it is no JSON object");
  Report report;
  if (const auto it = line.find("step"); it != line.end()) {
    const bool good = it->is_number_integer() && *it >= 0 && *it <= kMaxStep;
    if (!good) throw std::invalid_argument("step is no whole number from 0 to 10^15");
    report.step = it->get<std::int64_t>();
  }
  if (line.contains("metrics")) {
    if (!line["metrics"].is_object()) throw std::invalid_argument("metrics is no JSON object");
    for (const auto& [name, value] : line["metrics"].items()) {
      try {
        report.values.emplace_back(name, number_from(name, value));
      } catch (const std::invalid_argument& error) {
        report.left_out.emplace_back(error.what());
      }
    }
  } else if (line.contains("checkpoint")) {
    report.kind = Report::Kind::checkpoint;
    report.text = text_at(line, "checkpoint");
    if (line.contains("seconds")) report.seconds = number_from("seconds", line["seconds"]);
  } else if (line.contains("note")) {
    report.kind = Report::Kind::note;
    report.text = text_at(line, "note");
  } else if (line.contains("hello")) {
    report.kind = Report::Kind::hello;
    report.text = text_at(line, "hello");
  } else if (line.contains("stopping")) {
    report.kind = Report::Kind::stopping;
  } else {
    throw std::invalid_argument("it has none of metrics, checkpoint, note, hello and stopping");
  }
  return report;
}

}  // namespace

Report parse_report(std::string_view line) {
  const json parsed = json::parse(line, nullptr, false);
  if (parsed.is_discarded()) throw std::invalid_argument("it is no JSON");
  return report_from(parsed);
}

void GrowingLines::end_line(const std::function<void(std::string_view line)>& each) {
  if (unfinished_.size() > kMaxReport) unfinished_.resize(kBeginning);
  if (!unfinished_.empty()) each(unfinished_);
  unfinished_.clear();
}

void GrowingLines::finish(const std::function<void(std::string_view line)>& each) {
  end_line(each);
}

bool GrowingLines::read(const std::function<void(std::string_view line)>& each) {
  const Descriptor file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (info.st_size <= offset_) return false;
  const std::uint64_t hole = hole_at(file.get(), static_cast<std::uint64_t>(offset_),
                                     static_cast<std::uint64_t>(info.st_size), kMaxReport);
  if (hole > 0) {  // as if its zeros had been read
    offset_ += static_cast<std::int64_t>(hole);
    unfinished_.resize(kMaxReport + 1);
  }
  std::string block(kReportsBlock, '\0');
  const ssize_t count = ::pread(file.get(), block.data(), block.size(), offset_);
  if (count <= 0) return false;
  block.resize(static_cast<std::size_t>(count));
  offset_ += count;
  std::size_t begin = 0;
  for (std::size_t end; (end = block.find('\n', begin)) != block.npos; begin = end + 1) {
    unfinished_.append(block, begin, end - begin);
    end_line(each);
  }
  unfinished_.append(block, begin);
  unfinished_.resize(std::min(unfinished_.size(), kMaxReport + 1));
  return static_cast<std::size_t>(count) == kReportsBlock;
}

}  // namespace thalweg::engine
