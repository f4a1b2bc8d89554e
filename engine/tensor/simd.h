// Vector loops; the attribute stands one level up, where comm may include it too.
#pragma once

#include "engine/simd.h"
