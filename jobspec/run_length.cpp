#include "jobspec/run_length.h"

namespace thalweg::jobspec {

std::string depends_on_run_length(const Schema& schema, const Value& train) {
  for (const Section& section : schema.sections) {
    const std::string prefix = section.path.empty() ? "" : section.path + ".";
    const Value* const chosen = train.find(prefix + section.selector);
    const std::string name = chosen == nullptr ? section.default_value : chosen->to_text();
    for (const Variant& variant : section.variants) {
      if (variant.name != name || variant.run_length.empty()) continue;
      const std::string what = prefix + section.selector + ": " + name;
      if (variant.run_length == "*") return what;
      const std::string stem = variant.run_length + "_";
      const auto given = [&](const char* unit) {
        const Value* const value = train.find(prefix + stem + unit);
        return value != nullptr && !value->is_null();
      };
      if (given("steps") || given("epochs") || given("samples")) continue;
      return what + " (without " + stem + "steps, " + stem + "epochs or " + stem + "samples)";
    }
  }
  return "";
}

}  // namespace thalweg::jobspec
