// The table of sync modes.
#include "engine/sync/mode.h"

#include <stdexcept>
#include <utility>

namespace thalweg::engine {
namespace {

const std::vector<SyncRow>& table() {
  static const std::vector<SyncRow> rows{synchronous_row()};
  return rows;
}

}  // namespace

Replica::Replica(const Model& model, const Optimizer<float>& optimizer)
    : parameters(Buffer::of_floats(model.parameter_floats())),
      running(Buffer::of_floats(model.statistics())) {
  for (int i = 0; i < optimizer.states(); ++i)
    states.push_back(Buffer::of_floats(model.parameter_floats()));
}

std::unique_ptr<SyncMode> make_sync_mode(const jobspec::Value& options, const SyncParts& parts) {
  const jobspec::Value* given = options.find("mode");
  const std::string name = given == nullptr ? table().front().name : given->to_text();
  std::vector<std::string> names;
  for (const SyncRow& row : table()) {
    if (name == row.name) return row.maker(options, parts);
    names.emplace_back(row.name);
  }
  const std::string near = jobspec::nearest(name, names);
  throw std::invalid_argument("sync.mode: no mode \"" + name + "\"" +
                              (near.empty() ? "" : " (did you mean " + near + "?)"));
}

std::vector<jobspec::Section> sync_schema() {
  jobspec::Section section;
  section.path = "sync";
  section.doc = "How the ranks work together";
  section.selector = "mode";
  for (const SyncRow& row : table())
    section.variants.push_back({row.name, row.doc, row.options});
  return {std::move(section)};
}

}  // namespace thalweg::engine
