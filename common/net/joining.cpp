#include "common/net/joining.hpp"

#include <optional>

#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/security/munge.hpp"
#include "common/security/registrar.hpp"
#include "common/wire/codec.hpp"

namespace penstock {

struct Joining::State : std::enable_shared_from_this<State> {
  State(Loop& event_loop, const JoinOptions& join_options, OnDone handler)
      : loop(event_loop), options(join_options), on_done(std::move(handler)), patience(event_loop) {}

  void start();
  void connected(std::unique_ptr<Connection> fresh);
  Result<std::string> proof_of(const std::string& public_key) const;
  void answered(std::span<const std::byte> payload);
  void end(Result<Credential> result);

  Loop& loop;
  const JoinOptions options;
  OnDone on_done;
  LoopTimer patience;
  KeyPtr key;
  std::unique_ptr<Connector> connector;
  std::unique_ptr<Connection> connection;
};

Joining::Joining(Loop& loop, const JoinOptions& options, OnDone on_done)
    : state_(std::make_shared<State>(loop, options, std::move(on_done))) {
  loop.post([weak = std::weak_ptr<State>{state_}] {
    if (const auto alive = weak.lock()) alive->start();
  });
}

Joining::~Joining() {
  state_->on_done = nullptr;
  state_->patience.cancel();
  state_->connector.reset();
  state_->connection.reset();
}

void Joining::State::start() {
  Result<KeyPtr> made = make_key();
  if (!made) return end(std::move(made).error());
  key = std::move(made).value();
  const Result<HostPort> address = look_up(options.supervisor);
  if (!address) return end(address.error());
  connector = std::make_unique<Connector>(loop, options.wire, *address, options.tls, options.wire.handshake_timeout,
                                          [weak = weak_from_this()](Result<std::unique_ptr<Connection>> result) {
                                            const auto alive = weak.lock();
                                            if (alive == nullptr) return;
                                            if (!result) return alive->end(std::move(result).error());
                                            alive->connected(std::move(result).value());
                                          });
}

void Joining::State::connected(std::unique_ptr<Connection> fresh) {
  connection = std::move(fresh);
  connection->start([this](const FrameHeader&, std::span<const std::byte> payload) { answered(payload); },
                    [this](const Error& error) { end(error); });
  Join join;
  join.public_key = public_part(*key);
  join.user = options.user;
  join.token = options.token;
  Result<std::string> proof = proof_of(join.public_key);
  if (!proof) return end(std::move(proof).error());
  join.proof = std::move(proof).value();
  connection->send(FrameKind::Introduction, {random_incarnation(), 0, 0}, encode(Introduction{join}));
  patience.arm(monotonic_now() + 2 * options.wire.handshake_timeout, [this] {
    end(Error{ErrorCode::TimedOut, to_string(options.supervisor), "does not answer", {}});
  });
}

/// Binds a credential of MUNGE to the key: with another one it is worth nothing. Empty: the token needs none.
Result<std::string> Joining::State::proof_of(const std::string& public_key) const {
  const Result<TokenText> token = parse_token(options.token);
  return token && token->by_munge() ? munge_seal(munge_content(public_key)) : std::string{};
}

void Joining::State::answered(std::span<const std::byte> payload) {
  const Result<Introduction> answer = decode_introduction(payload);
  if (!answer) return end(answer.error());
  if (const auto* refusal = std::get_if<Refusal>(&*answer)) return end(refusal->error);
  const auto* joined = std::get_if<Joined>(&*answer);
  if (joined == nullptr)
    return end(Error{ErrorCode::MalformedFrame,
                     to_string(options.supervisor),
                     "answers with something else than a certificate",
                     {}});
  end(read_credential(to_pem(*key) + joined->certificate + joined->authority, "the certificate"));
}

// From a turn of its own: the connection's handler may be on the stack.
void Joining::State::end(Result<Credential> result) {
  patience.cancel();
  auto kept = std::make_shared<Result<Credential>>(std::move(result));
  loop.post([weak = weak_from_this(), kept] {
    const auto alive = weak.lock();
    if (alive == nullptr || !alive->on_done) return;
    alive->connection.reset();
    std::exchange(alive->on_done, nullptr)(std::move(*kept));
  });
}

Result<Credential> join_cluster(const JoinOptions& options) {
  Loop loop;
  std::optional<Result<Credential>> result;
  {
    const Joining joining{loop, options, [&](Result<Credential> done) {
                            result = std::move(done);
                            loop.stop();
                          }};
    loop.run();
  }
  return std::move(*result);
}

}  // namespace penstock
