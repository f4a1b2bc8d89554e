#pragma once
#include "packaging/cmake/precompiled/standard.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
