find_package(fmt REQUIRED)
thalweg_bench(bench_search SOURCES search/bench_search.cpp ../jobspec/search_problems.cpp
              LIBS thalweg_jobspec fmt::fmt)
