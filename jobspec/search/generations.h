// Methods whose configurations come in generations, each trained on from the checkpoints of the one
// before. train's length is that of one generation.
#pragma once

#include <cstdint>

#include "jobspec/fwd.h"
#include "jobspec/search/learning.h"

namespace thalweg::jobspec {

struct Parsing;

/// From 0. `configuration` counts from 1.
std::int64_t generation_of(const Learning& learning, std::int64_t configuration);
/// What such a method cannot do, and settings that do not make whole generations, are diagnostics.
/// `value`: its block; may be nullptr.
void check_generations(const Value* value, const Learning& learning, Parsing& parsing);
/// Of a sweep with generations: a trial trains from the end of the generation before to the end of
/// its own. Nothing is changed in other sweeps.
void set_length(const Sweep& sweep, std::int64_t configuration, Value& train);
/// The trial goes on from the newest checkpoint of that one, optimizer and step included.
void continue_from(Value& train, const Id& trial);
/// "5 generations of 8 configurations; each trains 2 epochs on from checkpoints, 10 in all"
std::string describe_generations(const Sweep& sweep);

}  // namespace thalweg::jobspec
