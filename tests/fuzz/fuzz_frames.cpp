// Frames: the header, introductions (with those that join), and every union of messages, also those of runners.
#include <algorithm>
#include <string>

#include "common/protocol/rights.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/codec_runner.hpp"
#include "common/wire/frame.hpp"
#include "supervisor/core/graph_shape.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace penstock {
namespace {

std::vector<std::uint64_t> words_of(const FramePayloadPtr& payload) {
  std::vector<std::uint64_t> words(payload->bytes().size() / 8);
  std::memcpy(words.data(), payload->bytes().data(), words.size() * 8);
  return words;
}

/// Decoded, encoded and decoded again it must be the same.
template <class Message, class Decode>
std::vector<Message> expect_the_same_again(std::span<const std::byte> bytes, const Decode& decode) {
  Result<std::vector<Message>> decoded = decode(bytes);
  if (!decoded) return {};
  const bool has_graph = std::any_of(decoded->begin(), decoded->end(), [](const Message& message) {
    if constexpr (std::is_same_v<Message, FromClient>) return std::holds_alternative<SubmitChunk>(message);
    return false;  // Columns that contradict each other are the intake's to refuse.
  });
  if (has_graph) return std::move(decoded).value();
  const std::vector<std::uint64_t> again = words_of(encode(std::span<const Message>{*decoded}));
  const Result<std::vector<Message>> second = decode(std::as_bytes(std::span{again}));
  fuzz_expect(second.has_value(), "messages that were decoded are refused when they are encoded");
  fuzz_expect(words_of(encode(std::span<const Message>{*second})) == again, "messages change on their way");
  return std::move(decoded).value();
}

void try_header(std::span<const std::uint64_t> words) {
  FrameHeaderBytes header{};
  const auto bytes = std::as_bytes(words);
  std::copy_n(bytes.begin(), std::min(bytes.size(), header.size()), header.begin());
  static_cast<void>(read_header(header, WireConfig{}));
}

void try_introduction(std::span<const std::byte> bytes) {
  const Result<Introduction> introduction = decode_introduction(bytes);
  if (!introduction) return;
  const std::vector<std::uint64_t> again = words_of(encode(*introduction));
  const Result<Introduction> second = decode_introduction(std::as_bytes(std::span{again}));
  fuzz_expect(second.has_value(), "an introduction that was decoded is refused when it is encoded");
  fuzz_expect(words_of(encode(*second)) == again, "an introduction changes on its way");
}

void try_messages_of_client(std::span<const std::byte> bytes) {
  for (const FromClient& message : expect_the_same_again<FromClient>(bytes, decode_from_client)) {
    for (const Role role : kRoles) static_cast<void>(check_right(role, message));
    if (const auto* chunk = std::get_if<SubmitChunk>(&message)) {
      supervisor::GraphIntake intake{GraphLimits{}};
      if (intake.add(chunk->graph)) static_cast<void>(intake.finish());
    }
  }
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;  // NOLINT: a function outside of all namespaces, by libFuzzer's design
  FuzzInput input{data, size};
  const std::uint8_t kind = input.byte();
  const std::vector<std::uint64_t> words = input.words();
  const std::span<const std::byte> bytes = std::as_bytes(std::span{words});
  switch (kind % 9) {
    case 0: try_header(words); break;
    case 1: try_introduction(bytes); break;
    case 2: try_messages_of_client(bytes); break;
    case 3: expect_the_same_again<FromWorker>(bytes, decode_from_worker); break;
    case 4: expect_the_same_again<ToWorker>(bytes, decode_to_worker); break;
    case 5: expect_the_same_again<ToClient>(bytes, decode_to_client); break;
    case 6: static_cast<void>(decode_graph(bytes)); break;
    case 7: static_cast<void>(decode_to_runner(bytes, kind / 9)); break;
    default: static_cast<void>(decode_from_runner(bytes, kind / 9));
  }
  return 0;
}
