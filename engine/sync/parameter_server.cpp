// One loop over the workers' mail. A header tells what comes; the gradient is received into memory
// of that worker alone, so that several may be on their way. Nothing is received before it is
// expected: when all have sent their last push, no message is under way, and whoever likes may use
// the ranks' group.
#include "engine/sync/parameter_server.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/sync/overlap.h"

namespace thalweg::engine {
namespace {

constexpr std::size_t kStalenessBins = 1024;

}  // namespace

std::vector<ParameterRange> share_parameters(const std::vector<ParameterInfo>& infos, int servers) {
  std::size_t total = 0;
  for (const ParameterInfo& info : infos)
    total += info.count;
  std::vector<ParameterRange> ranges;
  int next = 0;
  std::size_t given = 0;
  for (int server = 0; server < servers; ++server) {
    ParameterRange range{next, next, 0, 0};
    const std::size_t until =
        total * static_cast<std::size_t>(server + 1) / static_cast<std::size_t>(servers);
    while (next < static_cast<int>(infos.size())) {
      const ParameterInfo& info = infos[static_cast<std::size_t>(next)];
      // Where its middle lies.
      if (server + 1 < servers && given + info.count / 2 >= until) break;
      if (range.first == next) range.begin = info.offset;
      range.end = ++next;
      range.count = info.offset + info.count - range.begin;
      given += info.count;
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<RankGroup> make_rank_groups(int ranks, int groups) {
  std::vector<RankGroup> all(static_cast<std::size_t>(groups));
  for (int group = 0; group < groups; ++group)
    for (int rank = comm::Group::first_shard(group, groups, ranks);
         rank < comm::Group::first_shard(group + 1, groups, ranks); ++rank)
      all[static_cast<std::size_t>(group)].push_back(rank);
  return all;
}

std::size_t rank_group_of(const std::vector<RankGroup>& groups, int rank) {
  std::size_t group = 0;
  while (groups[group].back() < rank)
    ++group;
  return group;
}

int pusher_of(const RankGroup& group, int server) {
  if (server >= group.front() && server <= group.back()) return server;
  return group[static_cast<std::size_t>(server) % group.size()];
}

ParameterServer::ParameterServer(const SyncParts& parts, comm::Mailbox& mailbox,
                                 const std::vector<RankGroup>& rank_groups, ParameterRange range,
                                 const ServerOptions& options)
    : p_(parts),
      mailbox_(mailbox),
      range_(range),
      o_(options),
      weights_(FlatVector::sparse(parts.model.parameter_floats())),
      own_(0),
      staleness_(kStalenessBins) {
  const std::size_t own_group = rank_group_of(rank_groups, parts.group.rank());
  const bool serves = parts.group.rank() == 0 || range_.count > 0;
  for (std::size_t number = 0; number < rank_groups.size(); ++number) {
    const bool is_own = number == own_group;
    if (!is_own && !serves) continue;
    if (is_own) own_ = workers_.size();
    Worker& worker = workers_.emplace_back();
    worker.ranks = serves ? rank_groups[number] : RankGroup{parts.group.rank()};
    worker.number = static_cast<int>(number);
    worker.pusher = pusher_of(worker.ranks, p_.group.rank());
    if (!is_own || worker.ranks.size() > 1) worker.weights.resize(range_.count);
    if (is_own || range_.count == 0) continue;
    worker.memory = FlatVector::sparse(p_.model.parameter_floats());
    worker.gradient = worker.memory.floats();
  }
}

void ParameterServer::open(std::int64_t step, std::int64_t updates) {
  updates_ = updates;
  newest_step_ = step - 1;
  std::copy_n(p_.replica.parameters.floats() + range_.begin, range_.count,
              weights_.floats() + range_.begin);
  for (Worker& worker : workers_) {
    worker.closed = false;
    worker.seen = updates_;
    worker.step = newest_step_;
    if (&worker != &own()) listen(worker);
  }
}

void ParameterServer::listen(Worker& worker) {
  worker.has_header = false;
  worker.heard = mailbox_.receive(worker.pusher, kPush, &worker.header, sizeof worker.header);
}

bool ParameterServer::closed() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const Worker& w) { return w.closed && is_told(w); });
}

void ParameterServer::write_weights() {
  std::copy_n(weights_.floats() + range_.begin, range_.count,
              p_.replica.parameters.floats() + range_.begin);
}

void ParameterServer::push(const PushHeader& header, float* gradient) {
  Worker& worker = own();
  worker.header = header;
  worker.gradient = gradient;
  worker.closed = header.last != 0;
  worker.busy = !worker.closed;
}

void ParameterServer::serve() {
  ++turn_;
  for (std::size_t i = 0; i < workers_.size(); ++i)
    look_at(workers_[(turn_ + i) % workers_.size()]);
}

bool ParameterServer::is_told(const Worker& worker) {
  return std::all_of(worker.told.begin(), worker.told.end(), comm::is_done);
}

void ParameterServer::look_at(Worker& worker) {
  if (worker.closed) return;
  if (&worker == &own()) {
    if (!worker.busy || !is_told(worker)) return;
  } else if (!worker.busy) {
    if (!worker.has_header) {
      if (!comm::is_done(worker.heard)) return;
      worker.has_header = true;
      worker.heard.reset();
      if (worker.header.last == 0 && range_.count > 0)
        worker.gradient_heard = mailbox_.receive(
            worker.pusher, kGradient, worker.gradient + range_.begin, range_.count * sizeof(float));
    }
    if (!comm::is_done(worker.gradient_heard) || !is_told(worker)) return;
    if (worker.header.last != 0) {
      worker.closed = true;
      return;
    }
    worker.busy = true;
  }
  if (!worker.applied) apply(worker);
  if (may_go_on(worker)) answer(worker);
}

void ParameterServer::apply(Worker& worker) {
  const Stopwatch watch;
  const PushHeader& header = worker.header;
  const std::int64_t staleness = updates_ - worker.seen;
  StepContext context;
  context.step = updates_;
  context.lr = o_.damps && staleness > 1 ? header.lr / static_cast<double>(staleness) : header.lr;
  if (!std::isnan(header.momentum)) context.momentum = header.momentum;
  context.samples = header.samples;
  OptimizerMemory<float> memory = p_.replica.memory(worker.gradient);
  memory.w = weights_.floats();
  for (int number = range_.first; header.not_finite == 0 && number < range_.end; ++number) {
    const ParameterInfo& info = p_.model.parameters()[static_cast<std::size_t>(number)];
    p_.optimizer.update(context, {number, info.offset, info.count}, memory);
  }
  ++updates_;
  if (range_.count > 0)
    ++staleness_[std::min(static_cast<std::size_t>(staleness), kStalenessBins - 1)];
  worker.applied = true;
  worker.step = header.step;
  worker.loss = header.loss;
  worker.samples = header.samples;
  newest_step_ = std::max(newest_step_, header.step);
  note_end(header);
  ms_ += watch.ms();
  if (p_.on_arrival && range_.count > 0)
    p_.on_arrival({p_.group.rank(), worker.number, header.step, staleness});
}

/// No worker has had an answer to a step after the newest one: all hear of it in time.
void ParameterServer::note_end(const PushHeader& header) {
  if (header.not_finite == 0 && header.stop == 0) return;
  end_.end_step = std::min(end_.end_step, newest_step_ + 1);
  if (end_.not_finite == 0) end_.not_finite = header.not_finite;
  end_.stop |= header.stop;
}

bool ParameterServer::may_go_on(const Worker& worker) const {
  if (o_.max_lead == 0) return true;
  std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
  for (const Worker& other : workers_)
    slowest = std::min(slowest, other.step);
  return worker.step - slowest <= o_.max_lead;
}

void ParameterServer::answer(Worker& worker) {
  worker.busy = worker.applied = false;
  worker.seen = updates_;
  worker.answer = end_;
  if (&worker == &own())
    write_weights();
  else
    listen(worker);
  if (!worker.weights.empty())
    std::copy_n(weights_.floats() + range_.begin, range_.count, worker.weights.begin());
  worker.told.clear();
  for (const int rank : worker.ranks) {
    if (rank == p_.group.rank()) continue;
    worker.told.push_back(mailbox_.send(rank, kAnswer, &worker.answer, sizeof worker.answer));
    if (range_.count > 0)
      worker.told.push_back(
          mailbox_.send(rank, kWeights, worker.weights.data(), range_.count * sizeof(float)));
  }
}

double ParameterServer::loss() const {
  double sum = 0, samples = 0;
  for (const Worker& worker : workers_) {
    sum += worker.loss * static_cast<double>(worker.samples);
    samples += static_cast<double>(worker.samples);
  }
  return samples > 0 ? sum / samples : 0;
}

std::vector<std::int64_t> ParameterServer::take_staleness() {
  return std::exchange(staleness_, std::vector<std::int64_t>(kStalenessBins));
}

}  // namespace thalweg::engine
