// Names of types, for headers that only declare functions of them or refer to them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace thalweg::jobspec {

class Value;
using List = std::vector<Value>;
/// Keeps the order of the file. Keys are unique (the parser refuses duplicates).
using Map = std::vector<std::pair<std::string, Value>>;

struct Option;
struct Section;
struct Schema;

struct Id;
struct Resources;
struct Trial;

struct SearchMethod;
struct SiteLimits;
struct Sweep;
class Diagnostics;

/// Null, which outlives the program's last use: for default arguments.
const Value& null_value();

}  // namespace thalweg::jobspec
