#include "common/security/authority.hpp"

#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/host/clock.hpp"
#include "common/security/private_file.hpp"
#include "common/security/signature.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kAuthorityLife{24 * 365 * 10};

Error failed(const char* what) { return {ErrorCode::Internal, "a certificate", openssl_reason(what), {}}; }

/// The same in all certificates, of the authority and of others.
Result<void> fill(X509& certificate, EVP_PKEY& key, const std::string& name, std::chrono::seconds life,
                  CalendarTime now) {
  std::array<unsigned char, 16> serial{};
  if (RAND_bytes(serial.data(), serial.size()) != 1) return failed("there is no randomness");
  serial[0] &= 0x7fU;
  const std::unique_ptr<BIGNUM, FreedBy<BN_free>> number{BN_bin2bn(serial.data(), serial.size(), nullptr)};
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate));
  X509_set_version(&certificate, X509_VERSION_3);
  using std::chrono::system_clock;
  ASN1_TIME_set(X509_getm_notBefore(&certificate), system_clock::to_time_t(now - kClocksDiffer));
  ASN1_TIME_set(X509_getm_notAfter(&certificate), system_clock::to_time_t(now + life));
  X509_NAME* const subject = X509_get_subject_name(&certificate);
  if (X509_set_pubkey(&certificate, &key) != 1 ||
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.data()),
                                 static_cast<int>(name.size()), -1, 0) != 1)
    return failed("cannot be made");
  return {};
}

Result<void> add_extension(X509& certificate, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, nullptr, &certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>> extension{
      X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str())};
  if (extension == nullptr || X509_add_ext(&certificate, extension.get(), -1) != 1) return failed("has a wrong part");
  return {};
}

/// The identifier of an authority's key, as bytes: in its own certificate and in those that it issues.
Result<void> add_key_identifier(X509& certificate, int id, const std::string& cluster) {
  const std::unique_ptr<ASN1_OCTET_STRING, FreedBy<ASN1_OCTET_STRING_free>> bytes{
      s2i_ASN1_OCTET_STRING(nullptr, nullptr, cluster.c_str())};
  if (bytes == nullptr) return failed("has no identifier");
  if (id == NID_subject_key_identifier)
    return X509_add1_ext_i2d(&certificate, id, bytes.get(), 0, X509V3_ADD_DEFAULT) == 1 ? Result<void>{}
                                                                                        : failed("has no identifier");
  const std::unique_ptr<AUTHORITY_KEYID, FreedBy<AUTHORITY_KEYID_free>> issuer{AUTHORITY_KEYID_new()};
  issuer->keyid = ASN1_OCTET_STRING_dup(bytes.get());
  return X509_add1_ext_i2d(&certificate, id, issuer.get(), 0, X509V3_ADD_DEFAULT) == 1 ? Result<void>{}
                                                                                       : failed("has no issuer");
}

Result<CertificatePtr> make_authority_certificate(EVP_PKEY& key) {
  CertificatePtr certificate{X509_new()};
  PENSTOCK_TRY(fill(*certificate, key, "Penstock authority", kAuthorityLife, calendar_now()));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  PENSTOCK_TRY(add_extension(*certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  PENSTOCK_TRY(add_extension(*certificate, NID_key_usage, "critical,keyCertSign"));
  PENSTOCK_TRY(add_key_identifier(*certificate, NID_subject_key_identifier, cluster_of(*certificate)));
  if (X509_sign(certificate.get(), &key, EVP_sha256()) == 0) return failed("cannot be signed");
  return certificate;
}

/// The uses of a certificate: workers serve data and fetch them, and programs of users, such as actors of Python, serve
/// each other. A use makes no supervisor: peers ask for the role.
const char* uses_of(Role role) {
  switch (role) {
    case Role::Supervisor: return "serverAuth";
    case Role::Worker:
    case Role::Client:
    case Role::Operator:
    case Role::Admin:
    case Role::Run: return "serverAuth,clientAuth";
    case Role::Metrics: return "clientAuth";
  }
  return "clientAuth";
}

/// Programs of other projects, such as Prometheus, compare the name of a server with the host names in its certificate,
/// and know no URIs. No process of a user has such a name.
const char* host_name_of(Role role) {
  switch (role) {
    case Role::Supervisor: return ",DNS:penstock-supervisor";
    case Role::Worker: return ",DNS:penstock-worker";
    case Role::Client:
    case Role::Operator:
    case Role::Admin:
    case Role::Metrics:
    case Role::Run: return "";
  }
  return "";
}

}  // namespace

Authority::Authority(KeyPtr key, CertificatePtr certificate)
    : key_(std::move(key)), certificate_(std::move(certificate)), cluster_(cluster_of(*certificate_)) {}

Result<Authority> Authority::make() {
  Result<KeyPtr> key = make_key();
  if (!key) return std::move(key).error();
  Result<CertificatePtr> certificate = make_authority_certificate(**key);
  if (!certificate) return std::move(certificate).error();
  return Authority{std::move(key).value(), std::move(certificate).value()};
}

// The key is written first: a kill between the two files leaves a key without a certificate, and both are made anew.
Result<Authority> Authority::open(const std::string& directory) {
  PENSTOCK_TRY(make_private_directory(directory));
  const std::string key_file = directory + "/authority.key";
  const std::string certificate_file = directory + "/authority.pem";
  std::error_code code;
  if (!fs::exists(certificate_file, code)) {
    Result<Authority> made = make();
    if (!made) return made;
    PENSTOCK_TRY(write_private_file(key_file, to_pem(*made->key_)));
    PENSTOCK_TRY(write_private_file(certificate_file, to_pem(*made->certificate_)));
    return made;
  }
  Result<std::string> key_text = read_private_file(key_file);
  if (!key_text) return std::move(key_text).error();
  Result<std::string> certificate_text = read_private_file(certificate_file);
  if (!certificate_text) return std::move(certificate_text).error();
  Result<KeyPtr> key = read_key(*key_text, key_file);
  if (!key) return std::move(key).error();
  Result<CertificatePtr> certificate = read_certificate(*certificate_text, certificate_file);
  if (!certificate) return std::move(certificate).error();
  if (X509_check_private_key(certificate->get(), key->get()) != 1)
    return Error{ErrorCode::InvalidArgument, key_file, "is the key of another authority than authority.pem beside it",
                 "put the right one back from a copy, or remove both to begin a new cluster"};
  return Authority{std::move(key).value(), std::move(certificate).value()};
}

Result<Credential> Authority::issue(Role role, const std::string& user, std::chrono::seconds life,
                                    CalendarTime now) const {
  Result<KeyPtr> key = make_key();
  if (!key) return std::move(key).error();
  Result<CertificatePtr> certificate = certify(**key, role, user, life, now);
  if (!certificate) return std::move(certificate).error();
  return Credential{std::move(key).value(), std::move(certificate).value(), share(certificate_.get())};
}

Result<CertificatePtr> Authority::certify(EVP_PKEY& key, Role role, const std::string& user, std::chrono::seconds life,
                                          CalendarTime now, const std::vector<std::string>& groups) const {
  PENSTOCK_TRY(check_user(user));
  PENSTOCK_TRY(check_groups(groups));
  CertificatePtr certificate{X509_new()};
  PENSTOCK_TRY(fill(*certificate, key, std::string{to_string(role)} + " " + user, life, now));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  PENSTOCK_TRY(add_extension(*certificate, NID_basic_constraints, "critical,CA:FALSE"));
  PENSTOCK_TRY(add_extension(*certificate, NID_key_usage, "critical,digitalSignature"));
  PENSTOCK_TRY(add_extension(*certificate, NID_ext_key_usage, uses_of(role)));
  PENSTOCK_TRY(add_extension(*certificate, NID_subject_alt_name,
                             "URI:" + to_uri({role, user, cluster_, groups}) + host_name_of(role)));
  PENSTOCK_TRY(add_key_identifier(*certificate, NID_authority_key_identifier, cluster_));
  if (X509_sign(certificate.get(), key_.get(), EVP_sha256()) == 0) return failed("cannot be signed");
  return certificate;
}

Result<std::string> Authority::sign(std::string_view text) const { return penstock::sign(*key_, text); }

}  // namespace penstock
