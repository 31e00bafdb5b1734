// Keys and certificates: made, read, written and described.
#pragma once

#include <chrono>
#include <string>

#include "common/base/result.hpp"
#include "common/protocol/identity.hpp"
#include "common/security/openssl.hpp"

namespace penstock {

using CalendarTime = std::chrono::system_clock::time_point;

/// A process shows these to its peers: its key and certificate, and the certificate of the authority that issued it.
struct Credential {
  KeyPtr key;
  CertificatePtr certificate;
  CertificatePtr authority;
};

/// A new key on the curve P-256.
Result<KeyPtr> make_key();

/// Reads a key, a certificate and its authority's, as PEM in this order. Error: InvalidArgument, with `subject`.
Result<Credential> read_credential(const std::string& pem, const std::string& subject);
std::string to_pem(const Credential& credential);

Result<CertificatePtr> read_certificate(const std::string& pem, const std::string& subject);
std::string to_pem(X509& certificate);
std::string to_pem(EVP_PKEY& key);
Result<KeyPtr> read_key(const std::string& pem, const std::string& subject);

/// The public part of a key, for another process to certify. As DER.
std::string public_part(const EVP_PKEY& key);
/// Error: InvalidArgument: no public key on the curve P-256.
Result<KeyPtr> read_public_part(std::string_view der);

/// Identifies an authority: the hexadecimal SHA-256 of its public key, cut to 40 digits.
std::string cluster_of(const X509& authority);
/// The authority that a certificate says to be of; empty: it says nothing.
std::string issuer_of(const X509& certificate);

/// Error: InvalidArgument: the certificate has no identity of Penstock, or several.
Result<PeerIdentity> identity_of(const X509& certificate);
CalendarTime valid_until(const X509& certificate);
/// A certificate is valid from so long before it is issued: clocks of hosts differ, and jump.
inline constexpr std::chrono::hours kClocksDiffer{24};
/// Half of its life after it was issued: another one should take its place then.
CalendarTime renewal_due(const X509& certificate);
inline bool wants_renewal(const X509& certificate, CalendarTime now) { return now >= renewal_due(certificate); }
/// The serial number, in hexadecimal.
std::string serial_of(const X509& certificate);

}  // namespace penstock
