// Where `validate` learns what `train:` may contain, and what config.yaml says about sweeps.
#pragma once

#include <optional>
#include <string_view>

#include "cli/context.h"
#include "jobspec/fwd.h"
#include "jobspec/schema.h"

namespace thalweg::cli {

/// Asks `thalweg-train --schema`, beside this program or else in PATH; where there is none, a
/// controller that already runs. Throws CommandError where neither can be had.
jobspec::Schema find_schema(Context& context);
/// The same for sweep files: asked for once, and not for those of programs of the user's own.
class SchemaSource {
 public:
  explicit SchemaSource(Context& context) : context_(context) {}
  const jobspec::Schema& of(std::string_view sweep_file);

 private:
  Context& context_;
  std::optional<jobspec::Schema> engine_;
};

/// Asks `thalwegd --limits`, beside this program or else in PATH; the defaults where there is none.
/// Throws CommandError (bad input) where config.yaml has mistakes.
jobspec::SiteLimits find_limits();

}  // namespace thalweg::cli
