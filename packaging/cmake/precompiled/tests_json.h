#include "packaging/cmake/precompiled/tests.h"

#include <nlohmann/json.hpp>
