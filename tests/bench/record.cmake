find_package(fmt REQUIRED)
thalweg_bench(bench_record SOURCES bench_record.cpp
              LIBS thalweg_controller thalweg_test_support fmt::fmt)
add_dependencies(bench_record thalweg thalwegd)
