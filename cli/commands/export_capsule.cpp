// A trial a line, with all that `thalweg reproduce` needs to train it again elsewhere.
#include <nlohmann/json.hpp>

#include "cli/commands/capsule.h"

namespace thalweg::cli {
namespace {

class Capsules : public Exporter {
 public:
  Capsules(Context& context, const ExportTarget& target) : context_(context), target_(target) {}

  bool curves(const SweepExport& from, const daemon::api::TrialMessage& trial,
              const std::vector<ExportedCurve>& curves) override {
    Capsule capsule = capsule_of(context_, from, trial, curves);
    if (const auto found = checkpoints_in(capsule.folders); !found.empty()) {
      const auto& [step, file] = *found.rbegin();
      capsule.weights = hash_weights(file.parent_path().parent_path(), step, file);
    }
    target_.write(daemon::api::to_json(capsule).dump() + "\n");
    return true;
  }

 private:
  Context& context_;
  const ExportTarget& target_;
};

}  // namespace

std::unique_ptr<Exporter> make_capsules(Context& context, const ExportTarget& target) {
  return std::make_unique<Capsules>(context, target);
}

}  // namespace thalweg::cli
