#include "daemon/slurm_agent/checks.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace thalweg::slurm_agent {
namespace {

namespace fs = std::filesystem;

std::string count(std::int64_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

std::optional<std::string> impossible_in(const Shape& shape, const Partition& partition) {
  const std::string name = "partition '" + partition.name + "'";
  if (partition.max_nodes > 0 && shape.nodes > partition.max_nodes) {
    return "asks for " + count(shape.nodes, "node") + ", " + name + " allows at most " +
           std::to_string(partition.max_nodes) + " per job";
  }
  if (shape.nodes < partition.min_nodes) {
    return "asks for " + count(shape.nodes, "node") + ", " + name + " requires at least " +
           std::to_string(partition.min_nodes) + " per job";
  }
  const auto total = static_cast<std::int64_t>(partition.nodes.size());
  if (shape.nodes > total) {
    return "asks for " + count(shape.nodes, "node") + ", " + name + " has " + std::to_string(total);
  }
  if (partition.max_minutes > 0 && shape.minutes > partition.max_minutes) {
    return "asks for " + count(shape.minutes, "minute") + ", " + name + " allows at most " +
           std::to_string(partition.max_minutes);
  }
  const std::int64_t cpus = shape.tasks_per_node * shape.cpus_per_task;
  const auto fitting = std::count_if(
      partition.nodes.begin(), partition.nodes.end(),
      [&](auto& node) { return node.cpus >= cpus && node.memory_mib >= shape.memory_mib; });
  if (fitting < shape.nodes) {
    std::string wanted = count(cpus, "CPU");
    if (shape.memory_mib > 0) wanted += " and " + std::to_string(shape.memory_mib) + " MiB";
    return "asks for " + count(shape.nodes, "node") + " with " + wanted + " each, " + name +
           " has " + std::to_string(fitting) + " of that size";
  }
  return {};
}

std::string known_partitions(const std::vector<Partition>& partitions) {
  std::string text;
  for (const Partition& partition : partitions) {
    text +=
        (text.empty() ? "" : ", ") + partition.name + (partition.is_default ? " (default)" : "");
  }
  return text;
}

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    parts.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::optional<std::string> script_mistake(const std::string& script, const std::string& folder,
                                          const std::vector<std::string>& outputs) {
  if (script.rfind("#!", 0) != 0) return "the batch script does not start with '#!'";
  if (script.find('\0') != std::string::npos) return "the batch script holds a NUL byte";
  if (script.find("\r\n") != std::string::npos) return "the batch script has DOS line ends";
  std::error_code error;
  if (folder.empty() || folder.front() != '/') return "the working folder is not an absolute path";
  if (!fs::is_directory(folder, error)) return "the working folder " + folder + " does not exist";
  for (const std::string& path : outputs) {
    if (path.empty()) continue;
    const fs::path parent = fs::path(path).parent_path();
    if (!fs::is_directory(parent, error)) {
      return "the folder of output file " + path + " does not exist";
    }
  }
  return {};
}

std::optional<std::string> plain_path(const std::string& literal) {
  if (literal.find('\\') != std::string::npos) return {};
  std::string path;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    path += literal[i];
    if (literal.compare(i, 2, "%%") == 0) ++i;
  }
  return path;
}

std::optional<std::string> impossible(const Shape& shape,
                                      const std::vector<Partition>& partitions) {
  std::string reasons;
  for (const std::string& wanted : split(shape.partition)) {
    const auto partition = std::find_if(partitions.begin(), partitions.end(), [&](auto& p) {
      return wanted.empty() ? p.is_default : p.name == wanted;
    });
    std::optional<std::string> reason;
    if (partition != partitions.end()) {
      reason = impossible_in(shape, *partition);
    } else if (!wanted.empty()) {
      reason = "there is no partition '" + wanted + "'; this cluster has " +
               known_partitions(partitions);
    } else {
      reason = "this cluster has no default partition; it has " + known_partitions(partitions);
    }
    if (!reason) return {};
    reasons += (reasons.empty() ? "" : "; ") + *reason;
  }
  return reasons;
}

}  // namespace thalweg::slurm_agent
