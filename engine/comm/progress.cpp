#include "engine/comm/progress.h"

namespace thalweg::engine::comm {

template <class F>
auto Progress::noting_failure(F&& f) {
  try {
    return f();
  } catch (...) {
    failed_ = true;
    throw;
  }
}

bool Progress::begin(Operation& operation) {
  return noting_failure([&] { return operation.strand->advance(); });
}

void Progress::finish(Operation& operation) {
  noting_failure([&] {
    patience_.until(
        [&] {
          advance_all();
          return operation.strand->done() || operation.strand->advance();
        },
        operation.what.c_str());
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

}  // namespace thalweg::engine::comm
