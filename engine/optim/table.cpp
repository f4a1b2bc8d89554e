#include "engine/optim/table.h"

namespace thalweg::engine::optim {

using jobspec::Option;
using jobspec::Value;

// One row per optimizer: each is defined in the .cpp of its name.
// clang-format off
#define THALWEG_OPTIMIZERS(ROW)                              \
  ROW(sgd) ROW(momentum) ROW(nesterov)                       \
  ROW(adam) ROW(amsgrad) ROW(adamw) ROW(nadam) ROW(nadamw)   \
  ROW(adagrad) ROW(adadelta) ROW(rmsprop) ROW(lion)          \
  ROW(lars) ROW(lamb) ROW(sophia_g)                          \
  ROW(schedule_free_sgd) ROW(schedule_free_adamw)            \
  ROW(adafactor) ROW(shampoo) ROW(soap) ROW(muon)            \
  ROW(prodigy) ROW(dadapt_adam)
// clang-format on

#define THALWEG_DECLARE(name) OptimizerEntry name();
THALWEG_OPTIMIZERS(THALWEG_DECLARE)
#undef THALWEG_DECLARE

const jobspec::Table<OptimizerEntry>& optimizer_table() {
#define THALWEG_CALL(name) name(),
  static const jobspec::Table<OptimizerEntry> table("optimizer",
                                                    {THALWEG_OPTIMIZERS(THALWEG_CALL)});
#undef THALWEG_CALL
  return table;
}

const OptimizerEntry& find_optimizer(const Value& tree, const std::string& where) {
  const Value* name = tree.find("name");
  const std::string given = name && name->is_string() ? name->as_string() : "";
  return optimizer_table().at(given, where + "name");
}

}  // namespace thalweg::engine::optim
