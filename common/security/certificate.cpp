#include "common/security/certificate.hpp"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstring>
#include <ctime>

namespace penstock {
namespace {

constexpr std::size_t kClusterBytes = 20;

using NamesPtr = std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>>;

BioPtr reader_of(const std::string& text) {
  return BioPtr{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

CalendarTime calendar_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

}  // namespace

Result<KeyPtr> make_key() {
  KeyPtr key{EVP_EC_gen("P-256")};
  if (key == nullptr) return Error{ErrorCode::Internal, "a key", openssl_reason("cannot be made"), {}};
  return key;
}

Result<CertificatePtr> read_certificate(const std::string& pem, const std::string& subject) {
  const BioPtr reader = reader_of(pem);
  CertificatePtr certificate{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)};
  if (certificate == nullptr)
    return Error{ErrorCode::InvalidArgument, subject, "has no certificate: " + openssl_reason("it is cut"), {}};
  return certificate;
}

Result<KeyPtr> read_key(const std::string& pem, const std::string& subject) {
  const BioPtr reader = reader_of(pem);
  KeyPtr key{PEM_read_bio_PrivateKey(reader.get(), nullptr, nullptr, nullptr)};
  if (key == nullptr)
    return Error{ErrorCode::InvalidArgument, subject, "has no key: " + openssl_reason("it is cut"), {}};
  return key;
}

Result<Credential> read_credential(const std::string& pem, const std::string& subject) {
  const BioPtr reader = reader_of(pem);
  Credential credential;
  credential.key.reset(PEM_read_bio_PrivateKey(reader.get(), nullptr, nullptr, nullptr));
  credential.certificate.reset(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
  credential.authority.reset(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
  if (credential.key == nullptr || credential.certificate == nullptr || credential.authority == nullptr)
    return Error{ErrorCode::InvalidArgument,
                 subject,
                 "is no credential of Penstock: " + openssl_reason("a part is missing"),
                 {}};
  if (X509_check_private_key(credential.certificate.get(), credential.key.get()) != 1)
    return Error{
        ErrorCode::InvalidArgument, subject, "has a key of another certificate: " + openssl_reason("they differ"), {}};
  return credential;
}

std::string to_pem(EVP_PKEY& key) {
  const BioPtr memory{BIO_new(BIO_s_mem())};
  PEM_write_bio_PrivateKey(memory.get(), &key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(*memory);
}

std::string to_pem(X509& certificate) {
  const BioPtr memory{BIO_new(BIO_s_mem())};
  PEM_write_bio_X509(memory.get(), &certificate);
  return text_of(*memory);
}

std::string to_pem(const Credential& credential) {
  return to_pem(*credential.key) + to_pem(*credential.certificate) + to_pem(*credential.authority);
}

std::string public_part(const EVP_PKEY& key) {
  const BioPtr memory{BIO_new(BIO_s_mem())};
  i2d_PUBKEY_bio(memory.get(), &key);
  return text_of(*memory);
}

Result<KeyPtr> read_public_part(std::string_view der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  KeyPtr key{d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size()))};
  std::array<char, 32> group{};
  std::size_t size = 0;
  const bool sound = key != nullptr &&
                     EVP_PKEY_get_utf8_string_param(key.get(), "group", group.data(), group.size(), &size) == 1 &&
                     std::string_view{group.data(), size} == "prime256v1";
  if (!sound)
    return Error{
        ErrorCode::InvalidArgument, "the key", "is no public key on P-256: " + openssl_reason("it is another"), {}};
  return key;
}

std::string cluster_of(const X509& authority) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&authority), &der);
  if (size <= 0) return {};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(der, static_cast<std::size_t>(size), digest.data());
  OPENSSL_free(der);
  return hexadecimal(std::span{digest}.first(kClusterBytes));
}

std::string issuer_of(const X509& certificate) {
  // OpenSSL reads extensions when it is asked for the first of them, which changes only its own notes.
  const ASN1_OCTET_STRING* const id = X509_get0_authority_key_id(const_cast<X509*>(&certificate));
  if (id == nullptr) return {};
  return hexadecimal({ASN1_STRING_get0_data(id), static_cast<std::size_t>(ASN1_STRING_length(id))});
}

Result<PeerIdentity> identity_of(const X509& certificate) {
  const auto wrong = [] {
    return Error{ErrorCode::InvalidArgument, "the certificate", "has no identity of Penstock", {}};
  };
  const NamesPtr names{
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr))};
  const ASN1_IA5STRING* uri = nullptr;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) continue;  // Of servers, for programs that know no URIs.
    if (name->type != GEN_URI || uri != nullptr) return wrong();
    uri = name->d.uniformResourceIdentifier;
  }
  if (uri == nullptr) return wrong();
  return parse_peer_identity(
      {reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)), static_cast<std::size_t>(ASN1_STRING_length(uri))});
}

CalendarTime valid_until(const X509& certificate) { return calendar_time(X509_get0_notAfter(&certificate)); }

CalendarTime renewal_due(const X509& certificate) {
  const CalendarTime issued = calendar_time(X509_get0_notBefore(&certificate)) + kClocksDiffer;
  return issued + (valid_until(certificate) - issued) / 2;
}

std::string serial_of(const X509& certificate) {
  const ASN1_INTEGER* const serial = X509_get0_serialNumber(&certificate);
  return hexadecimal({ASN1_STRING_get0_data(serial), static_cast<std::size_t>(ASN1_STRING_length(serial))});
}

}  // namespace penstock
