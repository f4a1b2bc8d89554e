// What those who train a model see of its device: a lane, the batch it is given, what it returns.
#pragma once

#include "engine/device/batch.h"
#include "engine/device/batch_at.h"
#include "engine/device/lane.h"
#include "engine/device/meeting.h"
