#include "engine/attempt/journal.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "engine/attempt/file.h"
#include "jobspec/diagnostic.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

/// n of the last whole line.
std::int64_t last_number(const std::string& text, const std::filesystem::path& file) {
  if (text.empty()) return 0;
  const std::size_t before = text.rfind('\n', text.size() - 2);
  const std::string line = text.substr(before == std::string::npos ? 0 : before + 1);
  try {
    const jobspec::Value value = jobspec::read_yaml(line, file.string());
    if (const jobspec::Value* n = value.is_map() ? value.find("n") : nullptr) return n->as_int();
  } catch (const std::exception&) {
    // told below
  }
  throw std::runtime_error(file.string() + ": its last line is no line of a journal");
}

}  // namespace

Journal::Journal(std::filesystem::path file, Listener listener, Now now)
    : file_(std::move(file)),
      listener_(std::move(listener)),
      now_(now ? std::move(now) : unix_now) {
  std::string text;
  if (std::filesystem::exists(file_)) text = read_file(file_);
  const std::size_t newline = text.rfind('\n');
  text.resize(newline == std::string::npos ? 0 : newline + 1);
  lines_ = last_number(text, file_);
  size_ = static_cast<std::int64_t>(text.size());
  descriptor_ = open_to_append(file_, size_);
}

Journal::~Journal() {
  close_file(descriptor_);
}

void Journal::stamp(const char* key, std::string value) {
  const std::lock_guard lock(mutex_);
  stamps_.emplace_back(key, std::move(value));
}

void Journal::write(const char* type, jobspec::Map fields, bool last) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = last;
  jobspec::Map line{{"n", lines_ + 1}, {"t", now_()}, {"type", type}};
  for (auto& field : fields)
    line.push_back(std::move(field));
  for (const auto& [key, value] : stamps_)
    line.emplace_back(key, value);
  const std::string text = valid_utf8(jobspec::Value(std::move(line)).to_json()) + "\n";
  try {
    write_all(descriptor_, text, file_);
  } catch (...) {
    truncate_file(descriptor_, size_);  // a part of a line helps nobody
    throw;
  }
  ++lines_;
  size_ += static_cast<std::int64_t>(text.size());
  if (listener_) listener_(text);
}

void Journal::metrics(const std::vector<MetricPoint>& points) {
  jobspec::List list;
  for (const MetricPoint& p : points)
    list.push_back(jobspec::List{p.name, p.step, p.value});
  write("metrics", {{"points", std::move(list)}});
}

void Journal::note(const char* level, const std::string& text) {
  write("note", {{"level", level}, {"text", text}});
}

void Journal::sync() {
  sync_file(descriptor_, file_);
}

}  // namespace thalweg::engine
