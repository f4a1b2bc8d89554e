// From what set-up throws to a mistake with the key that it is about.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "engine/nn/graph.h"
#include "engine/train/check.h"

namespace thalweg::engine {
namespace {

/// Whether the text says that a file cannot be had here, whatever else is said of it.
bool says_missing(const std::string& text) {
  return text.find(std::strerror(ENOENT)) != text.npos ||
         text.find(std::strerror(EACCES)) != text.npos || text.find("$THALWEG_DATA") != text.npos;
}

/// An option, or a section.
bool is_key(const jobspec::Schema& schema, const std::string& path) {
  for (const jobspec::Section& section : schema.sections) {
    if (section.path == path && !path.empty()) return true;
    const std::string prefix = section.path.empty() ? "" : section.path + ".";
    const auto has = [&](const std::vector<jobspec::Option>& options) {
      return std::any_of(options.begin(), options.end(),
                         [&](const jobspec::Option& o) { return prefix + o.name == path; });
    };
    if (has(section.options) || (!section.variants.empty() && prefix + section.selector == path))
      return true;
    for (const jobspec::Variant& variant : section.variants)
      if (has(variant.options)) return true;
  }
  return false;
}

/// Messages of set-up begin with their key where they have one: "batch.global: 29 samples ...".
void take_key(const jobspec::Schema& schema, CheckError& error) {
  const std::size_t colon = error.message.find(": ");
  if (colon == error.message.npos) return;
  const std::string key = error.message.substr(0, colon);
  if (!is_key(schema, key.substr(0, key.find('[')))) return;
  error.key = key;
  error.message.erase(0, colon + 2);
}

}  // namespace

CheckError error_of(const jobspec::Schema& schema, const std::exception_ptr& thrown,
                    const std::string& section, const jobspec::Value& config) {
  CheckError error{section, "", "", false, thrown};
  try {
    std::rethrow_exception(thrown);
  } catch (const LayerError& e) {
    const jobspec::Value* const name = config.find("model.name");
    const std::string model = name == nullptr ? "" : name->to_text();
    error.message = e.what();
    if (model == "graph") {
      error.key = "model.layers[" + std::to_string(e.number() - 1) + "]" +
                  (e.option().empty() ? "" : "." + e.option());
    } else {
      error.message = "model " + model + ": " + error.message;
    }
  } catch (const std::bad_alloc&) {
    error.message = "takes more memory than there is";
  } catch (const std::exception& e) {
    error.message = e.what();
    error.missing_file =
        (section == "data" || section == "init_from") && says_missing(error.message);
    take_key(schema, error);
  }
  return error;
}

}  // namespace thalweg::engine
