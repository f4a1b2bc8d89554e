// By thread, so that no function between the caller and the loops has to hand it on.
#include "jobspec/cancellation.h"

#include <utility>

namespace thalweg::jobspec {

namespace {

thread_local Cancellation* present = nullptr;

}  // namespace

Cancellation::Cancellation(std::function<bool()> over) : over_(std::move(over)), outer_(present) {
  present = this;
}

Cancellation::~Cancellation() {
  present = outer_;
}

void Pace::ask() {
  if (present != nullptr && present->over_()) throw GivenUp();
}

}  // namespace thalweg::jobspec
