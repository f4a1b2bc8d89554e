// thalweg version: of this program, and of the controller where one runs.
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/commit.h"
#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

struct VersionOptions {
  Format format;
};

int version(Context& context, const VersionOptions& options) {
  const std::string commit = source_commit();
  Json versions{{"thalweg", THALWEG_VERSION}, {"commit", commit}, {"controller", nullptr}};
  daemon::api::Client& client = context.controller_if_any();
  if (client.ping()) versions["controller"] = text_at(client.get("/v1/ping"), "version");
  const std::string controller = text_at(versions, "controller");
  if (options.format.json) {
    print_json(context.out, versions);
    return exit_ok;
  }
  context.out << "thalweg " << THALWEG_VERSION << (commit.empty() ? "" : " (commit " + commit + ")")
              << '\n';
  if (!controller.empty() && controller != THALWEG_VERSION)
    context.out
        << "controller " << controller
        << " (another version: `thalweg daemon stop` lets the next command start this one)\n";
  return exit_ok;
}

}  // namespace

Action make_version(Arguments& arguments) {
  auto options = std::make_shared<VersionOptions>();
  add_json(arguments, options->format);
  return [options](Context& context) { return version(context, *options); };
}

}  // namespace thalweg::cli
