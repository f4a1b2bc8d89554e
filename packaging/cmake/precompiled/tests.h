#pragma once
#include "packaging/cmake/precompiled/standard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
