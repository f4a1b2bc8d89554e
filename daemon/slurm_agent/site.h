// The agent of a whole site: asks Slurm on behalf of users who have said so themselves, for a
// controller that cannot act as anybody. One child process a call, which is that user.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/auth/jwt.h"
#include "daemon/auth/munge_proofs.h"
#include "daemon/slurm_agent/child.h"
#include "daemon/slurm_agent/grants.h"
#include "daemon/slurm_agent/person.h"
#include "daemon/slurm_agent/verbs.h"

namespace thalweg::slurm_agent {

struct SiteOptions {
  std::string socket = "/run/thalweg-agent/socket";  ///< unless systemd hands one over
  std::string state = "/var/lib/thalweg-agent";
  std::string service_user = "thalweg";  ///< of the controller
  std::vector<std::string> runs;         ///< the folders in which attempts' folders are made
  std::string munge_socket;              ///< empty: the machine's
  std::string jwt_key;  ///< file of Slurm's key, where its tokens count, too; empty: they do not
  std::optional<uid_t> slurm_user;  ///< empty: Slurm is asked
  uid_t min_uid = 1000;
  int grant_days = 90;
  /// Less than the controller waits (60 s), more than a submission may take (50 s).
  std::chrono::milliseconds child_limit{55000};
};

/// Thread-safe.
class SiteAgent {
 public:
  /// Throws std::runtime_error where the options cannot be met.
  explicit SiteAgent(SiteOptions options);

  const Person& service() const { return service_; }
  /// Without the id.
  nlohmann::json answer(const nlohmann::json& line);

 private:
  /// Counts a user's calls under way.
  class Turn {
   public:
    Turn(SiteAgent& agent, uid_t uid);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool granted() const { return granted_; }

   private:
    SiteAgent& agent_;
    uid_t uid_;
    bool granted_ = false;
  };

  auth::Credential decoded(const std::string& credential);
  Result<Authorize::Answer> authorize(const Authorize& asked);
  Result<Nothing> revoke(const Revoke& asked);
  Result<Nothing> prepare(const Prepare& asked);
  nlohmann::json remove(Remove asked);
  template <class Question>
  nlohmann::json ask_as(Question question, std::chrono::milliseconds limit);
  Result<Person> person_for(const std::optional<As>& as);
  std::optional<Failure> barred(uid_t uid);

  SiteOptions options_;
  Person service_;
  Verbs verbs_;
  Grants grants_;
  auth::MungeProofs proofs_;
  std::unique_ptr<auth::JwtProofs> tokens_;  ///< null: they do not count
  OwnProgram child_;
  std::mutex turns_mutex_;
  std::map<uid_t, int> turns_;
  int all_turns_ = 0;
};

/// Until SIGTERM. Returns the exit status of the program.
int serve_site(const SiteOptions& options);

}  // namespace thalweg::slurm_agent
