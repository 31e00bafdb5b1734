// A process that gets no more memory while a graph is checked.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cstdint>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "common/loop/actor_host.hpp"
#include "common/loop/mail.hpp"
#include "supervisor/actors/supervisor_actor.hpp"
#include "tests/support/turn_until.hpp"

namespace penstock::supervisor {
namespace {

/// While it lives, the process gets no more than so much further memory.
class LittleMemory {
 public:
  explicit LittleMemory(Bytes more) {
    ::getrlimit(RLIMIT_AS, &before_);
    std::int64_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    const rlimit little{static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + more.value()), before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &little);
  }
  ~LittleMemory() { ::setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit before_{};
};

ClientHandle::behavior_type client_behavior(ClientHandle::pointer, std::vector<ToClient>* heard) {
  return {
      [heard](const ToClientMail& mail) { heard->insert(heard->end(), mail.messages->begin(), mail.messages->end()); }};
}

/// Subtasks with a payload of 2 MiB each.
SubmitChunk chunk_of(std::uint32_t subtasks) {
  SubmitChunk chunk;
  chunk.submission = 1;
  chunk.first = chunk.last = true;
  chunk.spec.name = "graph";
  chunk.graph.templates.resize(1);
  chunk.graph.templates[0].program = "noop";
  chunk.graph.template_of.assign(subtasks, 0);
  chunk.graph.input_offsets.assign(subtasks + 1, 0);
  for (std::uint32_t i = 0; i <= subtasks; ++i) chunk.graph.payload_offsets.push_back(i << 21U);
  chunk.graph.payloads.resize(std::size_t{subtasks} << 21U);
  return chunk;
}

TEST(GraphCheckMemory, AGraphWhoseCheckFailsIsRefusedAndTheSupervisorGoesOn) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer ends a process that gets no memory";
#endif
  Loop loop{Duration{0}};
  ActorHost actors{loop};
  std::vector<ToClient> heard;
  ClientHandle client = actors.system().spawn(client_behavior, &heard);
  SupervisorHandle supervisor = spawn_supervisor(actors.system(), loop, {{}, Rng{1}, nullptr});
  const auto send = [&](SubmitChunk&& chunk) {
    auto messages = std::make_shared<std::vector<FromClient>>();
    messages->emplace_back(std::move(chunk));
    caf::send_as(client, supervisor, FromClientMail{Incarnation{7}, std::move(messages)});
  };
  // Two chunks of 64 MiB, which the check copies to one place.
  SubmitChunk first = chunk_of(32);
  SubmitChunk last = first;
  first.last = last.first = false;
  last.graph.templates.clear();
  send(std::move(first));
  while (loop.turn()) {
  }
  {
    const LittleMemory little{kMiB * 32};
    send(std::move(last));
    EXPECT_TRUE(turn_until(loop, [&] { return !heard.empty(); }));
  }
  send(chunk_of(1));
  EXPECT_TRUE(turn_until(loop, [&] { return heard.size() == 2; }));
  ASSERT_EQ(heard.size(), 2U);
  const Error& refusal = std::get<SubmitReply>(heard[0]).refusal;
  EXPECT_NE(refusal.message.find("bad_alloc"), std::string::npos) << to_string(refusal);
  EXPECT_EQ(to_string(std::get<SubmitReply>(heard[1]).refusal), to_string(Error{}));
  end_actor(client);
  end_actor(supervisor);
}

}  // namespace
}  // namespace penstock::supervisor
