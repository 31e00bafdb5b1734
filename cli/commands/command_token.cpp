// `penstock token` and `penstock user`: the papers of a cluster, on the host of its supervisor. `penstock login`.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>

#include "cli/commands/audit_place.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/join.hpp"
#include "cli/commands/state_place.hpp"
#include "common/base/quantity.hpp"
#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/security/own_security.hpp"
#include "common/security/registrar.hpp"

namespace penstock::cli {
namespace {

using std::chrono::system_clock;

struct TokenCommand {
  std::string state;
  std::string role;
  std::string user;
  std::vector<std::string> groups;
  std::string life = "15min";
  std::string id;
  bool munge = false;
};

/// The state of the supervisor, which need not run.
Result<std::string> state_of(const TokenCommand& command) {
  std::string state = command.state;
  if (state.empty()) {
    Result<std::string> found = default_state_directory(own_state_surroundings());
    if (!found) return found;
    state = std::move(found).value();
  }
  std::error_code ignored;
  if (!std::filesystem::exists(state, ignored))
    return Error{ErrorCode::NotFound, state, "is no state of a supervisor",
                 "run this as the user and on the host of the supervisor, or name its directory with `--state`; a "
                 "supervisor with `--no-state` makes no tokens"};
  return state;
}

Result<Registrar> open_registrar(const TokenCommand& command) {
  const Result<std::string> state = state_of(command);
  if (!state) return state.error();
  return Registrar::open(authority_directory_in(*state));
}

/// Records a change of tokens or users before it is told.
Result<void> record(const TokenCommand& command, const char* event, const std::string& token, const std::string& what) {
  const Result<std::string> state = state_of(command);
  if (!state) return state.error();
  supervisor::AuditRecord record;
  record.event = event;
  record.token = token;
  record.what = what;
  record.outcome = "done";
  return record_here(*state, std::move(record));
}

std::string text_of(CalendarTime time) {
  const std::time_t seconds = system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string words_of(const std::vector<std::string>& groups) {
  std::string text;
  for (const std::string& group : groups) text += (text.empty() ? "" : ",") + group;
  return text;
}

/// Prints the line with which users of the site log in by MUNGE. There is no secret in it.
Result<int> create_for_munge(Invocation& invocation, const TokenCommand& command) {
  if (!command.role.empty() || !command.user.empty() || !command.groups.empty())
    return Error{ErrorCode::InvalidArgument, "--munge", "goes without --role, --user and --group",
                 "each user becomes a client under the name that MUNGE proves"};
  const Result<Registrar> registrar = open_registrar(command);
  if (!registrar) return registrar.error();
  const std::string line = to_string(TokenText{registrar->authority().cluster(), std::string{TokenText::kByMunge}, {}});
  if (invocation.json) {
    print(invocation, Value::Record{{"token", line}});
    return int{kSuccess};
  }
  std::cout << line << '\n';
  std::cerr << "It is no secret: put it where all users read it, for `penstock login FILE`. The supervisor needs "
               "`security.munge = true`; `penstock token revoke munge` takes all such logins back.\n";
  return int{kSuccess};
}

Result<int> create_token(Invocation& invocation, const TokenCommand& command) {
  if (command.munge) return create_for_munge(invocation, command);
  if (command.role.empty())
    return Error{ErrorCode::InvalidArgument, "--role", "is missing", "write e.g. `--role client --user NAME`"};
  Result<Role> role = parse_role(command.role);
  if (!role) {
    Error error = std::move(role).error();
    error.subject = "--role '" + command.role + "'";
    return error;
  }
  const Result<Duration> life = parse_duration(command.life);
  if (!life) return life.error();
  if (*life < std::chrono::seconds{1} || *life > std::chrono::hours{24 * 366})
    return Error{ErrorCode::InvalidArgument, "--ttl", "must be from 1s to a year", {}};
  const Result<FileConfig> config = load_config(invocation);
  if (!config) return config.error();
  const Result<Registrar> registrar = open_registrar(command);
  if (!registrar) return registrar.error();
  const CalendarTime now = calendar_now();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*life);
  const Result<TokenText> token =
      registrar->create_token(*role, command.user, seconds, config->security.tokens_max, now, command.groups);
  if (!token) return token.error();
  const std::string until = text_of(now + seconds);
  if (Result<void> recorded =
          record(command, supervisor::audit_event::kToken, token->id,
                 "create token " + token->id + " for " + command.role + " " + command.user + " until " + until);
      !recorded) {
    static_cast<void>(registrar->revoke_token(token->id));
    return recorded.error();
  }
  if (invocation.json) {
    print(invocation,
          Value::Record{{"token", to_string(*token)}, {"id", token->id}, {"role", command.role}, {"until", until}});
    return int{kSuccess};
  }
  std::cout << to_string(*token) << '\n';
  // The token alone is on standard output, so that it can go to a file.
  std::cerr << "Token " << token->id << " can be used once, until " << until << ", by `penstock "
            << (*role == Role::Worker ? "worker --join-file" : "login") << " FILE`.\n";
  return int{kSuccess};
}

Result<int> list_tokens(Invocation& invocation, const TokenCommand& command) {
  const Result<Registrar> registrar = open_registrar(command);
  if (!registrar) return registrar.error();
  std::vector<Value> rows;
  for (const Token& token : registrar->list_tokens(calendar_now()))
    rows.emplace_back(Value::Record{{"id", token.id},
                                    {"role", std::string{to_string(token.role)}},
                                    {"user", token.user},
                                    {"groups", words_of(token.groups)},
                                    {"until", text_of(token.until)}});
  print(invocation, Value{std::move(rows)});
  return int{kSuccess};
}

Result<int> revoke_token(const TokenCommand& command) {
  const Result<Registrar> registrar = open_registrar(command);
  if (!registrar) return registrar.error();
  PENSTOCK_TRY(registrar->revoke_token(command.id));
  PENSTOCK_TRY(record(command, supervisor::audit_event::kToken, command.id, "revoke token " + command.id));
  std::cout << "Token " << command.id << " and the certificates that it has led to are revoked.\n";
  return int{kSuccess};
}

Result<int> remove_user(const TokenCommand& command) {
  const Result<Registrar> registrar = open_registrar(command);
  if (!registrar) return registrar.error();
  PENSTOCK_TRY(registrar->revoke_user(command.user));
  PENSTOCK_TRY(record(command, supervisor::audit_event::kUser, {}, "remove user " + command.user));
  std::cout << "All certificates of " << command.user << " are revoked.\n";
  return int{kSuccess};
}

void add_state_option(CLI::App& command, TokenCommand& options) {
  command
      .add_option("--state", options.state,
                  "State directory of the supervisor (default: as `penstock supervisor` finds it)")
      ->type_name("DIR");
}

template <class Run>
void runs(CLI::App* command, Invocation& invocation, Run run) {
  command->callback([&invocation, run] { invocation.chosen = run; });
}

void add_create(CLI::App& token, Invocation& invocation, const std::shared_ptr<TokenCommand>& options) {
  CLI::App* create = token.add_subcommand("create", "Print a new one-time token");
  create->add_option("--role", options->role, "worker, client, operator, admin or metrics")->type_name("ROLE");
  create->add_flag("--munge", options->munge,
                   "Print a line with which users of this site log in by MUNGE, any number of times");
  create
      ->add_option("--user", options->user,
                   "The user that the certificate names; a worker may leave it out, and has that of its process")
      ->type_name("USER");
  create
      ->add_option("--group", options->groups,
                   "Group of the user, which sees the jobs that are shared with it; may be repeated")
      ->type_name("GROUP")
      ->type_size(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  create->add_option("--ttl", options->life, "The token can be used for so long")
      ->capture_default_str()
      ->type_name("DURATION");
  add_state_option(*create, *options);
  add_config_options(*create, invocation);
  add_json_option(*create, invocation);
  runs(create, invocation, [&invocation, options] { return create_token(invocation, *options); });
}

}  // namespace

void add_token_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<TokenCommand>();
  CLI::App* token = app.add_subcommand(
      "token", "One-time tokens for workers and users, made on the host of the supervisor by its user");
  token->require_subcommand(1);
  add_create(*token, invocation, options);
  CLI::App* list = token->add_subcommand("list", "Tokens that are neither used nor out of date");
  add_state_option(*list, *options);
  add_json_option(*list, invocation);
  runs(list, invocation, [&invocation, options] { return list_tokens(invocation, *options); });
  CLI::App* revoke = token->add_subcommand(
      "revoke", "Take a token back, and the certificates that it has led to: their connections end");
  revoke->add_option("ID", options->id, "The eight digits after the cluster's, also in `token list`")->required();
  add_state_option(*revoke, *options);
  runs(revoke, invocation, [options] { return revoke_token(*options); });

  CLI::App* user = app.add_subcommand("user", "Users of the cluster, on the host of the supervisor");
  user->require_subcommand(1);
  CLI::App* remove = user->add_subcommand("remove", "Revoke all certificates of a user: its connections end");
  remove->add_option("USER", options->user, "Name of the user")->required();
  add_state_option(*remove, *options);
  runs(remove, invocation, [options] { return remove_user(*options); });
}

void add_login_command(CLI::App& app, Invocation& invocation) {
  struct Options {
    std::string file;
    bool renew = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* login =
      app.add_subcommand("login", "Use a token: get a certificate for this user, which renews itself while it is used");
  CLI::Option* const file = login->add_option(
      "FILE", options->file, "File with the token, or - for standard input: a command line is visible to others");
  CLI::Option* const renew = login->add_flag(
      "--renew", options->renew,
      "Without a token: another certificate in the place of this user's, which must not have ended. For "
      "programs that use the certificate and do not renew it, such as Prometheus, from a timer");
  file->excludes(renew);
  add_supervisor_option(*login, invocation);
  login->callback([&invocation, options] {
    invocation.chosen = [&invocation, options]() -> Result<int> {
      if (options->file.empty() && !options->renew)
        return Error{ErrorCode::InvalidArgument, "login", "lacks the file with a token", "`penstock login FILE`"};
      const Result<PeerIdentity> joined =
          options->renew ? renew_login(invocation) : join_with_file(invocation, options->file, JoinAgain::Always);
      if (!joined) return joined.error();
      std::cout << "This user is " << joined->user << " with the role " << to_string(joined->role) << " in cluster "
                << joined->cluster.substr(0, 12) << ".\n";
      return int{kSuccess};
    };
  });
}

}  // namespace penstock::cli
