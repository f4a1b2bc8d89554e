// A request owns its operation; waits on any request advance it.
#include "engine/comm/group/requests.h"

#include <cstdio>

namespace thalweg::engine::comm {
namespace {

class Done : public Request {
 public:
  bool test() override { return true; }
  void wait() override {}
};

class Pending : public Request {
 public:
  Pending(std::shared_ptr<Progress> progress, std::unique_ptr<Operation> operation)
      : progress_(std::move(progress)), operation_(std::move(operation)) {
    progress_->add(*operation_);
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() override {
    if (!operation_->strand->done() && !progress_->failed()) {
      std::fprintf(stderr, "thalweg: %s was dropped before it was complete\n",
                   operation_->text().c_str());
    }
    progress_->remove(*operation_);
  }
  bool test() override {
    if (!operation_->strand->done()) progress_->poll();
    return operation_->strand->done();
  }
  void wait() override {
    if (!operation_->strand->done()) progress_->finish(*operation_);
  }

 private:
  std::shared_ptr<Progress> progress_;
  std::unique_ptr<Operation> operation_;
};

}  // namespace

std::unique_ptr<Request> done() {
  return std::make_unique<Done>();
}

std::unique_ptr<Request> begin(const std::shared_ptr<Progress>& progress,
                               std::unique_ptr<Operation> operation) {
  if (progress->begin(*operation)) return done();
  return std::make_unique<Pending>(progress, std::move(operation));
}

}  // namespace thalweg::engine::comm
