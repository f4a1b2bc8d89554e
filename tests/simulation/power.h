// A disk under SQLite, in memory, that loses its power: what was not synchronised may be lost or
// torn. Only SQLite sees its files.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tests/simulation/dice.h"

namespace thalweg::simulation::power {

/// From now on SQLite's default. Every database file has its writes remembered until they are
/// synchronised.
void install();

/// No connection may be open. The disk has these files and no others, all synchronised.
void begin_with(const std::map<std::filesystem::path, std::string>& disk);

std::string content(const std::filesystem::path& file);

/// No connection may be open. Of each sector (512 bytes) that was written and not synchronised,
/// what was there before may come back. Files in shared memory are gone.
void lose(Dice& dice);

/// What becomes of writes while it is set.
enum class Trouble {
  none,
  full,
  input_output,
  dead  ///< the process has been killed: nothing that is still done reaches the disk
};
void set_trouble(Trouble trouble);

}  // namespace thalweg::simulation::power
