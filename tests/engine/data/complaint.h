// What load_dataset() says of a configuration.
#pragma once

#include <exception>
#include <string>

#include "engine/data/dataset.h"
#include "jobspec/value.h"

namespace thalweg::engine {

/// "accepted" where nothing is wrong with it.
inline std::string complaint(const jobspec::Value& data) {
  try {
    load_dataset(data);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace thalweg::engine
