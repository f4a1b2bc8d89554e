// thalweg validate: check sweep files without a controller.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "cli/schema_source.h"
#include "jobspec/axis.h"
#include "jobspec/paths.h"
#include "jobspec/sweep.h"

namespace thalweg::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  Format format;
};

Json json_of(const jobspec::Diagnostic& diagnostic) {
  return {{"file", diagnostic.file},           {"line", diagnostic.place.line},
          {"column", diagnostic.place.column}, {"key", diagnostic.key},
          {"message", diagnostic.message},     {"hint", diagnostic.hint}};
}

/// {file, ok, name, trials, configurations, duplicates, notes, diagnostics}
Json check(Context& context, const std::string& file, const jobspec::Schema& schema,
           const jobspec::SiteLimits& limits, bool quiet) {
  const std::string text = read_file(file);
  Json result{{"file", file}, {"diagnostics", Json::array()}};
  try {
    jobspec::Sweep sweep = jobspec::parse_sweep(text, file, schema, limits);
    sweep.directory = jobspec::directory_of(file);
    const jobspec::Expansion expansion = jobspec::expand(sweep, schema);
    const auto& trials = expansion.trials;
    result["ok"] = true;
    result["name"] = sweep.name;
    result["trials"] = trials.size();
    result["configurations"] = trials.empty() ? 0 : trials.back().configuration;
    result["duplicates"] = expansion.duplicates;
    result["notes"] = sweep.notes;
  } catch (const jobspec::InputError& error) {
    result["ok"] = false;
    for (const auto& diagnostic : error.diagnostics()) {
      result["diagnostics"].push_back(json_of(diagnostic));
      if (!quiet) context.err << diagnostic.to_string() << '\n';
    }
  }
  return result;
}

void print_good(Context& context, const Json& result) {
  context.out << printable(text_at(result, "file")) << ": " << context.palette(Tint::green, "ok")
              << ": " << count_of(count_at(result, "trials"), "trial") << " ("
              << count_of(count_at(result, "configurations"), "configuration") << ")\n";
  print_notes(context, result);
}

int validate(Context& context, const Options& options) {
  const jobspec::Schema schema = find_schema(context);
  const jobspec::SiteLimits limits = find_limits();
  Json results = Json::array();
  long long mistakes = 0;
  for (const std::string& file : options.files) {
    results.push_back(check(context, file, schema, limits, options.format.json));
    const Json& result = results.back();
    mistakes += static_cast<long long>(list_at(result, "diagnostics").size());
    if (!options.format.json && flag_at(result, "ok")) print_good(context, result);
  }
  if (options.format.json) print_json(context.out, {{"files", results}});
  if (mistakes == 0) return exit_ok;
  if (!options.format.json) {
    context.out.flush();
    context.err << count_of(mistakes, "mistake") << '\n';
  }
  return exit_bad_input;
}

}  // namespace

Action make_validate(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.positional("SWEEP.yaml", options->files, "one or several sweep files").completes =
      Completes::file;
  arguments.flag("--json", options->format.json, "print {files:[{file, ok, diagnostics, …}]}");
  return [options](Context& context) { return validate(context, *options); };
}

}  // namespace thalweg::cli
