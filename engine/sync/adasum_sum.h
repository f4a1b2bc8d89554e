// Adasum of buckets of gradients.
#pragma once

#include "engine/comm/group.h"
#include "engine/nn/model.h"
#include "engine/sync/bucket_sum.h"

namespace thalweg::engine {

/// Each parameter is combined by itself.
class AdasumSum : public BucketSum {
 public:
  AdasumSum(comm::Group& group, const Model& model, comm::Adasum form)
      : group_(group), model_(model), form_(form) {}
  std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t step) override;

 private:
  comm::Group& group_;
  const Model& model_;
  comm::Adasum form_;
};

}  // namespace thalweg::engine
