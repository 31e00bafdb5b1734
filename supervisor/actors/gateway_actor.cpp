#include "supervisor/actors/gateway_actor.hpp"

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <deque>
#include <map>

#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/link/introduction.hpp"
#include "common/loop/actor_host.hpp"
#include "common/loop/mail.hpp"
#include "common/net/peer_link.hpp"
#include "common/net/secure_stream.hpp"
#include "common/protocol/rights.hpp"
#include "common/wire/codec.hpp"
#include "supervisor/actors/auditor.hpp"
#include "supervisor/actors/secret_seal.hpp"
#include "supervisor/core/graph_shape.hpp"
#include "supervisor/shell/request_rates.hpp"

namespace penstock::supervisor {
namespace {

using GatewayActor =
    caf::typed_actor<caf::reacts_to<ToWorkerMail>, caf::reacts_to<ToClientMail>, caf::reacts_to<DismissWorkerMail>>;

/// A connection that has not been admitted: it has not introduced itself yet, or it is being refused. `Gateway::State`
/// owns it and names it by a number, which its handlers and timers carry: whichever of them comes first drops it, and
/// the others find nothing.
struct PendingConnection {
  std::shared_ptr<const void> place;  ///< Among those of its host.
  std::unique_ptr<Connection> connection;
  std::unique_ptr<LoopTimer> patience;
  bool refused = false;
};

struct Guest {
  std::string name;
  std::string process;  ///< On which host, and its number there.
  PeerRole role = PeerRole::Worker;
  std::shared_ptr<const void> place;  ///< Of its present connection, or of its last one.
  AuditedPeer audited;                ///< By the same.
  std::unique_ptr<PeerLink> link;
  PeerStanding standing;  ///< By its last connection.
  bool given_up = false;  ///< The supervisor has been told: its later messages are dropped.
  bool starts_as_users = false;
  ToldCredentials told;
};

/// Fault F16: reports the network's effects on the frames of a link that ends. TCP has none of them, so most links have
/// nothing to report.
void tell_faults(const Guest& guest) {
  const LinkCounters& counters = guest.link->core().counters();
  if (counters.frames_resent + counters.duplicates_dropped + counters.gaps_dropped == 0) return;
  log_line(LogLevel::Info, "link had faults",
           "peer=" + guest.name + " frames_sent=" + std::to_string(counters.frames_sent) +
               " frames_resent=" + std::to_string(counters.frames_resent) + " duplicates_dropped=" +
               std::to_string(counters.duplicates_dropped) + " gaps_dropped=" + std::to_string(counters.gaps_dropped));
}

/// The level of lines about connections: each question of the command line is a client.
LogLevel level_of(PeerRole role) { return role == PeerRole::Worker ? LogLevel::Info : LogLevel::Debug; }

/// The measures of incoming messages.
struct BorderMeasures {
  RequestRates rates;        ///< Of clients.
  GatewayCounters counters;  ///< Without the peers that are there now.
};

std::string version_text(std::uint16_t major, std::uint16_t minor, const std::string& software) {
  return "protocol " + std::to_string(major) + "." + std::to_string(minor) + " (Penstock " + software + ")";
}

}  // namespace

struct Gateway::State : std::enable_shared_from_this<State> {
  State(caf::actor_system& actors, Loop& event_loop, const GatewayOptions& gateway_options, SupervisorHandle core)
      : system(actors),
        loop(event_loop),
        options(gateway_options),
        supervisor(std::move(core)),
        measures{RequestRates{gateway_options.users}, {}} {}

  void start_actor();
  void accept(std::unique_ptr<Connection> connection);
  std::shared_ptr<const void> take_place(const std::string& peer_address);
  void drop_pending(std::uint64_t number, const Error& why);
  void introduce(std::uint64_t number, const FrameHeader& header, std::span<const std::byte> payload);
  Result<Hello> check_hello(const Introduction& introduction) const;
  Result<void> check_standing(const Hello& hello, const PeerStanding& standing) const;
  void certify(std::uint64_t number, const Join& join, const PeerStanding& standing);
  void answer_and_close(std::uint64_t number, const Introduction& answer);
  void drop_revoked();
  void notify_workers();
  void tell_credentials(Guest& worker, const std::vector<ToWorker>& messages) const;
  std::vector<FramePayloadPtr> notices_for(const Guest& peer) const;
  void refuse(std::uint64_t number, Error error, const std::string& what = "connect");
  void admit(std::uint64_t number, const Hello& hello);
  const Guest* namesake_of(const Hello& hello) const;
  void make_guest(const Hello& hello);
  void receive(Incarnation peer, std::span<const std::byte> payload);
  void receive_from_client(Incarnation peer, Guest& guest, std::span<const std::byte> payload);
  void keep_allowed(Incarnation peer, const std::optional<PeerIdentity>& identity, std::vector<FromClient>& messages);
  void lose(Incarnation peer, const std::string& reason);
  void forget(Incarnation peer);
  void fence(Incarnation peer);
  void send_to_worker(Incarnation peer, const std::vector<ToWorker>& messages);
  template <class Message>
  void send(Incarnation peer, const std::vector<Message>& messages);
  void answer_client(Incarnation peer, const std::vector<ToClient>& messages);
  void when_recorded(std::uint64_t ticket, std::function<void()> work);
  void release_recorded();

  caf::actor_system& system;
  Loop& loop;
  const GatewayOptions options;
  SupervisorHandle supervisor;
  GatewayActor self;
  std::unique_ptr<Listener> listener;
  std::map<std::string, std::uint32_t> of_host;  ///< Connections from each address. Outlives all that count here.
  std::map<std::uint64_t, PendingConnection> pending;
  std::uint64_t next_pending = 1;
  std::map<Incarnation, Guest> guests;
  BorderMeasures measures;
  std::map<std::string, Incarnation> workers;  ///< Of each name the guest that came last.
  std::map<Incarnation, Instant> fenced;       ///< Incarnations that were given up; the latest few thousand.
  std::deque<std::pair<std::uint64_t, std::function<void()>>> unrecorded;  ///< Answers, by the audit's tickets.
  std::unique_ptr<Auditor> auditor;                                        ///< Null: nothing is recorded.
};

Gateway::Gateway(std::shared_ptr<State> state) : state_(std::move(state)) {}

Gateway::~Gateway() {
  caf::anon_send_exit(state_->self, caf::exit_reason::user_shutdown);
  state_->listener.reset();
  state_->pending.clear();
  for (const auto& [peer, guest] : state_->guests) tell_faults(guest);
  state_->guests.clear();
  state_->auditor.reset();
}

Result<std::unique_ptr<Gateway>> Gateway::open(caf::actor_system& system, Loop& loop, const GatewayOptions& options,
                                               const SupervisorHandle& supervisor) {
  auto state = std::make_shared<State>(system, loop, options, supervisor);
  const auto accept = [weak = std::weak_ptr<State>{state}](std::unique_ptr<Connection> connection) {
    if (const auto alive = weak.lock()) alive->accept(std::move(connection));
  };
  Result<std::unique_ptr<Listener>> listener =
      options.locally ? Listener::open_locally(loop, options.wire, accept)
                      : Listener::open(loop, options.wire, options.listen, options.security, accept);
  if (!listener) return listener.error();
  state->listener = std::move(listener).value();
  if (options.audit != nullptr)
    state->auditor = std::make_unique<Auditor>(system, loop, options.audit, options.audit_config,
                                               [state = state.get()] { state->release_recorded(); });
  state->start_actor();
  return std::unique_ptr<Gateway>{new Gateway{std::move(state)}};
}

GatewayCounters Gateway::counters() const {
  GatewayCounters now = state_->measures.counters;
  for (const auto& [peer, guest] : state_->guests) {
    ++(guest.role == PeerRole::Worker ? now.workers : now.clients);
    now.frames_sent += guest.link->core().counters().frames_sent;
    now.frames_resent += guest.link->core().counters().frames_resent;
  }
  return now;
}

HostPort Gateway::address() const { return state_->listener->address(); }

void Gateway::credentials_changed() {
  state_->drop_revoked();
  state_->notify_workers();
}

void Gateway::note_local(const std::string& event, const std::string& what, const std::string& outcome) {
  if (state_->auditor != nullptr) state_->auditor->note_local(event, what, outcome);
}

namespace {

/// Without the port, so that the log counts what one host does again and again in place of writing it each time.
void log_dropped(Error why, const std::string& peer_address) {
  if (why.subject == peer_address) why.subject = peer_address.substr(0, peer_address.rfind(':'));
  log_error(LogLevel::Info, "connection dropped", why);
}

constexpr std::uint32_t kPeerNameBytesMax = 4096;  // Of a name that is not checked yet.

// A named function with an argument: CAF 0.17 dereferences a null pointer when a function is spawned without any.
template <class GatewayState>
GatewayActor::behavior_type gateway_behavior(GatewayActor::pointer self, const std::weak_ptr<GatewayState>& weak) {
  take_failures(*self, ActorFailure::EndsProcess);
  return {[weak](const ToWorkerMail& mail) {
            if (const auto alive = weak.lock()) alive->send_to_worker(mail.worker, *mail.messages);
          },
          [weak](const ToClientMail& mail) {
            if (const auto alive = weak.lock()) alive->answer_client(mail.client, *mail.messages);
          },
          [weak](const DismissWorkerMail& mail) {
            if (const auto alive = weak.lock()) {
              alive->fence(mail.worker);
              alive->forget(mail.worker);
            }
          }};
}

}  // namespace

void Gateway::State::start_actor() { self = system.spawn(gateway_behavior<State>, weak_from_this()); }

/// Null: the host has too many connections, or all hosts together.
std::shared_ptr<const void> Gateway::State::take_place(const std::string& peer_address) {
  const std::string host = peer_address.substr(0, peer_address.rfind(':'));
  std::uint32_t& count = of_host[host];
  if (count >= options.wire.connections_of_host_max || pending.size() + guests.size() >= options.wire.connections_max) {
    if (count == 0) of_host.erase(host);
    ++measures.counters.connections_refused;
    log_line(LogLevel::Warn, "connection refused", "peer=" + peer_address + " reason=\"too many connections\"");
    if (auditor != nullptr)
      auditor->refused({{}, {}, {}, peer_address}, "connect",
                       {ErrorCode::LimitExceeded, peer_address, "has too many connections", {}});
    return nullptr;
  }
  ++count;
  return {this, [host](Gateway::State* state) {
            if (--state->of_host[host] == 0) state->of_host.erase(host);
          }};
}

void Gateway::State::accept(std::unique_ptr<Connection> connection) {
  ++measures.counters.connections;
  std::shared_ptr<const void> place = take_place(connection->peer_address());
  if (place == nullptr) return;
  const std::uint64_t number = next_pending++;
  PendingConnection& entry = pending[number];
  entry.place = std::move(place);
  entry.connection = std::move(connection);
  entry.patience = std::make_unique<LoopTimer>(loop);
  // Faults F19, F38: the gateway drops a peer that does not introduce itself in time.
  entry.patience->arm(monotonic_now() + options.wire.handshake_timeout,
                      [this, number, peer = entry.connection->peer_address()] {
                        drop_pending(number, {ErrorCode::TimedOut, peer, "did not introduce itself in time", {}});
                      });
  entry.connection->start([this, number](const FrameHeader& header,
                                         std::span<const std::byte> payload) { introduce(number, header, payload); },
                          [this, number](const Error& error) { drop_pending(number, error); });
}

void Gateway::State::drop_pending(std::uint64_t number, const Error& why) {
  const auto entry = pending.find(number);
  if (entry == pending.end()) return;
  if (!entry->second.refused) {
    ++measures.counters.handshakes_failed;
    log_dropped(why, entry->second.connection->peer_address());
    if (auditor != nullptr) auditor->refused({{}, {}, {}, entry->second.connection->peer_address()}, "connect", why);
  }
  pending.erase(entry);
}

void Gateway::State::introduce(std::uint64_t number, const FrameHeader& header, std::span<const std::byte> payload) {
  const PeerStanding standing = pending.at(number).connection->peer();
  Result<Introduction> introduction =
      header.kind == FrameKind::Introduction
          ? decode_introduction(payload)
          : Error{ErrorCode::MalformedFrame, "", "the first frame is no introduction", {}};
  if (!introduction) return refuse(number, std::move(introduction).error());
  if (const auto* join = std::get_if<Join>(&*introduction); join != nullptr) return certify(number, *join, standing);
  Result<Hello> hello = check_hello(*introduction);
  Result<void> allowed = hello ? check_standing(*hello, standing) : Result<void>{};
  if (!hello) return refuse(number, std::move(hello).error());
  if (!allowed) return refuse(number, std::move(allowed).error());
  admit(number, *hello);
}

// A role is checked here, before any message is read.
Result<void> Gateway::State::check_standing(const Hello& hello, const PeerStanding& standing) const {
  if (!standing.secured) return {};
  if (!standing.identity.has_value())
    return Error{ErrorCode::PermissionDenied, hello.name, "shows no certificate",
                 "get one with a token: `penstock login`, or `penstock worker --join-file`"};
  if (options.is_revoked && options.is_revoked(standing.serial))
    return Error{ErrorCode::PermissionDenied, to_uri(*standing.identity), "its certificate was revoked",
                 "ask an administrator for another token"};
  if (!may_introduce_itself(standing.identity->role, hello.role))
    return Error{ErrorCode::PermissionDenied, to_uri(*standing.identity),
                 std::string{"has no certificate of a "} + (hello.role == PeerRole::Worker ? "worker" : "client"),
                 "use a token of that role: `penstock token create --role`"};
  return {};
}

void Gateway::State::certify(std::uint64_t number, const Join& join, const PeerStanding& standing) {
  if (!options.certify || !standing.secured)
    return refuse(number, {ErrorCode::Unsupported, "", "this supervisor certifies nobody: it runs with `--insecure`",
                           "leave the token out, and connect with `--insecure`"});
  Result<Joined> joined = options.certify(join, standing);
  if (!joined) return refuse(number, std::move(joined).error(), words_of(join));
  PendingConnection& entry = pending.at(number);
  entry.refused = true;
  ++measures.counters.certified;
  const std::string address = entry.connection->peer_address();
  const std::uint64_t ticket = auditor == nullptr ? 0 : auditor->certified(audited(standing, address), join, *joined);
  when_recorded(ticket, [this, number, answer = std::move(joined).value()] {
    if (pending.contains(number)) answer_and_close(number, answer);
  });
}

Result<Hello> Gateway::State::check_hello(const Introduction& introduction) const {
  const auto* hello = std::get_if<Hello>(&introduction);
  if (hello == nullptr || !hello->incarnation.valid())
    return Error{ErrorCode::MalformedFrame, "", "the introduction is no hello", {}};
  if (hello->major != kProtocolMajor)
    return Error{ErrorCode::VersionMismatch, hello->name,
                 "speaks " + version_text(hello->major, hello->minor, hello->software_version) +
                     ", this supervisor speaks " +
                     version_text(kProtocolMajor, kProtocolMinor, std::string{kSoftwareVersion}),
                 "install the same version on both sides"};
  for (const auto& [what, name] : {std::pair{"peer name", &hello->name}, std::pair{"host name", &hello->host}})
    PENSTOCK_TRY(check_name(*name, what, kPeerNameBytesMax));
  if (fenced.contains(hello->incarnation))
    return Error{ErrorCode::StaleIncarnation, hello->name, "was given up as lost; its subtasks run elsewhere",
                 "it starts afresh by itself"};
  return *hello;
}

void Gateway::State::refuse(std::uint64_t number, Error error, const std::string& what) {
  PendingConnection& entry = pending.at(number);
  const std::string address = entry.connection->peer_address();
  if (error.subject.empty()) error.subject = address;
  ++measures.counters.introductions_refused;
  log_error(LogLevel::Warn, "peer refused", error);
  if (auditor != nullptr) auditor->refused(audited(entry.connection->peer(), address), what, error);
  entry.refused = true;
  answer_and_close(number, Refusal{std::move(error)});
}

// The connection closes when the answer is out, or when the peer does not take it in time.
void Gateway::State::answer_and_close(std::uint64_t number, const Introduction& answer) {
  PendingConnection& entry = pending.at(number);
  entry.connection->send(FrameKind::Introduction, {options.incarnation, 0, 0}, encode(answer));
  entry.patience->arm(monotonic_now() + std::chrono::seconds{1}, [this, number] { drop_pending(number, {}); });
  entry.connection->close_after_sending();
}

// Everything in one event: between a decision about a link and its new connection no message may arrive on the old one.
void Gateway::State::admit(std::uint64_t number, const Hello& hello) {
  const auto guest = guests.find(hello.incarnation);
  const LinkCore* const known = guest == guests.end() ? nullptr : &guest->second.link->core();
  const HelloAnswer answer = answer_to(hello, options.incarnation, known);
  if (answer == HelloAnswer::Unlinked || answer == HelloAnswer::GivenUp)
    return refuse(number, {ErrorCode::StaleIncarnation, hello.name,
                           answer == HelloAnswer::Unlinked ? "does not remember its link to this supervisor"
                                                           : "was given up as lost; its subtasks run elsewhere",
                           "it starts afresh by itself"});
  if (answer == HelloAnswer::WelcomeAgain) forget(hello.incarnation);
  const bool resumed = answer == HelloAnswer::Resume;
  const PeerStanding standing = pending.at(number).connection->peer();
  if (resumed && !(guest->second.standing.identity == standing.identity))
    return refuse(number,
                  {ErrorCode::PermissionDenied, hello.name, "is not the owner of the link that it resumes", {}});
  if (const Guest* namesake = resumed ? nullptr : namesake_of(hello); namesake != nullptr)
    return refuse(number, {ErrorCode::NameTaken, hello.name,
                           "is the name of another worker, which is alive: " + namesake->process,
                           "give one of them another name with `--name`"});
  if (!resumed) make_guest(hello);
  Guest& peer = guests.at(hello.incarnation);
  PeerLink& link = *peer.link;
  Welcome welcome;
  welcome.incarnation = options.incarnation;
  welcome.resumed = resumed;
  welcome.received_through = link.core().received_through();
  welcome.heartbeat = options.link.heartbeat;
  welcome.state = options.identity.state;
  welcome.life = options.identity.life;
  welcome.branch = options.identity.branch;
  const auto entry = pending.extract(number);
  peer.place = std::move(entry.mapped().place);
  peer.standing = entry.mapped().connection->peer();
  peer.audited = audited(peer.standing, entry.mapped().connection->peer_address());
  std::unique_ptr<Connection> connection = std::move(entry.mapped().connection);
  connection->send(FrameKind::Introduction, {options.incarnation, 0, 0}, encode(Introduction{welcome}));
  for (FramePayloadPtr& notice : notices_for(peer))
    connection->send(FrameKind::Introduction, {options.incarnation, 0, 0}, std::move(notice));
  link.attach(std::move(connection), resumed, hello.received_through);
}

// Orders and jobs name workers, so two workers must not have one name. An earlier incarnation does not block the name:
// its connection is closed, or is found to be silent in time, and until then the newcomer asks again.
const Guest* Gateway::State::namesake_of(const Hello& hello) const {
  if (hello.role != PeerRole::Worker) return nullptr;
  const auto known = workers.find(hello.name);
  const auto guest = known == workers.end() ? guests.end() : guests.find(known->second);
  if (guest == guests.end() || !guest->second.link->core().attached() || guest->second.link->core().lost())
    return nullptr;
  return &guest->second;
}

void Gateway::State::make_guest(const Hello& hello) {
  const Incarnation peer = hello.incarnation;
  Guest& guest = guests[peer];
  guest.name = hello.name;
  guest.process = hello.host + ", process " + std::to_string(hello.process_id);
  guest.role = hello.role;
  guest.starts_as_users = hello.role == PeerRole::Worker && hello.starts_as_users;
  if (hello.role == PeerRole::Worker) workers[hello.name] = peer;
  guest.link = std::make_unique<PeerLink>(loop, options.link, options.incarnation, peer);
  guest.link->set_handlers([this, peer](std::span<const std::byte> payload) { receive(peer, payload); },
                           [this, peer](const std::string& reason) { lose(peer, reason); },
                           [name = hello.name, level = level_of(hello.role)](const Error& error) {
                             log_line(level, "connection broke", "peer=" + name + " text=\"" + to_string(error) + "\"");
                           });
  if (hello.role == PeerRole::Worker)
    guest.link->set_on_suspicion([this, peer](bool suspected) {
      caf::send_as(self, supervisor, WorkerSuspectedMail{peer, suspected});
    });
  log_line(level_of(hello.role), "peer connected",
           "name=" + hello.name + " host=" + hello.host + " pid=" + std::to_string(hello.process_id) +
               " role=" + (hello.role == PeerRole::Worker ? "worker" : "client"));
}

void Gateway::State::receive(Incarnation peer, std::span<const std::byte> payload) {
  const auto guest = guests.find(peer);
  if (guest == guests.end() || guest->second.given_up) return;
  if (guest->second.role == PeerRole::Worker) {
    Result<std::vector<FromWorker>> messages = decode_from_worker(payload);
    if (!messages) return lose(peer, to_string(messages.error()));
    caf::send_as(self, supervisor,
                 FromWorkerMail{peer, std::make_shared<const std::vector<FromWorker>>(std::move(messages).value())});
  } else {
    receive_from_client(peer, guest->second, payload);
  }
}

void Gateway::State::receive_from_client(Incarnation peer, Guest& guest, std::span<const std::byte> payload) {
  Result<std::vector<FromClient>> messages = decode_from_client(payload);
  if (!messages) return lose(peer, to_string(messages.error()));
  // Fault F20: chunks that leave columns out take a hundred bytes on the wire and a megabyte here.
  std::size_t bytes = 0;
  for (const FromClient& message : *messages) bytes += wire_size(message);
  if (bytes > payload.size()) guest.link->weigh(bytes - payload.size());
  keep_allowed(peer, guest.standing.identity, *messages);
  if (messages->empty()) return;
  if (auditor != nullptr)
    for (const FromClient& message : *messages) auditor->asked(peer, guest.audited, message);
  caf::send_as(self, supervisor,
               FromClientMail{peer, std::make_shared<std::vector<FromClient>>(std::move(messages).value())});
}

Viewer::Sees sight_of(Role role) {
  switch (role) {
    case Role::Operator:
    case Role::Admin: return Viewer::Sees::All;
    case Role::Worker: return Viewer::Sees::Nested;  // Of its runs, which are of many users.
    case Role::Run: return Viewer::Sees::OwnNested;
    case Role::Client:
    case Role::Metrics:
    case Role::Supervisor: return Viewer::Sees::Own;
  }
  return Viewer::Sees::Own;
}

/// The owner of all that a client sends is the user of its certificate, and it sees the jobs of that user alone, unless
/// it may steer. The runs of a worker are of many users.
void stamp(FromClient& message, const PeerIdentity& identity) {
  const Viewer viewer{identity.user, sight_of(identity.role), identity.groups};
  if (auto* request = std::get_if<AdminRequest>(&message)) {
    request->who = identity.user + request->who.substr(std::min(request->who.find('@'), request->who.size()));
    request->viewer = viewer;
  }
  if (auto* chunk = std::get_if<SubmitChunk>(&message)) chunk->spec.owner = identity.user;
  if (auto* attach = std::get_if<AttachJob>(&message)) attach->job.viewer = viewer;
  if (auto* again = std::get_if<SubmitAgain>(&message)) {
    again->spec.owner = identity.user;
    again->like.viewer = viewer;
  }
}

/// The answer to a message that is not allowed. None: nobody waits for one. `retry_after`: 0, if time does not help.
std::optional<ToClient> refusal_of(const FromClient& message, const Error& why, Duration retry_after) {
  if (const auto* request = std::get_if<AdminRequest>(&message))
    return AdminAnswer{request->request, {}, why, retry_after};
  if (const auto* chunk = std::get_if<SubmitChunk>(&message))
    return SubmitReply{.submission = chunk->submission, .refusal = why, .retry_after = retry_after};
  if (const auto* again = std::get_if<SubmitAgain>(&message))
    return SubmitReply{.submission = again->submission, .refusal = why, .retry_after = retry_after};
  if (const auto* attach = std::get_if<AttachJob>(&message))
    return AttachReply{.request = attach->request, .refusal = why, .retry_after = retry_after};
  return std::nullopt;
}

/// Whether the message counts as a request: it has an answer, and costs the supervisor more than its bytes. The rest of
/// a graph is counted in bytes, and what gives back is always heard.
bool is_request(const FromClient& message) {
  if (const auto* chunk = std::get_if<SubmitChunk>(&message)) return chunk->first;
  return std::holds_alternative<AdminRequest>(message) || std::holds_alternative<SubmitAgain>(message) ||
         std::holds_alternative<AttachJob>(message);
}

void Gateway::State::keep_allowed(Incarnation peer, const std::optional<PeerIdentity>& identity,
                                  std::vector<FromClient>& messages) {
  std::vector<ToClient> refusals;
  std::erase_if(messages, [&](FromClient& message) {
    if (identity.has_value()) stamp(message, *identity);
    const bool counted = is_request(message);
    measures.counters.requests += counted;
    Result<void> allowed = identity.has_value() ? check_right(identity->role, message) : Result<void>{};
    if (allowed && identity.has_value()) allowed = check_share(*identity, message);
    Duration retry_after{0};
    if (allowed && identity.has_value() && counted)
      if (const std::optional<Duration> wait = measures.rates.take(*identity, peer, monotonic_now())) {
        allowed = over_rate(identity->user, options.users);
        retry_after = *wait;
      }
    if (allowed && !options.locally) allowed = seal_secrets(message, options.secrets.get());
    if (allowed) return false;
    ++(retry_after > Duration{0} ? measures.counters.requests_over_rate : measures.counters.requests_not_allowed);
    log_error(LogLevel::Warn, "message refused", allowed.error());
    if (auditor != nullptr) {
      const Guest& guest = guests.at(peer);
      auditor->refused(guest.audited, allowed.error().subject, allowed.error());
    }
    if (std::optional<ToClient> refusal = refusal_of(message, allowed.error(), retry_after))
      refusals.push_back(std::move(*refusal));
    return true;
  });
  if (!refusals.empty()) send(peer, refusals);
}

// From a turn of its own for each: the supervisor is told, as of any lost peer.
void Gateway::State::drop_revoked() {
  std::vector<Incarnation> dropped;
  for (const auto& [peer, guest] : guests)
    if (!guest.standing.serial.empty() && options.is_revoked && options.is_revoked(guest.standing.serial))
      dropped.push_back(peer);
  for (const Incarnation peer : dropped) {
    const Guest& guest = guests.at(peer);
    const std::string reason = "its certificate was revoked";
    if (auditor != nullptr)
      auditor->refused(guest.audited, "connection of " + guest.name,
                       {ErrorCode::PermissionDenied, guest.name, reason, {}});
    lose(peer, reason);
  }
}

void Gateway::State::notify_workers() {
  const auto told = revocation_notices(options.revoked ? options.revoked() : std::vector<std::string>{});
  for (auto& [peer, guest] : guests) {
    if (guest.role != PeerRole::Worker || !guest.standing.secured || guest.given_up) continue;
    for (const FramePayloadPtr& notice : told) guest.link->notify(notice);
    if (!guest.starts_as_users || !options.run_credential) continue;
    std::vector<RunCredential> replaced = guest.told.take_replaced(options.run_credential);
    if (!replaced.empty()) guest.link->notify(encode(Introduction{SecurityNotice{{}, std::move(replaced)}}));
  }
}

/// Of a new connection: notices on the last one may be lost.
std::vector<FramePayloadPtr> Gateway::State::notices_for(const Guest& peer) const {
  if (peer.role != PeerRole::Worker || !peer.standing.secured || !options.revoked) return {};
  std::vector<FramePayloadPtr> notices = revocation_notices(options.revoked());
  if (std::vector<RunCredential> told = peer.told.all(); !told.empty())
    notices.push_back(encode(Introduction{SecurityNotice{{}, std::move(told)}}));
  return notices;
}

void Gateway::State::tell_credentials(Guest& worker, const std::vector<ToWorker>& messages) const {
  if (!worker.starts_as_users || !worker.standing.identity.has_value() || !options.run_credential) return;
  std::vector<RunCredential> fresh =
      worker.told.take_new(messages, worker.standing.identity->user, options.run_credential);
  if (!fresh.empty()) worker.link->notify(encode(Introduction{SecurityNotice{{}, std::move(fresh)}}));
}

void Gateway::State::forget(Incarnation peer) {
  const auto guest = guests.find(peer);
  if (guest == guests.end()) return;
  if (const auto named = workers.find(guest->second.name); named != workers.end() && named->second == peer)
    workers.erase(named);
  measures.counters.frames_sent += guest->second.link->core().counters().frames_sent;
  measures.counters.frames_resent += guest->second.link->core().counters().frames_resent;
  guests.erase(guest);
}

void Gateway::State::lose(Incarnation peer, const std::string& reason) {
  const auto guest = guests.find(peer);
  if (guest == guests.end() || guest->second.given_up) return;
  guest->second.given_up = true;
  ++measures.counters.peers_left;
  if (guest->second.role == PeerRole::Worker)
    caf::send_as(self, supervisor, WorkerLostMail{peer, reason});
  else
    caf::send_as(self, supervisor, ClientLostMail{peer});
  if (auditor != nullptr) auditor->left(peer);
  tell_faults(guest->second);
  fence(peer);
  // The link is on the stack above us.
  loop.post([weak = weak_from_this(), peer] {
    if (const auto alive = weak.lock()) alive->forget(peer);
  });
}

void Gateway::State::fence(Incarnation peer) {
  constexpr std::size_t kFencedMax = 4096;
  const auto earlier = [](const auto& a, const auto& b) { return a.second < b.second; };
  if (fenced.size() >= kFencedMax) fenced.erase(std::min_element(fenced.begin(), fenced.end(), earlier));
  fenced[peer] = monotonic_now();
}

void Gateway::State::send_to_worker(Incarnation peer, const std::vector<ToWorker>& messages) {
  if (const auto guest = guests.find(peer); guest != guests.end()) tell_credentials(guest->second, messages);
  if (options.locally || !have_secrets(messages)) return send(peer, messages);
  send(peer, with_open_secrets(messages, options.secrets.get()));
}

template <class Message>
void Gateway::State::send(Incarnation peer, const std::vector<Message>& messages) {
  const auto guest = guests.find(peer);
  if (guest == guests.end()) return;
  std::size_t first = 0;
  while (first < messages.size()) {
    std::size_t bytes = 0;
    std::size_t last = first;
    while (last < messages.size() && (last == first || bytes < options.wire.frame_bytes_target))
      bytes += wire_size(messages[last++]);
    guest->second.link->send(encode(std::span{messages}.subspan(first, last - first)));
    first = last;
  }
}

// Only the answer to an order waits for the audit; what the client hears meanwhile does not depend on it.
void Gateway::State::answer_client(Incarnation peer, const std::vector<ToClient>& messages) {
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; auditor != nullptr && i < messages.size(); ++i) {
    const std::uint64_t ticket = auditor->answered(peer, messages[i]);
    if (auditor->is_settled(ticket)) continue;
    waiting.push_back(i);
    when_recorded(ticket, [this, peer, message = messages[i]] { send(peer, std::vector<ToClient>{message}); });
  }
  if (waiting.empty()) return send(peer, messages);
  std::vector<ToClient> now;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (!std::binary_search(waiting.begin(), waiting.end(), i)) now.push_back(messages[i]);
  if (!now.empty()) send(peer, now);
}

void Gateway::State::when_recorded(std::uint64_t ticket, std::function<void()> work) {
  if (auditor == nullptr || auditor->is_settled(ticket)) return work();
  unrecorded.emplace_back(ticket, std::move(work));
}

void Gateway::State::release_recorded() {
  while (!unrecorded.empty() && auditor->is_settled(unrecorded.front().first)) {
    const std::function<void()> work = std::move(unrecorded.front().second);
    unrecorded.pop_front();
    work();
  }
}

}  // namespace penstock::supervisor
