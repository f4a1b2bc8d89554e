#include "engine/comm/algorithms/shared/common_memory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace thalweg::engine::comm {
namespace {

/// A token on its way; longer ones than any transport makes are refused.
struct Letter {
  std::uint32_t bytes = 0;  ///< 0: there is no memory
  char text[508] = {};
};

}  // namespace

CommonMemory::CommonMemory(std::unique_ptr<Exposed> mine,
                           std::vector<std::unique_ptr<Attached>> theirs, std::vector<int> members,
                           int rank, int world)
    : mine_(std::move(mine)),
      theirs_(std::move(theirs)),
      of_(static_cast<std::size_t>(world), nullptr) {
  for (std::size_t k = 0; k < members.size(); ++k) {
    of_[static_cast<std::size_t>(members[k])] =
        static_cast<int>(k) == rank ? mine_->data() : theirs_[k]->data();
  }
}

bool CommonMemory::covers(const std::vector<int>& members) const {
  return std::all_of(members.begin(), members.end(), [this](int member) { return of(member); });
}

Task share_memory(const Link& link, std::size_t bytes, std::unique_ptr<CommonMemory>& out) {
  Transport& transport = link.transport();
  auto exposed = transport.expose(std::max<std::size_t>(bytes, 1));
  Letter letter;
  if (exposed && exposed->token().size() <= sizeof letter.text) {
    letter.bytes = static_cast<std::uint32_t>(exposed->token().size());
    std::memcpy(letter.text, exposed->token().data(), exposed->token().size());
  }
  std::vector<Letter> letters;
  co_await tell_all(link, letter, letters);

  std::vector<std::unique_ptr<Attached>> theirs(letters.size());
  char good = letter.bytes > 0;
  for (std::size_t r = 0; r < letters.size(); ++r) {
    if (static_cast<int>(r) == link.rank() || !good) continue;
    const std::string token(letters[r].text, letters[r].bytes);
    if (!token.empty()) theirs[r] = transport.attach(link.world_rank(static_cast<int>(r)), token);
    good = theirs[r] != nullptr;
  }
  std::vector<char> verdicts;
  const Link second = link.phase(1);
  co_await tell_all(second, good, verdicts);
  if (std::count(verdicts.begin(), verdicts.end(), 0) > 0) co_return;
  out =
      std::make_unique<CommonMemory>(std::move(exposed), std::move(theirs),
                                     std::vector<int>(link.members().begin(), link.members().end()),
                                     link.rank(), transport.size());
}

void Regions::add(std::uint64_t id, const CommonMemory& memory) {
  regions_.push_back({id, &memory});
}

void Regions::remove(std::uint64_t id) {
  std::erase_if(regions_, [id](const Region& region) { return region.id == id; });
}

Regions::Place Regions::find(const void* data, std::size_t bytes,
                             const std::vector<int>& members) const {
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  for (const Region& region : regions_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(region.memory->mine());
    if (first < begin || first + bytes > begin + region.memory->bytes()) continue;
    if (!region.memory->covers(members)) continue;
    return {region.id, first - begin};
  }
  return {};
}

std::byte* Regions::at(int member, Place place) const {
  for (const Region& region : regions_) {
    if (region.id == place.id) return region.memory->of(member) + place.offset;
  }
  return nullptr;
}

}  // namespace thalweg::engine::comm
