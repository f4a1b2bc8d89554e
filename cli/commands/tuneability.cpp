// thalweg tuneability: DeepOBS' questions about optimizers (or others): how good at the best
// setting, how fast, and how much the setting matters.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

struct TuneabilityOptions : StudyOptions {
  std::vector<std::string> by;
  bool settings = false;
};

/// "lr=0.1, decay=cosine"; with all digits, or as many as a person reads.
std::string setting_text(const Json& setting, bool digits) {
  std::string text;
  for (const auto& [name, value] : member(setting, "values").items())
    text += (text.empty() ? "" : ", ") + last_part(name) + "=" +
            (digits ? plain_text(value) : format_values(plain_text(value)));
  return text;
}

std::vector<Cell> cells_of(const std::string& group, const Json& setting) {
  std::vector<Cell> cells{{printable(format_values(group)), group},
                          {printable(setting_text(setting, false)), setting_text(setting, true)}};
  for (const char* key : {"final_mean", "final_sd", "speed", "runs"})
    cells.emplace_back(format_finite(number_at(setting, key)), plain_text(member(setting, key)));
  return cells;
}

Table table_of(const Json& answer, bool settings) {
  std::vector<Column> columns{{"group", join(texts_at(answer, "by"), ", ")},
                              {"setting", settings ? "setting" : "best setting"},
                              {"final", text_at(answer, "metric"), Align::right},
                              {"sd", "sd", Align::right},
                              {"speed", "speed", Align::right},
                              {"runs", "runs", Align::right}};
  columns.push_back(settings ? Column{"diverged", "diverged", Align::right}
                             : Column{"reached", "settings that reach it", Align::right});
  columns[1].shrinks = true;
  Table table(columns);
  for (const Json& row : list_at(answer, "rows")) {
    const std::string group = text_at(row, "group");
    if (!settings) {
      std::vector<Cell> cells = cells_of(group, member(row, "best"));
      cells.emplace_back(format_share(number_at(row, "reached")),
                         plain_text(member(row, "reached")));
      table.add(std::move(cells));
      continue;
    }
    for (const Json& setting : list_at(row, "settings")) {
      std::vector<Cell> cells = cells_of(group, setting);
      cells.emplace_back(plain_text(member(setting, "diverged")));
      table.add(std::move(cells));
    }
  }
  return table;
}

int tuneability(Context& context, const TuneabilityOptions& options) {
  const Json answer = ask_study(context, options, "tuneability", {{"by", join(options.by, ",")}});
  print_study(context, options, answer, table_of(answer, options.settings));
  return exit_ok;
}

}  // namespace

Action make_tuneability(Arguments& arguments) {
  auto options = std::make_shared<TuneabilityOptions>();
  add_study_options(arguments, *options);
  Argument& by = arguments.option("--by", "A,B", options->by,
                                  "what is compared; all else that varies is tuned");
  by.completes = Completes::group;
  arguments.flag("--settings", options->settings, "every setting, not each group's best alone");
  return [options](Context& context) { return tuneability(context, *options); };
}

}  // namespace thalweg::cli
