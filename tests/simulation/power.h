// A disk under SQLite that loses its power: what was not synchronised may be lost or torn.
#pragma once

#include "tests/simulation/dice.h"

namespace thalweg::simulation::power {

/// From now on SQLite's default. Every database file that is opened has its writes remembered until
/// they are synchronised.
void install();

/// No connection may be open. Of each sector (512 bytes) that was written and not synchronised,
/// what was there before may come back. Files in shared memory are gone.
void lose(Dice& dice);

/// Files that this has seen are forgotten.
void forget();

/// What becomes of writes while it is set.
enum class Trouble {
  none,
  full,
  input_output,
  dead  ///< the process has been killed: nothing that is still done reaches the disk
};
void set_trouble(Trouble trouble);

}  // namespace thalweg::simulation::power
