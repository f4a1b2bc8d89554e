// A collective under way.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/comm/algorithms/call.h"
#include "engine/comm/algorithms/link.h"
#include "engine/comm/algorithms/task.h"
#include "engine/comm/liveness/waited_call.h"

namespace thalweg::engine::comm {

/// Not moved, since its task refers to its link.
struct Operation {
  Operation(const Call& its_call, std::string_view its_label, CallNumber its_number,
            const Link& its_link)
      : call(its_call), label(its_label), number(its_number), link(its_link) {}
  std::string text() const { return call.text(label); }

  Call call;
  std::string label;
  CallNumber number;
  Link link;
  std::unique_ptr<Strand> strand;
};

}  // namespace thalweg::engine::comm
