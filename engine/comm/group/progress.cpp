// Every wait advances all operations: a peer may need another one before it can join this one.
#include "engine/comm/group/progress.h"

#include <algorithm>
#include <utility>

#include "engine/comm/liveness/probe.h"

namespace thalweg::engine::comm {

Progress::Progress(std::shared_ptr<Transport> transport, std::chrono::milliseconds stall,
                   WaitPolicy::Warn warn)
    : transport_(std::move(transport)), wait_policy_(*transport_, stall, std::move(warn)) {
  transport_->on_probe([this](const std::string& question) { return answer(question); });
}

Progress::~Progress() {
  transport_->on_probe({});
}

bool Progress::begin(Operation& operation) {
  return noting_failure([&] { return operation.strand->advance(); });
}

void Progress::finish(Operation& operation) {
  wait(operation, [&] { return operation.strand->done() || operation.strand->advance(); });
}

void Progress::wait(const Operation& operation, const std::function<bool()>& done) {
  noting_failure([&] {
    struct Waiting {
      const Operation*& place;
      ~Waiting() { place = nullptr; }
    } const waiting{waiting_};
    waiting_ = &operation;
    wait_policy_.until(
        [&] {
          advance_all();
          return done();
        },
        {operation.number, operation.link.members(), [&operation] { return operation.text(); }});
  });
}

void Progress::poll() {
  noting_failure([&] {
    transport_->progress();
    advance_all();
  });
}

void Progress::advance_all() {
  std::erase_if(open_, [](Operation* operation) {
    return operation->strand->done() || operation->strand->advance();
  });
}

void Progress::note(CallNumber number, const Call& call, std::string_view label) {
  const auto context = static_cast<std::size_t>(number.context);
  if (made_.size() <= context) made_.resize(context + 1);
  auto& made = made_[context];
  if (!made) made.emplace();
  made->number = number.call;
  made->call = call;
  made->label.assign(label);
}

std::string Progress::answer(const std::string& bytes) const {
  const auto question = ProbeQuestion::unpack(bytes);
  if (!question) return {};
  const CallNumber number = question->number;
  ProbeAnswer answer;
  answer.unresponsive = wait_policy_.unresponsive_time();
  const auto is_asked_for = [&](const Operation* o) {
    return o->number == number && !(o->strand && o->strand->done());
  };
  const Operation* asked = waiting_ && is_asked_for(waiting_) ? waiting_ : nullptr;
  if (!asked) {
    const auto found = std::find_if(open_.begin(), open_.end(), is_asked_for);
    if (found != open_.end()) asked = *found;
  }
  const auto context = static_cast<std::size_t>(number.context);
  const Made* made = context < made_.size() && made_[context] ? &*made_[context] : nullptr;
  if (asked) {
    answer.state = ProbeAnswer::State::under_way;
    answer.call = asked->text();
  } else if (made && static_cast<std::int32_t>(made->number - number.call) >= 0) {
    answer.state = ProbeAnswer::State::finished;
  }
  if (waiting_) {
    answer.doing = "it waits in " + waiting_->text();
  } else {
    answer.doing = "it waits outside of any operation";
  }
  if (answer.state == ProbeAnswer::State::not_started) {
    const std::string last = made ? made->call.text(made->label) : "";
    const bool same = waiting_ && waiting_->text() == last;
    if (!made) answer.doing += ", and has called nothing in this group";
    if (made && !same) answer.doing += ", its last call was " + last;
  }
  return answer.pack();
}

}  // namespace thalweg::engine::comm
