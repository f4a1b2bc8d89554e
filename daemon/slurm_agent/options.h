// How libslurm is told each option of sbatch: one row per option, under the name that the #SBATCH
// line has (jobspec/slurm_options.h has the same names, with what people may write).
#pragma once

#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/slurm_agent/checks.h"
#include "daemon/slurm_agent/compat.h"
#include "daemon/slurm_agent/messages.h"

namespace thalweg::slurm_agent {

/// An option that there is no row for, or a value that does not fit; what() is for people.
struct BadOption : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A job description and what its pointers point into.
class Description {
 public:
  Description();
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  job_desc_msg_t& get() { return description_; }
  /// A copy that lives as long as this object; nullptr for an empty text.
  char* keep(const std::string& text);
  /// A further item of a list with commas ("gres:gpu:2,gres:nvme:1").
  void append(char*& list, const std::string& item);
  /// A variable that sbatch would set for the srun in the script.
  void export_variable(const std::string& name, const std::string& value);
  /// The job's environment: these entries and the exported variables. Call it once, at the end.
  void set_environment(const std::vector<std::string>& entries);

 private:
  job_desc_msg_t description_;
  std::deque<std::string> texts_;
  std::vector<std::string> exported_;
  std::vector<char*> environment_;
};

struct OptionRow {
  const char* name;
  void (*set)(Description&, const std::string& value);
  const char* variable = nullptr;  ///< what sbatch exports for srun, with the option's value
};

/// The table itself, for tests.
const std::vector<OptionRow>& option_rows();

/// Sets them all, and what follows from several (CPUs from tasks). Throws BadOption.
void set_options(Description& description, const Options& options);

/// What partitions limit of it.
Shape shape_of(const job_desc_msg_t& description);

}  // namespace thalweg::slurm_agent
