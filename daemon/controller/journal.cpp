#include "daemon/controller/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/api/messages.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace {

constexpr std::size_t block_size = 4 << 20;
constexpr std::size_t longest_line = 16 << 20;

JournalStart start_from(const json& line) {
  JournalStart start;
  start.steps = line.value("steps", std::int64_t{0});
  start.steps_per_epoch = line.value("steps_per_epoch", std::int64_t{0});
  start.epochs = line.value("epochs", std::int64_t{0});
  start.resumed_step = line.value("resumed_step", std::int64_t{0});
  start.ranks = line.value("ranks", 0);
  start.token = line.value("token", "");
  std::set<std::string> seen;
  if (const auto it = line.find("node_list"); it != line.end() && it->is_array())
    for (const json& node : *it)
      if (node.is_string() && seen.insert(node).second)
        start.node_list += (start.node_list.empty() ? "" : ",") + node.get<std::string>();
  return start;
}

EndRecord end_from(const json& line) {
  EndRecord end;
  end.status = line.at("status");
  end.step = line.value("step", std::int64_t{0});
  end.reason = line.value("reason", "");
  if (const auto it = line.find("rank"); it != line.end() && it->is_number_integer())
    end.rank = *it;
  end.node = line.value("node", "");
  return end;
}

void read_type(const json& line, const std::string& type, JournalLine& result) {
  if (type == "metrics") {
    result.type = JournalLine::Type::metrics;
    for (const json& point : line.at("points"))
      result.points.push_back(
          {point.at(0), point.at(1), api::number_from(point.at(2)), result.time});
  } else if (type == "start") {
    result.type = JournalLine::Type::start;
    result.start = start_from(line);
  } else if (type == "note") {
    result.type = JournalLine::Type::note;
    result.level = line.value("level", "info");
    result.text = line.value("text", "");
  } else if (type == "checkpoint") {
    result.type = JournalLine::Type::checkpoint;
    result.step = line.at("step");
  } else if (type == "end") {
    result.type = JournalLine::Type::end;
    result.end = end_from(line);
  }
}

struct File {
  int fd;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

/// A look at a file, and what it has from `offset` on.
struct Part {
  bool there = false;
  bool anew = false;  ///< it is another file than before, or shorter: `bytes` are from its start
  std::uint64_t size = 0, inode = 0;
  std::string bytes;
};

Part read_part(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t inode) {
  Part part;
  const File file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0) return part;
  part.there = true;
  part.size = static_cast<std::uint64_t>(info.st_size);
  part.inode = info.st_ino;
  part.anew = part.size < offset || part.inode != inode;
  if (part.anew) offset = 0;
  part.bytes.resize(std::min<std::uint64_t>(block_size, part.size - offset));
  const ssize_t count =
      pread(file.fd, part.bytes.data(), part.bytes.size(), static_cast<off_t>(offset));
  part.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return part;
}

}  // namespace

std::optional<JournalLine> parse_journal_line(std::string_view text) {
  try {
    const json line = json::parse(text);
    JournalLine result;
    result.n = line.at("n");
    result.time = line.at("t");
    if (result.n < 1) return {};
    read_type(line, line.at("type"), result);
    return result;
  } catch (const std::exception&) {  // JSON of another shape, or none
    return {};
  }
}

LineGlance glance(std::string_view line) {
  LineGlance result;
  constexpr std::string_view opening = "{\"n\":";
  if (line.substr(0, opening.size()) != opening) return result;
  std::from_chars(line.data() + opening.size(), line.data() + line.size(), result.n);
  // The type stands in the first few keys; further on it could be inside a text.
  result.metrics = line.substr(0, 80).find("\"type\":\"metrics\"") != std::string_view::npos;
  return result;
}

void FileTail::rewind() {
  offset_ = 0;
  unfinished_.clear();
  passing_over_ = false;
}

FileTail::Result FileTail::read(const std::function<void(std::string_view line)>& each) {
  Result result;
  const auto look = [file = file_, offset = offset_, inode = inode_] {
    return read_part(file, offset, inode);
  };
  const Part part = disk_ != nullptr ? disk_->run(look) : look();
  if (!part.there) return result;
  if (part.anew) rewind();
  inode_ = part.inode;
  if (part.bytes.empty()) return result;
  const std::string& block = part.bytes;
  offset_ += block.size();
  result.more = offset_ < part.size;

  std::size_t begin = 0;
  for (std::size_t end; (end = block.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view rest(block.data() + begin, end - begin);
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
  if (unfinished_.size() > longest_line) {
    unfinished_.clear();
    passing_over_ = true;
    result.too_long = 1;
  }
  return result;
}

}  // namespace thalweg::daemon
