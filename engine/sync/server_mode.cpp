// The modes async and hybrid: groups of ranks compute gradients at their own pace and send them to
// servers, which take each one as it arrives with a whole step of the optimizer and send the new
// weights back (Dean et al., Large Scale Distributed Deep Networks, NIPS 2012; rank_groups: Kurth
// et al., Deep Learning at 15PF, arXiv:1708.05256). Every rank is the server of its part of the
// parameters, or the last ranks are and do nothing else (sync.servers). Where ranks are both, a
// thread of its own answers the others while a rank computes, and whoever waits for a sum of its
// group answers them meanwhile; at all other times the group is the caller's. A dedicated server
// makes its steps as its workers do, so that it comes to the same meetings: it is done with a step
// when some worker is at the next one, or waits for all others.
#include "engine/sync/server_mode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/comm/mailbox.h"
#include "engine/sync/attendant.h"
#include "engine/sync/clip.h"
#include "engine/sync/device/late_step.h"
#include "engine/sync/micro_batches.h"
#include "engine/sync/mode.h"
#include "engine/sync/parameter_server.h"
#include "jobspec/metric_names.h"

namespace thalweg::engine {
namespace {

namespace metric = jobspec::metric;

class ServerMode final : public SyncMode {
 public:
  ServerMode(const SyncParts& parts, const SyncOptions& common, int rank_groups,
             const ServerOptions& options)
      : p_(parts),
        common_(common),
        o_(options),
        roles_(parts.model.parameters(), parts.group.size(), rank_groups, options.servers),
        works_(roles_.works(parts.group.rank())),
        host_(parts.replica.parameters.on_host()
                  ? nullptr
                  : std::make_unique<Replica>(parts.model, parts.optimizer, std::nullopt,
                                              Replica::Place::host)),
        members_(works_ ? roles_.groups[rank_group_of(roles_.groups, parts.group.rank())]
                        : RankGroup()),
        running_(parts.model.statistics()) {
    if (!works_ && parts.sharding.mine() > 0)
      throw std::logic_error("a parameter server has shards (shards_of_workers)");
    for (int rank = 0; rank < parts.group.size(); ++rank)
      if (roles_.serves(rank)) servers_.push_back(rank);
    answers_.resize(servers_.size());
  }

  std::optional<StepOutcome> step(const StepInput& input) override {
    const bool first = server_ == nullptr;
    prepare();
    if (std::exchange(met_, false)) server_->open(input.context.step, updates());
    step_ = input.context.step;
    StepOutcome outcome;
    outcome.step = step_;
    if (works_)
      work(input, first, outcome);
    else
      serve(input, outcome);
    // Only at the common end may a rank tell what is not finite.
    if (!std::isfinite(outcome.loss)) outcome.loss = 0;
    outcome.optimizer_ms = server_->take_ms();
    outcome.wait_ms = std::max(0.0, outcome.wait_ms - outcome.optimizer_ms);
    if (works_ ? end_.end_step <= step_ : server_->ends()) {
      close();
      outcome.stop = end_.stop != 0;
      tell_not_finite(outcome);
    }
    return outcome;
  }

  std::optional<StepOutcome> meet() override {
    if (server_ == nullptr) return {};
    close();
    if (end_.not_finite == 0) return {};
    StepOutcome outcome;
    outcome.step = step_;
    tell_not_finite(outcome);
    return outcome;
  }

  const float* evaluated() override { return p_.replica.parameters.floats(); }

  /// The weights are everybody's since all have met; the optimizer's states are made so here.
  const float* parameters() override {
    if (server_ == nullptr) return nullptr;
    for (std::size_t i = 0; i < p_.replica.states.size(); ++i) {
      gather(on_host().states[i].floats());
      if (host_) p_.replica.states[i].write(host_->states[i].floats());
    }
    return nullptr;
  }

  std::string note() const override { return step_of_group_ ? step_of_group_->note() : ""; }

  std::vector<SyncState> states() override {
    return {{"updates", SyncState::Ranks::equal, {}, {&updates_, 1}, false}};
  }

  std::vector<std::pair<const char*, double>> measured() override {
    if (server_ == nullptr) return {};
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

  /// Where servers and messages have weights and states.
  Replica& on_host() { return host_ ? *host_ : p_.replica; }

  /// Collective, therefore not in the constructor: building may fail on one rank.
  void prepare() {
    if (server_ != nullptr) return;
    mailbox_ = std::make_unique<comm::Mailbox>(p_.group);
    own_group_ = p_.group.split(works_ ? members_.front() : roles_.teller, p_.group.rank());
    if (host_) {
      p_.replica.parameters.read(host_->parameters.floats());
      for (std::size_t i = 0; i < host_->states.size(); ++i)
        p_.replica.states[i].read(host_->states[i].floats());
    }
    server_ = std::make_unique<ParameterServer>(p_, on_host(), *mailbox_, roles_, o_);
    if (!works_) return;
    SyncOptions options = common_;
    LateOptions late{1.0f / static_cast<float>(samples()), nullptr, 1};
    if (holds_sums()) {
      options.overlap = false;
      // Messages of the host alone can be waited for while others are served.
      if (host_ && options.gpu_exchange == "auto") options.gpu_exchange = "host";
      late.wait = [this](const std::function<bool()>& done) {
        mailbox_->wait("the sum of the group's gradients", [&] {
          server_->serve();
          return done();
        });
      };
    }
    step_of_group_ = make_late_step(parts_of_group(), options, late);
    if (attends()) attendant_ = std::make_unique<Attendant>(*mailbox_, *server_);
  }

  /// Whether others want answers while this rank computes.
  bool attends() const { return !roles_.dedicated && p_.group.size() > 1; }
  bool holds_sums() const { return attends() && members_.size() > 1; }

  /// One gradient of this rank's group, at the servers.
  void work(const StepInput& input, bool first, StepOutcome& outcome) {
    const auto compute = [&] {
      step_of_group_->run(input);
      step_of_group_->wait_for_passes();
    };
    // The first one prepares the path, which needs the group.
    if (first || !attends())
      compute();
    else
      attendant_->during(compute);
    if (step_of_group_->held()) step_of_group_->start_held();
    const LateStep::Summed summed = step_of_group_->collect(outcome);
    float* const gradient = step_of_group_->on_host(summed.set);
    const PushHeader header = header_of(input, summed.report, gradient);
    const Stopwatch watch;
    push(header, gradient);
    if (host_) write_weights();
    outcome.wait_ms += watch.ms();
    if (p_.group.rank() == roles_.teller)
      outcome.loss = server_->loss();
    else
      outcome.loss = p_.group.rank() == 0 ? end_.loss : header.loss;
  }

  /// To the device.
  void write_weights() {
    p_.replica.parameters.write(host_->parameters.floats());
    if (step_of_group_) step_of_group_->parameters_written();
  }

  /// Of a rank that does nothing else.
  void serve(const StepInput& input, StepOutcome& outcome) {
    if (input.stop) server_->ask_to_stop();
    const Stopwatch watch;
    mailbox_->wait("gradients of the workers", [this] {
      server_->serve();
      return server_->is_past(step_);
    });
    outcome.wait_ms = watch.ms();
    outcome.loss = server_->loss();
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
    own.batches = p_.batches;
    return own;
  }

  PushHeader header_of(const StepInput& input, const StepReport& report, float* gradient) {
    PushHeader header;
    header.step = step_;
    header.lr = input.context.lr;
    header.momentum = input.context.momentum.value_or(std::numeric_limits<double>::quiet_NaN());
    header.samples = samples();
    header.loss =
        static_cast<double>(report.stats[stat_loss]) / static_cast<double>(header.samples);
    // Of any rank of the group, or of a server; a GPU alone keeps no wishes.
    const bool wished = report.stats[stat_stop] > 0 || (members_.size() == 1 && input.stop);
    header.stop = asked_to_stop_ || wished ? 1 : 0;
    if (!std::isfinite(header.loss)) header.not_finite = -1;
    for (const int number : p_.model.ready_order()) {
      if (std::isfinite(report.squares[static_cast<std::size_t>(number)])) continue;
      header.not_finite = number + 1;
      break;
    }
    if (header.not_finite != 0) return header;
    if (p_.clip_value > 0) clip_values(gradient, p_.model.parameter_floats(), p_.clip_value);
    if (p_.clip_norm > 0) clip(gradient, p_.model.parameter_floats(), p_.clip_norm);
    return header;
  }

  /// Until every server has answered.
  void push(const PushHeader& header, float* gradient) {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      const int server = servers_[i];
      if (server == p_.group.rank()) continue;
      const ParameterRange& range = roles_.ranges[static_cast<std::size_t>(server)];
      const std::size_t bytes = range.count * sizeof(float);
      Awaited& a = answers_[i];
      a.told = mailbox_->receive(server, ParameterServer::kAnswer, &a.header, sizeof a.header);
      if (bytes > 0)
        a.weights = mailbox_->receive(server, ParameterServer::kWeights,
                                      on_host().parameters.floats() + range.begin, bytes);
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
    end_ = p_.group.rank() == roles_.teller ? server_->end() : answers_[0].header;
    for (const Awaited& a : answers_)
      asked_to_stop_ = asked_to_stop_ || a.header.stop != 0;
  }

  /// Serves all others until they are as far as this rank, then gives everybody the servers'
  /// weights.
  void close() {
    if (std::exchange(met_, true)) return;
    PushHeader header;
    header.step = step_;
    header.last = 1;
    header.ends = end_.end_step <= step_ ? 1 : 0;
    for (std::size_t i = 0; works_ && i < servers_.size(); ++i)
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
    // Who does not serve has not seen all.
    p_.group.broadcast(&updates_, sizeof updates_, roles_.teller);
    server_->write_weights();
    gather(on_host().parameters.floats());
    if (host_) write_weights();
    average_running();
    end_ = server_->end();
    p_.group.broadcast(&end_, sizeof end_, roles_.teller);
  }

  /// Of each server its part.
  void gather(float* vector) {
    for (const int server : servers_) {
      const ParameterRange& range = roles_.ranges[static_cast<std::size_t>(server)];
      p_.group.broadcast(vector + range.begin, range.count * sizeof(float), server);
    }
  }

  void average_running() {
    if (running_.empty() || (roles_.groups.size() == 1 && !roles_.dedicated)) return;
    p_.replica.running.read(running_.data());
    if (roles_.groups.size() == 1) {  // all workers have the same
      p_.group.broadcast(running_.data(), running_.size() * sizeof(float), 0);
      return p_.replica.running.write(running_.data());
    }
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
  ServerRoles roles_;
  bool works_;                     ///< this rank makes gradients
  std::unique_ptr<Replica> host_;  ///< of a GPU's replica what servers change; null: no GPU
  RankGroup members_;              ///< of this rank's group; empty: it does not
  std::vector<int> servers_;       ///< those that serve, the teller first
  double updates_ = 0;             ///< of each server, when all met last
  std::int64_t step_ = 0;
  AnswerHeader end_;
  bool asked_to_stop_ = false;  ///< some server told so
  bool met_ = true;             ///< no push is under way anywhere
  std::unique_ptr<comm::Mailbox> mailbox_;
  std::unique_ptr<comm::Group> own_group_;  ///< of the group
  std::unique_ptr<LateStep> step_of_group_;
  std::unique_ptr<ParameterServer> server_;
  std::vector<Awaited> answers_;  ///< by place in servers_
  std::vector<float> running_;    ///< statistics on their way
  std::unique_ptr<Attendant> attendant_;
};

}  // namespace

std::unique_ptr<SyncMode> make_server_mode(const SyncConfig& config, const SyncParts& parts,
                                           int rank_groups) {
  ServerOptions options;
  options.damps = config.mode.text("staleness_damping") == "inverse";
  options.max_lead = config.mode.integer("max_lead");
  options.servers = servers_of(config);
  return std::make_unique<ServerMode>(parts, config.common, rank_groups, options);
}

}  // namespace thalweg::engine
