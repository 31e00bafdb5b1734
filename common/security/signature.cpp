#include "common/security/signature.hpp"

#include <openssl/sha.h>

#include <array>
#include <optional>
#include <vector>

namespace penstock {
namespace {

using DigestPtr = std::unique_ptr<EVP_MD_CTX, FreedBy<EVP_MD_CTX_free>>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

int value_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

std::optional<std::vector<unsigned char>> bytes_of_digits(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = value_of(digits[i]);
    const int low = value_of(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<unsigned char>(high * 16 + low));
  }
  return bytes;
}

}  // namespace

std::string sha256_of(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(bytes_of(text), text.size(), digest.data());
  return hexadecimal(digest);
}

Result<std::string> sign(EVP_PKEY& key, std::string_view text) {
  const DigestPtr digest{EVP_MD_CTX_new()};
  std::size_t size = 0;
  std::vector<unsigned char> signature;
  bool done = digest != nullptr && EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, &key) == 1 &&
              EVP_DigestSign(digest.get(), nullptr, &size, bytes_of(text), text.size()) == 1;
  signature.resize(size);
  done = done && EVP_DigestSign(digest.get(), signature.data(), &size, bytes_of(text), text.size()) == 1;
  if (!done) return Error{ErrorCode::Internal, "a signature", openssl_reason("cannot be made"), {}};
  signature.resize(size);
  return hexadecimal(signature);
}

bool is_signed_by(const X509& certificate, std::string_view text, std::string_view signature) {
  const auto bytes = bytes_of_digits(signature);
  EVP_PKEY* const key = X509_get0_pubkey(&certificate);
  const DigestPtr digest{EVP_MD_CTX_new()};
  const bool is_signed = bytes.has_value() && key != nullptr && digest != nullptr &&
                         EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
                         EVP_DigestVerify(digest.get(), bytes->data(), bytes->size(), bytes_of(text), text.size()) == 1;
  openssl_reason("");  // Forgets the reason of a wrong signature, which is no failure of this thread.
  return is_signed;
}

}  // namespace penstock
