/* Reports from a training program to Thalweg, in one header for C and C++; libc only.
 *
 *   struct thalweg_run run;
 *   thalweg_init(&run);
 *   for (long step = run.resume_step + 1; step <= steps; ++step) {
 *     ...
 *     thalweg_log(&run, "val/loss", loss, step);
 *     thalweg_checkpoint(&run, "model.bin", step);   // after the file is written
 *     if (thalweg_should_stop(&run)) break;
 *   }
 *   thalweg_finish(&run);
 *
 * Every function is safe to call outside of Thalweg (it does nothing there) and on every rank (only
 * rank 0 reports). Not to be used by two threads at once. Ranks may learn of a stop at different
 * steps: where they exchange data, ask on rank 0 and broadcast the answer.
 */
#ifndef THALWEG_H
#define THALWEG_H

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct thalweg_run {
  const char* config;      /* a file with the configuration as JSON; NULL outside of Thalweg */
  const char* checkpoints; /* a folder for checkpoints; NULL outside of Thalweg */
  const char* resume_from; /* the checkpoint to go on from; NULL on a fresh start */
  long long resume_step;   /* its step, else 0 */
  unsigned long long seed; /* 1 outside of Thalweg */
  int rank;                /* of RANK, or what MPI and Slurm say */
  /* what follows is the header's own */
  const char* stop_file;
  int reports, stopping, broken;
  double looked;
};

static inline const char* thalweg_variable(const char* name) {
  const char* value = getenv(name);
  return value != NULL && *value != '\0' ? value : NULL;
}

/* A line of its own: what an interrupted write left behind is ended first. */
static inline void thalweg_write(struct thalweg_run* run, const char* line, size_t size) {
  if (run->reports < 0) return;
  if (run->broken && write(run->reports, "\n", 1) != 1) return;
  run->broken = write(run->reports, line, size) != (ssize_t)size;
}

/* `text` as a JSON string; returns the bytes written, at most `size` - 1; 0 where it does not fit.
 */
static inline size_t thalweg_quote(char* out, size_t size, const char* text) {
  size_t used = 0;
  if (size < 3) return 0;
  out[used++] = '"';
  for (; *text != '\0'; ++text) {
    unsigned char c = (unsigned char)*text;
    if (used + 8 > size) return 0;
    if (c < 0x20) {
      used += (size_t)snprintf(out + used, size - used, "\\u%04x", c);
    } else {
      if (c == '"' || c == '\\') out[used++] = '\\';
      out[used++] = (char)c;
    }
  }
  out[used++] = '"';
  out[used] = '\0';
  return used;
}

static inline void thalweg_init(struct thalweg_run* run) {
  static const char* const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"};
  const char* text;
  size_t i;
  memset(run, 0, sizeof *run);
  run->config = thalweg_variable("THALWEG_CONFIG");
  run->checkpoints = thalweg_variable("THALWEG_CHECKPOINTS");
  run->resume_from = thalweg_variable("THALWEG_RESUME_FROM");
  run->stop_file = thalweg_variable("THALWEG_STOP");
  text = thalweg_variable("THALWEG_RESUME_STEP");
  run->resume_step = text != NULL ? atoll(text) : 0;
  text = thalweg_variable("THALWEG_SEED");
  run->seed = text != NULL ? strtoull(text, NULL, 10) : 1;
  for (i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
    text = thalweg_variable(ranks[i]);
    if (text != NULL) {
      run->rank = atoi(text);
      break;
    }
  }
  text = thalweg_variable("THALWEG_REPORTS");
  run->reports = text != NULL && run->rank == 0
                     ? open(text, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)
                     : -1;
  thalweg_write(run, "{\"hello\": \"c\"}\n", 15);
}

/* A number by name, measured after `step` steps. */
static inline void thalweg_log(struct thalweg_run* run, const char* name, double value,
                               long long step) {
  char key[512], number[64], line[768];
  int size;
  if (run->reports < 0 || thalweg_quote(key, sizeof key, name) == 0) return;
  if (isnan(value))
    strcpy(number, "\"nan\"");
  else if (isinf(value))
    strcpy(number, value > 0 ? "\"inf\"" : "\"-inf\"");
  else
    snprintf(number, sizeof number, "%.17g", value);
  size =
      snprintf(line, sizeof line, "{\"metrics\": {%s: %s}, \"step\": %lld}\n", key, number, step);
  thalweg_write(run, line, (size_t)size);
}

/* A file or folder that a later attempt can go on from; an absolute path, or one from the folder
 * that the program was started in. Call it once it is written. */
static inline void thalweg_checkpoint(struct thalweg_run* run, const char* path, long long step) {
  char text[4400], line[4500];
  int size;
  if (run->reports < 0 || thalweg_quote(text, sizeof text, path) == 0) return;
  size = snprintf(line, sizeof line, "{\"checkpoint\": %s, \"step\": %lld}\n", text, step);
  thalweg_write(run, line, (size_t)size);
}

/* Whether to write a checkpoint and end. Looks at most five times a second. */
static inline int thalweg_should_stop(struct thalweg_run* run) {
  struct timespec now;
  double seconds;
  if (run->stopping || run->stop_file == NULL) return run->stopping;
  clock_gettime(CLOCK_MONOTONIC, &now);
  seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  if (seconds - run->looked < 0.2) return 0;
  run->looked = seconds;
  run->stopping = access(run->stop_file, F_OK) == 0;
  if (run->stopping) thalweg_write(run, "{\"stopping\": true}\n", 19);
  return run->stopping;
}

/* Nothing is reported after it. */
static inline void thalweg_finish(struct thalweg_run* run) {
  if (run->reports >= 0) close(run->reports);
  run->reports = -1;
}

#ifdef __cplusplus
}
#endif
#endif
