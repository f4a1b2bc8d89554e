// One loop over the workers' mail. A header tells what comes; the gradient is received into memory
// of that worker alone, so that several may be on their way. Nothing is received before it is
// expected: when all have sent their last push, no message is under way, and whoever likes may use
// the ranks' group.
#include "engine/sync/parameter_server.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/sync/overlap.h"

namespace thalweg::engine {
namespace {

constexpr std::size_t kStalenessBins = 1024;

}  // namespace

ParameterServer::ParameterServer(const SyncParts& parts, Replica& replica, comm::Mailbox& mailbox,
                                 const ServerRoles& roles, const ServerOptions& options)
    : p_(parts),
      replica_(replica),
      mailbox_(mailbox),
      range_(roles.ranges[static_cast<std::size_t>(parts.group.rank())]),
      o_(options),
      weights_(FlatVector::sparse(parts.model.parameter_floats())),
      own_(roles.groups.size()),
      staleness_(kStalenessBins) {
  const int rank = parts.group.rank();
  const bool serves = roles.serves(rank);
  const std::size_t own_group = roles.works(rank) ? rank_group_of(roles.groups, rank) : own_;
  for (std::size_t number = 0; number < roles.groups.size(); ++number) {
    const bool is_own = number == own_group;
    if (!is_own && !serves) continue;
    if (is_own) own_ = workers_.size();
    Worker& worker = workers_.emplace_back();
    worker.ranks = serves ? roles.groups[number] : RankGroup{rank};
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
  std::copy_n(replica_.parameters.floats() + range_.begin, range_.count,
              weights_.floats() + range_.begin);
  for (Worker& worker : workers_) {
    worker.closed = false;
    worker.seen = updates_;
    worker.step = newest_step_;
    if (&worker != own()) listen(worker);
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

bool ParameterServer::is_past(std::int64_t step) const {
  return std::any_of(workers_.begin(), workers_.end(), [step](const Worker& w) {
    return w.closed || ((w.has_header || w.busy) && w.header.step > step) || w.step > step;
  });
}

bool ParameterServer::ends() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const Worker& w) { return w.closed && w.header.ends != 0; });
}

void ParameterServer::ask_to_stop() {
  PushHeader wish;
  wish.stop = 1;
  note_end(wish);
}

void ParameterServer::write_weights() {
  std::copy_n(weights_.floats() + range_.begin, range_.count,
              replica_.parameters.floats() + range_.begin);
}

void ParameterServer::push(const PushHeader& header, float* gradient) {
  if (own() == nullptr) return;
  Worker& worker = *own();
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
  if (&worker == own()) {
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
  OptimizerMemory<float> memory = replica_.memory(worker.gradient);
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
  worker.answer.loss = loss();
  if (&worker == own())
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
