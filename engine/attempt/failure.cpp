#include "engine/attempt/failure.h"

#include <cstdlib>

#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "engine/attempt/claim.h"
#include "jobspec/diagnostic.h"
#include "jobspec/value.h"

namespace thalweg::engine {

PeerFailed::PeerFailed(ExitCode code, int rank, const std::string& node, const std::string& what)
    : std::runtime_error("rank " + std::to_string(rank) + " on " + node + " " + what),
      code_(code),
      rank_(rank),
      node_(node) {}

Failure failure_of(const std::exception_ptr& error, int rank, const std::string& node) {
  Failure f;
  f.rank = rank;
  f.node = node;
  try {
    std::rethrow_exception(error);
  } catch (const PeerFailed& e) {
    f.code = e.code();
    f.reason = e.what();
    f.rank = e.rank();
    f.node = e.node();
  } catch (const Superseded& e) {
    f.code = ExitCode::superseded;
    f.reason = e.what();
  } catch (const jobspec::InputError& e) {
    f.code = ExitCode::bad_input;
    f.reason = e.what();
  } catch (const std::invalid_argument& e) {
    f.code = ExitCode::bad_input;
    f.reason = e.what();
  } catch (const std::bad_alloc&) {
    f.reason = "out of memory";
  } catch (const std::exception& e) {
    f.reason = e.what();
  } catch (...) {
    f.reason = "unknown error";
  }
  return f;
}

std::string slurm_step() {
  const char *job = std::getenv("SLURM_JOB_ID"), *step = std::getenv("SLURM_STEP_ID");
  return job == nullptr || step == nullptr ? "" : std::string(job) + "." + step;
}

std::optional<Failure> failure_in_step(const std::filesystem::path& folder) {
  const std::string own = slurm_step();
  if (own.empty()) return {};
  for (const std::filesystem::path& file : failure_files(folder)) {
    try {
      const jobspec::Value content = jobspec::read_yaml(read_file(file), file.string());
      const jobspec::Value* step = content.find("step");
      if (step == nullptr || !(*step == jobspec::Value(own))) continue;
      Failure failure;
      failure.rank = static_cast<int>(content.find("rank")->as_int());
      failure.node = content.find("node")->as_string();
      failure.reason = content.find("reason")->as_string();
      return failure;
    } catch (const std::exception&) {
      // Not whole, or gone again.
    }
  }
  return {};
}

std::vector<std::filesystem::path> failure_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename();
    if (name.starts_with("failure.") && name.ends_with(".json")) files.push_back(it->path());
  }
  return files;
}

bool write_failure(const std::filesystem::path& folder, int reporter,
                   const Failure& failure) noexcept {
  try {
    const std::string who = "rank" + std::to_string(reporter);
    const jobspec::Value value =
        jobspec::Map{{"time", unix_now()},       {"rank", failure.rank}, {"node", failure.node},
                     {"reason", failure.reason}, {"reporter", who},      {"step", slurm_step()}};
    const std::string text = valid_utf8(value.to_json()) + "\n";
    AtomicFile file(folder / ("failure." + who + ".json"));
    file.write(text.data(), text.size());
    file.commit();
    return true;
  } catch (const std::exception&) {
    return false;  // the reason is on stderr as well
  }
}

}  // namespace thalweg::engine
