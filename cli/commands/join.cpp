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

Result<std::string> read_token_file(const std::string& file) {
  std::string line;
  if (file == "-") {
    std::getline(std::cin, line);
    return line;
  }
  std::ifstream input{file};
  if (!std::getline(input, line))
    return Error{ErrorCode::InvalidArgument, file, "cannot be read, or is empty",
                 "write the output of `penstock token create` to it, or say - for standard input"};
  return line;
}

}  // namespace

Result<PeerIdentity> join_with_file(const Invocation& invocation, const std::string& file, JoinAgain again) {
  const Result<std::string> text = read_token_file(file);
  if (!text) return text.error();
  const Result<TokenText> token = parse_token(*text);
  if (!token) return token.error();
  if (again == JoinAgain::UnlessValid) {
    const Result<Credential> known = own_credentials().load(token->cluster, Role::Worker);
    if (known && valid_until(*known->certificate) > calendar_now()) return identity_of(*known->certificate);
  }
  const Result<std::vector<HostPort>> supervisors = supervisors_of(invocation);
  if (!supervisors) return supervisors.error();
  Result<std::shared_ptr<const TlsClient>> tls = TlsClient::make_stranger(token->cluster);
  if (!tls) return tls.error();
  JoinOptions options;
  options.tls = std::move(tls).value();
  options.token = *text;
  options.user = user_name();
  Result<Credential> joined = Error{};
  for (const HostPort& supervisor : *supervisors) {
    options.supervisor = supervisor;
    joined = join_cluster(options);
    if (joined || joined.error().code != ErrorCode::Unreachable) break;
  }
  if (!joined) return std::move(joined).error();
  Result<PeerIdentity> identity = identity_of(*joined->certificate);
  if (!identity) return identity;
  PENSTOCK_TRY(own_credentials().save(identity->cluster, identity->role, *joined));
  return identity;
}

}  // namespace penstock::cli
