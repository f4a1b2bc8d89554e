// bench_search PROBLEM SEED PARALLEL [METHOD]: how far from its least value the configurations of a
// search come (tests/jobspec/search_problems.h), of `method: bayes` without METHOD; PARALLEL 0: all
// are drawn as METHOD draws.
// bench_search methods: the methods that learn, and those that draw, a line each.
// bench_search values: reads lines "PROBLEM x1 x2 ..." and answers with the function's value, and
// with the least one for no x, so that other programs search the same functions.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string_view>

#include "jobspec/search/search.h"
#include "tests/jobspec/search_problems.h"

using namespace thalweg::jobspec;

namespace {

int answer_values() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    std::vector<double> x;
    for (double each; words >> each;)
      x.push_back(each);
    const SearchProblem& problem = search_problem(name);
    fmt::print("{}\n", x.empty() ? problem.least : problem.value(x));
    std::fflush(stdout);
  }
  return 0;
}

/// Those that choose the value of a function: no training goes on from its checkpoint.
std::string names(bool learning) {
  std::string text;
  for (const SearchMethod& method : search_methods()) {
    const bool trains = method.pauses() || method.tunes || method.parent != nullptr;
    if (!method.lists() && !trains && method.learns() == learning)
      text.append(method.name).append(" ");
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "values") return answer_values();
  if (argc == 2 && std::string_view(argv[1]) == "methods") {
    for (const bool learns : {true, false})
      fmt::print("{}\n", names(learns));
    return 0;
  }
  if (argc != 4 && argc != 5) {
    fmt::print(stderr,
               "bench_search PROBLEM SEED PARALLEL [METHOD] | bench_search values | methods\n");
    return 2;
  }
  fmt::print("{}\n", regret(search_problem(argv[1]), std::stoull(argv[2]), std::stoi(argv[3]),
                            argc == 5 ? argv[4] : "bayes"));
}
