// A group of its own gives the mailbox a context, so that its tags belong to nobody else; waits are
// those of collectives, with the same deadlines and the same words about who is missing.
#include "engine/comm/mailbox.h"

#include <string_view>

#include "engine/comm/group/group_impl.h"

namespace thalweg::engine::comm {
namespace {

// Below the context, as in the tags of calls (group_impl.cpp).
constexpr unsigned kTagBits = 32;

}  // namespace

Mailbox::Mailbox(Group& group) : group_(group.split(0, group.rank())) {}

Mailbox::~Mailbox() = default;

std::unique_ptr<Request> Mailbox::send(int to, std::uint32_t tag, const void* data,
                                       std::size_t bytes) {
  Group::Impl& impl = *group_->impl_;
  return impl.progress->noting_failure([&] {
    return impl.progress->transport().send(
        impl.members.at(static_cast<std::size_t>(to)),
        static_cast<std::uint64_t>(impl.context) << kTagBits | tag, data, bytes);
  });
}

std::unique_ptr<Request> Mailbox::receive(int from, std::uint32_t tag, void* data,
                                          std::size_t bytes) {
  Group::Impl& impl = *group_->impl_;
  return impl.progress->noting_failure([&] {
    return impl.progress->transport().receive(
        impl.members.at(static_cast<std::size_t>(from)),
        static_cast<std::uint64_t>(impl.context) << kTagBits | tag, data, bytes);
  });
}

void Mailbox::poll() {
  group_->look_round();
}

void Mailbox::wait(const char* what, const std::function<bool()>& done) {
  Group::Impl& impl = *group_->impl_;
  // Who waits for something else has not joined this wait, but does nothing wrong.
  const auto number = static_cast<std::uint32_t>(std::hash<std::string_view>{}(what));
  const Operation operation(
      Call{what, Collective::barrier, {}}, {}, {impl.context, number},
      Link(impl.progress->transport(), impl.progress->scratch(), impl.members, impl.rank, 0));
  impl.progress->wait(operation, done);
}

}  // namespace thalweg::engine::comm
