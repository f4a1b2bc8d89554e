/* libthalweg_glibc.so of the tarball: what libraries of Debian 12 take from glibc 2.35 and 2.36, for systems that have
   glibc 2.34 (RHEL 9). packaging/glibc/lower.py removes the version from those references, so a newer glibc may serve them
   as well. It needs nothing but glibc: libgcc_s and libstdc++ stand on it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

/* Random bytes that an attacker cannot guess (arc4random(3)); the kernel's, as those of glibc 2.36. Has no errors. */
void arc4random_buf(void *bytes, size_t size) {
  for (char *next = bytes; size > 0;) {
    const ssize_t got = getrandom(next, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) abort();
    next += got;
    size -= (size_t)got;
  }
}

uint32_t arc4random(void) {
  uint32_t value;
  arc4random_buf(&value, sizeof value);
  return value;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35; a libgcc built for less does not ask */

struct search {
  uintptr_t address;
  struct dl_find_object *result;
};

static int look_at(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  struct search *search = data;
  uintptr_t begin = UINTPTR_MAX, end = 0, eh_frame = 0;
  int inside = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    const uintptr_t first = object->dlpi_addr + segment->p_vaddr, behind = first + segment->p_memsz;
    if (segment->p_type == PT_GNU_EH_FRAME) eh_frame = first;
    if (segment->p_type != PT_LOAD) continue;
    if (first < begin) begin = first;
    if (behind > end) end = behind;
    if (search->address >= first && search->address < behind) inside = 1;
  }
  if (!inside) return 0;
  search->result->dlfo_map_start = (void *)begin;
  search->result->dlfo_map_end = (void *)end;
  search->result->dlfo_eh_frame = (void *)eh_frame;
  return eh_frame != 0 ? 1 : -1;
}

/* The loaded object around `address` (glibc's manual, "Dynamic Linker Introspection"): 0, or -1 where there is none or it
   has no table of frames. Libgcc's unwinder looks at nothing of the result but dlfo_eh_frame; dlfo_link_map is null. */
int _dl_find_object(void *address, struct dl_find_object *result) {
  memset(result, 0, sizeof *result);
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}

#endif
