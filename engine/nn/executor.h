// What those who train a model see of its device: an executor, the batch it is given, what it
// returns.
#pragma once

#include "engine/device/batch.h"
#include "engine/device/batch_at.h"
#include "engine/device/executor.h"
#include "engine/device/meeting.h"
