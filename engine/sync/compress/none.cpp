// none: gradients travel as they are.
#include "engine/sync/compress/table.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

class NoCompression : public BucketSum {
 public:
  explicit NoCompression(comm::Group& group) : group_(group) {}

  std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t) override {
    return group_.start_allreduce(part.leaves[0], part.count, comm::Type::f32, comm::Op::sum,
                                  part.label);
  }
  bool adds_up() const override { return true; }

 private:
  comm::Group& group_;
};

}  // namespace

CompressRow no_compression() {
  return {"none",
          "gradients travel as they are, 4 bytes a number",
          {},
          [](const jobspec::Options&, const CompressParts& parts) -> std::unique_ptr<BucketSum> {
            return std::make_unique<NoCompression>(parts.group);
          }};
}

}  // namespace thalweg::engine
