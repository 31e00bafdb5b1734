// Fault F18 for as long as one likes: anything that a hostile peer may send goes through the frame checks and every
// decoder, and the decoded messages go into the cores. Ends with an error at the first result that does not decode to
// itself again; a sanitizer or a check ends it otherwise.
//
//   wire_fuzz SECONDS [SEED]
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

#include "common/base/rng.hpp"
#include "common/host/clock.hpp"
#include "supervisor/core/supervisor_core.hpp"
#include "tests/unit/common/wire/wire_samples.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock {
namespace {

using Bytes8 = std::vector<std::uint64_t>;  // As frames are: whole words, aligned.

std::span<const std::byte> bytes_of(const Bytes8& words) { return std::as_bytes(std::span{words}); }

Bytes8 words_of(const FramePayloadPtr& payload) {
  Bytes8 words(payload->bytes().size() / 8);
  std::memcpy(words.data(), payload->bytes().data(), payload->bytes().size());
  return words;
}

std::vector<Bytes8> corpus() {
  const auto to_worker = all_to_worker();
  const auto from_worker = all_from_worker();
  const auto from_client = all_from_client();
  const auto to_client = all_to_client();
  std::vector<Bytes8> samples{words_of(encode(std::span{to_worker})), words_of(encode(std::span{from_worker})),
                              words_of(encode(std::span{from_client})), words_of(encode(std::span{to_client}))};
  for (const Introduction& introduction : all_introductions()) samples.push_back(words_of(encode(introduction)));
  // One message alone leaves the mutations more of what they aim at.
  for (const FromWorker& message : from_worker) samples.push_back(words_of(encode(std::span{&message, 1})));
  for (const FromClient& message : from_client) samples.push_back(words_of(encode(std::span{&message, 1})));
  for (const ToWorker& message : to_worker) samples.push_back(words_of(encode(std::span{&message, 1})));
  return samples;
}

/// Flipped bits, pointers to anywhere, absurd counts, parts of other messages, and ends that are missing.
Bytes8 mutate(const std::vector<Bytes8>& samples, Rng& rng) {
  Bytes8 words = samples[rng.below(samples.size())];
  const auto somewhere = [&] { return rng.below(words.size()); };
  for (std::uint64_t changes = 1 + rng.below(6); changes-- > 0 && !words.empty();) {
    switch (rng.below(8)) {
      case 0: words[somewhere()] ^= std::uint64_t{1} << rng.below(64); break;
      case 1: words[somewhere()] = rng.next(); break;
      case 2: words[somewhere()] |= 0xffffffffULL << (32 * rng.below(2)); break;
      case 3: words[somewhere()] = words[somewhere()]; break;  // A pointer into what is another's, or to itself.
      case 4:
        words[somewhere()] = (rng.below(words.size()) << 2U) | (rng.below(8) << 32U) | (rng.below(64) << 35U) | 1;
        break;
      case 5: words[somewhere()] = ~std::uint64_t{0} << (2 + rng.below(20)); break;  // A struct behind itself.
      case 6: words.resize(somewhere()); break;
      default: {
        const Bytes8& other = samples[rng.below(samples.size())];
        const std::uint64_t count = rng.below(std::min(words.size(), other.size())) + 1;
        std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(rng.below(other.size() - count + 1)), count,
                    words.begin() + static_cast<std::ptrdiff_t>(rng.below(words.size() - count + 1)));
      }
    }
  }
  return words;
}

/// Decoded, encoded and decoded again it must be the same: nothing of it is half there.
template <class Message, class Decode>
bool comes_back(const Bytes8& words, const Decode& decode, std::vector<Message>& messages) {
  Result<std::vector<Message>> decoded = decode(bytes_of(words));
  if (!decoded) return true;
  messages = std::move(decoded).value();
  // Columns of a chunk that contradict each other are the intake's to refuse; nobody sends such a graph on.
  if constexpr (std::is_same_v<Message, FromClient>)
    for (const Message& message : messages)
      if (std::holds_alternative<SubmitChunk>(message)) return true;
  const Bytes8 again = words_of(encode(std::span<const Message>{messages}));
  const Result<std::vector<Message>> second = decode(bytes_of(again));
  if (!second) {
    std::fprintf(stderr, "wire_fuzz: what was decoded is refused when it is encoded: %s\n",
                 to_string(second.error()).c_str());
    return false;
  }
  // By their bytes: a column that says nothing may be there or not, and a number that is none equals nothing.
  if (words_of(encode(std::span<const Message>{*second})) == again) return true;
  std::fprintf(stderr, "wire_fuzz: of %zu messages one changes\n", messages.size());
  return false;
}

void try_frame(const Bytes8& words, Rng& rng) {
  FramePayload payload{words};
  FrameHeaderBytes header = write_header(FrameKind::Messages, {Incarnation{1}, 1, 0}, payload);
  if (rng.chance(1, 2)) header[rng.below(header.size())] ^= static_cast<std::byte>(1U << rng.below(8));
  const Result<FrameHeader> read = read_header(header, WireConfig{});
  if (read && read->payload_bytes == payload.bytes().size())
    static_cast<void>(check_payload(header, *read, payload.bytes()).has_value());
}

/// A supervisor with two workers and a graph under way, that believes what was decoded to come from them.
class Victims {
 public:
  Victims() {
    begin_supervisor();
    begin_worker();
  }

  void hear(const FromWorker& message) {
    feed(supervisor::supervisor_event::WorkerSaid{WorkerId{1 + static_cast<std::uint32_t>(heard_ % 2)}, message});
  }
  void hear(const FromClient& message) {
    feed(supervisor::supervisor_event::ClientSaid{ClientId{1}, message});
    if (const auto* chunk = std::get_if<SubmitChunk>(&message)) submit(chunk->spec, chunk->graph);
  }
  void hear(const ToWorker& message) {
    Actions<worker::WorkerAction> actions;
    now_ += std::chrono::milliseconds{1};
    worker_->handle(worker::worker_event::MessageArrived{message}, now_, actions);
    if (++heard_ % 4096 == 0) begin_worker();
  }

 private:
  void begin_supervisor() {
    SupervisorConfig config;
    config.graph.subtasks_max = 100'000;
    supervisor_ = std::make_unique<supervisor::SupervisorCore>(config, Rng{1}, supervisor::Durability::None);
    const std::vector<FromWorker> samples = all_from_worker();
    const auto& description = std::get<Register>(samples[0]);
    for (std::uint32_t i = 1; i <= 2; ++i) {
      Register named = description;
      named.name += std::to_string(i);
      named.reclaims = false;
      feed(supervisor::supervisor_event::WorkerJoined{WorkerId{i}, Incarnation{i}, named});
    }
    Graph graph;
    graph.templates = {Template{}};
    graph.template_of.assign(20, 0);
    graph.input_offsets.assign(21, 0);
    submit({"graph", "owner", 0, Keep::Sinks, true}, graph);
  }
  void begin_worker() {
    BandDescription band;
    band.name = "numa-0";
    band.capacity.slots = kOneSlot;
    band.capacity.memory = band.memory_hard_limit = kGiB;
    worker_ = std::make_unique<worker::WorkerCore>(WorkerConfig{}, std::vector<BandDescription>{band});
  }
  void submit(const JobSpec& spec, const Graph& graph) {
    supervisor::GraphIntake intake{GraphLimits{}};
    if (!intake.add(graph)) return;
    Result<std::unique_ptr<supervisor::GraphShape>> shape = intake.finish();
    if (shape)
      feed(supervisor::supervisor_event::GraphChecked{ClientId{1}, heard_, spec, std::move(shape).value(), {}});
  }
  void feed(supervisor::SupervisorEvent&& event) {
    Actions<supervisor::SupervisorAction> actions;
    now_ += std::chrono::milliseconds{1};
    supervisor_->handle(std::move(event), now_, actions);
    if (++heard_ % 64 == 0) supervisor_->validate();
    if (heard_ % 4096 == 0) begin_supervisor();
  }

  std::uint64_t heard_ = 0;
  Instant now_ = instant_at(std::chrono::seconds{1});
  std::unique_ptr<supervisor::SupervisorCore> supervisor_;
  std::unique_ptr<worker::WorkerCore> worker_;
};

template <class Message, class Decode>
bool survive(const Bytes8& words, const Decode& decode, Victims& victims, std::uint64_t& believed) {
  std::vector<Message> messages;
  if (!comes_back(words, decode, messages)) return false;
  if constexpr (!std::is_same_v<Message, ToClient>)
    for (const Message& message : messages) {
      victims.hear(message);
      ++believed;
    }
  return true;
}

int run(std::uint64_t seconds, std::uint64_t seed) {
  const std::vector<Bytes8> samples = corpus();
  Rng rng{seed};
  Victims victims;
  std::uint64_t frames = 0;
  std::uint64_t believed = 0;
  const Instant end = monotonic_now() + std::chrono::seconds{seconds};
  for (; frames % 256 != 0 || monotonic_now() < end; ++frames) {
    const Bytes8 words = mutate(samples, rng);
    try_frame(words, rng);
    static_cast<void>(decode_introduction(bytes_of(words)).has_value());
    const bool same = survive<ToWorker>(words, decode_to_worker, victims, believed) &&
                      survive<FromWorker>(words, decode_from_worker, victims, believed) &&
                      survive<FromClient>(words, decode_from_client, victims, believed) &&
                      survive<ToClient>(words, decode_to_client, victims, believed);
    if (same) continue;
    std::fprintf(stderr, "wire_fuzz: frame %llu of seed %llu does not come back as it was\n",
                 static_cast<unsigned long long>(frames), static_cast<unsigned long long>(seed));
    return 1;
  }
  std::printf("{\"frames\": %llu, \"believed\": %llu}\n", static_cast<unsigned long long>(frames),
              static_cast<unsigned long long>(believed));
  return 0;
}

std::uint64_t number_of(const char* text) {
  std::uint64_t number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace
}  // namespace penstock

int main(int count, char** values) {
  if (count < 2) return 2;
  return penstock::run(penstock::number_of(values[1]), count > 2 ? penstock::number_of(values[2]) : 1);
}
