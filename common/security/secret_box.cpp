#include "common/security/secret_box.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>

#include "common/security/openssl.hpp"
#include "common/security/private_file.hpp"

namespace penstock {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

using CipherPtr = std::unique_ptr<EVP_CIPHER_CTX, FreedBy<EVP_CIPHER_CTX_free>>;

const unsigned char* bytes_of(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text, std::size_t at) {
  return reinterpret_cast<unsigned char*>(text.data()) + at;
}
int size_of(const std::string& text) { return static_cast<int>(text.size()); }

}  // namespace

Result<std::shared_ptr<const SecretBox>> SecretBox::open(const std::string& file) {
  Result<std::string> text = read_private_file(file);
  if (!text && text.error().code == ErrorCode::NotFound) {
    std::string drawn(kKeyBytes, '\0');
    if (RAND_bytes(bytes_of(drawn, 0), size_of(drawn)) != 1)
      return Error{ErrorCode::Internal, file, openssl_reason("no key can be drawn"), {}};
    PENSTOCK_TRY(write_private_file(file, drawn));
    text = std::move(drawn);
  }
  if (!text) return std::move(text).error();
  if (text->size() != kKeyBytes)
    return Error{ErrorCode::InvalidArgument, file, "is no key of " + std::to_string(kKeyBytes) + " bytes",
                 "put it back from a backup; jobs with secrets cannot run without it"};
  Key key;
  std::copy(text->begin(), text->end(), key.begin());
  return std::shared_ptr<const SecretBox>{new SecretBox{key}};
}

Result<std::string> SecretBox::seal(const std::string& name, const std::string& value) const {
  std::string sealed(kNonceBytes + value.size() + kTagBytes, '\0');
  const CipherPtr cipher{EVP_CIPHER_CTX_new()};
  int moved = 0;
  const bool sound =
      cipher != nullptr && RAND_bytes(bytes_of(sealed, 0), kNonceBytes) == 1 &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key_.data(), bytes_of(sealed)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &moved, bytes_of(name), size_of(name)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), bytes_of(sealed, kNonceBytes), &moved, bytes_of(value), size_of(value)) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), bytes_of(sealed, kNonceBytes + value.size()), &moved) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                          bytes_of(sealed, kNonceBytes + value.size())) == 1;
  if (!sound) return Error{ErrorCode::Internal, "secret '" + name + "'", openssl_reason("cannot be sealed"), {}};
  return sealed;
}

Result<std::string> SecretBox::unseal(const std::string& name, const std::string& sealed) const {
  const Error refused{ErrorCode::InvalidArgument, "secret '" + name + "'", "was sealed with another key",
                      "put back the key in the directory of the authority, or submit the job again"};
  if (sealed.size() < kNonceBytes + kTagBytes) return refused;
  const std::size_t size = sealed.size() - kNonceBytes - kTagBytes;
  std::string value(size, '\0');
  std::string tag = sealed.substr(kNonceBytes + size);
  const CipherPtr cipher{EVP_CIPHER_CTX_new()};
  int moved = 0;
  const bool sound = cipher != nullptr &&
                     EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key_.data(), bytes_of(sealed)) == 1 &&
                     EVP_DecryptUpdate(cipher.get(), nullptr, &moved, bytes_of(name), size_of(name)) == 1 &&
                     EVP_DecryptUpdate(cipher.get(), bytes_of(value, 0), &moved, bytes_of(sealed) + kNonceBytes,
                                       static_cast<int>(size)) == 1 &&
                     EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, bytes_of(tag, 0)) == 1 &&
                     EVP_DecryptFinal_ex(cipher.get(), bytes_of(tag, 0), &moved) == 1;
  if (sound) return value;
  openssl_reason("");
  return refused;
}

}  // namespace penstock
