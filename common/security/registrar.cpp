#include "common/security/registrar.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "common/host/descriptor.hpp"
#include "common/security/private_file.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr std::string_view kTokenBegin = "penstock-";
constexpr std::size_t kIdDigits = 8;
constexpr std::size_t kSecretDigits = 64;
constexpr std::size_t kClusterDigits = 40;
/// The token of certificates that no token has led to.
constexpr const char* kNoToken = "-";

std::string hexadecimal(const unsigned char* bytes, std::size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += {kDigits[bytes[i] >> 4U], kDigits[bytes[i] & 15U]};
  return text;
}

bool is_hexadecimal(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

template <std::size_t Bytes>
Result<std::string> random_digits() {
  std::array<unsigned char, Bytes> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1)
    return Error{ErrorCode::Internal, "a token", "cannot be made: there is no randomness", {}};
  return hexadecimal(bytes.data(), bytes.size());
}

std::string digest_of(const std::string& secret) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest.data());
  return hexadecimal(digest.data(), digest.size());
}

bool same_text(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::int64_t seconds_of(CalendarTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}
CalendarTime time_of(std::int64_t seconds) { return CalendarTime{std::chrono::seconds{seconds}}; }

/// A token as its file has it.
struct FiledToken {
  Token token;
  std::string digest;
};

std::string filed(const FiledToken& filed) {
  return filed.digest + " " + std::string{to_string(filed.token.role)} + " " +
         std::to_string(seconds_of(filed.token.until)) + " " +
         (filed.token.user.empty() ? kNoToken : filed.token.user) + "\n";
}

Result<FiledToken> read_filed(const std::string& path) {
  Result<std::string> text = read_private_file(path);
  if (!text) return std::move(text).error();
  FiledToken found;
  std::istringstream words{*text};
  std::string role;
  std::int64_t until = 0;
  words >> found.digest >> role >> until >> found.token.user;
  const Result<Role> known = parse_role(role);
  if (!words || !known) return Error{ErrorCode::InvalidArgument, path, "is no token", {}};
  found.token.id = fs::path{path}.filename().string();
  found.token.role = *known;
  found.token.until = time_of(until);
  if (found.token.user == kNoToken) found.token.user.clear();
  return found;
}

/// Adds whole lines to a file; those of several processes do not mix.
Result<void> append_lines(const std::string& path, const std::string& lines) {
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (file && ::write(file.get(), lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()) &&
      ::fdatasync(file.get()) == 0)
    return {};
  return Error{ErrorCode::StorageFull, path, "cannot be written", "make room, and see that its owner may write it"};
}

/// Lists of certificates are some 100 bytes each.
constexpr std::size_t kBookBytesMax = 256UL << 20U;

std::string text_of_file(const std::string& path) {
  Result<std::string> text = read_private_file(path, kBookBytesMax);
  return text ? std::move(text).value() : std::string{};
}

/// The lists of an authority, held against other processes.
class LockedBook {
 public:
  explicit LockedBook(const std::string& directory)
      : file_(::open((directory + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    while (file_ && ::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }

 private:
  Descriptor file_;
};

Error not_accepted(const char* why) {
  return {ErrorCode::PermissionDenied, "the token", why, "get another one: `penstock token create`"};
}

}  // namespace

std::string to_string(const TokenText& token) {
  return std::string{kTokenBegin} + token.cluster + "-" + token.id + "-" + token.secret;
}

Result<TokenText> parse_token(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlank) + 1);
  constexpr std::size_t kBytes = kTokenBegin.size() + kClusterDigits + 1 + kIdDigits + 1 + kSecretDigits;
  const Error wrong{ErrorCode::InvalidArgument, "the token", "is none of Penstock",
                    "it begins with `penstock-` and is one line, as `penstock token create` prints it"};
  if (text.size() != kBytes || !text.starts_with(kTokenBegin)) return wrong;
  text.remove_prefix(kTokenBegin.size());
  TokenText token{std::string{text.substr(0, kClusterDigits)}, std::string{text.substr(kClusterDigits + 1, kIdDigits)},
                  std::string{text.substr(kClusterDigits + kIdDigits + 2)}};
  const bool sound = is_hexadecimal(token.cluster, kClusterDigits) && is_hexadecimal(token.id, kIdDigits) &&
                     is_hexadecimal(token.secret, kSecretDigits) && text[kClusterDigits] == '-' &&
                     text[kClusterDigits + kIdDigits + 1] == '-';
  if (!sound) return wrong;
  return token;
}

Result<Registrar> Registrar::open(const std::string& directory) {
  Result<Authority> authority = Authority::open(directory);
  if (!authority) return std::move(authority).error();
  PENSTOCK_TRY(make_private_directory(directory + "/tokens"));
  Registrar registrar{directory, std::move(authority).value()};
  registrar.look_for_revocations();
  return registrar;
}

Result<TokenText> Registrar::create_token(Role role, const std::string& user, std::chrono::seconds life,
                                          std::size_t tokens_max, CalendarTime now) const {
  if (!user.empty()) PENSTOCK_TRY(check_user(user));
  if (role == Role::Supervisor)
    return Error{ErrorCode::InvalidArgument, "supervisor", "is no role of a token",
                 "a supervisor uses the state directory: start it with `--state` or `--standby` there"};
  if (list_tokens(now).size() >= tokens_max)
    return Error{ErrorCode::LimitExceeded, "security.tokens_max", "so many tokens wait to be used",
                 "revoke some: `penstock token list`, `penstock token revoke`"};
  const Result<std::string> id = random_digits<kIdDigits / 2>();
  if (!id) return id.error();
  const Result<std::string> secret = random_digits<kSecretDigits / 2>();
  if (!secret) return secret.error();
  PENSTOCK_TRY(write_private_file(token_file(*id), filed({{*id, role, user, now + life}, digest_of(*secret)})));
  return TokenText{authority_.cluster(), *id, *secret};
}

std::vector<Token> Registrar::list_tokens(CalendarTime now) const {
  std::vector<Token> tokens;
  for (const std::string& id : names_in(directory_ + "/tokens")) {
    Result<FiledToken> found = read_filed(token_file(id));
    if (!found) continue;
    if (found->token.until > now)
      tokens.push_back(std::move(found->token));
    else
      ::unlink(token_file(id).c_str());
  }
  std::sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return a.until < b.until; });
  return tokens;
}

Result<CertificatePtr> Registrar::join(const TokenText& token, const std::string& public_key,
                                       const std::string& own_user, std::chrono::seconds life, CalendarTime now) const {
  if (token.cluster != authority_.cluster()) return not_accepted("is of another cluster");
  Result<FiledToken> found = read_filed(token_file(token.id));
  if (!found || !same_text(found->digest, digest_of(token.secret)))
    return not_accepted("is unknown: it was used already, is out of date or was revoked");
  const std::string& user = found->token.user.empty() ? own_user : found->token.user;
  PENSTOCK_TRY(check_user(user));
  if (const Result<KeyPtr> key = read_public_part(public_key); !key) return key.error();
  // Of two that show it at the same time one can remove it.
  if (::unlink(token_file(token.id).c_str()) != 0) return not_accepted("was used already");
  if (found->token.until <= now) return not_accepted("is out of date");
  return certify(public_key, found->token.role, user, token.id, life, now);
}

Result<CertificatePtr> Registrar::renew(const PeerIdentity& peer, const std::string& serial,
                                        const std::string& public_key, std::chrono::seconds life,
                                        CalendarTime now) const {
  if (is_revoked(serial)) return Error{ErrorCode::PermissionDenied, to_uri(peer), "its certificate was revoked", {}};
  std::string token = kNoToken;
  for (const Issued& before : issued())
    if (before.serial == serial) token = before.token;
  return certify(public_key, peer.role, peer.user, token, life, now);
}

Result<CertificatePtr> Registrar::certify(const std::string& public_key, Role role, const std::string& user,
                                          const std::string& token, std::chrono::seconds life, CalendarTime now) const {
  Result<KeyPtr> key = read_public_part(public_key);
  if (!key) return std::move(key).error();
  Result<CertificatePtr> certificate = authority_.certify(**key, role, user, life, now);
  if (!certificate) return certificate;
  PENSTOCK_TRY(note(**certificate, token, user));
  return certificate;
}

Result<Credential> Registrar::issue(Role role, const std::string& user, std::chrono::seconds life,
                                    CalendarTime now) const {
  Result<Credential> issued = authority_.issue(role, user, life, now);
  if (issued) PENSTOCK_TRY(note(*issued->certificate, kNoToken, user));
  return issued;
}

Result<void> Registrar::note(const X509& certificate, const std::string& token, const std::string& user) const {
  const LockedBook lock{directory_};
  return append_lines(directory_ + "/issued", serial_of(certificate) + " " + token + " " + user + " " +
                                                  std::to_string(seconds_of(valid_until(certificate))) + "\n");
}

Result<void> Registrar::forget_expired(CalendarTime now) {
  const LockedBook lock{directory_};
  std::string kept_issued;
  std::string kept_revoked;
  look_for_revocations();
  for (const Issued& one : issued()) {
    if (one.until <= now) continue;
    kept_issued += one.serial + " " + one.token + " " + one.user + " " + std::to_string(seconds_of(one.until)) + "\n";
    if (is_revoked(one.serial)) kept_revoked += one.serial + "\n";
  }
  PENSTOCK_TRY(write_private_file(directory_ + "/revoked", kept_revoked));
  PENSTOCK_TRY(write_private_file(directory_ + "/issued", kept_issued));
  look_for_revocations();
  return {};
}

std::vector<Registrar::Issued> Registrar::issued() const {
  std::vector<Issued> found;
  std::istringstream lines{text_of_file(directory_ + "/issued")};
  Issued one;
  std::int64_t until = 0;
  while (lines >> one.serial >> one.token >> one.user >> until) {
    one.until = time_of(until);
    found.push_back(one);
  }
  return found;
}

Result<void> Registrar::revoke(const std::vector<Issued>& certificates) const {
  std::string lines;
  for (const Issued& one : certificates) lines += one.serial + "\n";
  if (lines.empty()) return {};
  const LockedBook lock{directory_};
  return append_lines(directory_ + "/revoked", lines);
}

Result<void> Registrar::revoke_token(const std::string& id) const {
  std::vector<Issued> led_to = issued();
  std::erase_if(led_to, [&](const Issued& one) { return one.token != id; });
  const bool unused = is_hexadecimal(id, kIdDigits) && ::unlink(token_file(id).c_str()) == 0;
  if (led_to.empty() && !unused)
    return Error{ErrorCode::NotFound, id, "is no token, and no certificate is of it",
                 "`penstock token list` shows the tokens that wait to be used"};
  return revoke(led_to);
}

Result<void> Registrar::revoke_user(const std::string& user) const {
  std::vector<Issued> of_user = issued();
  std::erase_if(of_user, [&](const Issued& one) { return one.user != user; });
  if (of_user.empty()) return Error{ErrorCode::NotFound, user, "has no certificate of this cluster", {}};
  return revoke(of_user);
}

bool Registrar::look_for_revocations() {
  std::string text = text_of_file(directory_ + "/revoked");
  if (text == revocations_read_) return false;
  revoked_.clear();
  std::istringstream lines{text};
  for (std::string serial; lines >> serial;) revoked_.insert(serial);
  revocations_read_ = std::move(text);
  return true;
}

}  // namespace penstock
