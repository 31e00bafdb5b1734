// `penstock audit verify` and `penstock audit export`: the audit in the state, on the host of the supervisor.
#include <CLI/CLI.hpp>
#include <charconv>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/state_place.hpp"
#include "common/base/quantity.hpp"
#include "common/host/clock.hpp"
#include "common/loop/loop.hpp"
#include "common/security/certificate.hpp"
#include "common/security/private_file.hpp"
#include "supervisor/audit/audit_check.hpp"

namespace penstock::cli {
namespace {

using supervisor::AuditPlace;
using supervisor::AuditRecord;
using supervisor::AuditVerdict;
using supervisor::ChainPoint;

constexpr Duration kLookEvery = std::chrono::milliseconds{200};

struct AuditCommand {
  std::string state;
  std::string authority;
  std::string head;
  std::string format = "json";
  std::string since;
  bool follow = false;
};

Result<std::string> state_of(const AuditCommand& command) {
  if (!command.state.empty()) return command.state;
  return default_state_directory(own_state_surroundings());
}

/// `NUMBER:DIGEST`, as `verify` prints it.
Result<std::optional<ChainPoint>> parse_noted(const std::string& text) {
  if (text.empty()) return std::optional<ChainPoint>{};
  const std::size_t colon = text.find(':');
  ChainPoint point;
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min(colon, text.size()), point.number);
  if (colon == std::string::npos || error != std::errc{} || end != text.data() + colon || text.size() != colon + 65)
    return Error{ErrorCode::InvalidArgument, "--head '" + text + "'", "is no head",
                 "`penstock audit verify` prints it: a number, a colon and 64 digits"};
  point.digest = text.substr(colon + 1);
  return std::optional<ChainPoint>{point};
}

Result<CertificatePtr> read_authority(const AuditCommand& command, const std::string& state) {
  if (!command.authority.empty()) {
    std::ifstream file{command.authority, std::ios::binary};
    if (!file) return Error{ErrorCode::NotFound, command.authority, "cannot be read", {}};
    return read_certificate({std::istreambuf_iterator<char>{file}, {}}, command.authority);
  }
  const std::string path = authority_directory_in(state) + "/authority.pem";
  const Result<std::string> text = read_private_file(path);
  if (!text && text.error().code == ErrorCode::NotFound)
    return Error{ErrorCode::NotFound, state, "has no authority, and so no audit",
                 "name the state of a supervisor with `--state`; one with `--no-state` keeps none"};
  if (!text) return text.error();
  return read_certificate(*text, path);
}

void print_verdict(const Invocation& invocation, const AuditVerdict& verdict) {
  Value::List findings;
  for (const std::string& finding : verdict.findings) findings.emplace_back(finding);
  Value::Record record{{"records", static_cast<std::int64_t>(verdict.records)},
                       {"files", static_cast<std::int64_t>(verdict.files)},
                       {"from", supervisor::audit_time_text(verdict.first_ms)},
                       {"until", supervisor::audit_time_text(verdict.last_ms)},
                       {"head", std::to_string(verdict.last.number) + ":" + verdict.last.digest},
                       {"whole", verdict.findings.empty()}};
  if (invocation.json) record.emplace_back("findings", std::move(findings));
  print(invocation, record);
  if (!invocation.json)
    for (const std::string& finding : verdict.findings) std::cout << finding << '\n';
}

Result<int> verify(const Invocation& invocation, const AuditCommand& command) {
  const Result<std::string> state = state_of(command);
  if (!state) return state.error();
  const Result<std::optional<ChainPoint>> noted = parse_noted(command.head);
  if (!noted) return noted.error();
  const Result<CertificatePtr> authority = read_authority(command, *state);
  if (!authority) return authority.error();
  const Result<AuditVerdict> verdict = supervisor::check_audit(audit_directory_in(*state), **authority, *noted);
  if (!verdict) return verdict.error();
  print_verdict(invocation, *verdict);
  return verdict->findings.empty() ? int{kSuccess} : int{kJobFailed};
}

/// Prints the records from `place` on.
Result<void> print_records(const std::string& directory, AuditPlace& place, std::int64_t since_ms) {
  PENSTOCK_TRY(supervisor::read_audit_lines(directory, place, [&](std::string_view line) {
    const supervisor::ChainLine parsed = supervisor::parse_chain_line(line);
    if (!parsed.is_record()) return true;
    const Result<AuditRecord> record = supervisor::parse_audit_record(parsed.json);
    if (record && record->at_ms < since_ms) return true;
    std::cout << parsed.json << '\n';
    return static_cast<bool>(std::cout);
  }));
  std::cout.flush();
  return {};
}

Result<int> export_records(Invocation& invocation, const AuditCommand& command) {
  const Result<std::string> state = state_of(command);
  if (!state) return state.error();
  std::int64_t since_ms = 0;
  if (!command.since.empty()) {
    const Result<Duration> since = parse_duration(command.since);
    if (!since) return since.error();
    since_ms = unix_now_ms() - *since / std::chrono::milliseconds{1};
  }
  const std::string directory = audit_directory_in(*state);
  AuditPlace place;
  PENSTOCK_TRY(print_records(directory, place, since_ms));
  if (!command.follow) return int{kSuccess};
  Loop loop;
  LoopTimer timer{loop};
  Result<void> last;
  std::function<void()> look = [&] {
    last = print_records(directory, place, since_ms);
    if (!last || !std::cout) return loop.stop();
    timer.arm(monotonic_now() + kLookEvery, look);
  };
  loop.post(look);
  const auto watch = invocation.stop_signals.watch(loop, [&loop] { loop.stop(); });
  loop.run();
  if (!last) return last.error();
  return int{kSuccess};
}

void add_state_option(CLI::App& command, AuditCommand& options) {
  command
      .add_option("--state", options.state,
                  "State directory of the supervisor (default: as `penstock supervisor` finds it)")
      ->type_name("DIR");
}

}  // namespace

void add_audit_commands(CLI::App& app, Invocation& invocation) {
  CLI::App* audit = app.get_subcommand("audit");
  const auto options = std::make_shared<AuditCommand>();
  CLI::App* check = audit->add_subcommand(
      "verify", "Walk the audit in the state of a supervisor, on its host: find changed, removed and missing records");
  add_state_option(*check, *options);
  check
      ->add_option("--authority", options->authority,
                   "Certificate that has signed it (default: of the state's authority)")
      ->type_name("FILE");
  check->add_option("--head", options->head, "A head that an earlier `verify` printed; the audit must still contain it")
      ->type_name("HEAD");
  add_json_option(*check, invocation);
  check->callback(
      [&invocation, options] { invocation.chosen = [&invocation, options] { return verify(invocation, *options); }; });
  CLI::App* out = audit->add_subcommand(
      "export", "Print the records of the audit in the state of a supervisor, on its host: a JSON object a line");
  add_state_option(*out, *options);
  out->add_option("--format", options->format, "Only `json` for now")->check(CLI::IsMember({"json"}));
  out->add_option("--since", options->since, "Only records within this time, e.g. 24h")->type_name("DURATION");
  out->add_flag("--follow", options->follow, "Go on with new records until this command is ended");
  out->callback([&invocation, options] {
    invocation.heeds_signals = options->follow;
    invocation.chosen = [&invocation, options] { return export_records(invocation, *options); };
  });
}

}  // namespace penstock::cli
