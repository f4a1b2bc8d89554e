// thalweg importance: which parameters make the difference.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"

namespace thalweg::cli {
namespace {

struct ImportanceOptions {
  std::string id, metric;
  std::optional<double> best;
  Format format;
};

}  // namespace

/// Parameters, then pairs of them: "optimizer.lr with batch.global".
Table importance_table(const Json& answer) {
  Table table({{"parameter", "parameter", Align::left, true},
               {"alone", "alone", Align::right},
               {"with_others", "with others", Align::right},
               {"values", "values", Align::right}});
  for (const Json& row : list_at(answer, "parameters")) {
    const auto main = number_at(row, "main"), total = number_at(row, "total");
    table.add({printable(text_at(row, "name")),
               {format_share(main), plain_text(member(row, "main"))},
               {format_share(total), plain_text(member(row, "total"))},
               std::to_string(count_at(row, "values"))});
  }
  for (const Json& row : list_at(answer, "pairs"))
    table.add({printable(text_at(row, "first") + " with " + text_at(row, "second")),
               {format_share(number_at(row, "share")), plain_text(member(row, "share"))}});
  return table;
}

namespace {

int importance(Context& context, const ImportanceOptions& options) {
  const jobspec::Id id = id_or_newest(context, options.id);
  if (!is_sweep(id))
    throw CommandError(exit_bad_input, "importance takes a sweep, not " + id.to_string(),
                       "thalweg importance " + std::to_string(id.sweep));
  const Json answer = context.controller().get(
      with_query(path_of(id) + "/importance",
                 {{"metric", options.metric},
                  {"best", options.best ? fmt::format("{}", *options.best) : std::string()}}));
  if (options.format.json) {
    print_json(context.out, answer);
    return exit_ok;
  }
  const Table table = importance_table(answer);
  if (!table.empty() || options.format.csv) print_table(context, table, options.format);
  if (options.format.csv) return exit_ok;
  if (!list_at(answer, "parameters").empty())
    context.out << "shares of the variance of ranks by " << printable(text_at(answer, "metric"))
                << " over " << count_of(count_at(answer, "configurations"), "configuration")
                << "; the model explains " << format_share(number_at(answer, "explained"))
                << " of results that it has not seen\n";
  print_notes(context, texts_at(answer, "notes"));
  return exit_ok;
}

}  // namespace

Action make_importance(Arguments& arguments) {
  auto options = std::make_shared<ImportanceOptions>();
  Argument& id = arguments.positional("ID", options->id, "the sweep (default: the newest)");
  id.required = false;
  id.completes = Completes::id;
  arguments.option("--metric", "NAME", options->metric, "of another metric").completes =
      Completes::metric;
  arguments.option("--best", "SHARE", options->best,
                   "among this share of the configurations, the best ones (default: 1)");
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return importance(context, *options); };
}

}  // namespace thalweg::cli
