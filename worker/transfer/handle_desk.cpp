#include "worker/transfer/handle_desk.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "common/host/clock.hpp"
#include "common/loop/descriptor_watch.hpp"
#include "common/net/local_acceptor.hpp"
#include "worker/store/segment.hpp"

namespace penstock::worker {
namespace {

constexpr int kRequestsInATurn = 64;  ///< Of one visitor; then this thread serves others.

/// A process that is connected for handles.
struct Visitor {
  Visitor(Loop& loop, Descriptor accepted) : socket(std::move(accepted)), watch(loop, socket) {}

  const Descriptor socket;
  DescriptorWatch watch;
  HandleRequest request;
  std::size_t received = 0;  ///< Bytes of `request`.
  std::set<std::uint64_t> tickets;
};

}  // namespace

/// Invariant: each ticket is in `data_of` and belongs to `offered` or to one visitor; `blobs` counts them by their
/// blob, and `bytes` is the sum over `blobs`.
struct HandleDesk::State {
  State(HandleDesk& its, Loop& on, const HandleLimits& most) : desk(its), loop(on), limits(most), timer(on) {}

  struct Out {
    MappedDatum datum;
    std::size_t tickets = 0;
  };
  struct Offered {
    std::uint64_t ticket;
    Instant until;
  };

  void accept(Descriptor socket);
  void read_when_readable(Visitor& visitor) {
    visitor.watch.when_readable([this, &visitor] { read(visitor); });
  }
  void read(Visitor& visitor);
  bool serve(Visitor& visitor);
  bool give(Visitor& visitor, std::uint64_t ticket);
  void leave(Visitor& visitor);
  void take_back(std::uint64_t ticket);
  void forget_offers();

  HandleDesk& desk;
  Loop& loop;
  const HandleLimits limits;
  std::unique_ptr<LocalAcceptor> acceptor;
  LoopTimer timer;
  std::list<Visitor> visitors;
  std::list<Offered> offered;  ///< In the order of their making, so by their ends.
  std::map<std::uint64_t, const Blob*> data_of;
  std::map<const Blob*, Out> blobs;
  std::uint64_t bytes = 0;
  std::uint64_t next_ticket = 1;
};

void HandleDesk::State::accept(Descriptor socket) {
  if (visitors.size() < limits.visitors_max) read_when_readable(visitors.emplace_back(loop, std::move(socket)));
}

void HandleDesk::State::read(Visitor& visitor) {
  for (int i = 0; i < kRequestsInATurn; ++i) {
    const std::span room = std::as_writable_bytes(std::span{&visitor.request, 1}).subspan(visitor.received);
    const Result<Received> received = receive_handles(visitor.socket, room);
    if (!received && received.error().code == ErrorCode::WrongState) break;
    // A request must not carry handles.
    if (!received || received->bytes == 0 || !received->handles.empty()) return leave(visitor);
    visitor.received += received->bytes;
    if (visitor.received < sizeof visitor.request) continue;
    visitor.received = 0;
    if (!serve(visitor)) return leave(visitor);
  }
  read_when_readable(visitor);
}

// False if it is no valid request.
bool HandleDesk::State::serve(Visitor& visitor) {
  const HandleRequest& request = visitor.request;
  if (request.magic != kHandleMagic) return false;
  if (request.wish == HandleWish::Take) return give(visitor, request.ticket);
  if (request.wish != HandleWish::GiveBack) return false;
  // A forked process may give back a ticket that its child has given back already.
  if (visitor.tickets.erase(request.ticket) > 0) take_back(request.ticket);
  return true;
}

bool HandleDesk::State::give(Visitor& visitor, std::uint64_t ticket) {
  HandleReply reply;
  reply.ticket = ticket;
  const auto found = std::find_if(offered.begin(), offered.end(), [&](const Offered& o) { return o.ticket == ticket; });
  const Segment* segment = found == offered.end() ? nullptr : data_of.at(ticket)->segment();
  int handle = -1;
  if (segment != nullptr) {
    reply.status = TransferStatus::Here;
    reply.bytes = segment->bytes().size();
    handle = segment->handle().get();
    offered.erase(found);
    visitor.tickets.insert(ticket);
  }
  const Result<std::size_t> sent = send_handles(visitor.socket, std::as_bytes(std::span{&reply, 1}),
                                                segment == nullptr ? std::span<const int>{} : std::span{&handle, 1});
  return sent && *sent == sizeof reply;  // Otherwise the visitor does not read its replies.
}

void HandleDesk::State::leave(Visitor& visitor) {
  for (const std::uint64_t ticket : visitor.tickets) take_back(ticket);
  visitors.remove_if([&](const Visitor& other) { return &other == &visitor; });
}

void HandleDesk::State::take_back(std::uint64_t ticket) {
  const auto datum = data_of.find(ticket);
  const auto out = blobs.find(datum->second);
  data_of.erase(datum);
  if (--out->second.tickets == 0) {
    bytes -= out->second.datum.blob->bytes().size();
    blobs.erase(out);
  }
  desk.count_.store(data_of.size(), std::memory_order_relaxed);
}

void HandleDesk::State::forget_offers() {
  while (!offered.empty() && offered.front().until <= monotonic_now()) {
    take_back(offered.front().ticket);
    offered.pop_front();
  }
  if (!offered.empty()) timer.arm(offered.front().until, [this] { forget_offers(); });
}

HandleDesk::HandleDesk() = default;
HandleDesk::~HandleDesk() = default;

Result<std::shared_ptr<HandleDesk>> HandleDesk::open(Loop& loop, const HandleLimits& limits) {
  std::shared_ptr<HandleDesk> desk{new HandleDesk};
  desk->state_ = std::make_unique<State>(*desk, loop, limits);
  Result<std::unique_ptr<LocalAcceptor>> acceptor =
      LocalAcceptor::open(loop, [raw = desk->state_.get()](Descriptor socket) { raw->accept(std::move(socket)); });
  if (!acceptor) return std::move(acceptor).error();
  desk->state_->acceptor = std::move(acceptor).value();
  return desk;
}

std::optional<HandleOffer> HandleDesk::offer(const DataKey& key, BlobPtr blob) {
  State& state = *state_;
  if (!blob->is_segment() || state.data_of.size() >= state.limits.handles_max) return {};
  const std::uint64_t bytes = blob->bytes().size();
  const auto known = state.blobs.find(blob.get());
  if (known == state.blobs.end() && bytes > state.limits.bytes_max - state.bytes) return {};
  if (blob->segment() == nullptr) return {};
  const std::uint64_t ticket = state.next_ticket++;
  const Blob* const raw = blob.get();
  state.data_of[ticket] = raw;
  if (known == state.blobs.end()) {
    state.bytes += bytes;
    state.blobs[raw].datum = {key, std::move(blob)};
  }
  ++state.blobs[raw].tickets;
  count_.store(state.data_of.size(), std::memory_order_relaxed);
  state.offered.push_back({ticket, monotonic_now() + state.limits.wait_max});
  if (state.offered.size() == 1)
    state.timer.arm(state.offered.front().until, [raw_state = &state] { raw_state->forget_offers(); });
  return HandleOffer{state.acceptor->name(), ticket};
}

std::vector<MappedDatum> HandleDesk::mapped() const {
  std::vector<MappedDatum> all;
  all.reserve(state_->blobs.size());
  for (const auto& [blob, out] : state_->blobs) all.push_back(out.datum);
  return all;
}

}  // namespace penstock::worker
