// The lines of `thalweg export --format jsonl`: trials, then points of theirs.
#include <fmt/format.h>

#include <set>

#include "cli/commands/imports.h"
#include "cli/exit_code.h"
#include "cli/output/text.h"

namespace thalweg::cli {

namespace fs = std::filesystem;
namespace api = daemon::api;

namespace {

struct Lines {
  explicit Lines(ReadRuns& all) : runs(all), run(all) {}

  ReadRuns& runs;
  RunsByName run;
  std::set<std::string> unfinished;
  std::set<std::string> metrics;

  static std::string name_of(const Json& line) {
    return fmt::format("{}.{}", line.at("sweep").get<std::int64_t>(),
                       line.at("trial").get<std::int64_t>());
  }

  void add(const Json& line) {
    const std::string kind = line.at("kind");
    if (kind == "trial") return add_trial(line);
    if (kind != "point") throw std::invalid_argument("kind is neither trial nor point");
    const auto step = line.at("step").get<std::int64_t>();
    if (step < 0) throw std::invalid_argument("step is below 0");
    run(name_of(line))
        .curves[line.at("metric").get<std::string>()]
        .push_back({step, api::fields::number_from(line.at("value")), time_of(line)});
  }

  /// 0 where it is not known.
  static double time_of(const Json& line) {
    const Json& time = member(line, "time");
    if (time.is_null()) return 0;
    if (!time.is_number() || time.get<double>() < 0)
      throw std::invalid_argument("time is no number of Unix seconds: " + time.dump());
    return time.get<double>();
  }

  void add_trial(const Json& line) {
    ReadRun& of = run(name_of(line));
    of.parameters = line.at("parameters");
    if (!of.parameters.is_object()) throw std::invalid_argument("parameters are no object");
    for (Json& value : of.parameters)
      if (value.is_structured()) value = value.dump();
    of.seed = line.at("seed").get<std::uint64_t>();
    if (text_at(line, "state") != "finished") unfinished.insert(of.source);
    if (metrics.insert(text_at(line, "metric")).second) {
      runs.metric = metrics.size() == 1 ? text_at(line, "metric") : "";
      runs.goal = metrics.size() == 1 ? text_at(line, "goal") : "";
    }
  }
};

}  // namespace

void read_json_lines(const fs::path& file, std::string_view text, ReadRuns& runs) {
  Lines lines(runs);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      lines.add(Json::parse(line));
    } catch (const std::exception& error) {
      throw CommandError(exit_bad_input,
                         fmt::format("{}:{}: not a line of thalweg export --format jsonl: {}",
                                     file.string(), number, printable(error.what())),
                         "other JSON is imported as CSV: in pandas, "
                         "read_json(file, lines=True).to_csv(...)");
    }
  }
  runs.understood.push_back(file.string() + ": JSON lines of thalweg export");
  if (const auto count = lines.unfinished.size(); count > 0)
    runs.understood.push_back(
        fmt::format("{} had not finished (failed, cancelled or running); imported ones count as "
                    "finished",
                    count_of(static_cast<long long>(count), "trial")));
}

}  // namespace thalweg::cli
