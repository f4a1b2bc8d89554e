// A rank's part of the weights, of which it alone makes the updates: a parameter server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/comm/mailbox.h"
#include "engine/sync/mode.h"
#include "engine/sync/server_roles.h"

namespace thalweg::engine {

/// What travels before a gradient.
struct PushHeader {
  std::int64_t step = 0;
  double lr = 0;
  double momentum = 0;  ///< NaN: none is scheduled
  std::int64_t samples = 1;
  double loss = 0;  ///< mean over the samples
  std::int32_t not_finite =
      0;                  ///< 0: nothing; n > 0: the gradient of parameter n - 1; -1: the loss
  std::int32_t stop = 0;  ///< the worker was asked to stop
  std::int32_t last = 0;  ///< no gradient: the worker has made `step` and waits for all others
  std::int32_t ends = 0;  ///< with `last`: that was the last step of the run
};

/// What travels before the weights that answer it. Every rank gets the same end from the teller.
struct AnswerHeader {
  std::int64_t end_step = INT64_MAX;  ///< all workers end after this step
  double loss = 0;                    ///< ParameterServer::loss()
  std::int32_t not_finite = 0;        ///< why; as in PushHeader
  std::int32_t stop = 0;              ///< or because some rank was asked to
};

struct ServerOptions {
  bool damps = false;         ///< the learning rate of an update is divided by its staleness
  std::int64_t max_lead = 0;  ///< steps that a worker may be ahead of the slowest one; 0: any
  int servers = 0;            ///< ranks that only serve, the last ones; 0: every rank is a worker
};

/// Takes each gradient as it arrives with a whole step of the optimizer and answers all ranks of
/// its group with the new weights. Every group is a worker of every server. Not thread-safe.
class ParameterServer {
 public:
  /// `replica`: weights and the optimizer's states in the host's memory. The parts, it and the
  /// mailbox must outlive the server. A rank that does not serve (ServerRoles::serves)
  /// answers itself alone.
  ParameterServer(const SyncParts& parts, Replica& replica, comm::Mailbox& mailbox,
                  const ServerRoles& roles, const ServerOptions& options);

  /// From now on pushes are taken; all workers have the weights of the replica, which the server
  /// takes over, and make step `step` next. `updates` have been made.
  void open(std::int64_t step, std::int64_t updates);
  /// What has arrived, as far as it goes.
  void serve();
  /// All workers have sent their last push.
  bool closed() const;
  /// For a rank that makes no gradients: some worker is at a step after this one, or waits for all
  /// others after it.
  bool is_past(std::int64_t step) const;
  /// Some worker that waits for all others has made the last step of the run.
  bool ends() const;
  void ask_to_stop();    ///< as if a worker's push had
  void write_weights();  ///< to the replica

  /// This rank's own group's push: no message. The gradient is spent. Answered when answered() says
  /// so; then the weights are in the replica. Nothing on a rank that makes no gradients.
  void push(const PushHeader& header, float* gradient);
  bool answered() const { return own() == nullptr || !own()->busy; }

  std::int64_t updates() const { return updates_; }
  const AnswerHeader& end() const { return end_; }
  double loss() const;  ///< mean over the newest of all workers, each by its samples
  /// By staleness, the last one for all above; since they were asked last.
  std::vector<std::int64_t> take_staleness();
  double take_ms() { return std::exchange(ms_, 0); }  ///< spent on updates since

  static constexpr std::uint32_t kPush = 1, kGradient = 2, kAnswer = 3, kWeights = 4;  ///< tags

 private:
  struct Worker {
    RankGroup ranks;
    int number = 0;        ///< of the group
    int pusher = 0;        ///< the rank that sends its gradients here
    bool busy = false;     ///< it waits for an answer
    bool applied = false;  ///< its gradient is in the weights, the answer is withheld
    bool closed = true;
    PushHeader header;
    AnswerHeader answer;
    std::int64_t step = -1;  ///< of its newest gradient
    double loss = 0;         ///< that came with it
    std::int64_t samples = 0;
    std::int64_t seen = 0;  ///< updates in the weights that it was sent
    FlatVector memory;      ///< for its gradients
    float* gradient = nullptr;
    std::vector<float> weights;  ///< on their way to its ranks
    std::unique_ptr<comm::Request> heard, gradient_heard;
    std::vector<std::unique_ptr<comm::Request>> told;  ///< headers and weights to its ranks
    bool has_header = false;
  };
  Worker* own() { return own_ < workers_.size() ? &workers_[own_] : nullptr; }
  const Worker* own() const { return own_ < workers_.size() ? &workers_[own_] : nullptr; }
  static bool is_told(const Worker& worker);
  void listen(Worker& worker);
  void look_at(Worker& worker);
  void apply(Worker& worker);
  void note_end(const PushHeader& header);
  bool may_go_on(const Worker& worker) const;
  void answer(Worker& worker);

  SyncParts p_;
  Replica& replica_;
  comm::Mailbox& mailbox_;
  ParameterRange range_;
  ServerOptions o_;
  FlatVector weights_;
  std::size_t own_;  ///< this rank's group, among the workers; none: their number or more
  std::vector<Worker> workers_;
  std::size_t turn_ = 0;
  std::int64_t updates_ = 0;
  std::int64_t newest_step_ = -1;  ///< of any worker
  AnswerHeader end_;
  std::vector<std::int64_t> staleness_;
  double ms_ = 0;
};

}  // namespace thalweg::engine
