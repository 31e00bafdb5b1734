// Proofs of identity: certificates, keys, tokens, names, and the first bytes of a handshake.
#include <memory>
#include <string>

#include "common/security/authority.hpp"
#include "common/security/registrar.hpp"
#include "common/security/tls_session.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace penstock {
namespace {

void try_certificate(const std::string& pem) {
  const Result<CertificatePtr> certificate = read_certificate(pem, "input");
  if (!certificate) return;
  static_cast<void>(cluster_of(**certificate));
  static_cast<void>(issuer_of(**certificate));
  static_cast<void>(serial_of(**certificate));
  static_cast<void>(valid_until(**certificate));
  static_cast<void>(renewal_due(**certificate));
  if (const Result<PeerIdentity> identity = identity_of(**certificate))
    fuzz_expect(check_user(identity->user).has_value(), "a certificate has a name that none may have");
}

void try_token(std::string_view text) {
  const Result<TokenText> token = parse_token(text);
  if (!token) {
    fuzz_expect(text.size() < 12 || to_string(token.error()).find(text) == std::string::npos, "a secret is repeated");
    return;
  }
  const Result<TokenText> again = parse_token(to_string(*token));
  fuzz_expect(again && to_string(*again) == to_string(*token), "a token changes");
}

void try_identity(std::string_view uri) {
  const Result<PeerIdentity> identity = parse_peer_identity(uri);
  if (identity) fuzz_expect(to_uri(*identity) == uri, "an identity has two spellings");
}

/// A key that is to be certified: the certificate is of that key, and of the authority that has made it.
void try_key(std::string_view der) {
  static const Authority authority = std::move(Authority::make()).value();
  const Result<KeyPtr> key = read_public_part(der);
  if (!key) return;
  const Result<CertificatePtr> certificate =
      authority.certify(**key, Role::Worker, "fuzz", std::chrono::hours{1}, calendar_now());
  fuzz_expect(certificate.has_value(), "a key that was read cannot be certified");
}

/// A stranger's first bytes, in two parts.
void try_handshake(FuzzInput& input) {
  static const Authority authority = std::move(Authority::make()).value();
  static const std::shared_ptr<const TlsServer> server =
      *TlsServer::make(*authority.issue(Role::Supervisor, "fuzz", std::chrono::hours{1}));
  const Result<std::unique_ptr<TlsSession>> session = TlsSession::accept(server);
  fuzz_expect(session.has_value(), "no session");
  std::vector<std::byte> to_send;
  const std::string_view first = input.bytes(std::size_t{input.byte()} * 2);
  if (!(*session)->shake_hands(std::as_bytes(std::span{first}), to_send)) return;
  const Result<TlsSession::Handshake> second = (*session)->shake_hands(std::as_bytes(std::span{input.rest()}), to_send);
  fuzz_expect(!second || *second == TlsSession::Handshake::GoesOn, "a stranger has ended a handshake");
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;  // NOLINT: a function outside of all namespaces, by libFuzzer's design
  FuzzInput input{data, size};
  switch (input.byte() % 6) {
    case 0: try_certificate(std::string{input.rest()}); break;
    case 1: static_cast<void>(read_credential(std::string{input.rest()}, "input")); break;
    case 2: try_token(input.rest()); break;
    case 3: try_identity(input.rest()); break;
    case 4: try_key(input.rest()); break;
    default: try_handshake(input);
  }
  return 0;
}
