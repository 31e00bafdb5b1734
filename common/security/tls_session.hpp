// TLS 1.3 between two processes that prove their identities, as a machine over bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/identity.hpp"
#include "common/security/certificate.hpp"
#include "common/security/credential_store.hpp"

namespace penstock {

/// The settings of the accepting side. Immutable, so any thread may begin sessions with it.
class TlsServer {
 public:
  /// Peers are certified by the authority of `credential`. A peer without a certificate gets a session without an
  /// identity. Error: Internal.
  static Result<std::shared_ptr<const TlsServer>> make(const Credential& credential);
  SSL_CTX& context() const { return *context_; }

 private:
  explicit TlsServer(SslContextPtr context) : context_(std::move(context)) {}
  SslContextPtr context_;
};

/// The settings of the connecting side; any thread may begin sessions with it.
class TlsClient {
 public:
  /// Shows the credential that `store` has for the cluster of the accepting side, and trusts that cluster's authority
  /// if the accepting side has the role `server`.
  static Result<std::shared_ptr<const TlsClient>> make(const CredentialStore& store, PeerRole peer,
                                                       Role server = Role::Supervisor);
  /// Shows no certificate, and trusts the authority of this cluster, which the accepting side has to send.
  static Result<std::shared_ptr<const TlsClient>> make_stranger(const std::string& cluster);
  SSL_CTX& context() const { return *context_; }
  const CredentialStore& store() const { return store_; }
  PeerRole peer() const { return peer_; }
  Role server() const { return server_; }
  /// Empty: of any cluster that `store` knows.
  const std::string& pinned() const { return pinned_; }
  /// The cluster of the latest peer that was trusted; empty: there was none.
  std::string latest_cluster() const;
  /// The user that runs that peer.
  std::string latest_user() const;

 private:
  TlsClient(SslContextPtr context, CredentialStore store, PeerRole peer, Role server, std::string pinned)
      : context_(std::move(context)),
        store_(std::move(store)),
        peer_(peer),
        server_(server),
        pinned_(std::move(pinned)) {}
  SslContextPtr context_;
  CredentialStore store_;
  PeerRole peer_;
  Role server_;
  std::string pinned_;
  mutable std::mutex mutex_;  // Of `latest_`; tests/integration/cluster under the thread sanitizer.
  mutable PeerIdentity latest_;
  friend class TlsSession;
};

/// One side of the handshake of one connection. Never touches a socket: its owner carries the bytes. One thread at a
/// time.
///
/// All errors are final: PermissionDenied, with the reason for people, if a side refuses the other one's certificate;
/// MalformedFrame if the peer does not speak TLS 1.3.
class TlsSession {
 public:
  enum class Handshake : std::uint8_t { GoesOn, Done };

  static Result<std::unique_ptr<TlsSession>> accept(std::shared_ptr<const TlsServer> settings);
  static Result<std::unique_ptr<TlsSession>> connect(std::shared_ptr<const TlsClient> settings);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  bool is_accepting() const { return server_ != nullptr; }
  /// Takes what has arrived, and appends to `to_send`, also when it fails. The connecting side calls it first, with
  /// nothing. Takes some 1 ms of the processor in all.
  Result<Handshake> shake_hands(std::span<const std::byte> arrived, std::vector<std::byte>& to_send);

  // After the handshake.

  /// None: the peer has shown no certificate.
  const std::optional<PeerIdentity>& peer() const { return peer_; }
  /// Of the peer's certificate; empty without one.
  const std::string& peer_serial() const { return peer_serial_; }
  /// The credential that this side has shown; null parts: none.
  const Credential& own() const { return own_; }
  /// Takes records of TLS that came after the handshake: a refusal, which is the error, or nothing of interest.
  Result<void> hear(std::span<const std::byte> arrived);
  /// Records of TLS that carry data, as programs of other projects speak it; never beside `RecordCipher`. Takes what
  /// has arrived, appends its plain bytes, and appends to `to_send` what TLS itself answers. False: the peer has ended
  /// the stream.
  Result<bool> read_plain(std::span<const std::byte> arrived, std::string& plain, std::vector<std::byte>& to_send);
  /// Seals the bytes, and appends them to `to_send`.
  Result<void> write_plain(std::string_view plain, std::vector<std::byte>& to_send);
  /// Says that nothing more follows.
  void say_end(std::vector<std::byte>& to_send);
  /// Takes out what came behind the handshake, as it has arrived: the records of `RecordCipher`.
  std::vector<std::byte> take_unread();
  /// A secret that both sides of this connection have, and nobody else, for `label`.
  Result<std::vector<std::byte>> export_secret(std::string_view label, std::size_t bytes) const;

 private:
  TlsSession(std::shared_ptr<const TlsServer> server, std::shared_ptr<const TlsClient> client, SslPtr ssl);
  static int verify_peer(X509_STORE_CTX* store, void*);
  static int choose_own(SSL* ssl, void*);
  bool check_client(X509_STORE_CTX& store);
  bool check_server(X509_STORE_CTX& store);
  Result<CertificatePtr> trusted_authority(X509_STORE_CTX& store);
  Error refused(const char* otherwise);
  void feed(std::span<const std::byte> arrived);
  void take_output(std::vector<std::byte>& to_send);
  friend class TlsServer;
  friend class TlsClient;

  const std::shared_ptr<const TlsServer> server_;  ///< Of the accepting side; null at the other.
  const std::shared_ptr<const TlsClient> client_;
  SslPtr ssl_;
  Credential own_;
  std::optional<PeerIdentity> peer_;
  std::string peer_serial_;
  std::optional<Error> refusal_;  ///< Why this side refuses the peer's certificate, or has ended.
};

}  // namespace penstock
