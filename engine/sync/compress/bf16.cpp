// bf16: gradients travel as bfloat16.
#include "engine/sync/compress/narrow.h"
#include "engine/sync/compress/table.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {

CompressRow bf16_compression() {
  return {"bf16",
          "2 bytes a number, 8 bits of precision, the range of f32",
          {},
          [](const jobspec::Options&, const CompressParts& parts) -> std::unique_ptr<BucketSum> {
            return std::make_unique<Narrow>(parts.group, comm::Type::bf16);
          }};
}

}  // namespace thalweg::engine
