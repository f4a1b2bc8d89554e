// A collective under way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/comm/algorithms/call.h"
#include "engine/comm/algorithms/link.h"
#include "engine/comm/algorithms/task.h"

namespace thalweg::engine::comm {

/// Which one: the group's context (see Group::split) and the number of the call in that group.
struct CallNumber {
  int context = 0;
  std::uint32_t call = 0;
  bool operator==(const CallNumber&) const = default;
};

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
