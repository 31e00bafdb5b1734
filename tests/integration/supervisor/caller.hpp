// A connection by hand to a supervisor: with any credential, any introduction and any message.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "common/net/secure_stream.hpp"
#include "common/wire/codec.hpp"
#include "tests/support/turn_until.hpp"

namespace penstock {

/// Introduces itself, sends, and keeps what it hears.
class Caller {
 public:
  /// `next`: messages that are sent together with the introduction, without waiting for its answer; null: none.
  Caller(Loop& loop, std::uint16_t port, std::shared_ptr<const TlsClient> tls, Introduction introduction,
         FramePayloadPtr next = nullptr)
      : connector_(loop, WireConfig{}, {"127.0.0.1", port}, std::move(tls), std::chrono::seconds{5},
                   [this, introduction = std::move(introduction),
                    next = std::move(next)](Result<std::unique_ptr<Connection>> result) {
                     if (!result) {
                       end = result.error();
                       return;
                     }
                     connection_ = std::move(result).value();
                     connection_->start([this](const FrameHeader& header,
                                               std::span<const std::byte> payload) { hear(header, payload); },
                                        [this](const Error& error) { end = error; });
                     if (const auto* hello = std::get_if<Hello>(&introduction))
                       self_ = hello->incarnation, self_role_ = hello->role;
                     send(FrameKind::Introduction, encode(introduction));
                     if (next != nullptr) send(FrameKind::Messages, next);
                   }) {}

  void send(FrameKind kind, FramePayloadPtr payload) {
    connection_->send(kind, {self_, kind == FrameKind::Messages ? ++sequence_ : 0, 0}, std::move(payload));
  }
  template <class Message>
  void say(const std::vector<Message>& messages) {
    send(FrameKind::Messages, encode(std::span{messages}));
  }
  bool over() const { return answer.has_value() || end.has_value(); }
  bool welcome() const { return answer.has_value() && std::holds_alternative<Welcome>(*answer); }
  /// Why it was not welcome, by whichever side has refused.
  ErrorCode refused() const {
    if (answer.has_value() && std::holds_alternative<Refusal>(*answer)) return std::get<Refusal>(*answer).error.code;
    return end.has_value() ? end->code : ErrorCode::Internal;
  }

  /// The numbers of the latest messages that were sent, and that the other side has read.
  std::uint64_t sent() const { return sequence_; }
  std::uint64_t acknowledged() const { return acknowledged_; }

  std::optional<Introduction> answer;
  std::vector<ToClient> told;
  std::vector<ToWorker> orders;  ///< Where it introduces itself as a worker.
  std::vector<SecurityNotice> notices;
  std::optional<std::size_t> first_order_after;  ///< So many notices had come before the first order.
  std::optional<Error> end;

 private:
  void hear(const FrameHeader& header, std::span<const std::byte> payload) {
    if (header.kind == FrameKind::Introduction) {
      const Introduction introduction = *decode_introduction(payload);
      if (const auto* notice = std::get_if<SecurityNotice>(&introduction))
        notices.push_back(*notice);
      else
        answer = introduction;
    }
    acknowledged_ = std::max(acknowledged_, header.link.acknowledged);
    if (header.kind != FrameKind::Messages) return;
    if (self_role_ == PeerRole::Worker) {
      const auto heard = decode_to_worker(payload);
      if (!first_order_after) first_order_after = notices.size();
      if (heard) orders.insert(orders.end(), heard->begin(), heard->end());
      return;
    }
    const auto messages = decode_to_client(payload);
    if (messages) told.insert(told.end(), messages->begin(), messages->end());
  }
  Connector connector_;
  std::unique_ptr<Connection> connection_;
  Incarnation self_{77};
  PeerRole self_role_ = PeerRole::Client;
  std::uint64_t sequence_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace penstock
