// Owners of OpenSSL's objects, and its errors as text.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <span>
#include <string>

namespace penstock {

template <auto Free>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreedBy<X509_free>>;
using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free>>;
using SslPtr = std::unique_ptr<SSL, FreedBy<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>>;

/// The newest error of this thread in OpenSSL's words, or `otherwise` if there is none; forgets all errors.
std::string openssl_reason(const char* otherwise);

/// Another owner of the same object.
inline CertificatePtr share(X509* certificate) {
  if (certificate != nullptr) X509_up_ref(certificate);
  return CertificatePtr{certificate};
}
inline KeyPtr share(EVP_PKEY* key) {
  if (key != nullptr) EVP_PKEY_up_ref(key);
  return KeyPtr{key};
}

/// Two digits for each byte, in small letters.
std::string hexadecimal(std::span<const unsigned char> bytes);

/// The bytes that a memory BIO holds.
std::string text_of(BIO& memory);

}  // namespace penstock
