#include "supervisor/actors/credential_office.hpp"

#include <stdlib.h>  // tidy: allow arrows: mkdtemp

#include <filesystem>
#include <map>
#include <optional>

#include "common/host/account.hpp"
#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/net/secure_stream.hpp"
#include "common/security/munge.hpp"
#include "common/security/registrar.hpp"
#include "common/security/server_credential.hpp"

namespace penstock::supervisor {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr Duration kLookEvery = std::chrono::milliseconds{250};
/// Credentials of clusters that nobody can reach any more stay so long.
constexpr std::chrono::hours kOldCredentials{24 * 7};

/// A directory for an authority that ends with this process.
class PassingDirectory {
 public:
  PassingDirectory() : path_((fs::temp_directory_path() / "penstock-authority-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~PassingDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  PassingDirectory(const PassingDirectory&) = delete;
  PassingDirectory& operator=(const PassingDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

struct CredentialOffice::State {
  State(Loop& loop, OfficeOptions office_options) : options(std::move(office_options)), timer(loop) {}

  std::chrono::seconds life() const {
    return std::chrono::duration_cast<std::chrono::seconds>(options.config.certificate_life);
  }
  Result<CertificatePtr> join_by_munge(const TokenText& token, const Join& join) const;
  Result<void> renew_all();
  Result<void> renew_for_runs(const std::string& user);
  bool renew_due_for_runs();
  void look();

  OfficeOptions options;
  std::optional<PassingDirectory> passing;
  std::optional<Registrar> registrar;
  Credential own;  ///< The supervisor's.
  std::shared_ptr<ServerCredential> credential;
  std::shared_ptr<HandshakePool> pool;
  std::shared_ptr<const SecretBox> secrets;
  /// Of the runs of a user.
  struct OfRuns {
    std::shared_ptr<const RunCredential> credential;
    std::string serial;
    CalendarTime renewal;
  };
  std::map<std::string, OfRuns> of_runs;
  LoopTimer timer;
};

CredentialOffice::CredentialOffice(std::unique_ptr<State> state) : state_(std::move(state)) {}

CredentialOffice::~CredentialOffice() {
  state_->pool->stop();
  // The certificates of this process are of no use any more.
  if (state_->passing.has_value()) state_->options.store.forget(state_->registrar->authority().cluster());
}

Result<std::unique_ptr<CredentialOffice>> CredentialOffice::open(Loop& loop, OfficeOptions options) {
  auto state = std::make_unique<State>(loop, std::move(options));
  if (state->options.directory.empty()) {
    state->passing.emplace();
    state->options.directory = state->passing->path();
  }
  Result<Registrar> registrar = Registrar::open(state->options.directory);
  if (!registrar) return std::move(registrar).error();
  state->registrar.emplace(std::move(registrar).value());
  Result<std::shared_ptr<const SecretBox>> secrets = SecretBox::open(state->options.directory + "/secrets.key");
  if (!secrets) return std::move(secrets).error();
  state->secrets = std::move(secrets).value();
  PENSTOCK_TRY(state->registrar->forget_expired(calendar_now()));
  state->options.store.forget_older(calendar_now(), kOldCredentials);
  state->pool =
      std::make_shared<HandshakePool>(state->options.config.handshake_threads, state->options.config.handshakes_max);
  PENSTOCK_TRY(state->renew_all());
  state->look();
  return std::unique_ptr<CredentialOffice>{new CredentialOffice{std::move(state)}};
}

const std::string& CredentialOffice::cluster() const { return state_->registrar->authority().cluster(); }

ListenSecurity CredentialOffice::security() const {
  return {[credential = state_->credential] { return credential->settings(); }, state_->pool};
}

std::shared_ptr<const SecretBox> CredentialOffice::secrets() const { return state_->secrets; }

bool CredentialOffice::is_revoked(const std::string& serial) const { return state_->registrar->is_revoked(serial); }

std::vector<std::string> CredentialOffice::revoked() const { return state_->registrar->revoked(); }

Result<std::shared_ptr<const RunCredential>> CredentialOffice::run_credential(const std::string& user) {
  const auto known = state_->of_runs.find(user);
  if (known == state_->of_runs.end() || is_revoked(known->second.serial)) PENSTOCK_TRY(state_->renew_for_runs(user));
  return state_->of_runs.at(user).credential;
}

Result<Joined> CredentialOffice::certify(const Join& join, const PeerStanding& peer) const {
  Result<CertificatePtr> certificate = Error{ErrorCode::PermissionDenied, "", "shows neither a token nor a certificate",
                                             "get a token: `penstock token create`"};
  if (!join.token.empty()) {
    const Result<TokenText> token = parse_token(join.token);
    if (!token) return token.error();
    certificate = token->by_munge()
                      ? state_->join_by_munge(*token, join)
                      : state_->registrar->join(*token, join.public_key, join.user, state_->life(), calendar_now());
  } else if (peer.identity.has_value()) {
    certificate =
        state_->registrar->renew(*peer.identity, peer.serial, join.public_key, state_->life(), calendar_now());
  }
  if (!certificate) return std::move(certificate).error();
  if (const Result<PeerIdentity> identity = identity_of(**certificate))
    log_line(LogLevel::Info, "certified",
             "role=" + std::string{to_string(identity->role)} + " user=" + identity->user +
                 (join.token.empty() ? " renewed" : std::string{" by="} + (join.proof.empty() ? "token" : "munge")));
  return Joined{to_pem(**certificate), to_pem(state_->registrar->authority().certificate())};
}

// The host of the supervisor and that of the user have one key of MUNGE, and one directory of users. Root of any of
// these hosts would be root here.
Result<CertificatePtr> CredentialOffice::State::join_by_munge(const TokenText& token, const Join& join) const {
  if (!options.config.munge)
    return Error{ErrorCode::PermissionDenied, "MUNGE", "is no login here",
                 "set `security.munge = true` on the supervisor, or use a token"};
  if (token.cluster != registrar->authority().cluster())
    return Error{ErrorCode::PermissionDenied, "the token", "is of another cluster", {}};
  const Result<MungeProof> proof = munge_open(join.proof);
  if (!proof) return proof.error();
  if (proof->content != munge_content(join.public_key))
    return Error{ErrorCode::PermissionDenied, "the credential of MUNGE", "is for another key", {}};
  if (proof->uid == 0)
    return Error{ErrorCode::PermissionDenied, "root", "is not logged in by MUNGE: any host's could", "use a token"};
  const Result<std::string> user = user_name_of(proof->uid);
  if (!user) return user.error();
  return registrar->join_proven(*user, join.public_key, life(), calendar_now());
}

// The supervisor's own user gets both roles: on one host everything works without a word.
Result<void> CredentialOffice::State::renew_all() {
  const CalendarTime now = calendar_now();
  Result<Credential> issued = registrar->issue(Role::Supervisor, options.user, life(), now);
  if (!issued) return std::move(issued).error();
  Result<std::shared_ptr<const TlsServer>> server = TlsServer::make(*issued);
  if (!server) return std::move(server).error();
  own = std::move(issued).value();
  if (credential == nullptr)
    credential = std::make_shared<ServerCredential>(std::move(server).value());
  else
    credential->replace(std::move(server).value());
  for (const Role role : {Role::Admin, Role::Worker}) {
    Result<Credential> one = registrar->issue(role, options.user, life(), now);
    if (!one) return std::move(one).error();
    if (const Result<void> saved = options.store.save(registrar->authority().cluster(), role, *one); !saved)
      log_error(LogLevel::Warn, "this user needs a token, as others do", saved.error());
  }
  return {};
}

Result<void> CredentialOffice::State::renew_for_runs(const std::string& user) {
  Result<Credential> issued = registrar->issue(Role::Run, user, life(), calendar_now());
  if (!issued) return std::move(issued).error();
  of_runs[user] = {std::make_shared<const RunCredential>(RunCredential{user, to_pem(*issued)}),
                   serial_of(*issued->certificate), renewal_due(*issued->certificate)};
  return {};
}

/// Whether one was renewed. The runs of a user that was removed have none until they are given work again.
bool CredentialOffice::State::renew_due_for_runs() {
  bool any = false;
  for (const auto& [user, known] : of_runs) {
    if (known.renewal > calendar_now() || registrar->is_revoked(known.serial)) continue;
    const Result<void> renewed = renew_for_runs(user);
    any |= renewed.has_value();
    if (!renewed) log_error(LogLevel::Error, "the certificate of runs is not renewed", renewed.error());
  }
  return any;
}

void CredentialOffice::State::look() {
  timer.arm(monotonic_now() + kLookEvery, [this] { look(); });
  const Result<bool> revoked = registrar->look_for_revocations();
  if (!revoked) log_error(LogLevel::Error, "revocations are not seen", revoked.error());
  const bool renewed_for_runs = renew_due_for_runs();
  if (((revoked && *revoked) || renewed_for_runs) && options.on_change) options.on_change();
  if (!wants_renewal(*own.certificate, calendar_now())) return;
  if (const Result<void> renewed = renew_all(); !renewed)
    log_error(LogLevel::Error, "certificates are not renewed", renewed.error());
}

}  // namespace penstock::supervisor
