// Speeds are compared between machines of one kind only, and a slow rank is often a machine of
// another: what the kernel says of processor and memory is enough to tell them apart.
#include "engine/train/node_facts.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "engine/train/libraries.h"
#include "engine/train/rank_times.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

/// As the ranks tell it each other: fields, one a line.
std::string this_machine(const std::string& gpu) {
  constexpr double kGiB = 1 << 30;
  const auto bytes = static_cast<double>(machine_memory());
  return processor_name() + "\n" + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + "\n" +
         std::to_string(std::llround(bytes / kGiB)) + "\n" + gpu;
}

jobspec::Map fields_of(const std::string& told) {
  std::vector<std::string> lines(1);
  for (const char c : told) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  jobspec::Map fields{{"processor", lines.at(0)},
                      {"cores", std::int64_t{std::stol(lines.at(1))}},
                      {"memory_gib", std::int64_t{std::stol(lines.at(2))}}};
  if (!lines.at(3).empty()) fields.emplace_back("gpu", lines.at(3));
  return fields;
}

}  // namespace

jobspec::Value node_kinds(comm::Group& group, const std::string& gpu) {
  const std::vector<std::string> told = gather_texts(group, this_machine(gpu));
  std::vector<std::pair<std::string, jobspec::List>> kinds;  // in the order of the ranks
  std::set<std::string> seen;
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::string& kind = told[static_cast<std::size_t>(rank)];
    if (!seen.insert(group.node_of(rank)).second) continue;
    const auto known =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == kind; });
    if (known == kinds.end())
      kinds.push_back({kind, {group.node_of(rank)}});
    else
      known->second.emplace_back(group.node_of(rank));
  }
  jobspec::List list;
  for (auto& [kind, nodes] : kinds) {
    jobspec::Map fields = fields_of(kind);
    fields.emplace_back("nodes", std::move(nodes));
    list.emplace_back(std::move(fields));
  }
  return list;
}

bool differ_in_processor(const jobspec::Value& kinds) {
  std::set<std::string> processors;
  for (const jobspec::Value& kind : kinds.as_list())
    processors.insert(kind.find("processor")->as_string());
  return processors.size() > 1;
}

}  // namespace thalweg::engine
