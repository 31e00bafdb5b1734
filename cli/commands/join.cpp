#include "cli/commands/join.hpp"

#include <fstream>
#include <iostream>

#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/net/joining.hpp"
#include "common/security/own_security.hpp"
#include "common/security/registrar.hpp"

namespace penstock::cli {
namespace {

/// A token has some 120 bytes.
constexpr std::size_t kLineBytesMax = 4096;

Result<std::string> read_token_file(const std::string& file) {
  // By mistake, and others can see a command line: at least the message does not repeat it.
  if (parse_token(file))
    return Error{ErrorCode::InvalidArgument, "the token", "stands on the command line, where others can see it",
                 "revoke it, and give a new one by a file, or by - for standard input"};
  std::string line(kLineBytesMax, '\0');
  std::ifstream opened;
  if (file != "-") opened.open(file);
  std::istream& input = file == "-" ? std::cin : opened;
  if (input.read(line.data(), static_cast<std::streamsize>(line.size())); input.gcount() > 0) {
    line.resize(static_cast<std::size_t>(input.gcount()));
    return line.substr(0, line.find('\n'));
  }
  return Error{ErrorCode::InvalidArgument, file == "-" ? "standard input" : file, "cannot be read, or is empty",
               "write the output of `penstock token create` to it, or say - for standard input"};
}

/// From the first supervisor that answers; `options` without its address.
Result<Credential> join_any(const Invocation& invocation, JoinOptions options) {
  const Result<std::vector<HostPort>> supervisors = supervisors_of(invocation);
  if (!supervisors) return supervisors.error();
  options.user = user_name();
  Result<Credential> joined = Error{};
  for (const HostPort& supervisor : *supervisors) {
    options.supervisor = supervisor;
    joined = join_cluster(options);
    if (joined || joined.error().code != ErrorCode::Unreachable) break;
  }
  return joined;
}

}  // namespace

Result<PeerIdentity> join_with_file(const Invocation& invocation, const std::string& file, JoinAgain again) {
  if (wants_insecure())
    return Error{ErrorCode::InvalidArgument, "--insecure", "goes without tokens and certificates",
                 "leave the token out where the supervisor runs with it, else leave `--insecure` out"};
  const Result<std::string> text = read_token_file(file);
  if (!text) return text.error();
  const Result<TokenText> token = parse_token(*text);
  if (!token) return token.error();
  if (again == JoinAgain::UnlessValid && token->by_munge())
    return Error{ErrorCode::InvalidArgument, file, "logs users in by MUNGE, and no workers",
                 "make one for the worker: `penstock token create --role worker`"};
  if (again == JoinAgain::UnlessValid) {
    const Result<Credential> known = own_credentials().load(token->cluster, Role::Worker);
    if (known && valid_until(*known->certificate) > calendar_now()) return identity_of(*known->certificate);
  }
  Result<std::shared_ptr<const TlsClient>> tls = TlsClient::make_stranger(token->cluster);
  if (!tls) return tls.error();
  JoinOptions options;
  options.tls = std::move(tls).value();
  options.token = *text;
  const Result<Credential> joined = join_any(invocation, std::move(options));
  if (!joined) return joined.error();
  Result<PeerIdentity> identity = identity_of(*joined->certificate);
  if (!identity) return identity;
  PENSTOCK_TRY(own_credentials().save_only(identity->cluster, identity->role, *joined));
  return identity;
}

Result<PeerIdentity> renew_login(const Invocation& invocation) {
  Result<std::shared_ptr<const TlsClient>> tls = own_security(PeerRole::Client);
  if (!tls) return tls.error();
  if (*tls == nullptr)
    return Error{ErrorCode::InvalidArgument, "--insecure", "goes without certificates", "leave it out"};
  JoinOptions options;
  options.tls = std::move(tls).value();
  const Result<Credential> renewed = join_any(invocation, std::move(options));
  if (!renewed) return renewed.error();
  Result<PeerIdentity> identity = identity_of(*renewed->certificate);
  if (!identity) return identity;
  PENSTOCK_TRY(own_credentials().save(identity->cluster, identity->role, *renewed));
  return identity;
}

}  // namespace penstock::cli
