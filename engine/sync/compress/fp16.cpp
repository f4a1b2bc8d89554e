// fp16: gradients travel as IEEE binary16.
#include "engine/sync/compress/narrow.h"
#include "engine/sync/compress/table.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {

CompressRow fp16_compression() {
  return {"fp16",
          "2 bytes a number, 11 bits of precision from 6e-5 up to 65504: below it loses precision "
          "and ends at 6e-8, above it the run ends as diverged",
          {},
          [](const jobspec::Options&, const CompressParts& parts) -> std::unique_ptr<BucketSum> {
            return std::make_unique<Narrow>(parts.group, comm::Type::f16);
          }};
}

}  // namespace thalweg::engine
