// The smallest program that reports: one number after one step.
#include <thalweg.h>

int main(void) {
  struct thalweg_run run;
  thalweg_init(&run);
  thalweg_log(&run, "val/loss", 0.5, run.resume_step + 1);
  thalweg_finish(&run);
  return 0;
}
