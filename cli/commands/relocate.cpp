// thalweg relocate: run folders that were moved.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

namespace fs = std::filesystem;

struct RelocateOptions {
  std::string from, to;
  Format format;
};

/// Without the slash that shells add to folders.
std::string folder_of(const std::string& text) {
  fs::path path = fs::absolute(text).lexically_normal();
  return path.has_filename() ? path.string() : path.parent_path().string();
}

int relocate(Context& context, const RelocateOptions& options) {
  const std::string from = folder_of(options.from), to = folder_of(options.to);
  const Json answer = context.controller().post("/v1/relocate", {{"from", from}, {"to", to}});
  if (options.format.json)
    print_json(context.out, answer);
  else
    context.out << "folders of " << count_of(count_at(answer, "attempts"), "attempt")
                << " are looked for in " << to << " now\n";
  return exit_ok;
}

}  // namespace

Action make_relocate(Arguments& arguments) {
  auto options = std::make_shared<RelocateOptions>();
  arguments.positional("OLD", options->from, "where run folders were, as /old/runs").completes =
      Completes::file;
  arguments.positional("NEW", options->to, "where they are now").completes = Completes::file;
  add_json(arguments, options->format);
  return [options](Context& context) { return relocate(context, *options); };
}

}  // namespace thalweg::cli
