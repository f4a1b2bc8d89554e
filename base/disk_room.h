// Errors of a disk that pass when somebody makes room.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <system_error>

namespace thalweg {

/// How long a lack of room is waited out.
constexpr std::chrono::seconds room_patience{60};

/// The disk is full, or a quota is used up.
bool is_lack_of_room(const std::error_code& error);

/// Where `write` throws std::system_error for a lack of room, it is called again every half second
/// for as long as room_patience; what it throws then, or for another reason, is passed on. `told`
/// gets the message of the first.
void with_room(const std::function<void()>& write,
               const std::function<void(const std::string&)>& told = {});

}  // namespace thalweg
