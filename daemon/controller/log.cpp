#include "daemon/controller/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "daemon/controller/journald.h"

namespace thalweg::daemon::log {

namespace {

constexpr std::size_t file_size = 5 << 20, old_files = 3;

std::shared_ptr<spdlog::logger>& logger() {
  static std::shared_ptr<spdlog::logger> current;
  return current;
}

/// File names and words from journals may hold anything: a line of the log stays one line, and
/// nothing in it talks to the terminal that shows it.
std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return result;
}

std::optional<Journald>& journald() {
  static std::optional<Journald> current;
  return current;
}

/// syslog(3)'s.
int priority(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::err:
      return 3;
    case spdlog::level::warn:
      return 4;
    default:
      return 6;
  }
}

JournalFields fields_of(spdlog::level::level_enum level, const std::string& line,
                        const About& about) {
  JournalFields fields{{"MESSAGE", line},
                       {"PRIORITY", std::to_string(priority(level))},
                       {"SYSLOG_IDENTIFIER", "thalwegd"}};
  const auto [sweep, trial, attempt] = about.id;
  if (sweep != 0) fields.emplace_back("THALWEG_SWEEP", std::to_string(sweep));
  if (trial != 0) fields.emplace_back("THALWEG_TRIAL", jobspec::Id{sweep, trial, 0}.to_string());
  if (attempt != 0) fields.emplace_back("THALWEG_ATTEMPT", about.id.to_string());
  if (!about.event.empty()) fields.emplace_back("THALWEG_EVENT", about.event);
  return fields;
}

void write(spdlog::level::level_enum level, std::string_view text, const About& about = {}) {
  if (!logger()) return;
  const std::string line = printable(text);
  logger()->log(level, line);
  if (journald()) journald()->send(fields_of(level, line, about));  // the file has it in any case
}

/// Of one who was refused.
struct Told {
  double until = 0;  ///< a steady clock's seconds
  long left_out = 0;
};

}  // namespace

void open(const std::filesystem::path& file, bool also_stderr) {
  std::vector<spdlog::sink_ptr> sinks{
      std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file.string(), file_size, old_files)};
  journald() = also_stderr ? Journald::of_standard_error() : std::nullopt;
  if (also_stderr && !journald())
    sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger() = std::make_shared<spdlog::logger>("thalwegd", sinks.begin(), sinks.end());
  logger()->set_pattern("%Y-%m-%d %H:%M:%S.%e %L %v");
  logger()->flush_on(spdlog::level::info);
}

void info(std::string_view text, const About& about) {
  write(spdlog::level::info, text, about);
}
void warning(std::string_view text, const About& about) {
  write(spdlog::level::warn, text, about);
}
void error(std::string_view text, const About& about) {
  write(spdlog::level::err, text, about);
}

void refused(const std::string& who, std::string_view text) {
  constexpr double pause_s = 60;
  constexpr std::size_t max_known = 1000;
  static std::mutex mutex;
  static std::map<std::string, Told> known;
  const std::lock_guard lock(mutex);
  const double now = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  if (known.size() >= max_known && !known.contains(who))
    std::erase_if(known, [&](const auto& entry) {
      return entry.second.until <= now && entry.second.left_out == 0;
    });
  Told& told = known[known.size() < max_known || known.contains(who) ? who : std::string()];
  if (now < told.until) {
    ++told.left_out;
    return;
  }
  const long before = std::exchange(told.left_out, 0);
  told.until = now + pause_s;
  write(spdlog::level::warn,
        fmt::format("refused: {}{}", text,
                    before > 0 ? fmt::format(" ({} more like it before)", before) : ""));
}

}  // namespace thalweg::daemon::log
