#include "common/security/openssl.hpp"

#include <openssl/err.h>

namespace penstock {

std::string openssl_reason(const char* otherwise) {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason == nullptr ? otherwise : reason;
  ERR_clear_error();
  return text;
}

std::string hexadecimal(std::span<const unsigned char> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  return text;
}

std::string text_of(BIO& memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(&memory, &data);
  return size > 0 ? std::string{data, static_cast<std::size_t>(size)} : std::string{};
}

}  // namespace penstock
