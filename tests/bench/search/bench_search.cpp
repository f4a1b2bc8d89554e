// bench_search PROBLEM SEED PARALLEL: how far from its least value 40 configurations of
// `method: bayes` come (tests/jobspec/search_problems.h); PARALLEL 0: of random search.
// bench_search values: reads lines "PROBLEM x1 x2 ..." and answers with the function's value, and
// with the least one for no x, so that other programs search the same functions.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string_view>

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

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "values") return answer_values();
  if (argc != 4) {
    fmt::print(stderr, "bench_search PROBLEM SEED PARALLEL | bench_search values\n");
    return 2;
  }
  fmt::print("{}\n", regret(search_problem(argv[1]), std::stoull(argv[2]), std::stoi(argv[3])));
}
