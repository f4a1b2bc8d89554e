// The table of sync modes.
#include "engine/sync/mode.h"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/comm/algorithms/choice.h"
#include "engine/sync/compress/table.h"
#include "engine/sync/options.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

const std::vector<SyncRow>& table() {
  static const std::vector<SyncRow> rows{synchronous_row(), adasum_row()};
  return rows;
}

std::string known_algorithms() {
  std::string known;
  for (const std::string& name : comm::names_of(comm::Collective::allreduce)) {
    known += (known.empty() ? "" : ", ") + name;
  }
  return known;
}

}  // namespace

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
  section.fallback = table().front().name;
  const comm::GroupOptions group;
  section.options = sync_options();
  section.options.push_back(jobspec::text_option(
      "allreduce", group.allreduce,
      "algorithm of sums other than the gradients': auto, autotune (measured when an attempt "
      "starts and written to its journal; bits may differ between attempts), a name, or names by "
      "size such as recursive_doubling:0-8K,ring:8K-; there are " +
          known_algorithms()));
  section.options.push_back(jobspec::above_min(jobspec::real_option(
      "stall_timeout_s", std::chrono::duration<double>(group.stall_timeout).count(), 0,
      jobspec::no_limit, "a rank that waits this long without any progress gives up")));
  section.options.push_back(jobspec::flag_option(
      "check", group.checked,
      "the ranks compare what they call before each collective; for finding mistakes"));
  for (const SyncRow& row : table())
    section.variants.push_back({row.name, row.doc, row.options});
  return {std::move(section), compress_section()};
}

jobspec::Value sync_identity(const jobspec::Value& options) {
  jobspec::Map identity;
  const auto add = [&](const char* selector, const auto& rows) {
    const jobspec::Value* name = options.find(selector);
    if (name == nullptr || name->to_text() == rows.front().name) return;
    identity.emplace_back(selector, *name);
    for (const auto& row : rows)
      for (const jobspec::Option& option : row.options)
        if (const jobspec::Value* value = options.find(option.name);
            value != nullptr && name->to_text() == row.name)
          identity.emplace_back(option.name, *value);
  };
  add("mode", table());
  add("compress", compress_table());
  return identity;
}

bool wants_autotune(const jobspec::Value& options) {
  const jobspec::Value* choice = options.find("allreduce");
  return choice != nullptr && choice->as_string() == "autotune";
}

comm::GroupOptions group_options(const jobspec::Value& options) {
  comm::GroupOptions group;
  if (const jobspec::Value* choice = options.find("allreduce")) {
    if (!wants_autotune(options)) group.allreduce = choice->as_string();
    (void)comm::Choice::parse(comm::Collective::allreduce, group.allreduce);
  }
  if (const jobspec::Value* seconds = options.find("stall_timeout_s"))
    group.stall_timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds->as_double()));
  if (const jobspec::Value* check = options.find("check")) group.checked = check->as_bool();
  return group;
}

}  // namespace thalweg::engine
