// Translates messages to bytes and back. The only code that knows both `schema/` and `common/protocol`.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/assign.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/report.hpp"
#include "common/wire/frame.hpp"

namespace penstock {

using Introduction = std::variant<Hello, Welcome, Refusal, Join, Joined, SecurityNotice>;

/// Encodes a batch of messages as the payload of one frame. Never fails: every value of our structs can be encoded.
FramePayloadPtr encode(const Introduction& introduction);
FramePayloadPtr encode(std::span<const ToWorker> messages);
FramePayloadPtr encode(std::span<const FromWorker> messages);
FramePayloadPtr encode(std::span<const FromClient> messages);
FramePayloadPtr encode(std::span<const ToClient> messages);
/// The same for the journal and for tests: one graph or job alone.
std::vector<std::uint64_t> encode_graph(const Graph& graph);

/// Decodes the bytes of a peer. Every count, offset and enumerator is checked; the size of the bytes bounds work and
/// memory. Messages that only a newer peer of the same major version may send are left out. Error: MalformedFrame.
/// REQUIRES: the bytes are 8-byte aligned.
Result<Introduction> decode_introduction(std::span<const std::byte> bytes);
Result<std::vector<ToWorker>> decode_to_worker(std::span<const std::byte> bytes);
Result<std::vector<FromWorker>> decode_from_worker(std::span<const std::byte> bytes);
Result<std::vector<FromClient>> decode_from_client(std::span<const std::byte> bytes);
Result<std::vector<ToClient>> decode_to_client(std::span<const std::byte> bytes);
Result<Graph> decode_graph(std::span<const std::byte> bytes);

/// Approximate bytes of a message on the wire, for cutting batches into frames. Cheap, a little too high.
std::size_t wire_size(const ToWorker& message);
std::size_t wire_size(const FromWorker& message);
std::size_t wire_size(const FromClient& message);
std::size_t wire_size(const ToClient& message);

}  // namespace penstock
