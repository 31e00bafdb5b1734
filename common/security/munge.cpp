#include "common/security/munge.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace penstock {
namespace {

constexpr const char* kLibrary = "libmunge.so.2";

/// Of <munge.h>, which a host of the compiler need not have. A context of null is the daemon's place by default.
struct Munge {
  int (*encode)(char** credential, void* context, const void* content, int size) = nullptr;
  int (*decode)(const char* credential, void* context, void** content, int* size, uid_t* uid, gid_t* gid) = nullptr;
  const char* (*text_of)(int error) = nullptr;
};

/// The codes of munge_err_t from this one on are about a credential, those before about this host.
constexpr int kFirstOfCredentials = 8;

/// Stays open for as long as the process lives.
Result<Munge> open_library() {
  static void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  Munge munge;
  if (library != nullptr) {
    munge.encode = reinterpret_cast<decltype(munge.encode)>(::dlsym(library, "munge_encode"));
    munge.decode = reinterpret_cast<decltype(munge.decode)>(::dlsym(library, "munge_decode"));
    munge.text_of = reinterpret_cast<decltype(munge.text_of)>(::dlsym(library, "munge_strerror"));
  }
  if (munge.encode != nullptr && munge.decode != nullptr && munge.text_of != nullptr) return munge;
  return Error{ErrorCode::Unsupported, kLibrary, "is not on this host", "install it: `apt install libmunge2 munge`"};
}

Error unreachable(const Munge& munge, int code) {
  return {ErrorCode::Unreachable, "MUNGE", munge.text_of(code), "see that munged runs on this host"};
}

}  // namespace

Result<std::string> munge_seal(std::string_view content) {
  const Result<Munge> munge = open_library();
  if (!munge) return munge.error();
  char* sealed = nullptr;
  const int code = munge->encode(&sealed, nullptr, content.data(), static_cast<int>(content.size()));
  std::string credential = sealed == nullptr ? std::string{} : std::string{sealed};
  std::free(sealed);
  if (code != 0) return unreachable(*munge, code);
  return credential;
}

Result<MungeProof> munge_open(const std::string& credential) {
  const Result<Munge> munge = open_library();
  if (!munge) return munge.error();
  void* content = nullptr;
  int size = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  const int code = munge->decode(credential.c_str(), nullptr, &content, &size, &uid, &gid);
  MungeProof proof{uid, {}};
  if (content != nullptr) proof.content.assign(static_cast<const char*>(content), static_cast<std::size_t>(size));
  std::free(content);
  if (code == 0) return proof;
  if (code < kFirstOfCredentials) return unreachable(*munge, code);
  return Error{ErrorCode::PermissionDenied, "the credential of MUNGE", munge->text_of(code), "log in again"};
}

}  // namespace penstock
