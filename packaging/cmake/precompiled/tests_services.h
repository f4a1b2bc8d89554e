#include "packaging/cmake/precompiled/services.h"
#include "packaging/cmake/precompiled/tests.h"
