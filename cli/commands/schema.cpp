// thalweg schema: the sweep file as a JSON Schema, for editors.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/schema_source.h"
#include "jobspec/json_schema.h"
#include "jobspec/schema.h"

namespace thalweg::cli {

Action make_schema(Arguments&) {
  return [](Context& context) {
    // As one object whose keys keep their order: editors offer them in it.
    const auto schema = nlohmann::ordered_json::parse(jobspec::json_schema(find_schema(context)));
    context.out << schema.dump(1) << '\n';
    return exit_ok;
  };
}

}  // namespace thalweg::cli
