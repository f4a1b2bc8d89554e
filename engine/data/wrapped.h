// A dataset seen through another one: all is the inner one's but for what a derived class changes.
#pragma once

#include <memory>
#include <utility>

#include "engine/data/dataset.h"

namespace thalweg::engine::data {

class Wrapped : public Dataset {
 public:
  std::size_t size() const override { return inner_->size(); }
  std::string describe(std::size_t index, bool targets) const override {
    return inner_->describe(index, targets);
  }
  std::vector<std::string> notes() const override { return inner_->notes(); }
  std::vector<std::string> facts() const override { return inner_->facts(); }
  std::size_t own_validation() const override { return inner_->own_validation(); }
  std::size_t own_test() const override { return inner_->own_test(); }
  void copy(std::size_t index, float* out) const override { inner_->copy(index, out); }
  const StoredForm* stored() const override { return inner_->stored(); }
  const std::uint8_t* stored_sample(std::size_t index) const override {
    return inner_->stored_sample(index);
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    inner_->copy_labels(index, out);
  }
  void copy_targets(std::size_t index, float* out) const override {
    inner_->copy_targets(index, out);
  }

 protected:
  Wrapped(SampleForm form, std::unique_ptr<Dataset>&& inner)
      : Dataset(std::move(form)), inner_(std::move(inner)) {}
  const Dataset& inner() const { return *inner_; }

 private:
  std::unique_ptr<Dataset> inner_;
};

}  // namespace thalweg::engine::data
