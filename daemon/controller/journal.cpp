#include "daemon/controller/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "daemon/api/file.h"
#include "daemon/api/messages.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace {

constexpr std::uint64_t end_bytes = 64 << 10;  ///< of a journal that is too long
constexpr std::size_t max_line = 16 << 20;
constexpr std::int64_t largest_count = 1'000'000'000'000'000;  ///< of lines, of steps
constexpr double latest_time = 1e11;                           ///< Unix seconds: the year 5138

/// What stands in a journal is added and subtracted later: nothing that could overflow comes in.
std::int64_t count_from(const json& value) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value > largest_count))
    throw std::invalid_argument("not a count");
  const auto count = value.get<std::int64_t>();
  if (count < 0 || count > largest_count) throw std::invalid_argument("not a count");
  return count;
}

std::int64_t count_of(const json& line, const char* key) {
  const auto it = line.find(key);
  return it == line.end() ? 0 : count_from(*it);
}

/// What is only shown: a value that makes no sense is as good as none.
double shown_number(const json& line, const char* key) {
  const auto it = line.find(key);
  const double value = it != line.end() && it->is_number() ? it->get<double>() : 0;
  return value >= 0 && value <= static_cast<double>(largest_count) ? value : 0;
}

/// As text, but for these keys.
std::string without(json line, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    line.erase(key);
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

JournalStart start_from(const json& line) {
  JournalStart start;
  start.steps = static_cast<std::int64_t>(shown_number(line, "steps"));
  start.steps_per_epoch = static_cast<std::int64_t>(shown_number(line, "steps_per_epoch"));
  start.epochs = shown_number(line, "epochs");
  start.resumed_step = count_of(line, "resumed_step");
  start.ranks = static_cast<int>(std::min<std::int64_t>(count_of(line, "ranks"), INT_MAX));
  start.token = line.value("token", "");
  start.record = without(line, {"n", "t", "type", "format", "attempt", "token"});
  std::set<std::string> seen;
  if (const auto it = line.find("node_list"); it != line.end() && it->is_array())
    for (const json& node : *it)
      if (node.is_string() && seen.insert(node).second)
        start.node_list += (start.node_list.empty() ? "" : ",") + node.get<std::string>();
  return start;
}

/// What makes no sense is as good as missing.
std::optional<int> small_number(const json& line, const char* key, int largest) {
  const auto it = line.find(key);
  if (it == line.end() || !it->is_number_integer() || *it < 0 || *it > largest) return {};
  return it->get<int>();
}

EndRecord end_from(const json& line) {
  EndRecord end;
  end.status = line.at("status");
  end.step = count_of(line, "step");
  end.reason = line.value("reason", "");
  if (const auto it = line.find("rank"); it != line.end() && it->is_number_integer())
    end.rank = *it;
  end.node = line.value("node", "");
  end.exit_code = small_number(line, "exit_code", 255);
  if (const auto signal = small_number(line, "signal", 64))
    end.exit_code = exit_by_signal + *signal;
  return end;
}

void read_type(const json& line, const std::string& type, JournalLine& result) {
  if (type == "metrics") {
    result.type = JournalLine::Type::metrics;
    for (const json& point : line.at("points"))
      result.points.push_back(
          {point.at(0), count_from(point.at(1)), api::number_from(point.at(2)), result.time});
  } else if (type == "start") {
    result.type = JournalLine::Type::start;
    result.start = start_from(line);
  } else if (type == "note") {
    result.type = JournalLine::Type::note;
    result.level = line.value("level", "info");
    result.text = line.value("text", "");
    if (line.contains("lost")) {
      result.lost = line.at("lost");
      result.count = count_of(line, "count");
    }
  } else if (type == "checkpoint") {
    result.type = JournalLine::Type::checkpoint;
    result.step = count_from(line.at("step"));
  } else if (type == "ranks") {
    result.type = JournalLine::Type::ranks;
    result.ranks = without(line, {"n", "t", "type"});
  } else if (type == "end") {
    result.type = JournalLine::Type::end;
    result.end = end_from(line);
  }
}

/// A look at a file, and what it has from `offset` on.
struct Part {
  bool there = false;
  bool anew = false;  ///< it is another file than before, or shorter: `bytes` are from its start
  std::uint64_t size = 0, inode = 0;
  std::uint64_t hole = 0;  ///< bytes before `bytes` that were never written
  std::uint64_t cut = 0;   ///< bytes before `bytes` that are left out
  std::string bytes;
};

/// `most`: bytes; `only_end`: of the last ones.
Part read_part(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t inode,
               std::uint64_t most, bool only_end) {
  Part part;
  const Descriptor file = api::open_regular(path);
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0) return part;
  part.there = true;
  part.size = static_cast<std::uint64_t>(info.st_size);
  part.inode = info.st_ino;
  part.anew = part.size < offset || part.inode != inode;
  if (part.anew) offset = 0;
  part.hole = hole_at(file.get(), offset, part.size, max_line);
  offset += part.hole;
  const std::uint64_t end = std::min(end_bytes, most);
  if (only_end && !part.anew && part.size - offset > end) part.cut = part.size - offset - end;
  offset += part.cut;
  part.bytes.resize(std::min(most, part.size - offset));
  if (part.bytes.empty()) return part;
  const ssize_t count =
      pread(file.get(), part.bytes.data(), part.bytes.size(), static_cast<off_t>(offset));
  part.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return part;
}

}  // namespace

std::optional<JournalLine> parse_journal_line(std::string_view text) {
  try {
    const json line = json::parse(text);
    JournalLine result;
    result.n = count_from(line.at("n"));
    result.time = line.at("t");
    if (result.n < 1 || !(result.time >= 0 && result.time <= latest_time)) return {};
    read_type(line, line.at("type"), result);
    return result;
  } catch (const std::exception&) {  // JSON of another shape, or none
    return {};
  }
}

LineHeader peek(std::string_view line) {
  LineHeader result;
  constexpr std::string_view opening = "{\"n\":";
  if (line.substr(0, opening.size()) != opening) return result;
  const char* const end = line.data() + line.size();
  const char* rest = std::from_chars(line.data() + opening.size(), end, result.n).ptr;
  constexpr std::string_view time = ",\"t\":";
  if (std::string_view(rest, static_cast<std::size_t>(end - rest)).substr(0, time.size()) == time)
    std::from_chars(rest + time.size(), end, result.time);
  // The type stands in the first few keys; further on it could be inside a text.
  result.metrics = line.substr(0, 80).find("\"type\":\"metrics\"") != std::string_view::npos;
  return result;
}

void FileTail::rewind() {
  offset_ = taken_ = 0;
  line_ = 0;
  unfinished_.clear();
  passing_over_ = cut_ = false;
}

FileTail::Result FileTail::read(const std::function<void(std::string_view line)>& each,
                                std::uint64_t most) {
  Result result;
  const auto look = [file = file_, offset = offset_, inode = inode_,
                     wanted = std::min(most, block_bytes), only_end = taken_ >= max_bytes_] {
    return read_part(file, offset, inode, wanted, only_end);
  };
  const Part part = disk_ != nullptr ? disk_->run(look) : look();
  if (!part.there) return result;
  if (part.anew) rewind();
  inode_ = part.inode;
  if (part.hole + part.cut > 0) {  // a line without an end
    offset_ += part.hole + part.cut;
    unfinished_.clear();
    passing_over_ = true;
    if (part.hole > 0) result.too_long = 1;
    cut_ = cut_ || part.cut > 0;
  }
  if (part.bytes.empty()) return result;
  const std::string& block = part.bytes;
  result.bytes = block.size();
  taken_ += block.size();
  offset_ += block.size();
  result.more = offset_ < part.size;

  std::size_t begin = 0;
  for (std::size_t end; (end = block.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view rest(block.data() + begin, end - begin);
    ++line_;
    if (passing_over_) {
      passing_over_ = false;
    } else if (unfinished_.empty()) {
      each(rest);
    } else {
      unfinished_ += rest;
      each(unfinished_);
      unfinished_.clear();
    }
  }
  if (!passing_over_) unfinished_.append(block, begin);
  if (unfinished_.size() > max_line) {
    unfinished_.clear();
    passing_over_ = true;
    result.too_long = 1;
  }
  return result;
}

}  // namespace thalweg::daemon
