// What the address and thread sanitizers shall not report. They ask the program for these names;
// PMIx 4.2 and the libraries below it keep some memory for ever, and synchronise in ways that the
// thread sanitizer does not see. For the source files that touch PMIx, on either side of its
// socket.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" {
__attribute__((weak)) const char* __lsan_default_suppressions() {
  return "leak:libpmix.so\nleak:libhwloc.so\nleak:libucs.so\nleak:libucp.so\nleak:libuct.so\n";
}
__attribute__((weak)) const char* __lsan_default_options() {
  return "print_suppressions=0";
}
__attribute__((weak)) const char* __tsan_default_suppressions() {
  return "called_from_lib:libpmix.so\ncalled_from_lib:libevent_core\n"
         "called_from_lib:libevent_pthreads\ncalled_from_lib:libucs.so\n"
         "called_from_lib:libucp.so\ncalled_from_lib:libuct.so\nrace:libpmix.so\n"
         "race:libevent\nrace:libucs.so\nmutex:_dl_call_fini\n";
}
}
#endif
