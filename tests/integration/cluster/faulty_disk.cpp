// A disk that is slow or broken, for processes of tests: loaded before the C library (LD_PRELOAD), it intercepts the
// calls of a process for the files with $PENSTOCK_FAULTY_FILES in their paths. The file $PENSTOCK_FAULTY_DISK says how,
// and may change at any time: `slow MILLISECONDS` delays each sync, `broken` fails each with EIO: that is when a
// program mostly learns that a disk has not taken what was written. `unwritable` fails each write with EIO.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

struct Order {
  bool broken = false;
  bool unwritable = false;
  long sync_ms = 0;
};

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool is_ours(int file) {
  const char* part = getenv("PENSTOCK_FAULTY_FILES");  // tidy: allow call: stands below the C library
  if (part == nullptr) return false;
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = 0;
  return strstr(path, part) != nullptr;
}

Order order() {
  Order found;
  const char* path = getenv("PENSTOCK_FAULTY_DISK");  // tidy: allow call: stands below the C library
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return found;
  char text[64] = {};
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return found;
  found.broken = strncmp(text, "broken", 6) == 0;
  found.unwritable = strncmp(text, "unwritable", 10) == 0;
  if (strncmp(text, "slow ", 5) == 0) found.sync_ms = strtol(text + 5, nullptr, 10);
  return found;
}

template <class Sync>
int sync_with(Sync sync, int file) {
  if (!is_ours(file)) return sync(file);
  const Order now = order();
  if (now.broken) {
    errno = EIO;
    return -1;
  }
  if (now.sync_ms > 0) {
    const timespec delay{now.sync_ms / 1000, now.sync_ms % 1000 * 1'000'000};
    nanosleep(&delay, nullptr);  // tidy: allow call: a slow disk is what this is
  }
  return sync(file);
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
  static const auto real_write = real<ssize_t (*)(int, const void*, size_t)>("write");
  if (!is_ours(file) || !order().unwritable) return real_write(file, bytes, count);
  errno = EIO;
  return -1;
}

int fsync(int file) { return sync_with(real<int (*)(int)>("fsync"), file); }
int fdatasync(int file) { return sync_with(real<int (*)(int)>("fdatasync"), file); }

}  // extern "C"
