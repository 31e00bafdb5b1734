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

bool is_hexadecimal(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

template <std::size_t Bytes>
Result<std::string> random_digits() {
  std::array<unsigned char, Bytes> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1)
    return Error{ErrorCode::Internal, "a token", "cannot be made: there is no randomness", {}};
  return hexadecimal(bytes);
}

std::string digest_of(const std::string& secret) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest.data());
  return hexadecimal(digest);
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

std::string joined_groups(const std::vector<std::string>& groups) {
  std::string text;
  for (const std::string& group : groups) text += " " + group;
  return text;
}

std::string filed(const FiledToken& filed) {
  return filed.digest + " " + std::string{to_string(filed.token.role)} + " " +
         std::to_string(seconds_of(filed.token.until)) + " " +
         (filed.token.user.empty() ? kNoToken : filed.token.user) + joined_groups(filed.token.groups) + "\n";
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
  for (std::string group; words >> group;) found.token.groups.push_back(group);
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

/// A list that cannot be read is an error: as an empty one it would give back what was revoked.
Result<std::string> read_book(const std::string& path) {
  Result<std::string> text = read_private_file(path, kBookBytesMax);
  if (!text && text.error().code == ErrorCode::NotFound) return std::string{};
  return text;
}

/// A line of the list of certificates.
std::string line_of(const std::string& serial, const std::string& token, const std::string& user, CalendarTime until) {
  return serial + " " + token + " " + user + " " + std::to_string(seconds_of(until)) + "\n";
}

/// The lists of an authority, held against other processes.
class LockedBook {
 public:
  explicit LockedBook(const std::string& directory) : lock_(directory + "/lock", FileLock::Kind::Exclusive) {}

 private:
  FileLock lock_;
};

Error not_accepted(const char* why) {
  return {ErrorCode::PermissionDenied, "the token", why, "get another one: `penstock token create`"};
}

}  // namespace

std::string munge_content(const std::string& public_key) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(public_key.data()), public_key.size(), digest.data());
  return "penstock login " + hexadecimal(digest);
}

std::string to_string(const TokenText& token) {
  if (token.by_munge()) return std::string{kTokenBegin} + token.cluster + "-" + token.id;
  return std::string{kTokenBegin} + token.cluster + "-" + token.id + "-" + token.secret;
}

Result<TokenText> parse_token(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlank) + 1);
  constexpr std::size_t kBytes = kTokenBegin.size() + kClusterDigits + 1 + kIdDigits + 1 + kSecretDigits;
  const Error wrong{ErrorCode::InvalidArgument, "the token", "is none of Penstock",
                    "it begins with `penstock-` and is one line, as `penstock token create` prints it"};
  if (!text.starts_with(kTokenBegin)) return wrong;
  const std::string_view cluster = text.substr(kTokenBegin.size(), kClusterDigits);
  if (text.substr(std::min(text.size(), kTokenBegin.size() + kClusterDigits)) == "-munge") {
    if (!is_hexadecimal(cluster, kClusterDigits)) return wrong;
    return TokenText{std::string{cluster}, std::string{TokenText::kByMunge}, {}};
  }
  if (text.size() != kBytes) return wrong;
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
  if (const Result<bool> read = registrar.look_for_revocations(); !read) return read.error();
  return registrar;
}

Result<TokenText> Registrar::create_token(Role role, const std::string& user, std::chrono::seconds life,
                                          std::size_t tokens_max, CalendarTime now,
                                          const std::vector<std::string>& groups) const {
  PENSTOCK_TRY(check_groups(groups));
  if (!user.empty()) PENSTOCK_TRY(check_user(user));
  // The holder of a token without a name chooses one, and with it the jobs of that user.
  if (user.empty() && may_introduce_itself(role, PeerRole::Client) && role != Role::Worker)
    return Error{ErrorCode::InvalidArgument, "--user", "is missing: a token of this role names its user",
                 "write e.g. `penstock token create --role " + std::string{to_string(role)} + " --user ada`"};
  if (role == Role::Supervisor)
    return Error{ErrorCode::InvalidArgument, "supervisor", "is no role of a token",
                 "a supervisor uses the state directory: start it with `--state` or `--standby` there"};
  if (role == Role::Run)
    return Error{ErrorCode::InvalidArgument, "run", "is no role of a token: workers are given it for their runs",
                 "write `--role client` for a user"};
  if (list_tokens(now).size() >= tokens_max)
    return Error{ErrorCode::LimitExceeded, "security.tokens_max", "so many tokens wait to be used",
                 "revoke some: `penstock token list`, `penstock token revoke`"};
  const Result<std::string> id = random_digits<kIdDigits / 2>();
  if (!id) return id.error();
  const Result<std::string> secret = random_digits<kSecretDigits / 2>();
  if (!secret) return secret.error();
  PENSTOCK_TRY(write_private_file(token_file(*id), filed({{*id, role, user, now + life, groups}, digest_of(*secret)})));
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
  const LockedBook lock{directory_};  // A revocation comes before the certificate is known, or finds it.
  Result<FiledToken> found = read_filed(token_file(token.id));
  if (!found || !same_text(found->digest, digest_of(token.secret)))
    return not_accepted("is unknown: it was used already, is out of date or was revoked");
  const std::string& user = found->token.user.empty() ? own_user : found->token.user;
  PENSTOCK_TRY(check_user(user));
  if (const Result<KeyPtr> key = read_public_part(public_key); !key) return key.error();
  // Of two that show it at the same time one can remove it.
  if (::unlink(token_file(token.id).c_str()) != 0) return not_accepted("was used already");
  if (found->token.until <= now) return not_accepted("is out of date");
  return certify(public_key, {found->token.role, user, token.id, found->token.groups}, life, now);
}

// The book names `munge` as the token of such certificates, so that one revocation takes all of them back.
Result<CertificatePtr> Registrar::join_proven(const std::string& user, const std::string& public_key,
                                              std::chrono::seconds life, CalendarTime now) const {
  PENSTOCK_TRY(check_user(user));
  const LockedBook lock{directory_};
  return certify(public_key, {Role::Client, user, std::string{TokenText::kByMunge}, {}}, life, now);
}

// The list is read again under the lock: a certificate that was revoked a moment ago must not live on in a new one.
Result<CertificatePtr> Registrar::renew(const PeerIdentity& peer, const std::string& serial,
                                        const std::string& public_key, std::chrono::seconds life, CalendarTime now) {
  if (peer.role == Role::Run)
    return Error{
        ErrorCode::PermissionDenied, to_uri(peer), "is not renewed by the run: its worker is given another", {}};
  const LockedBook lock{directory_};
  if (const Result<bool> read = look_for_revocations(); !read) return read.error();
  if (is_revoked(serial)) return Error{ErrorCode::PermissionDenied, to_uri(peer), "its certificate was revoked", {}};
  const Result<std::vector<Issued>> known = issued();
  if (!known) return known.error();
  std::string token = kNoToken;
  for (const Issued& before : *known)
    if (before.serial == serial) token = before.token;
  return certify(public_key, {peer.role, peer.user, token, peer.groups}, life, now);
}

/// REQUIRES: the lists are locked.
Result<CertificatePtr> Registrar::certify(const std::string& public_key, const Right& right, std::chrono::seconds life,
                                          CalendarTime now) const {
  Result<KeyPtr> key = read_public_part(public_key);
  if (!key) return std::move(key).error();
  Result<CertificatePtr> certificate = authority_.certify(**key, right.role, right.user, life, now, right.groups);
  if (!certificate) return certificate;
  PENSTOCK_TRY(note(**certificate, right.token, right.user));
  return certificate;
}

Result<Credential> Registrar::issue(Role role, const std::string& user, std::chrono::seconds life,
                                    CalendarTime now) const {
  Result<Credential> made = authority_.issue(role, user, life, now);
  const LockedBook lock{directory_};
  if (made) PENSTOCK_TRY(note(*made->certificate, kNoToken, user));
  return made;
}

/// REQUIRES: the lists are locked.
Result<void> Registrar::note(const X509& certificate, const std::string& token, const std::string& user) const {
  return append_lines(directory_ + "/issued", line_of(serial_of(certificate), token, user, valid_until(certificate)));
}

Result<void> Registrar::forget_expired(CalendarTime now) {
  const LockedBook lock{directory_};
  if (const Result<bool> read = look_for_revocations(); !read) return read.error();
  const Result<std::vector<Issued>> known = issued();
  if (!known) return known.error();
  std::string kept_issued;
  std::string kept_revoked;
  for (const Issued& one : *known) {
    if (one.until <= now) continue;
    kept_issued += line_of(one.serial, one.token, one.user, one.until);
    if (is_revoked(one.serial)) kept_revoked += one.serial + "\n";
  }
  PENSTOCK_TRY(write_private_file(directory_ + "/revoked", kept_revoked));
  PENSTOCK_TRY(write_private_file(directory_ + "/issued", kept_issued));
  if (const Result<bool> read = look_for_revocations(); !read) return read.error();
  return {};
}

Result<std::vector<Registrar::Issued>> Registrar::issued() const {
  const Result<std::string> text = read_book(directory_ + "/issued");
  if (!text) return text.error();
  std::vector<Issued> found;
  std::istringstream lines{*text};
  Issued one;
  std::int64_t until = 0;
  while (lines >> one.serial >> one.token >> one.user >> until) {
    one.until = time_of(until);
    found.push_back(one);
  }
  return found;
}

/// Revokes those certificates of which `is_meant`; their number. REQUIRES: the lists are locked.
template <class IsMeant>
Result<std::size_t> Registrar::revoke(IsMeant is_meant) const {
  const Result<std::vector<Issued>> known = issued();
  if (!known) return known.error();
  std::string lines;
  std::size_t count = 0;
  for (const Issued& one : *known) {
    if (!is_meant(one)) continue;
    lines += one.serial + "\n";
    ++count;
  }
  if (count > 0) PENSTOCK_TRY(append_lines(directory_ + "/revoked", lines));
  return count;
}

Result<void> Registrar::revoke_token(const std::string& id) const {
  const LockedBook lock{directory_};
  const bool unused = is_hexadecimal(id, kIdDigits) && ::unlink(token_file(id).c_str()) == 0;
  const Result<std::size_t> revoked = revoke([&](const Issued& one) { return one.token == id; });
  if (!revoked) return revoked.error();
  if (*revoked > 0 || unused) return {};
  return Error{ErrorCode::NotFound, id, "is no token, and no certificate is of it",
               "`penstock token list` shows the tokens that wait to be used"};
}

Result<void> Registrar::revoke_user(const std::string& user) const {
  const LockedBook lock{directory_};
  std::size_t unused = 0;
  for (const std::string& id : names_in(directory_ + "/tokens"))
    if (const Result<FiledToken> token = read_filed(token_file(id)); token && token->token.user == user)
      unused += ::unlink(token_file(id).c_str()) == 0 ? 1 : 0;
  const Result<std::size_t> revoked = revoke([&](const Issued& one) { return one.user == user; });
  if (!revoked) return revoked.error();
  if (*revoked + unused > 0) return {};
  return Error{ErrorCode::NotFound, user, "has no certificate and no token of this cluster", {}};
}

Result<bool> Registrar::look_for_revocations() {
  Result<std::string> text = read_book(directory_ + "/revoked");
  if (!text) return std::move(text).error();
  if (*text == revocations_read_) return false;
  revoked_.clear();
  std::istringstream lines{*text};
  for (std::string serial; lines >> serial;) revoked_.insert(serial);
  revocations_read_ = std::move(text).value();
  return true;
}

}  // namespace penstock
