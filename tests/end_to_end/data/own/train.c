/* Gradient descent on a line, told by thalweg.h. Usage: train LR STEPS */
#include <thalweg.h>

int main(int argc, char** argv) {
  struct thalweg_run run;
  double weight = 1;
  long step;
  if (argc != 3) return 2;
  thalweg_init(&run);
  for (step = 1; step <= atol(argv[2]); ++step) {
    weight -= atof(argv[1]) * weight;
    thalweg_log(&run, "val/loss", weight * weight, step);
    if (thalweg_should_stop(&run)) break;
  }
  thalweg_log(&run, "odd \"name\"\n", NAN, step);
  FILE* file = fopen("weight.txt", "w");
  if (file != NULL) {
    fprintf(file, "%g\n", weight);
    fclose(file);
    thalweg_checkpoint(&run, "weight.txt", step - 1);
  }
  thalweg_finish(&run);
  return 0;
}
