#include "engine/attempt/supervise/placement.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/file.h"
#include "base/machine.h"
#include "base/process.h"
#include "jobspec/trial.h"
#include "jobspec/value.h"

namespace thalweg::engine {

namespace fs = std::filesystem;
using jobspec::LaunchMode;

namespace {

constexpr int kMaxNodes = 100'000;  // of a node list: more is no list of ours

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int number(const char* name, int fallback) {
  const std::string text = variable(name);
  return text.empty() ? fallback : std::atoi(text.c_str());
}

/// The parts of "a,b[1,2],c" between commas outside of brackets.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

void add_range(const std::string& before, const std::string& range, const std::string& after,
               std::vector<std::string>& names) {
  const std::size_t dash = range.find('-');
  const std::string first = range.substr(0, dash);
  const std::string last = dash == range.npos ? first : range.substr(dash + 1);
  for (int i = std::atoi(first.c_str()); i <= std::atoi(last.c_str()) && names.size() < kMaxNodes;
       ++i) {
    std::string digits = std::to_string(i);
    if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
    const std::vector<std::string> more = expand_node_list(before + digits + after);
    names.insert(names.end(), more.begin(), more.end());
  }
}

int free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no port is free");
  return ntohs(address.sin_port);
}

struct OwnAddress {
  std::string text, interface;
};

/// IPv4 addresses of this machine's network interfaces that are up, without the loopback.
std::vector<OwnAddress> own_addresses() {
  std::vector<OwnAddress> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    const bool good = at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
                      (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
    char text[INET_ADDRSTRLEN];
    if (good && ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr,
                            text, sizeof text) != nullptr)
      addresses.push_back({text, at->ifa_name});
  }
  ::freeifaddrs(first);
  return addresses;
}

/// An address that others can reach. Nothing where the host's name means one (Debian has it mean
/// 127.0.1.1, and nodes without a resolver know no names), or where there is none.
std::optional<OwnAddress> address_beside_name() {
  const std::vector<OwnAddress> own = own_addresses();
  const auto find = [&](const std::string& address) {
    return std::find_if(own.begin(), own.end(),
                        [&](const OwnAddress& one) { return one.text == address; });
  };
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  std::string resolved;
  if (::getaddrinfo(host_name().c_str(), nullptr, &hints, &found) == 0) {
    char text[INET_ADDRSTRLEN];
    if (::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, text,
                    sizeof text) != nullptr)
      resolved = text;
    ::freeaddrinfo(found);
  }
  if (find(resolved) != own.end() || own.empty()) return {};
  const auto launched_on = find(variable("SLURM_LAUNCH_NODE_IPADDR"));
  return launched_on != own.end() ? *launched_on : own.front();
}

std::string reachable_address() {
  const auto address = address_beside_name();
  return address ? address->text : host_name();
}

/// srun's word about this very step: of no use to the program's own sruns, which would take it for
/// theirs.
bool of_the_step(const std::string& name) {
  constexpr const char* prefixes[] = {"SLURM_STEP", "SLURM_CPU_BIND", "SLURM_SRUN_", "PMI"};
  constexpr const char* names[] = {
      "SLURM_PROCID",        "SLURM_LOCALID",        "SLURM_NODEID",
      "SLURM_TASK_PID",      "SLURM_GTIDS",          "SLURM_LAUNCH_NODE_IPADDR",
      "SLURM_MPI_TYPE",      "SLURM_OVERLAP",        "SLURM_DISTRIBUTION",
      "SLURM_KILL_BAD_EXIT", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"};
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](const char* p) { return name.rfind(p, 0) == 0; }) ||
         std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// The nodes of a trial. One of a job that several share has the node of its step.
std::string slurm_nodes(const jobspec::Resources& resources) {
  const std::string step = variable("SLURM_STEP_NODELIST");
  return resources.nodes == 1 && !step.empty() ? step : variable("SLURM_JOB_NODELIST");
}

Variables own_variables() {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equal = text.find('=');
    if (equal != text.npos) variables[text.substr(0, equal)] = text.substr(equal + 1);
  }
  return variables;
}

}  // namespace

std::vector<std::string> expand_node_list(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& part : parts_of(text)) {
    const std::size_t open = part.find('['), close = part.find(']');
    if (open == part.npos || close == part.npos || close < open) {
      if (!part.empty()) names.push_back(part);
      continue;
    }
    for (const std::string& range : parts_of(part.substr(open + 1, close - open - 1)))
      add_range(part.substr(0, open), range, part.substr(close + 1), names);
  }
  return names;
}

Placement placement_of(const jobspec::Trial& trial) {
  const jobspec::Resources& resources = trial.resources;
  Placement place;
  place.slurm = !variable("SLURM_STEP_ID").empty() && !variable("SLURM_PROCID").empty();
  const LaunchMode mode = trial.program->launch;
  const bool launched = place.slurm || !variable("PMIX_RANK").empty();
  if (place.slurm) place.node_list = expand_node_list(slurm_nodes(resources));
  if (place.node_list.empty()) place.node_list = {host_name()};
  if (mode == LaunchMode::once || !launched) return place;
  place.rank = place.slurm ? number("SLURM_PROCID", 0) : number("PMIX_RANK", 0);
  place.size = mode == LaunchMode::per_node ? resources.nodes : resources.ranks();
  if (place.slurm) {
    place.local_rank = number("SLURM_LOCALID", 0);
    place.local_size = mode == LaunchMode::per_node ? 1 : resources.ranks_per_node;
    place.node = number("SLURM_NODEID", 0);
    place.nodes = resources.nodes;
  } else if (mode == LaunchMode::per_node) {
    place.node = place.rank;  // one machine plays them all
    place.nodes = place.size;
  } else {
    place.local_rank = place.rank;
    place.local_size = place.size;
  }
  return place;
}

MasterAddress meet(const Placement& placement, const std::string& token, const fs::path& folder,
                   double seconds) {
  const bool here = !placement.slurm || placement.nodes == 1;
  const fs::path file = folder / "meeting.json";
  if (placement.rank == 0) {
    const MasterAddress meeting{here ? "127.0.0.1" : reachable_address(), free_port()};
    if (placement.size == 1) return meeting;
    const jobspec::Value text =
        jobspec::Map{{"address", meeting.address}, {"port", meeting.port}, {"token", token}};
    AtomicFile written(file);
    written.write(text.to_json() + "\n");
    written.commit();
    return meeting;
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < until) {
    try {
      const jobspec::Value text = jobspec::read_yaml(read_file(file), file.string());
      const jobspec::Value* of = text.is_map() ? text.find("token") : nullptr;
      if (of != nullptr && *of == jobspec::Value(token))
        return {text.find("address")->as_string(), static_cast<int>(text.find("port")->as_int())};
    } catch (const std::exception&) {
      // not there yet
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw std::runtime_error("rank 0 has not started: " + file.string() + " does not come");
}

namespace {

/// Paths of the values that JSON has no number for, each a list of keys and places: the file says
/// "inf" of them, as it does of a text.
void add_not_finite(const jobspec::Value& value, const jobspec::List& path, jobspec::List& paths) {
  const auto within = [&](const jobspec::Value& key, const jobspec::Value& inner) {
    jobspec::List longer = path;
    longer.push_back(key);
    add_not_finite(inner, longer, paths);
  };
  if (value.is_map()) {
    for (const auto& [key, inner] : value.as_map())
      within(key, inner);
  } else if (value.is_list()) {
    for (std::size_t i = 0; i < value.as_list().size(); ++i)
      within(static_cast<std::int64_t>(i), value.as_list()[i]);
  } else if (value.is_number() && !std::isfinite(value.as_double())) {
    paths.emplace_back(path);
  }
}

}  // namespace

Variables program_environment(const jobspec::Trial& trial, const Placement& placement,
                              const MasterAddress& meeting, const SupervisedFiles& files) {
  Variables v = own_variables();
  const jobspec::Resources& resources = trial.resources;
  const LaunchMode mode = trial.program->launch;
  const auto text = [](auto number) { return std::to_string(number); };
  if (mode == LaunchMode::once) {
    std::erase_if(v, [](const auto& entry) { return of_the_step(entry.first); });
    if (placement.slurm) {
      v["SLURM_NODELIST"] = v["SLURM_JOB_NODELIST"] = slurm_nodes(resources);
      v["SLURM_NNODES"] = v["SLURM_JOB_NUM_NODES"] = text(resources.nodes);
      v["SLURM_NTASKS"] = v["SLURM_NPROCS"] = text(resources.ranks());
      v["SLURM_NTASKS_PER_NODE"] = text(resources.ranks_per_node);
      v["SLURM_TASKS_PER_NODE"] =  // mpirun takes its places from this alone
          text(resources.ranks_per_node) +
          (resources.nodes > 1 ? "(x" + text(resources.nodes) + ")" : "");
      v["SLURM_CPUS_PER_TASK"] = text(resources.threads_per_rank);
    }
  }
  v["RANK"] = text(placement.rank);
  v["WORLD_SIZE"] = text(placement.size);
  v["LOCAL_RANK"] = text(placement.local_rank);
  v["LOCAL_WORLD_SIZE"] = text(placement.local_size);
  v["GROUP_RANK"] = text(placement.node);
  v["GROUP_WORLD_SIZE"] = text(placement.nodes);
  v["MASTER_ADDR"] = meeting.address;
  v["MASTER_PORT"] = text(meeting.port);
  if (mode != LaunchMode::per_rank) {  // what torchrun takes for its options
    const bool all_here = mode == LaunchMode::once && !placement.slurm;
    v["PET_NNODES"] = text(mode == LaunchMode::once ? 1 : placement.nodes);
    v["PET_NPROC_PER_NODE"] = text(all_here ? resources.ranks() : resources.ranks_per_node);
    v["PET_NODE_RANK"] = text(placement.node);
    v["PET_MASTER_ADDR"] = meeting.address;
    v["PET_MASTER_PORT"] = text(meeting.port);
  }
  // Gloo takes the address that the host's name means, and tells others to meet it there.
  if (placement.slurm && placement.nodes > 1)
    if (const auto address = address_beside_name())
      v.try_emplace("GLOO_SOCKET_IFNAME", address->interface);
  v.try_emplace("OMP_NUM_THREADS", text(resources.threads_per_rank));
  v.try_emplace("PYTHONUNBUFFERED", "1");  // or lines would come late, and be lost with it
  const fs::path module = find_in_prefix("share/thalweg/python/thalweg.py");
  if (const fs::path python = module.parent_path(); !python.empty()) {
    const std::string before = v["PYTHONPATH"];
    // In the way of W&B's own package only where somebody asks for it.
    const auto wandb = v.find("THALWEG_WANDB");
    const bool shim = wandb != v.end() && wandb->second == "shim";
    v["PYTHONPATH"] = (shim ? (python / "wandb_shim").string() + ":" : "") + python.string() +
                      (before.empty() ? "" : ":" + before);
  }
  v["THALWEG_CONFIG"] = files.config;
  jobspec::List not_finite;
  add_not_finite(trial.train, {}, not_finite);
  v.erase("THALWEG_NOT_FINITE");
  if (!not_finite.empty())
    v["THALWEG_NOT_FINITE"] = jobspec::Value(std::move(not_finite)).to_json();
  v["THALWEG_SEED"] = std::to_string(trial.seed);
  v["THALWEG_ATTEMPT"] = trial.id.to_string();
  v["THALWEG_FOLDER"] = files.folder;
  v["THALWEG_CHECKPOINTS"] = files.checkpoints;
  v["THALWEG_STOP"] = files.stop;
  v["THALWEG_METRIC"] = trial.metric.name;
  v["THALWEG_NODES"] = text(resources.nodes);
  v["THALWEG_RANKS"] = text(resources.ranks());
  v["THALWEG_RANKS_PER_NODE"] = text(resources.ranks_per_node);
  v["THALWEG_RANK"] = text(placement.rank);
  v.erase("THALWEG_REPORTS");
  v.erase("THALWEG_RESUME_FROM");
  if (!files.reports.empty()) v["THALWEG_REPORTS"] = files.reports;
  if (!files.resume.empty()) v["THALWEG_RESUME_FROM"] = files.resume;
  v["THALWEG_RESUME_STEP"] = text(files.resume_step);
  return v;
}

}  // namespace thalweg::engine
