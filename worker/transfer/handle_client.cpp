#include "worker/transfer/handle_client.hpp"

#include <deque>
#include <vector>

#include "common/host/clock.hpp"
#include "common/loop/descriptor_watch.hpp"
#include "common/net/local_socket.hpp"
#include "worker/store/segment.hpp"

namespace penstock::worker {
namespace {

/// A worker that takes no request for so long has stopped.
constexpr Duration kGiveBackMax = std::chrono::milliseconds{100};

bool say(const Descriptor& socket, const HandleRequest& request) {
  const std::span bytes = std::as_bytes(std::span{&request, 1});
  for (bool waited = false;; waited = true) {
    const Result<std::size_t> sent = send_handles(socket, bytes, {});
    if (!sent) return false;
    if (*sent > 0) return *sent == bytes.size();
    if (waited || !wait_until_writable(socket, kGiveBackMax)) return false;
  }
}

/// A ticket in use. Its destructor may run on any thread: the kernel takes a request as a whole.
class Hold {
 public:
  Hold(std::shared_ptr<const Descriptor> socket, std::uint64_t ticket) : socket_(std::move(socket)), ticket_(ticket) {}
  ~Hold() {
    // The connection's end gives back all of its tickets, too early for those that are read; the only effect is that
    // their worker no longer counts them, and that worker has stopped or counts nothing any more.
    if (!say(*socket_, {.wish = HandleWish::GiveBack, .ticket = ticket_})) hang_up(*socket_);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  const std::shared_ptr<const Descriptor> socket_;
  const std::uint64_t ticket_;
};

}  // namespace

/// The conversation with one desk.
struct HandleClient::Line {
  Line(Loop& loop, Descriptor connected, std::uint64_t name)
      : desk(name),
        socket(std::make_shared<const Descriptor>(std::move(connected))),
        watch(loop, *socket),
        timer(loop) {}

  struct Asked {
    std::uint64_t ticket;
    std::uint64_t bytes;
    Instant until;
    OnBlob on_blob;
  };
  const std::uint64_t desk;
  const std::shared_ptr<const Descriptor> socket;  ///< Shared with the holds.
  DescriptorWatch watch;
  LoopTimer timer;
  std::deque<Asked> asked;
  HandleReply reply;
  std::size_t received = 0;         ///< Bytes of `reply`.
  std::vector<Descriptor> handles;  ///< Received with these bytes.
  bool ended = false;
};

HandleClient::HandleClient(Loop& loop, MappedFor whom, Duration wait_max)
    : loop_(loop), whom_(whom), wait_max_(wait_max) {}

HandleClient::~HandleClient() {
  for (const auto& [desk, line] : lines_) line->ended = true;
}

void HandleClient::fetch(const HandleOffer& offer, std::uint64_t bytes, OnBlob on_blob) {
  std::shared_ptr<Line>& known = lines_[offer.desk];
  if (known == nullptr) {
    Result<Descriptor> socket = connect_local(offer.desk, present_user());
    if (!socket) {
      lines_.erase(offer.desk);
      return on_blob(nullptr);
    }
    known = std::make_shared<Line>(loop_, std::move(socket).value(), offer.desk);
    read_when_readable(known);
  }
  const std::shared_ptr<Line> line = known;
  line->asked.push_back({offer.ticket, bytes, monotonic_now() + wait_max_, std::move(on_blob)});
  if (line->asked.size() == 1) watch_first(line);
  if (!say(*line->socket, {.wish = HandleWish::Take, .ticket = offer.ticket})) end(line);
}

// The requester takes a copy instead.
void HandleClient::end(const std::shared_ptr<Line>& line) {
  if (line->ended) return;
  line->ended = true;
  line->timer.cancel();
  lines_.erase(line->desk);
  for (const Line::Asked& asked : std::exchange(line->asked, {})) asked.on_blob(nullptr);
}

void HandleClient::watch_first(const std::shared_ptr<Line>& line) {
  if (line->asked.empty()) return line->timer.cancel();
  line->timer.arm(line->asked.front().until, [this, weak = std::weak_ptr{line}] {
    if (const auto alive = weak.lock()) end(alive);
  });
}

void HandleClient::read_when_readable(const std::shared_ptr<Line>& line) {
  line->watch.when_readable([this, weak = std::weak_ptr{line}] {
    if (const auto alive = weak.lock(); alive != nullptr && !alive->ended) read(alive);
  });
}

void HandleClient::read(const std::shared_ptr<Line>& line) {
  for (;;) {
    // At most one reply at a time: then the received handle belongs to it.
    const std::span room = std::as_writable_bytes(std::span{&line->reply, 1}).subspan(line->received);
    Result<Received> received = receive_handles(*line->socket, room);
    if (!received && received.error().code == ErrorCode::WrongState) return read_when_readable(line);
    if (!received || received->bytes == 0) return end(line);
    line->received += received->bytes;
    for (Descriptor& handle : received->handles) line->handles.push_back(std::move(handle));
    if (line->received < sizeof line->reply) continue;
    line->received = 0;
    if (!take(*line, std::exchange(line->handles, {}))) return end(line);
    if (line->ended) return;
    watch_first(line);
  }
}

// False if the reply does not answer the request.
bool HandleClient::take(Line& line, std::vector<Descriptor> handles) {
  const HandleReply& reply = line.reply;
  if (reply.magic != kHandleMagic || line.asked.empty() || reply.ticket != line.asked.front().ticket) return false;
  const bool here = reply.status == TransferStatus::Here;
  // A process without free descriptors receives none.
  if (handles.size() > (here ? 1U : 0U) || (here && reply.bytes != line.asked.front().bytes)) return false;
  const Line::Asked asked = std::move(line.asked.front());
  line.asked.pop_front();
  Descriptor handle = handles.empty() ? Descriptor{} : std::move(handles.front());
  asked.on_blob(here ? map(line, std::move(handle), asked.bytes) : nullptr);
  return true;
}

std::shared_ptr<Blob> HandleClient::map(const Line& line, Descriptor handle, std::uint64_t bytes) const {
  auto hold = std::make_shared<const Hold>(line.socket, line.reply.ticket);
  if (!handle) return nullptr;
  Result<Segment> segment = Segment::adopt(std::move(handle), bytes);
  if (!segment) return nullptr;
  if (whom_ == MappedFor::Store) return Blob::of(std::move(segment).value());
  segment->close_handle();
  return Blob::of(std::move(segment).value(), std::move(hold));
}

}  // namespace penstock::worker
