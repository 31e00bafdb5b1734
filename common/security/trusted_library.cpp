#include "common/security/trusted_library.hpp"

#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

namespace penstock {
namespace {

constexpr std::string_view kDigest = "@sha256:";
constexpr std::size_t kReadBytes = 64 << 10;

Result<void> check_owner(const std::string& path, const char* what) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return Error{ErrorCode::InvalidArgument, path, std::string{"cannot be read: "} + std::strerror(errno), {}};
  const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;  // There each removes its own only.
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky)
    return Error{ErrorCode::PermissionDenied, path, std::string{what} + " that users beside its owner may change",
                 "chmod go-w " + path};
  if (status.st_uid == 0 || status.st_uid == ::geteuid()) return {};
  return Error{ErrorCode::PermissionDenied, path,
               std::string{what} + " of user number " + std::to_string(status.st_uid) +
                   ", who could make this process run anything",
               "install it as root or as the user of this process"};
}

Result<std::string> digest_of(const std::string& path) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  std::ifstream file{path, std::ios::binary};
  std::string block(kReadBytes, '\0');
  bool good = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  while (good && file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    good = EVP_DigestUpdate(context.get(), block.data(), static_cast<std::size_t>(file.gcount())) == 1;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (!good || !file.eof() || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1)
    return Error{ErrorCode::InvalidArgument, path, "cannot be read", {}};
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[digest[i] >> 4U];
    text += kDigits[digest[i] & 15U];
  }
  return text;
}

}  // namespace

Result<std::string> trusted_library(const std::string& text) {
  const std::size_t at = text.rfind(kDigest);
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(text.substr(0, at), failure);
  if (failure) return Error{ErrorCode::InvalidArgument, text.substr(0, at), failure.message(), "check the path"};
  PENSTOCK_TRY(check_owner(real.string(), "is a library"));
  PENSTOCK_TRY(check_owner(real.parent_path().string(), "is a directory of libraries"));
  if (at == std::string::npos) return real.string();
  const std::string wanted = text.substr(at + kDigest.size());
  const Result<std::string> digest = digest_of(real.string());
  if (!digest) return digest;
  if (*digest == wanted) return real.string();
  return Error{ErrorCode::PermissionDenied, real.string(), "has the digest " + *digest + ", not " + wanted,
               "install the library that was meant, or name its digest"};
}

}  // namespace penstock
