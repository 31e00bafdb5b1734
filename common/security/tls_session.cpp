#include "common/security/tls_session.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

namespace penstock {
namespace {

using StorePtr = std::unique_ptr<X509_STORE, FreedBy<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, FreedBy<X509_STORE_CTX_free>>;

/// Certificates of ours have some 600 bytes; a peer that sends more is refused before they are parsed.
constexpr long kCertificatesBytesMax = 8192;

Error failed(const char* what) { return {ErrorCode::Internal, "TLS", openssl_reason(what), {}}; }

Result<SslContextPtr> make_context(const SSL_METHOD* method) {
  SslContextPtr context{SSL_CTX_new(method)};
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1)
    return failed("cannot be set up");
  SSL_CTX_set_max_cert_list(context.get(), kCertificatesBytesMax);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
  SSL_CTX_set_num_tickets(context.get(), 0);
  // One processor makes 5 GB/s of it; every processor of the last ten years has its instructions.
  SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384");
  SSL_CTX_set1_groups_list(context.get(), "X25519:P-256");
  return context;
}

/// Why a certificate is refused, with the way out.
Error reason_of(int verdict, const std::string& subject) {
  const auto refuse = [&](const char* message, const char* remedy) {
    return Error{ErrorCode::PermissionDenied, subject, message, remedy};
  };
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return refuse("its certificate has expired", "get a new one with `penstock login`; if it is new, set the clock");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return refuse("its certificate is not valid yet", "set the clocks of both hosts");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return refuse("its certificate is of another cluster", "use a token of this cluster: `penstock token create`");
    case X509_V_ERR_INVALID_PURPOSE:
      return refuse("its certificate is for another role", "use a token for this role: `penstock token create --role`");
    default:
      return {ErrorCode::PermissionDenied,
              subject,
              std::string{"its certificate is refused: "} + X509_verify_cert_error_string(verdict),
              {}};
  }
}

/// The refusal that the peer has sent, as an alert.
const char* alert_text(unsigned long code) {
  switch (ERR_GET_REASON(code)) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED: return "the peer says that this side's certificate has expired";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: return "the peer says that this side's certificate is of another cluster";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED: return "the peer says that this side's certificate was revoked";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED: return "the peer refuses this side's certificate";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return "the peer wants a certificate";
    default: return nullptr;
  }
}

}  // namespace

Result<std::shared_ptr<const TlsServer>> TlsServer::make(const Credential& credential) {
  Result<SslContextPtr> context = make_context(TLS_server_method());
  if (!context) return std::move(context).error();
  SSL_CTX* const raw = context->get();
  const StorePtr trusted{X509_STORE_new()};
  const bool sound = SSL_CTX_use_certificate(raw, credential.certificate.get()) == 1 &&
                     SSL_CTX_use_PrivateKey(raw, credential.key.get()) == 1 &&
                     SSL_CTX_add1_chain_cert(raw, credential.authority.get()) == 1 &&
                     X509_STORE_add_cert(trusted.get(), credential.authority.get()) == 1 &&
                     SSL_CTX_set1_verify_cert_store(raw, trusted.get()) == 1;
  if (!sound) return failed("does not take the certificate");
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(raw, &TlsSession::verify_peer, nullptr);
  return std::shared_ptr<const TlsServer>{new TlsServer{std::move(context).value()}};
}

Result<std::shared_ptr<const TlsClient>> TlsClient::make(const CredentialStore& store, PeerRole peer, Role server) {
  Result<SslContextPtr> context = make_context(TLS_client_method());
  if (!context) return std::move(context).error();
  SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context->get(), &TlsSession::verify_peer, nullptr);
  SSL_CTX_set_cert_cb(context->get(), &TlsSession::choose_own, nullptr);
  return std::shared_ptr<const TlsClient>{new TlsClient{std::move(context).value(), store, peer, server, {}}};
}

Result<std::shared_ptr<const TlsClient>> TlsClient::make_stranger(const std::string& cluster) {
  Result<SslContextPtr> context = make_context(TLS_client_method());
  if (!context) return std::move(context).error();
  SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context->get(), &TlsSession::verify_peer, nullptr);
  return std::shared_ptr<const TlsClient>{
      new TlsClient{std::move(context).value(), CredentialStore{""}, PeerRole::Client, Role::Supervisor, cluster}};
}

std::string TlsClient::latest_cluster() const {
  const std::lock_guard lock{mutex_};
  return latest_.cluster;
}

std::string TlsClient::latest_user() const {
  const std::lock_guard lock{mutex_};
  return latest_.user;
}

TlsSession::TlsSession(std::shared_ptr<const TlsServer> server, std::shared_ptr<const TlsClient> client, SslPtr ssl)
    : server_(std::move(server)), client_(std::move(client)), ssl_(std::move(ssl)) {
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  if (server_ != nullptr)
    SSL_set_accept_state(ssl_.get());
  else
    SSL_set_connect_state(ssl_.get());
}

TlsSession::~TlsSession() = default;

Result<std::unique_ptr<TlsSession>> TlsSession::accept(std::shared_ptr<const TlsServer> settings) {
  SslPtr ssl{SSL_new(&settings->context())};
  if (ssl == nullptr) return failed("has no memory");
  return std::unique_ptr<TlsSession>{new TlsSession{std::move(settings), nullptr, std::move(ssl)}};
}

Result<std::unique_ptr<TlsSession>> TlsSession::connect(std::shared_ptr<const TlsClient> settings) {
  SslPtr ssl{SSL_new(&settings->context())};
  if (ssl == nullptr) return failed("has no memory");
  return std::unique_ptr<TlsSession>{new TlsSession{nullptr, std::move(settings), std::move(ssl)}};
}

Result<TlsSession::Handshake> TlsSession::shake_hands(std::span<const std::byte> arrived,
                                                      std::vector<std::byte>& to_send) {
  ERR_clear_error();
  feed(arrived);
  const int result = SSL_do_handshake(ssl_.get());
  const int error = SSL_get_error(ssl_.get(), result);
  take_output(to_send);
  if (result == 1) return Handshake::Done;
  if (error == SSL_ERROR_WANT_READ) return Handshake::GoesOn;
  return refused("the peer does not speak TLS 1.3");
}

Error TlsSession::refused(const char* otherwise) {
  if (refusal_.has_value()) {
    ERR_clear_error();
    return *refusal_;
  }
  const unsigned long code = ERR_peek_last_error();
  if (const char* const alert = alert_text(code); alert != nullptr) {
    ERR_clear_error();
    return {ErrorCode::PermissionDenied, "", alert,
            server_ != nullptr ? "" : "get a new one with `penstock login`; see docs/security.md"};
  }
  switch (ERR_GET_REASON(code)) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      ERR_clear_error();
      return {ErrorCode::MalformedFrame, "", "the peer speaks an older TLS than 1.3", {}};
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
      ERR_clear_error();
      return {ErrorCode::MalformedFrame, "", "the peer does not speak TLS", "does one side run with `--insecure`?"};
    default: return {ErrorCode::MalformedFrame, "", openssl_reason(otherwise), {}};
  }
}

int TlsSession::verify_peer(X509_STORE_CTX* store, void*) {
  auto* const ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const self = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  return (self->server_ != nullptr ? self->check_client(*store) : self->check_server(*store)) ? 1 : 0;
}

bool TlsSession::check_client(X509_STORE_CTX& store) {
  const bool sound = X509_verify_cert(&store) == 1;
  X509* const certificate = X509_STORE_CTX_get0_cert(&store);
  Result<PeerIdentity> identity = identity_of(*certificate);
  if (!sound) {
    refusal_ = reason_of(X509_STORE_CTX_get_error(&store), identity ? to_uri(*identity) : "");
    return false;
  }
  if (!identity) {
    refusal_ = identity.error();
    X509_STORE_CTX_set_error(&store, X509_V_ERR_APPLICATION_VERIFICATION);
    return false;
  }
  peer_ = std::move(identity).value();
  peer_serial_ = serial_of(*certificate);
  return true;
}

/// The authority of the peer's cluster, which this side knows or has pinned.
Result<CertificatePtr> TlsSession::trusted_authority(X509_STORE_CTX& store) {
  const std::string cluster = issuer_of(*X509_STORE_CTX_get0_cert(&store));
  if (client_->pinned().empty()) {
    Result<Credential> found = client_->store().load_for(cluster, client_->peer());
    if (found) {
      own_ = std::move(found).value();
      return share(own_.authority.get());
    }
    if (found.error().code != ErrorCode::NotFound) return std::move(found).error();
    const bool worker = client_->peer() == PeerRole::Worker;
    return Error{ErrorCode::PermissionDenied, "the supervisor",
                 "is of cluster " + cluster.substr(0, 12) + ", of which this user has no credential for a " +
                     (worker ? "worker" : "client") +
                     (client_->store().directory().empty() ? "" : " in " + client_->store().directory()),
                 std::string{"run `penstock token create --role "} + (worker ? "worker" : "client --user NAME") +
                     "` as the user that runs the supervisor, and give it to `penstock " +
                     (worker ? "worker --join-file" : "login") + "`"};
  }
  STACK_OF(X509)* const chain = X509_STORE_CTX_get0_untrusted(&store);
  for (int i = 0; i < sk_X509_num(chain); ++i)
    if (cluster_of(*sk_X509_value(chain, i)) == client_->pinned()) return share(sk_X509_value(chain, i));
  return Error{ErrorCode::PermissionDenied, "the supervisor", "is of another cluster than the token",
               "use a token that this supervisor has made"};
}

bool TlsSession::check_server(X509_STORE_CTX& store) {
  X509* const certificate = X509_STORE_CTX_get0_cert(&store);
  const auto refuse = [&](Error why) {
    refusal_ = std::move(why);
    X509_STORE_CTX_set_error(&store, X509_V_ERR_APPLICATION_VERIFICATION);
    return false;
  };
  Result<CertificatePtr> authority = trusted_authority(store);
  if (!authority) return refuse(std::move(authority).error());
  const StorePtr trusted{X509_STORE_new()};
  const StoreContextPtr check{X509_STORE_CTX_new()};
  X509_STORE_add_cert(trusted.get(), authority->get());
  X509_STORE_CTX_init(check.get(), trusted.get(), certificate, nullptr);
  X509_STORE_CTX_set_default(check.get(), "ssl_server");
  if (X509_verify_cert(check.get()) != 1)
    return refuse(reason_of(X509_STORE_CTX_get_error(check.get()), "the supervisor"));
  Result<PeerIdentity> identity = identity_of(*certificate);
  if (!identity) return refuse(std::move(identity).error());
  if (identity->role != client_->server())
    return refuse({ErrorCode::PermissionDenied,
                   to_uri(*identity),
                   "is no " + std::string{to_string(client_->server())} + " by its certificate",
                   {}});
  peer_ = std::move(identity).value();
  peer_serial_ = serial_of(*certificate);
  const std::lock_guard lock{client_->mutex_};
  client_->latest_ = *peer_;
  return true;
}

int TlsSession::choose_own(SSL* ssl, void*) {
  const auto* const self = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  if (self->own_.certificate == nullptr) return 1;
  return SSL_use_certificate(ssl, self->own_.certificate.get()) == 1 &&
                 SSL_use_PrivateKey(ssl, self->own_.key.get()) == 1
             ? 1
             : 0;
}

void TlsSession::take_output(std::vector<std::byte>& to_send) {
  BIO* const output = SSL_get_wbio(ssl_.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(output, &data);
  if (size <= 0) return;
  const auto* const bytes = reinterpret_cast<const std::byte*>(data);
  to_send.insert(to_send.end(), bytes, bytes + size);
  BIO_reset(output);
}

void TlsSession::feed(std::span<const std::byte> arrived) {
  // A memory BIO takes all of it.
  if (!arrived.empty()) BIO_write(SSL_get_rbio(ssl_.get()), arrived.data(), static_cast<int>(arrived.size()));
}

std::vector<std::byte> TlsSession::take_unread() {
  BIO* const input = SSL_get_rbio(ssl_.get());
  std::vector<std::byte> unread(BIO_ctrl_pending(input));
  if (!unread.empty()) BIO_read(input, unread.data(), static_cast<int>(unread.size()));
  return unread;
}

Result<void> TlsSession::hear(std::span<const std::byte> arrived) {
  ERR_clear_error();
  feed(arrived);
  std::byte one{};
  std::size_t read = 0;
  const int result = SSL_read_ex(ssl_.get(), &one, 1, &read);
  if (result == 1) return Error{ErrorCode::MalformedFrame, "", "the peer's bytes are no record", {}};
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ) return {};
  if (error == SSL_ERROR_ZERO_RETURN) return Error{ErrorCode::Disconnected, "", "the peer has closed", {}};
  return refused("the peer's bytes are damaged");
}

Result<bool> TlsSession::read_plain(std::span<const std::byte> arrived, std::string& plain,
                                    std::vector<std::byte>& to_send) {
  ERR_clear_error();
  feed(arrived);
  std::array<char, 16384> buffer;  // The most that a record has.
  for (;;) {
    std::size_t read = 0;
    const int result = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &read);
    take_output(to_send);
    if (result == 1) {
      plain.append(buffer.data(), read);
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), result);
    if (error == SSL_ERROR_WANT_READ) return true;
    if (error == SSL_ERROR_ZERO_RETURN) return false;
    return refused("the peer's bytes are damaged");
  }
}

Result<void> TlsSession::write_plain(std::string_view plain, std::vector<std::byte>& to_send) {
  ERR_clear_error();
  while (!plain.empty()) {
    std::size_t written = 0;
    if (SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written) != 1) return refused("cannot be written to");
    plain.remove_prefix(written);
    take_output(to_send);
  }
  return {};
}

void TlsSession::say_end(std::vector<std::byte>& to_send) {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  take_output(to_send);
  ERR_clear_error();
}

Result<std::vector<std::byte>> TlsSession::export_secret(std::string_view label, std::size_t bytes) const {
  std::vector<std::byte> secret(bytes);
  if (SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(secret.data()), bytes, label.data(),
                                 label.size(), nullptr, 0, 0) != 1)
    return failed("gives no secret");
  return secret;
}

}  // namespace penstock
