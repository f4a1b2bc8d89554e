find_package(fmt REQUIRED)
add_executable(bench_record bench_record.cpp)
target_link_libraries(bench_record PRIVATE thalweg_settings thalweg_controller thalweg_test_support fmt::fmt)
add_dependencies(bench_record thalweg thalwegd)
