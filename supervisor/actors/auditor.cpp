#include "supervisor/actors/auditor.hpp"

#include <algorithm>
#include <caf/send.hpp>
#include <map>
#include <tuple>

#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/json/json_text.hpp"
#include "common/net/secure_stream.hpp"
#include "common/security/registrar.hpp"
#include "supervisor/actors/audit_actor.hpp"
#include "supervisor/audit/refusal_counts.hpp"
#include "supervisor/core/request_words.hpp"

namespace penstock::supervisor {
namespace {

constexpr Duration kRetryAfter = std::chrono::seconds{1};  ///< Of an audit that could not be written.

AuditRecord record_of(const AuditedPeer& peer, const char* event, std::string what) {
  AuditRecord record;
  record.at_ms = unix_now_ms();
  record.event = event;
  record.user = peer.user;
  record.role = peer.role;
  record.serial = peer.serial;
  record.from = peer.from;
  record.what = std::move(what);
  return record;
}

/// Refusals of a kind are counted together; peers choose the words behind the first.
std::string kind_of(const std::string& what) {
  for (const char* kind : {"connect", "login", "renewal"})
    if (what.starts_with(kind)) return kind;
  return "message";
}

std::string words_of(const char* verb, const JobSpec& spec) { return verb + (" '" + spec.name + "'"); }

}  // namespace

AuditedPeer audited(const PeerStanding& standing, const std::string& address) {
  AuditedPeer peer;
  peer.from = address;
  peer.serial = standing.serial;
  if (standing.identity.has_value()) {
    peer.user = standing.identity->user;
    peer.role = std::string{to_string(standing.identity->role)};
  } else if (!standing.secured) {
    peer.role = "insecure";
  }
  return peer;
}

std::string words_of(const Join& join) {
  if (join.token.empty()) return "renewal";
  const Result<TokenText> token = parse_token(join.token);
  return "login with " + (token ? "token " + token->id : std::string{"no token"});
}

/// An order or a submit that is not answered yet.
struct Asked {
  AuditRecord record;
  bool nested = false;  ///< Work of a run.
};

struct Auditor::State : std::enable_shared_from_this<State> {
  /// A client, whether it is a submit, and the client's number for it.
  using Key = std::tuple<Incarnation, bool, std::uint64_t>;

  State(caf::actor_system& actors, Loop& event_loop, const AuditConfig& audit_config, std::function<void()> heard)
      : system(actors),
        loop(event_loop),
        config(audit_config),
        written(std::move(heard)),
        interval(event_loop),
        retry(event_loop) {}

  std::uint64_t write(std::vector<AuditRecord> records) {
    if (records.empty()) return 0;
    caf::anon_send(actor, AuditMail{std::make_shared<const std::vector<AuditRecord>>(std::move(records)), ++issued});
    return issued;
  }
  void count(AuditRecord record, const std::string& kind) {
    if (std::optional<AuditRecord> first = counts.note(std::move(record), kind, monotonic_now()))
      write({std::move(*first)});
    arm();
  }
  void arm() {
    const std::optional<Instant> deadline = counts.next_deadline();
    if (!deadline) return interval.cancel();
    interval.arm(*deadline, [this] {
      write(counts.due(monotonic_now()));
      arm();
    });
  }
  // An audit that cannot be written keeps no one from their answers: the log tells of it, and the records wait.
  void hear(std::uint64_t ticket, const std::optional<Error>& error) {
    settled = std::max(settled, ticket);
    if (error.has_value()) {
      log_error(LogLevel::Error, "audit is not written", *error);
      retry.arm(later(monotonic_now(), kRetryAfter), [this] { caf::anon_send(actor, AuditRetryMail{}); });
    }
    written();
  }
  std::uint64_t end(Key key, const Error& refusal, std::string outcome);
  std::uint64_t keep(Asked asked);

  caf::actor_system& system;
  Loop& loop;
  const AuditConfig config;
  const std::function<void()> written;
  AuditActor actor;
  RefusalCounts counts{config};
  LoopTimer interval;  ///< Of `counts`.
  LoopTimer retry;
  std::map<Key, Asked> open;
  std::uint64_t issued = 0;   ///< The last ticket.
  std::uint64_t settled = 0;  ///< The last one that nobody waits for.
};

Auditor::Auditor(caf::actor_system& system, Loop& loop, std::shared_ptr<AuditBook> book, const AuditConfig& config,
                 std::function<void()> written)
    : state_(std::make_shared<State>(system, loop, config, std::move(written))) {
  AuditSetup setup;
  setup.book = std::move(book);
  setup.waiting_max = config.waiting_max;
  setup.told = [&loop, weak = std::weak_ptr<State>{state_}](std::uint64_t ticket, const std::optional<Error>& error) {
    loop.post([weak, ticket, error] {
      if (const auto alive = weak.lock()) alive->hear(ticket, error);
    });
  };
  if (config.syslog) setup.copy = copy_to_syslog;
  state_->actor = spawn_audit(system, std::move(setup));
}

Auditor::~Auditor() {
  state_->write(state_->counts.all());
  end_audit(state_->system, state_->actor);
}

void Auditor::refused(const AuditedPeer& peer, const std::string& what, const Error& why) {
  AuditRecord record = record_of(peer, audit_event::kRefusal, what);
  record.outcome = to_string(why);
  state_->count(std::move(record), kind_of(what));
}

std::uint64_t Auditor::certified(const AuditedPeer& peer, const Join& join, const Joined& joined) {
  AuditRecord record = record_of(peer, join.token.empty() ? audit_event::kRenewal : audit_event::kLogin, "");
  if (const Result<TokenText> token = parse_token(join.token)) record.token = token->id;
  if (const Result<CertificatePtr> certificate = read_certificate(joined.certificate, "certificate")) {
    if (!peer.serial.empty()) record.what = "certificate " + peer.serial + " renewed";
    record.serial = serial_of(**certificate);
    if (const Result<PeerIdentity> identity = identity_of(**certificate)) {
      record.user = identity->user;
      record.role = std::string{to_string(identity->role)};
    }
  }
  if (record.what.empty()) record.what = "token " + record.token + " used";
  record.outcome = "certificate " + record.serial;
  return state_->write({std::move(record)});
}

void Auditor::asked(Incarnation client, const AuditedPeer& peer, const FromClient& message) {
  State::Key key{client, true, 0};
  Asked asked;
  if (const auto* request = std::get_if<AdminRequest>(&message)) {
    if (!is_order(request->command)) return;
    key = {client, false, request->request};
    asked.record = record_of(peer, audit_event::kOrder, words_of_order(*request));
    if (peer.user.empty()) asked.record.user = request->who;
  } else if (const auto* chunk = std::get_if<SubmitChunk>(&message)) {
    if (!chunk->first) return;
    key = {client, true, chunk->submission};
    asked.record = record_of(peer, audit_event::kSubmit, words_of("submit", chunk->spec));
    asked.nested = chunk->spec.parent.any();
    if (peer.user.empty()) asked.record.user = chunk->spec.owner;
  } else if (const auto* again = std::get_if<SubmitAgain>(&message)) {
    key = {client, true, again->submission};
    asked.record = record_of(peer, audit_event::kSubmit, words_of("submit again", again->spec));
    asked.nested = again->spec.parent.any();
    if (peer.user.empty()) asked.record.user = again->spec.owner;
  } else {
    return;
  }
  if (state_->open.size() < state_->config.open_max) {
    state_->open[key] = std::move(asked);
    return;
  }
  asked.record.outcome = "not awaited: audit.open_max are not answered yet";
  state_->keep(std::move(asked));
}

std::uint64_t Auditor::answered(Incarnation client, const ToClient& answer) {
  if (const auto* reply = std::get_if<AdminAnswer>(&answer))
    return state_->end({client, false, reply->request}, reply->refusal, "done " + to_json(reply->value, -1));
  if (const auto* reply = std::get_if<SubmitReply>(&answer)) {
    state_->end({client, true, reply->submission}, reply->refusal,
                (reply->existed ? "is there already: " : "accepted: ") + to_string(reply->job));
  }
  return 0;
}

/// A refused one is counted: a flood of them must not fill the disk.
std::uint64_t Auditor::State::end(Key key, const Error& refusal, std::string outcome) {
  auto entry = open.extract(key);
  if (entry.empty()) return 0;
  Asked& asked = entry.mapped();
  const bool is_refused = !refusal.message.empty();
  asked.record.outcome = is_refused ? to_string(refusal) : std::move(outcome);
  if (!is_refused) return keep(std::move(asked));
  const std::string kind = asked.record.event;
  count(std::move(asked.record), kind);
  return 0;
}

/// An order or a submit that has had an effect, or may have had one, is a record of its own; the submits of runs are
/// counted.
std::uint64_t Auditor::State::keep(Asked asked) {
  if (!asked.nested) return write({std::move(asked.record)});
  count(std::move(asked.record), "nested");
  return 0;
}

void Auditor::left(Incarnation client) {
  auto& open = state_->open;
  for (auto entry = open.lower_bound({client, false, 0}); entry != open.end() && std::get<0>(entry->first) == client;
       entry = open.erase(entry)) {
    entry->second.record.outcome = "not answered: the client has left";
    state_->keep(std::move(entry->second));
  }
}

void Auditor::note_local(const std::string& event, const std::string& what, const std::string& outcome) {
  AuditRecord record;
  record.at_ms = unix_now_ms();
  record.event = event;
  record.from = "local";
  record.what = what;
  record.outcome = outcome;
  state_->write({std::move(record)});
}

bool Auditor::is_settled(std::uint64_t ticket) const { return ticket <= state_->settled; }

}  // namespace penstock::supervisor
