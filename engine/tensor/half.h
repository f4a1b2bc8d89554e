// 16-bit floats; they stand one level up, where comm may include them too.
#pragma once

#include "engine/half.h"
