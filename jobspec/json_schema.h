// The sweep file as a JSON Schema (draft 7), for editors: completion, meanings and mistakes while
// typing.
#pragma once

#include <string>
#include <vector>

#include "jobspec/fwd.h"

namespace thalweg::jobspec {

/// One key of the file beside `train` and `parameters`.
struct FileKey {
  std::string section;  ///< "" = the top, "metric", "resources", "limits", "slurm"
  std::string name;
  std::string schema;  ///< what its value may be, as JSON Schema text
  std::string doc;     ///< one line
};
/// Every key that parse_sweep reads outside of `train` and `parameters`, but for the options of
/// sbatch in `slurm` (slurm_options.h).
const std::vector<FileKey>& file_keys();

/// JSON on one line. Says less than parse_sweep does: what several keys must fulfil together is
/// left to `thalweg validate`.
std::string json_schema(const Schema& schema);

}  // namespace thalweg::jobspec
