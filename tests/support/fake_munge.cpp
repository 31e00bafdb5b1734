// A library of MUNGE for tests: its credentials name their maker in clear, and are opened once by a process.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

namespace {

constexpr int kBadCredential = 8;
constexpr int kReplayed = 17;
constexpr const char* kBegin = "FAKE-MUNGE:";

std::set<std::string>& opened() {
  static std::set<std::string> credentials;
  return credentials;
}

}  // namespace

extern "C" {

int munge_encode(char** credential, void*, const void* content, int size) {
  const std::string text = kBegin + std::to_string(::geteuid()) + ":" +
                           std::string{static_cast<const char*>(content), static_cast<std::size_t>(size)};
  *credential = ::strdup(text.c_str());
  return 0;
}

int munge_decode(const char* credential, void*, void** content, int* size, uid_t* uid, gid_t* gid) {
  unsigned maker = 0;
  int at = 0;
  if (std::sscanf(credential, "FAKE-MUNGE:%u:%n", &maker, &at) != 1 || at == 0) return kBadCredential;
  *uid = maker;
  *gid = maker;
  *content = ::strdup(credential + at);
  *size = static_cast<int>(std::strlen(credential + at));
  return opened().insert(credential).second ? 0 : kReplayed;
}

const char* munge_strerror(int code) { return code == kReplayed ? "Replayed credential" : "Invalid credential format"; }

}  // extern "C"
