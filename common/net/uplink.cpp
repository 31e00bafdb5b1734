#include "common/net/uplink.hpp"

#include <algorithm>
#include <deque>

#include "common/base/rng.hpp"
#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/net/credential_renewal.hpp"
#include "common/net/peer_link.hpp"
#include "common/net/secure_stream.hpp"
#include "common/wire/codec.hpp"

namespace penstock {

struct Uplink::State : std::enable_shared_from_this<State> {
  State(Loop& event_loop, const UplinkOptions& uplink_options, UplinkHandlers uplink_handlers)
      : loop(event_loop),
        options(uplink_options),
        handlers(std::move(uplink_handlers)),
        rng(options.incarnation.value()),
        timer(event_loop),
        started(monotonic_now()),
        tries{options.retry_min},
        renewal(std::make_unique<CredentialRenewal>(event_loop, options.wire, options.tls, options.role,
                                                    handlers.on_trouble)) {}

  void connect();
  void connected(std::unique_ptr<Connection> fresh);
  void introduced(const FrameHeader& header, std::span<const std::byte> payload);
  void welcome(const Welcome& message);
  void refused(const Error& why);
  void make_link(const Welcome& message);
  void try_again(const Error& why);
  void closed_unanswered(const Error& why);
  void end_later(Error why);
  void end(const Error& why);

  Loop& loop;
  const UplinkOptions options;
  UplinkHandlers handlers;
  Rng rng;
  LoopTimer timer;
  const Instant started;
  struct Tries {
    Duration retry;  ///< Wait before the next one.
    std::size_t next_supervisor = 0;
    int unanswered = 0;  ///< Connections that were closed without an answer.
  } tries;
  std::unique_ptr<Connector> connector;
  std::unique_ptr<Connection> connection;  ///< Until it is introduced; then the link owns it.
  std::unique_ptr<PeerLink> link;
  SupervisorTerm supervisor;
  std::deque<FramePayloadPtr> waiting;
  std::unique_ptr<CredentialRenewal> renewal;
  bool ended = false;
};

Uplink::Uplink(Loop& loop, const UplinkOptions& options, UplinkHandlers handlers)
    : state_(std::make_shared<State>(loop, options, std::move(handlers))) {
  // After the owner has stored this object.
  loop.post([weak = std::weak_ptr<State>{state_}] {
    if (const auto alive = weak.lock()) alive->connect();
  });
}

Uplink::~Uplink() {
  state_->ended = true;
  state_->connector.reset();
  state_->connection.reset();
  state_->link.reset();
  state_->timer.cancel();
  state_->renewal.reset();
}

void Uplink::send(FramePayloadPtr payload) {
  if (state_->link != nullptr)
    state_->link->send(std::move(payload));
  else
    state_->waiting.push_back(std::move(payload));
}

std::uint64_t Uplink::unacknowledged_bytes() const {
  if (state_->link != nullptr) return state_->link->unacknowledged_bytes();
  std::uint64_t bytes = 0;
  for (const FramePayloadPtr& payload : state_->waiting) bytes += payload->bytes().size();
  return bytes;
}

SupervisorTerm Uplink::supervisor() const { return state_->supervisor; }

void Uplink::State::connect() {
  if (ended) return;
  // Read for each attempt: a supervisor that was moved writes its new address there.
  const Result<HostPort> address = look_up(options.supervisors[tries.next_supervisor++ % options.supervisors.size()]);
  if (!address) return try_again(address.error());
  renewal->turn_to(*address);
  connector = std::make_unique<Connector>(
      loop, options.wire, *address, options.tls, options.connect_timeout,
      [weak = weak_from_this()](Result<std::unique_ptr<Connection>> result) {
        const auto alive = weak.lock();
        if (alive == nullptr || alive->ended) return;
        if (result)
          alive->connected(std::move(result).value());
        else
          alive->try_again(result.error());
      },
      options.handshakes);
}

void Uplink::State::connected(std::unique_ptr<Connection> fresh) {
  connection = std::move(fresh);
  Hello hello;
  hello.role = options.role;
  hello.name = options.name;
  hello.host = host_name();
  hello.process_id = process_id();
  hello.incarnation = options.incarnation;
  hello.starts_as_users = options.starts_as_users;
  hello.peer = supervisor.incarnation;
  hello.received_through = link == nullptr ? 0 : link->core().received_through();
  connection->start(
      [this](const FrameHeader& header, std::span<const std::byte> payload) { introduced(header, payload); },
      [this](const Error& error) {
        connection.reset();
        closed_unanswered(error);
      });
  connection->send(FrameKind::Introduction, {options.incarnation, 0, 0}, encode(Introduction{hello}));
  timer.arm(monotonic_now() + options.wire.handshake_timeout, [this] {
    connection.reset();
    try_again({ErrorCode::Unreachable, options.name, "the supervisor does not answer the introduction", {}});
  });
}

// A supervisor that closes without a word is overloaded, or does not speak as we do: plain on one side, TLS on the
// other.
void Uplink::State::closed_unanswered(const Error& why) {
  constexpr int kTriesMin = 3;
  constexpr Duration kTryFor = std::chrono::milliseconds{500};
  // Certificates do not change by trying again; but a link that stood may have met another supervisor.
  if (why.code == ErrorCode::PermissionDenied && link == nullptr) return end(why);
  Error told = why;
  if (options.tls == nullptr && told.remedy.empty())
    told.remedy = "connections are plain here, by `--insecure` or PENSTOCK_INSECURE: does the supervisor have it, too?";
  const bool waits_for_ever = options.give_up_after == Duration::max();
  if (link == nullptr && !waits_for_ever && ++tries.unanswered >= kTriesMin && monotonic_now() - started >= kTryFor)
    return end(told);
  try_again(told);
}

void Uplink::State::introduced(const FrameHeader& header, std::span<const std::byte> payload) {
  timer.cancel();
  const Result<Introduction> introduction =
      header.kind == FrameKind::Introduction
          ? decode_introduction(payload)
          : Error{ErrorCode::MalformedFrame, "", "the supervisor's first frame is no introduction", {}};
  // At once: messages after the welcome in the same read belong to the link.
  if (introduction)
    if (const auto* message = std::get_if<Welcome>(&*introduction)) return welcome(*message);
  // From a turn of its own: the connection's handler is on the stack, and the owner may destroy us when told of the
  // end.
  loop.post([weak = weak_from_this(), introduction] {
    const auto alive = weak.lock();
    if (alive == nullptr || alive->ended || alive->connection == nullptr) return;
    if (!introduction) return alive->end(introduction.error());
    if (const auto* refusal = std::get_if<Refusal>(&*introduction))
      alive->refused(refusal->error);
    else
      alive->end({ErrorCode::MalformedFrame, "", "the supervisor introduced itself as a client", {}});
  });
}

// The holder of our name may be about to be found dead: our own earlier incarnation on a host that lost its power.
void Uplink::State::refused(const Error& why) {
  if (why.code != ErrorCode::NameTaken) return end(why);
  connection.reset();
  try_again(why);
}

void Uplink::State::welcome(const Welcome& message) {
  if (message.major != kProtocolMajor)
    return end_later({ErrorCode::VersionMismatch, "supervisor",
                      "speaks protocol " + std::to_string(message.major) + "." + std::to_string(message.minor) +
                          " (Penstock " + message.software_version + "), this process speaks " +
                          std::to_string(kProtocolMajor) + "." + std::to_string(kProtocolMinor) + " (Penstock " +
                          std::string{kSoftwareVersion} + ")",
                      "install the same version on both sides"});
  const WelcomeMeaning meaning =
      meaning_of(message, supervisor, link != nullptr, static_cast<bool>(handlers.on_renewed));
  if (meaning == WelcomeMeaning::Over)
    return end_later({ErrorCode::Disconnected, "supervisor", "has started anew and does not know this link", {}});
  tries.retry = options.retry_min;
  if (const PeerStanding peer = connection->peer(); peer.identity.has_value()) renewal->watch(peer.identity->cluster);
  if (meaning != WelcomeMeaning::Resumed) make_link(message);
  link->attach(std::move(connection), message.resumed, message.received_through);
  for (FramePayloadPtr& payload : waiting) link->send(std::move(payload));
  waiting.clear();
  if (meaning == WelcomeMeaning::First && handlers.on_linked) std::function<void()>{handlers.on_linked}();
  if (meaning == WelcomeMeaning::Renewed) std::function<void()>{handlers.on_renewed}();
}

void Uplink::State::make_link(const Welcome& message) {
  supervisor = SupervisorTerm::of(message);
  LinkConfig config = options.link;
  // The supervisor's limit for our silence sets the interval; but however short it is, it must not cost us a processor.
  constexpr Duration kHeartbeatMin = std::chrono::milliseconds{10};
  if (message.heartbeat > Duration{0})
    config.heartbeat = std::min(config.heartbeat, std::max(message.heartbeat, kHeartbeatMin));
  config.reconnect_grace = options.link.supervisor_absence_max;
  link = std::make_unique<PeerLink>(loop, config, options.incarnation, supervisor.incarnation, OnSilence::Reconnect);
  link->set_handlers(
      [this](std::span<const std::byte> payload) {
        if (handlers.on_messages) handlers.on_messages(payload);
      },
      [this](const std::string& reason) {
        end_later({ErrorCode::Disconnected, "supervisor", "was lost: " + reason, {}});
      },
      [this](const Error& error) { try_again(error); });
  link->set_on_heard([this](Instant sent) {
    if (handlers.on_heard) handlers.on_heard(sent);
  });
  link->set_on_notice([this](std::span<const std::byte> payload) {
    const Result<Introduction> introduction = decode_introduction(payload);
    const auto* notice = introduction ? std::get_if<SecurityNotice>(&*introduction) : nullptr;
    if (notice != nullptr && handlers.on_notice) handlers.on_notice(*notice);
  });
  link->set_on_acknowledged([this] {
    if (handlers.on_acknowledged) handlers.on_acknowledged();
  });
}

void Uplink::State::try_again(const Error& why) {
  if (ended) return;
  if (link == nullptr && monotonic_now() - started >= options.give_up_after) return end(why);
  if (handlers.on_trouble) handlers.on_trouble(why);
  // Fault F32: many workers that lost the same supervisor must come back spread out.
  const Duration delay =
      tries.retry / 2 + Duration{static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(tries.retry.count())))};
  tries.retry = std::min(tries.retry * 2, options.retry_max);
  timer.arm(monotonic_now() + delay, [this] { connect(); });
}

// The link or the connection is on the stack above us.
void Uplink::State::end_later(Error why) {
  loop.post([weak = weak_from_this(), why = std::move(why)] {
    if (const auto alive = weak.lock()) alive->end(why);
  });
}

void Uplink::State::end(const Error& why) {
  if (ended) return;
  ended = true;
  timer.cancel();
  const auto handler = handlers.on_end;
  if (handler) handler(why);
}

}  // namespace penstock
