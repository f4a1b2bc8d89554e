#include "cli/commands/studies.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"

namespace thalweg::cli {

void add_study_options(Arguments& arguments, StudyOptions& options) {
  Argument& ids =
      arguments.positional("ID", options.ids, "sweeps, one or several (default: the newest)");
  ids.required = false;
  ids.completes = Completes::id;
  add_json_and_csv(arguments, options.format);
}

Json ask_study(Context& context, const StudyOptions& options, const std::string& name,
               const std::vector<std::pair<std::string, std::string>>& query) {
  std::vector<std::string> ids = options.ids;
  if (ids.empty()) ids.emplace_back();
  std::vector<std::string> sweeps;
  for (const std::string& text : ids) {
    const jobspec::Id id = id_or_newest(context, text);
    if (!is_sweep(id))
      throw CommandError(exit_bad_input, name + " takes sweeps, not " + id.to_string(),
                         fmt::format("thalweg {} {}", name, id.sweep));
    sweeps.push_back(std::to_string(id.sweep));
  }
  return context.controller().get(
      with_query(fmt::format("/v1/studies/{}?sweeps={}", name, join(sweeps, ",")), query));
}

}  // namespace thalweg::cli
