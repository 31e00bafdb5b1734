// Preloaded into a process: its wall clock goes wrong by the number of seconds that stands in the file $CHAOS_CLOCK, from
// whatever instant on it stands there. The monotonic clock stays right, as it does when an operator sets a host's time.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static long wrong_by(void) {
  const char* path = getenv("CHAOS_CLOCK");  // tidy: allow call: there is no configuration in a preloaded library
  const int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
  char text[32] = {0};
  if (file < 0) return 0;
  const long size = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  return size > 0 ? strtol(text, NULL, 10) : 0;
}

// tidy: allow call: it is the clock here
int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += wrong_by();
  return result;
}

// tidy: allow call: it is the clock here
int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec exact;
  // tidy: allow call: it is the clock here
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) {
  struct timespec exact;
  // tidy: allow call: it is the clock here
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now) *now = exact.tv_sec;
  return exact.tv_sec;
}
