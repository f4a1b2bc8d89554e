// Gradients that travel as 16-bit floats and are added up in f32.
#pragma once

#include "engine/sync/bucket_sum.h"

namespace thalweg::engine {

class Narrow : public BucketSum {
 public:
  Narrow(comm::Group& group, comm::Type wire) : group_(group), wire_(wire) {}

  std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t) override {
    return group_.start_allreduce_as(wire_, part.leaves[0], part.count, comm::Op::sum, part.label);
  }
  bool adds_up() const override { return true; }

 private:
  comm::Group& group_;
  comm::Type wire_;
};

}  // namespace thalweg::engine
