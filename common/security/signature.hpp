// Digests and signatures of texts, as hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/security/openssl.hpp"

namespace penstock {

/// SHA-256, as 64 digits.
std::string sha256_of(std::string_view text);

/// ECDSA over SHA-256. Error: Internal.
Result<std::string> sign(EVP_PKEY& key, std::string_view text);
/// Whether the owner of that certificate has signed the text.
bool is_signed_by(const X509& certificate, std::string_view text, std::string_view signature);

}  // namespace penstock
