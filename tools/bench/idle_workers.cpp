#include "tools/bench/idle_workers.hpp"

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "common/host/host.hpp"
#include "common/loop/loop.hpp"
#include "common/net/handshake_pool.hpp"
#include "common/net/uplink.hpp"
#include "common/security/own_security.hpp"
#include "common/wire/codec.hpp"

namespace penstock::tools {
namespace {

/// Invariant: `uplinks_` is touched on the loop's thread only.
class Links final : public IdleWorkers {
 public:
  Links(const HostPort& supervisor, std::uint32_t count, std::shared_ptr<const TlsClient> tls) : tls_(std::move(tls)) {
    loop_.post([this, supervisor, count] {
      for (std::uint32_t i = 0; i < count; ++i)
        uplinks_.push_back(link(supervisor, "idle-" + std::to_string(i + 1), i));
    });
    thread_ = std::thread{[this] { loop_.run(); }};
  }
  ~Links() override {
    handshakes_->stop();
    loop_.post([this] {
      uplinks_.clear();
      loop_.stop();
    });
    thread_.join();
  }

 private:
  std::unique_ptr<Uplink> link(const HostPort& supervisor, const std::string& name, std::size_t number) {
    UplinkOptions options;
    options.supervisors = {supervisor};
    options.role = PeerRole::Worker;
    options.tls = tls_;
    options.handshakes = handshakes_;
    options.name = name;
    options.incarnation = random_incarnation();
    UplinkHandlers handlers;
    handlers.on_linked = [this, number, name] { introduce(*uplinks_[number], name, false); };
    // As real workers do in the next term of their supervisor; idle workers have nothing to claim.
    handlers.on_renewed = [this, number, name] { introduce(*uplinks_[number], name, true); };
    handlers.on_messages = [](std::span<const std::byte>) {};
    handlers.on_trouble = [](const Error&) {};
    // As a real worker, which starts afresh when it was given up.
    handlers.on_end = [this, number, supervisor, name](const Error&) {
      loop_.post([this, number, supervisor, name] { uplinks_[number] = link(supervisor, name, number); });
    };
    return std::make_unique<Uplink>(loop_, options, std::move(handlers));
  }

  static void introduce(Uplink& uplink, const std::string& name, bool reclaims) {
    Register description;
    description.name = name;
    description.host = host_name();
    BandDescription band;
    band.name = "gpu-0";
    band.kind = BandKind::Gpu;
    band.capacity.slots = kOneSlot;
    band.capacity.gpu = MilliGpu{1000};
    band.capacity.memory = band.memory_hard_limit = kGiB;
    description.bands = {band};
    description.reclaims = reclaims;
    std::vector<FromWorker> messages{std::move(description)};
    if (reclaims) messages.emplace_back(WorkerClaim{true, false, {}});
    uplink.send(encode(std::span<const FromWorker>{messages}));
  }

  // Idle workers stand for other hosts, with processors of their own: none spins, and none is silent because the
  // handshakes of thousands are computed.
  Loop loop_{Duration{0}};
  const std::shared_ptr<HandshakePool> handshakes_ = std::make_shared<HandshakePool>(2, SIZE_MAX);
  const std::shared_ptr<const TlsClient> tls_;
  std::vector<std::unique_ptr<Uplink>> uplinks_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<IdleWorkers>> IdleWorkers::start(const HostPort& supervisor, std::uint32_t count) {
  Result<std::shared_ptr<const TlsClient>> tls = own_security(PeerRole::Worker);
  if (!tls) return std::move(tls).error();
  return std::unique_ptr<IdleWorkers>{std::make_unique<Links>(supervisor, count, std::move(tls).value())};
}

}  // namespace penstock::tools
