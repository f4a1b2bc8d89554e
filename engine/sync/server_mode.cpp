// The modes async and hybrid: groups of ranks compute gradients at their own pace and send them to
// servers, which take each one as it arrives with a whole step of the optimizer and send the new
// weights back (Dean et al., Large Scale Distributed Deep Networks, NIPS 2012; rank_groups: Kurth
// et al., Deep Learning at 15PF, arXiv:1708.05256). Every rank is the server of its part of the
// parameters. While a rank computes, a thread of its own answers the others, and whoever waits for
// a sum of its group answers them meanwhile; at all other times the group is the caller's.
#include "engine/sync/server_mode.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/comm/mailbox.h"
#include "engine/sync/clip.h"
#include "engine/sync/compress/table.h"
#include "engine/sync/finite.h"
#include "engine/sync/gradient_path.h"
#include "engine/sync/micro_batches.h"
#include "engine/sync/mode.h"
#include "engine/sync/parameter_server.h"
#include "engine/sync/synchronous.h"
#include "engine/threads/threads.h"
#include "jobspec/metric_names.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

namespace metric = jobspec::metric;

/// Looks after a server's mail while its rank computes. The rank holds the mutex at all other
/// times.
class Attendant {
 public:
  Attendant(comm::Mailbox& mailbox, ParameterServer& server)
      : mailbox_(mailbox), server_(server), held_(mutex_), thread_([this] { attend(); }) {}
  ~Attendant() {
    quit_ = true;
    if (held_.owns_lock()) held_.unlock();
    thread_.join();
  }
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  /// Messages are served until the caller has `compute` behind it.
  template <class F>
  void during(const F& compute) {
    serving_ = true;
    held_.unlock();
    try {
      compute();
    } catch (...) {
      held_.lock();
      serving_ = false;
      throw;
    }
    held_.lock();
    serving_ = false;
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void attend() {
    // Much shorter than a step, and long enough to cost the computation nothing.
    constexpr std::chrono::microseconds kPause{50};
    while (!quit_) {
      {
        const std::lock_guard lock(mutex_);
        if (serving_ && !failure_) {
          try {
            mailbox_.poll();
            server_.serve();
          } catch (...) {
            failure_ = std::current_exception();
          }
        }
      }
      threads::sleep_for(kPause);
    }
  }

  comm::Mailbox& mailbox_;
  ParameterServer& server_;
  std::atomic<bool> quit_ = false;
  threads::Mutex mutex_;  ///< of all below, the mailbox and the server
  bool serving_ = false;
  std::exception_ptr failure_;
  std::unique_lock<threads::Mutex> held_;
  threads::Thread thread_;
};

class ServerMode final : public SyncMode {
 public:
  ServerMode(const SyncParts& parts, const SyncOptions& common, int rank_groups,
             const ServerOptions& options)
      : p_(parts),
        common_(common),
        o_(options),
        rank_groups_(make_rank_groups(parts.group.size(), rank_groups)),
        members_(rank_groups_[rank_group_of(rank_groups_, parts.group.rank())]),
        ranges_(share_parameters(parts.model.parameters(), parts.group.size())),
        running_(parts.model.statistics()) {
    for (int rank = 0; rank < parts.group.size(); ++rank)
      if (serves(ranges_, rank)) servers_.push_back(rank);
    answers_.resize(servers_.size());
  }

  StepOutcome step(const StepInput& input) override {
    const bool first = path_ == nullptr;
    prepare();
    if (std::exchange(met_, false)) server_->open(input.context.step, updates());
    StepOutcome outcome;
    outcome.step = input.context.step;
    const auto compute = [&] {
      path_->run(input, outcome);
      if (members_.size() == 1) path_->wait_for_all();
    };
    // The first one prepares the path, which needs the group.
    if (first || p_.group.size() == 1)
      compute();
    else
      attendant_->during(compute);
    if (members_.size() > 1) path_->hurry();
    path_->finish(outcome);
    const PushHeader header = header_of(input);
    const Stopwatch watch;
    push(header);
    outcome.wait_ms += watch.ms();
    outcome.optimizer_ms = server_->take_ms();
    outcome.wait_ms = std::max(0.0, outcome.wait_ms - outcome.optimizer_ms);
    outcome.loss = p_.group.rank() == 0 ? server_->loss() : header.loss;
    // Only at the common end may a rank tell what is not finite.
    if (!std::isfinite(outcome.loss)) outcome.loss = 0;
    if (end_.end_step <= input.context.step) {
      close();
      outcome.stop = end_.stop != 0;
      tell_not_finite(outcome);
    }
    return outcome;
  }

  StepOutcome meet() override {
    StepOutcome outcome;
    outcome.here = false;
    if (path_ == nullptr) return outcome;
    close();
    if (end_.not_finite == 0) return outcome;
    outcome.here = true;
    outcome.step = step_;
    tell_not_finite(outcome);
    return outcome;
  }

  const float* evaluated() override { return p_.replica.parameters.floats(); }

  /// The weights are everybody's since all have met; the optimizer's states are made so here.
  const float* parameters() override {
    if (path_ == nullptr) return nullptr;
    for (FlatVector& state : p_.replica.states)
      gather(state.floats());
    return nullptr;
  }

  void replica_written() override {}

  std::vector<SyncState> states() override {
    return {{"updates", SyncState::Ranks::equal, {}, {&updates_, 1}, false}};
  }

  std::vector<std::pair<const char*, double>> measured() override {
    if (path_ == nullptr) return {};
    std::vector<std::int64_t> counts = server_->take_staleness();
    p_.group.allreduce(counts.data(), counts.size(), comm::Type::i64, comm::Op::sum);
    std::int64_t all = 0, sum = 0, largest = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      all += counts[i];
      sum += counts[i] * static_cast<std::int64_t>(i);
      if (counts[i] > 0) largest = static_cast<std::int64_t>(i);
    }
    if (all == 0) return {};
    const auto quantile = [&](double share) {
      std::int64_t seen = 0;
      for (std::size_t i = 0; i < counts.size(); ++i)
        if (static_cast<double>(seen += counts[i]) >= share * static_cast<double>(all))
          return static_cast<double>(i);
      return static_cast<double>(largest);
    };
    return {{metric::staleness_mean, static_cast<double>(sum) / static_cast<double>(all)},
            {metric::staleness_p50, quantile(0.5)},
            {metric::staleness_p99, quantile(0.99)},
            {metric::staleness_max, static_cast<double>(largest)}};
  }

 private:
  /// Of an answer under way.
  struct Awaited {
    AnswerHeader header;
    std::unique_ptr<comm::Request> told, weights, header_sent, gradient_sent;
    bool here() {
      return comm::is_done(told) && comm::is_done(weights) && comm::is_done(header_sent) &&
             comm::is_done(gradient_sent);
    }
  };

  std::int64_t updates() const { return static_cast<std::int64_t>(updates_); }

  /// Collective, therefore not in the constructor: building may fail on one rank.
  void prepare() {
    if (path_ != nullptr) return;
    mailbox_ = std::make_unique<comm::Mailbox>(p_.group);
    own_group_ = p_.group.split(members_.front(), p_.group.rank());
    const SyncParts own = parts_of_group();
    SyncOptions options = common_;
    if (members_.size() > 1) options.overlap = false;
    path_ = std::make_unique<GradientPath>(own, options, 1.0f / static_cast<float>(samples()));
    server_ = std::make_unique<ParameterServer>(
        p_, *mailbox_, rank_groups_, ranges_[static_cast<std::size_t>(p_.group.rank())], o_);
    if (members_.size() > 1)
      path_->hold_sums([this](const std::function<bool()>& done) {
        mailbox_->wait("the sum of the group's gradients", [&] {
          server_->serve();
          return done();
        });
      });
    if (p_.group.size() > 1) attendant_ = std::make_unique<Attendant>(*mailbox_, *server_);
  }

  /// Shards of the group: their owners, by rank in it, then their number.
  std::vector<int> own_shards() const {
    const std::vector<int> all = p_.group.first_shards(p_.sharding.shards);
    std::vector<int> first;
    for (const int rank : members_)
      first.push_back(all[static_cast<std::size_t>(rank)] -
                      all[static_cast<std::size_t>(members_.front())]);
    first.push_back(all[static_cast<std::size_t>(members_.back()) + 1] -
                    all[static_cast<std::size_t>(members_.front())]);
    return first;
  }
  int samples() const { return own_shards().back() * p_.sharding.shard_batch(); }  ///< the group's

  /// A group of this rank's group, with its shards as all there are.
  SyncParts parts_of_group() const {
    Sharding sharding = p_.sharding;
    const std::vector<int> first = own_shards();
    sharding.shards = first.back();
    sharding.global_batch = samples();
    if (own_group_->first_shards(sharding.shards) != first) own_group_->own_shards(first);
    SyncParts own{p_.model, p_.optimizer, *own_group_, p_.executors, p_.replica, sharding, p_.seed};
    own.emulation = p_.emulation;
    own.emulated_rank = p_.group.rank();
    own.pass_time = p_.pass_time;
    return own;
  }

  PushHeader header_of(const StepInput& input) {
    PushHeader header;
    header.step = step_ = input.context.step;
    header.lr = input.context.lr;
    header.momentum = input.context.momentum.value_or(std::numeric_limits<double>::quiet_NaN());
    header.samples = samples();
    header.loss = static_cast<double>(path_->summed_extras()[extra_loss]) /
                  static_cast<double>(header.samples);
    header.stop = path_->summed_extras()[extra_stop] > 0 ? 1 : 0;  // of any rank of the group
    if (!std::isfinite(header.loss)) header.not_finite = -1;
    float* const gradient = path_->gradient();
    const std::vector<ParameterInfo>& infos = p_.model.parameters();
    for (const int number : p_.model.ready_order()) {
      const ParameterInfo& info = infos[static_cast<std::size_t>(number)];
      if (all_finite(gradient + info.offset, info.count)) continue;
      header.not_finite = number + 1;
      break;
    }
    if (header.not_finite != 0) return header;
    if (p_.clip_value > 0) clip_values(gradient, p_.model.parameter_floats(), p_.clip_value);
    if (p_.clip_norm > 0) clip(gradient, p_.model.parameter_floats(), p_.clip_norm);
    return header;
  }

  /// Until every server has answered.
  void push(const PushHeader& header) {
    float* const gradient = path_->gradient();
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      const int server = servers_[i];
      if (server == p_.group.rank()) continue;
      const ParameterRange& range = ranges_[static_cast<std::size_t>(server)];
      const std::size_t bytes = range.count * sizeof(float);
      Awaited& a = answers_[i];
      a.told = mailbox_->receive(server, ParameterServer::kAnswer, &a.header, sizeof a.header);
      if (bytes > 0)
        a.weights = mailbox_->receive(server, ParameterServer::kWeights,
                                      p_.replica.parameters.floats() + range.begin, bytes);
      if (pusher_of(members_, server) != p_.group.rank()) continue;
      a.header_sent = mailbox_->send(server, ParameterServer::kPush, &header, sizeof header);
      if (bytes > 0)
        a.gradient_sent =
            mailbox_->send(server, ParameterServer::kGradient, gradient + range.begin, bytes);
    }
    server_->push(header, gradient);
    mailbox_->wait("weights of the servers", [&] {
      server_->serve();
      return server_->answered() &&
             std::all_of(answers_.begin(), answers_.end(), [](Awaited& a) { return a.here(); });
    });
    end_ = p_.group.rank() == 0 ? server_->end() : answers_[0].header;
  }

  /// Serves all others until they are as far as this rank, then gives everybody the servers'
  /// weights.
  void close() {
    if (std::exchange(met_, true)) return;
    PushHeader header;
    header.last = 1;
    for (std::size_t i = 0; i < servers_.size(); ++i)
      if (servers_[i] != p_.group.rank() && pusher_of(members_, servers_[i]) == p_.group.rank())
        answers_[i].header_sent =
            mailbox_->send(servers_[i], ParameterServer::kPush, &header, sizeof header);
    server_->push(header, nullptr);
    mailbox_->wait("all ranks to come as far", [&] {
      server_->serve();
      return server_->closed() &&
             std::all_of(answers_.begin(), answers_.end(), [](Awaited& a) { return a.here(); });
    });
    updates_ = static_cast<double>(server_->updates());
    p_.group.broadcast(&updates_, sizeof updates_, 0);  // who does not serve has not seen all
    server_->write_weights();
    gather(p_.replica.parameters.floats());
    average_running();
    end_ = server_->end();
    p_.group.broadcast(&end_, sizeof end_, 0);
  }

  /// Of each server its part.
  void gather(float* vector) {
    for (int server = 0; server < p_.group.size(); ++server) {
      const ParameterRange& range = ranges_[static_cast<std::size_t>(server)];
      p_.group.broadcast(vector + range.begin, range.count * sizeof(float), server);
    }
  }

  void average_running() {
    if (running_.empty() || rank_groups_.size() == 1) return;
    p_.replica.running.read(running_.data());
    const float share =
        static_cast<float>(p_.sharding.mine()) / static_cast<float>(p_.sharding.shards);
    for (float& value : running_)
      value *= share;
    p_.group.allreduce(running_.data(), running_.size(), comm::Type::f32, comm::Op::sum);
    p_.replica.running.write(running_.data());
  }

  void tell_not_finite(StepOutcome& outcome) const {
    if (end_.not_finite == -1) outcome.loss = std::numeric_limits<double>::quiet_NaN();
    if (end_.not_finite > 0)
      outcome.not_finite =
          p_.model.parameters()[static_cast<std::size_t>(end_.not_finite) - 1].name;
  }

  SyncParts p_;
  SyncOptions common_;
  ServerOptions o_;
  std::vector<RankGroup> rank_groups_;
  const RankGroup& members_;            ///< this rank's
  std::vector<ParameterRange> ranges_;  ///< by rank
  std::vector<int> servers_;            ///< those that serve, rank 0 first
  double updates_ = 0;                  ///< of each server, when all met last
  std::int64_t step_ = 0;
  AnswerHeader end_;
  bool met_ = true;  ///< no push is under way anywhere
  std::unique_ptr<comm::Mailbox> mailbox_;
  std::unique_ptr<comm::Group> own_group_;  ///< of the group
  std::unique_ptr<GradientPath> path_;
  std::unique_ptr<ParameterServer> server_;
  std::vector<Awaited> answers_;  ///< by place in servers_
  std::vector<float> running_;    ///< statistics on their way
  std::unique_ptr<Attendant> attendant_;
};

}  // namespace

void require_servers(const SyncConfig& config, const SyncFacts& facts, const std::string& mode) {
  require_shards_everywhere(facts, "sync.mode " + mode);
  const auto refuse = [&mode](const std::string& why) {
    throw std::invalid_argument("sync.mode: " + mode + " " + why);
  };
  if (facts.on_gpu)
    refuse(
        "has its servers in the host's memory, and the model is on a GPU; use mode sync, or "
        "set device to cpu");
  if (facts.joins_shards)
    refuse(
        "has ranks at steps of their own, and model.sync_batch_norm needs all at once; set it "
        "to false, or use mode sync");
  if (!facts.touches_all)
    refuse("sends whole gradients, and this model's samples leave parameters out; use mode sync");
  if (facts.keeps_scalars)
    refuse(
        "has a server for each part of the parameters, and this optimizer keeps numbers for all "
        "of them together; use another one, or mode sync");
  if (facts.observes_curvature || facts.evaluates_elsewhere)
    refuse(
        "makes an update of every gradient, and this optimizer needs the curvature, or "
        "validates at weights of its own; use another one, or mode sync");
  if (config.compresses())
    refuse("sends gradients to servers as they are; leave sync.compress out, or use mode sync");
  if (config.common.compare_every > 0)
    refuse("has each rank at weights of its own; set sync.compare_every to 0, or use mode sync");
}

std::vector<jobspec::Option> server_options() {
  return {jobspec::choice_option("staleness_damping", {"none", "inverse"},
                                 "what becomes of an update's learning rate: nothing, or it is "
                                 "divided by the update's staleness (Zhang et al., "
                                 "arXiv:1511.05950)"),
          jobspec::int_option("max_lead", 0, 0, 1'000'000,
                              "steps that a rank may be ahead of the slowest one; 0 = any (Ho et "
                              "al., NIPS 2013)")};
}

std::unique_ptr<SyncMode> make_server_mode(const SyncConfig& config, const SyncParts& parts,
                                           int rank_groups) {
  ServerOptions options;
  options.damps = config.mode.text("staleness_damping") == "inverse";
  options.max_lead = config.mode.integer("max_lead");
  return std::make_unique<ServerMode>(parts, config.common, rank_groups, options);
}

/// A server's weights and the gradients of all workers for its part: about as much as two vectors.
std::int64_t server_vectors(const SyncConfig&, const Sharding&) {
  return 2;
}

}  // namespace thalweg::engine
