#include "cli/schema_source.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>

#include "base/process.h"
#include "cli/exit_code.h"
#include "daemon/api/client.h"
#include "jobspec/schema.h"
#include "jobspec/site.h"
#include "jobspec/sweep.h"

namespace thalweg::cli {
namespace {

namespace api = daemon::api;

constexpr double schema_timeout_s = 60, limits_timeout_s = 20;

/// What the engine prints; nothing where there is none or it fails.
std::optional<std::string> engine_schema() {
  const auto program = find_program("thalweg-train");
  if (program.empty()) return std::nullopt;
  try {
    const ProgramOutput output = run_program({program.string(), "--schema"}, schema_timeout_s);
    if (output.code == 0) return output.out;
  } catch (const std::system_error&) {
    // Cannot be started: as good as not there.
  }
  return std::nullopt;
}

}  // namespace

jobspec::Schema find_schema(Context& context) {
  if (const auto text = engine_schema()) return jobspec::Schema::from_json(*text);
  try {
    return jobspec::Schema::from_json(context.controller_if_any().get("/v1/schema").dump());
  } catch (const daemon::api::Unreachable&) {
    throw CommandError(exit_failed,
                       "cannot learn what `train:` may contain: `thalweg-train --schema` does not "
                       "work and no controller answers",
                       "install thalweg-train beside thalweg or in PATH");
  }
}

const jobspec::Schema& SchemaSource::of(std::string_view sweep_file) {
  if (jobspec::runs_program(sweep_file)) return jobspec::open_schema();
  if (!engine_) engine_ = find_schema(context_);
  return *engine_;
}

jobspec::SiteLimits find_limits() {
  const auto program = find_program("thalwegd");
  if (program.empty()) return {};
  const ProgramOutput output = run_program({program.string(), "--limits"}, limits_timeout_s);
  if (output.code != 0)
    throw CommandError(exit_bad_input, "config.yaml cannot be used: " + output.err);
  return jobspec::SiteLimits::from_json(output.out);
}

}  // namespace thalweg::cli
