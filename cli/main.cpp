#include <iostream>

#include "cli/application.h"

int main(int argc, char** argv) {
  return thalweg::cli::run_application({argv + 1, argv + argc}, std::cout, std::cerr);
}
