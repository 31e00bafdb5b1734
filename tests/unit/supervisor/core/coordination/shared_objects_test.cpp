#include "supervisor/core/coordination/shared_objects.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::seconds;
using Words = std::vector<std::string>;

/// The value, or else the first field.
std::string text_of(const Value& answer) {
  if (answer["value"].text() != nullptr) return *answer["value"].text();
  const Value& first = answer.record()->front().second;
  if (first.integer() != nullptr) return std::to_string(*first.integer());
  return *first.boolean() ? "yes" : "no";
}

class SharedObjectsTest : public ::testing::Test {
 protected:
  /// An answer that comes at once.
  std::string now(Words words, const std::string& token = "a") {
    words.push_back("--token=" + token);
    const Result<Value> answer = cluster.ask("shared", std::move(words));
    return answer ? text_of(*answer) : std::string{to_string(answer.error().code)} + ": " + answer.error().message;
  }
  /// A request that waits; its number.
  std::uint64_t wait_for(Words words, const std::string& token, ClientId client = ClientId{1}) {
    words.push_back("--token=" + token);
    if (std::none_of(words.begin(), words.end(), [](const auto& word) { return word.starts_with("--wait="); }))
      words.emplace_back("--wait=20");
    cluster.client_says(AdminRequest{++last_request, "shared", std::move(words), "ann@host"}, client);
    return last_request;
  }
  /// `NUMBER answer` of those that came since the last call.
  Words answers(ClientId client = ClientId{1}) {
    Words all;
    for (const AdminAnswer& answer : cluster.take_for<AdminAnswer>(client))
      all.push_back(std::to_string(answer.request) + " " + text_of(answer.value));
    return all;
  }

  SupervisorHarness cluster;
  std::uint64_t last_request = 100;
};

TEST_F(SharedObjectsTest, ASemaphoreHasSoManyHolders) {
  EXPECT_EQ(now({"acquire", "lock", "--holder=1", "--limit=2"}), "yes");
  EXPECT_EQ(now({"acquire", "lock", "--holder=2", "--limit=2"}, "b"), "yes");
  EXPECT_EQ(now({"acquire", "lock", "--holder=3", "--limit=2"}, "b"), "no");
  EXPECT_EQ(now({"acquire", "lock", "--holder=1", "--limit=2"}), "yes") << "asked again: it has it";
  EXPECT_EQ(now({"release", "lock", "--holder=3"}), "no");
  EXPECT_EQ(now({"release", "lock", "--holder=1"}), "yes");
  EXPECT_EQ(now({"acquire", "lock", "--holder=3", "--limit=2"}, "b"), "yes");
  EXPECT_EQ(now({"acquire", "lock", "--holder=4", "--limit=3"}), "InvalidArgument: has 2 places, not 3");
}

TEST_F(SharedObjectsTest, ThoseThatWaitForASemaphoreGetItInTheirOrder) {
  EXPECT_EQ(now({"acquire", "lock", "--holder=1"}), "yes");
  const std::uint64_t second = wait_for({"acquire", "lock", "--holder=2"}, "b");
  const std::uint64_t third = wait_for({"acquire", "lock", "--holder=3"}, "c");
  EXPECT_EQ(answers(), Words{});
  EXPECT_EQ(now({"release", "lock", "--holder=1"}), "yes");
  EXPECT_EQ(answers(), Words{std::to_string(second) + " yes"});
  EXPECT_EQ(now({"release", "lock", "--holder=2"}, "b"), "yes");
  EXPECT_EQ(answers(), Words{std::to_string(third) + " yes"});
}

TEST_F(SharedObjectsTest, AWaitIsOverAtItsTimeAndWithItsClient) {
  EXPECT_EQ(now({"acquire", "lock", "--holder=1", "--lease=1000"}), "yes");
  const std::uint64_t patient = wait_for({"acquire", "lock", "--holder=2", "--wait=5"}, "b");
  wait_for({"acquire", "lock", "--holder=3", "--wait=50"}, "c", ClientId{2});
  cluster.tick_after(seconds{6});
  EXPECT_EQ(answers(), Words{std::to_string(patient) + " no"});
  cluster.handle(supervisor_event::ClientGone{ClientId{2}});
  EXPECT_EQ(now({"release", "lock", "--holder=1"}), "yes");
  EXPECT_EQ(answers(ClientId{2}), Words{});
  EXPECT_EQ(now({"acquire", "lock", "--holder=4"}), "yes") << "nobody else waits";
}

TEST_F(SharedObjectsTest, WhatADeadSessionHoldsIsFreeWhenItsLeaseIsOver) {
  EXPECT_EQ(now({"acquire", "lock", "--holder=1", "--lease=5"}), "yes");
  const std::uint64_t waits = wait_for({"acquire", "lock", "--holder=2", "--lease=5", "--wait=60"}, "b");
  cluster.tick_after(seconds{4});
  EXPECT_EQ(now({"renew"}), "yes");
  cluster.tick_after(seconds{4});
  EXPECT_EQ(answers(), Words{}) << "its lease was renewed";
  cluster.tick_after(seconds{2});
  EXPECT_EQ(answers(), Words{std::to_string(waits) + " yes"}) << "one that waits is alive";
  EXPECT_EQ(now({"acquire", "lock", "--holder=1"}), "no");
}

TEST_F(SharedObjectsTest, AVariableIsWaitedForUntilItIsSet) {
  EXPECT_EQ(now({"get", "best"}), "no");
  const std::uint64_t one = wait_for({"get", "best"}, "b");
  const std::uint64_t other = wait_for({"get", "best"}, "c");
  EXPECT_EQ(now({"set", "best", "--value=7"}), "yes");
  EXPECT_EQ(answers(), (Words{std::to_string(one) + " 7", std::to_string(other) + " 7"}));
  EXPECT_EQ(now({"set", "best", "--value=8"}), "yes");
  EXPECT_EQ(now({"get", "best"}), "8");
  EXPECT_EQ(now({"delete", "best"}), "yes");
  EXPECT_EQ(now({"delete", "best"}), "no");
  EXPECT_EQ(now({"get", "best"}), "no");
}

TEST_F(SharedObjectsTest, AQueueIsTakenFromInOrderAndEachItemOnce) {
  EXPECT_EQ(now({"put", "work", "--number=1", "--value=x"}), "yes");
  EXPECT_EQ(now({"put", "work", "--number=2", "--value=y"}), "yes");
  EXPECT_EQ(now({"put", "work", "--number=2", "--value=y"}), "yes") << "asked again: it was put";
  EXPECT_EQ(now({"size", "work"}), "2");
  EXPECT_EQ(now({"take", "work", "--number=1"}, "b"), "x");
  EXPECT_EQ(now({"take", "work", "--number=1"}, "b"), "x") << "asked again: the same one";
  EXPECT_EQ(now({"take", "work", "--number=1"}, "c"), "y");
  EXPECT_EQ(now({"take", "work", "--number=2"}, "b"), "no");
  const std::uint64_t waits = wait_for({"take", "work", "--number=3"}, "b");
  EXPECT_EQ(now({"put", "work", "--number=3", "--value=z"}), "yes");
  EXPECT_EQ(answers(), Words{std::to_string(waits) + " z"});
}

// Found by a try: puts of several threads of one session overtook each other, and were taken for repeated ones.
TEST_F(SharedObjectsTest, PutsThatOvertakeEachOtherAllCount) {
  for (const char* number : {"2", "1", "3", "2"})
    EXPECT_EQ(now({"put", "work", std::string{"--number="} + number, std::string{"--value="} + number}), "yes");
  EXPECT_EQ(now({"size", "work"}), "3");
}

TEST_F(SharedObjectsTest, AnItemThatIsReturnedIsThereForOthersInItsPlace) {
  EXPECT_EQ(now({"put", "work", "--number=1", "--value=1"}), "yes");
  EXPECT_EQ(now({"put", "work", "--number=2", "--value=2"}), "yes");
  EXPECT_EQ(now({"take", "work", "--number=1"}, "b"), "1");
  const std::uint64_t second = wait_for({"take", "work", "--number=1"}, "c");
  const std::uint64_t waits = wait_for({"take", "work", "--number=1"}, "d");
  EXPECT_EQ(answers(), Words{std::to_string(second) + " 2"});
  EXPECT_EQ(now({"return", "work"}, "b"), "yes");
  EXPECT_EQ(answers(), Words{std::to_string(waits) + " 1"});
  EXPECT_EQ(now({"return", "work"}, "b"), "yes") << "it has none, and nothing happens";
}

// An interrupted wait took the next item, which was lost when its process took another one before it gave that back.
TEST_F(SharedObjectsTest, AWaitThatIsGivenUpTakesNothing) {
  const std::uint64_t interrupted = wait_for({"take", "work", "--number=1"}, "b");
  const std::uint64_t other = wait_for({"take", "work", "--number=2"}, "b");
  EXPECT_EQ(now({"return", "work", "--number=1"}, "b"), "yes");
  EXPECT_EQ(answers(), Words{std::to_string(interrupted) + " no"});
  EXPECT_EQ(now({"put", "work", "--number=1", "--value=x"}), "yes");
  EXPECT_EQ(answers(), Words{std::to_string(other) + " x"});
  EXPECT_EQ(now({"return", "work", "--number=1"}, "b"), "yes") << "the item that the session has is another one's";
  EXPECT_EQ(now({"size", "work"}), "0");

  EXPECT_EQ(now({"acquire", "lock", "--holder=1"}), "yes");
  const std::uint64_t waits = wait_for({"acquire", "lock", "--holder=2"}, "b");
  EXPECT_EQ(now({"release", "lock", "--holder=2"}, "b"), "no") << "it has none";
  EXPECT_EQ(answers(), Words{std::to_string(waits) + " no"});
  EXPECT_EQ(now({"release", "lock", "--holder=1"}), "yes");
  EXPECT_EQ(now({"holders", "lock"}), "0");
}

TEST_F(SharedObjectsTest, APlaceIsOfTheSessionThatHasTakenIt) {
  EXPECT_EQ(now({"acquire", "lock", "--holder=1"}), "yes");
  EXPECT_EQ(now({"acquire", "lock", "--holder=1"}, "b"), "InvalidArgument: is one of another session");
  EXPECT_EQ(now({"release", "lock", "--holder=1"}, "b"), "no");
  EXPECT_EQ(now({"holders", "lock"}), "1");
  EXPECT_EQ(now({"holders", "other"}), "0");
}

TEST_F(SharedObjectsTest, AnItemOfADeadSessionIsTakenByOthersInItsPlace) {
  for (const char* number : {"1", "2"})
    EXPECT_EQ(now({"put", "work", std::string{"--number="} + number, std::string{"--value="} + number, "--lease=1000"}),
              "yes");
  EXPECT_EQ(now({"take", "work", "--number=1", "--lease=5"}, "b"), "1");
  cluster.tick_after(seconds{6});
  EXPECT_EQ(now({"take", "work", "--number=1"}, "c"), "1");
  EXPECT_EQ(now({"acknowledge", "work"}, "c"), "yes");
  EXPECT_EQ(now({"leave"}, "c"), "yes");
  EXPECT_EQ(now({"take", "work", "--number=1"}, "d"), "2");
  EXPECT_EQ(now({"leave"}, "d"), "yes") << "what it took counts as acknowledged";
  EXPECT_EQ(now({"take", "work", "--number=1"}, "e"), "no");
}

TEST_F(SharedObjectsTest, AFullQueueIsWaitedForWhereEachWaitFreesAnother) {
  EXPECT_EQ(now({"put", "work", "--number=1", "--value=1", "--limit=1"}), "yes");
  EXPECT_EQ(now({"put", "work", "--number=2", "--value=2", "--limit=1"}), "no");
  const std::uint64_t puts = wait_for({"put", "work", "--number=2", "--value=2", "--limit=1"}, "a");
  const std::uint64_t also = wait_for({"put", "work", "--number=1", "--value=3", "--limit=1"}, "b");
  EXPECT_EQ(now({"take", "work", "--number=1"}, "c"), "1");
  EXPECT_EQ(answers(), Words{std::to_string(puts) + " yes"});
  const std::uint64_t takes = wait_for({"take", "work", "--number=2"}, "c");
  EXPECT_EQ(answers(), (Words{std::to_string(also) + " yes", std::to_string(takes) + " 2"}));
}

TEST_F(SharedObjectsTest, ASubscriberGetsWhatIsPublishedSinceItHasSubscribed) {
  EXPECT_EQ(now({"publish", "news", "--value=old"}), "0");
  EXPECT_EQ(now({"subscribe", "news"}, "b"), "yes");
  EXPECT_EQ(now({"subscribe", "news", "--lease=5"}, "c"), "yes");
  EXPECT_EQ(now({"publish", "news", "--value=one"}), "2");
  EXPECT_EQ(now({"publish", "news", "--value=two"}), "2");
  EXPECT_EQ(now({"next", "news", "--number=1"}, "b"), "one");
  EXPECT_EQ(now({"next", "news", "--number=2"}, "b"), "two");
  EXPECT_EQ(now({"next", "news", "--number=3"}, "b"), "no");
  EXPECT_EQ(now({"next", "news", "--number=1"}, "c"), "one");
  cluster.tick_after(seconds{6});
  EXPECT_EQ(now({"publish", "news", "--value=three"}), "1") << "the lease of one is over";
  EXPECT_EQ(now({"next", "news", "--number=1"}, "c"), "NotFound: is not there, or its session has ended");
  EXPECT_EQ(now({"unsubscribe", "news"}, "b"), "yes");
  EXPECT_EQ(now({"publish", "news", "--value=four"}), "0");
}

TEST_F(SharedObjectsTest, ASubscriberThatDoesNotReadKeepsTheLatest) {
  EXPECT_EQ(now({"subscribe", "news"}, "b"), "yes");
  for (int i = 0; i < 10'001; ++i) now({"publish", "news", "--value=" + std::to_string(i)});
  EXPECT_EQ(now({"next", "news", "--number=1"}, "b"), "1");
}

TEST(SharedObjectsLimits, ASubscriberThatDoesNotReadHoldsNobodyUp) {
  SupervisorConfig config;
  config.shared_bytes_max = Bytes{3514};  // Seven eighths: two sessions, a subscription, and three messages.
  SupervisorHarness cluster{config};
  ASSERT_TRUE(cluster.ask("shared", {"subscribe", "news", "--token=b"}));
  for (const char* number : {"1", "2", "3", "4", "5"}) {
    const Result<Value> published =
        cluster.ask("shared", {"publish", "news", std::string{"--value="} + number, "--token=a"});
    ASSERT_TRUE(published) << number << ": " << to_string(published.error());
  }
  const Result<Value> oldest = cluster.ask("shared", {"next", "news", "--number=1", "--token=b"});
  EXPECT_EQ(text_of(*oldest), "3") << "the older ones have made room";
}

// A consumer that begins when its queue has filled all that values may take finds a place.
TEST(SharedObjectsLimits, FullQueuesAreTakenFromByThoseThatBeginThen) {
  SupervisorConfig config;
  config.shared_bytes_max = Bytes{16 * 512};
  SupervisorHarness cluster{config};
  std::uint64_t put = 0;
  const auto fill = [&] {
    return cluster.ask("shared", {"put", "work", "--number=" + std::to_string(put + 1), "--value=", "--token=a"});
  };
  while (fill().has_value()) ++put;
  EXPECT_EQ(put, 13U);
  EXPECT_EQ(text_of(*cluster.ask("shared", {"take", "work", "--number=1", "--token=b"})), "");
}

TEST_F(SharedObjectsTest, AListHasSoManyRows) {
  for (int number = 0; number < 1100; ++number) now({"set", "v" + std::to_string(number), "--value="});
  EXPECT_EQ(cluster.ask("shared", {"list"})->list()->size(), 1000U);
  EXPECT_EQ(cluster.ask("shared", {"list", "--limit=5"})->list()->size(), 5U);
}

TEST_F(SharedObjectsTest, BadRequestsAreRefusedAndChangeNothing) {
  EXPECT_EQ(now({"acquire", "lock"}), "InvalidArgument: is missing");
  EXPECT_EQ(now({"acquire", "", "--holder=1"}), "InvalidArgument: is missing");
  EXPECT_EQ(now({"set", std::string(257, 'n'), "--value=1"}),
            "InvalidArgument: has control characters, or more than 256 bytes");
  EXPECT_EQ(now({"set", std::string{"a\0b", 3}, "--value=1"}),
            "InvalidArgument: has control characters, or more than 256 bytes");
  EXPECT_EQ(now({"take", "work"}), "InvalidArgument: is missing: count the items from 1");
  EXPECT_EQ(now({"get", "best", "--wait=soon"}), "InvalidArgument: 'soon' are no seconds");
  EXPECT_EQ(now({"get", "best", "--wait=nan"}), "InvalidArgument: 'nan' are no seconds");
  EXPECT_EQ(now({"shout", "best"}), "InvalidArgument: 'shout' is no operation on shared objects");
  EXPECT_EQ(now({"get", "best"}, ""), "InvalidArgument: is missing");
  EXPECT_TRUE(cluster.ask("shared", {"list"})->list()->empty());
}

TEST(SharedObjectsLimits, AValueAndAllValuesTogetherHaveLimits) {
  SupervisorConfig config;
  config.shared_value_max = Bytes{10};
  config.shared_bytes_max =
      Bytes{2369};  // Seven eighths: a session and three variables of 25 bytes, each with its names.
  SupervisorHarness cluster{config};
  const auto set = [&](const std::string& name, std::size_t bytes) {
    const Result<Value> answer =
        cluster.ask("shared", {"set", name, "--value=" + std::string(bytes, 'v'), "--token=a"});
    return answer ? std::string{"set"} : std::string{to_string(answer.error().code)} + ": " + answer.error().remedy;
  };
  EXPECT_EQ(set("a", 11), "LimitExceeded: let calls return large values, or raise supervisor.shared_value_max");
  EXPECT_EQ(set("a", 10), "set");
  EXPECT_EQ(set("b", 10), "set");
  EXPECT_EQ(set("c", 6),
            "LimitExceeded: take items from their queues, end waits, or raise supervisor.shared_bytes_max");
  EXPECT_EQ(set("c", 5), "set");
}

// However often a client sends something, memory has a limit.
TEST(SharedObjectsLimits, SessionsHoldersWaitsAndSubscribersHaveLimits) {
  SupervisorConfig config;
  config.shared_bytes_max = Bytes{20 * 512};
  for (const Words& words : std::vector<Words>{{"renew"},
                                               {"acquire", "lock", "--holder=#", "--limit=1000000"},
                                               {"get", "never", "--wait=10"},
                                               {"subscribe", "news"},
                                               {"put", "work", "--number=1", "--value="}}) {
    SupervisorHarness cluster{config};
    std::size_t refused = 0;
    for (std::uint64_t number = 0; number < 100; ++number) {
      Words with = words;
      for (std::string& word : with)
        if (word.ends_with('#')) word.back() = static_cast<char>('0' + number);
      with.push_back("--token=" + std::to_string(number));
      cluster.client_says(AdminRequest{number, "shared", with, "ann@host"});
      for (const AdminAnswer& answer : cluster.take_for<AdminAnswer>())
        refused += answer.refusal.code == ErrorCode::LimitExceeded ? 1U : 0U;
    }
    EXPECT_GE(refused, 80U) << words.front();
    cluster.tick_after(std::chrono::minutes{2});
    cluster.client_says(AdminRequest{1, "shared", {"set", "best", "--value=7", "--token=a"}, "ann@host"});
    EXPECT_TRUE(cluster.take_for<AdminAnswer>().back().refusal.message.empty()) << "sessions and waits have ended";
  }
}

TEST_F(SharedObjectsTest, AnOperatorSeesThem) {
  now({"acquire", "lock", "--holder=1", "--limit=3"});
  now({"set", "best", "--value=123"});
  now({"put", "work", "--number=1", "--value=x"});
  now({"subscribe", "news"}, "b");
  const Result<Value> rows = cluster.ask("shared", {"list"});
  ASSERT_EQ(rows->list()->size(), 4U);
  const Value& lock = rows->list()->front();
  EXPECT_EQ(*lock["holders"].integer(), 1);
  EXPECT_EQ(*lock["limit"].integer(), 3);
  EXPECT_EQ(cluster.ask("shared")->list()->size(), 4U);
  const Result<Value> some = cluster.ask("shared", {"list", "--begins=be"});
  ASSERT_EQ(some->list()->size(), 1U);
  EXPECT_EQ(*some->list()->front()["name"].text(), "best");
}

/// A client of a queue that repeats what was not answered, as the library does, over restarts of the supervisor.
struct QueueModel {
  std::string put(const std::string& session, std::uint64_t number) {
    const std::string value = session + std::to_string(number);
    if (say({"put", "work", "--number=" + std::to_string(number), "--value=" + value}, session) == "yes")
      sent.insert(value);
    return value;
  }
  void take(const std::string& session, std::uint64_t number, bool acknowledges) {
    const std::string value = say({"take", "work", "--number=" + std::to_string(number)}, session);
    if (value != "no") taken[value].insert({session, number});
    if (acknowledges) say({"acknowledge", "work"}, session);
  }
  std::string say(Words words, const std::string& session) {
    words.push_back("--token=" + session);
    cluster->client_says(AdminRequest{1, "shared", std::move(words), "ann@host"});
    cluster.write_all();
    const std::vector<AdminAnswer> answers = cluster->take_for<AdminAnswer>();
    return answers.size() == 1 && answers[0].value.record() != nullptr ? text_of(answers[0].value) : std::string{"?"};
  }

  JournalHarness cluster;
  std::set<std::string> sent;
  std::map<std::string, std::set<std::pair<std::string, std::uint64_t>>> taken;  ///< By session and number of the take.
};

TEST(SharedObjectsProperty, EachItemOfAQueueIsTakenOnceOverRestartsAndRepeatedRequests) {
  EXPECT_TRUE(rc::check("items are neither lost nor doubled", [](const std::vector<std::uint8_t>& steps) {
    QueueModel model;
    std::map<std::string, std::uint64_t> numbers;
    for (const std::uint8_t step : steps) {
      const std::string session{static_cast<char>('a' + step % 3)};
      std::uint64_t& number = numbers[session];
      switch (step / 3 % 6) {
        case 0: model.put(session, ++number); break;
        case 1: model.put(session, std::max<std::uint64_t>(number, 1)); break;  // Asked again.
        case 2: model.take(session, ++number, true); break;
        case 3: model.take(session, ++number, false); break;
        case 4: model.take(session, std::max<std::uint64_t>(number, 1), false); break;
        default: model.cluster.restart(); break;
      }
    }
    for (std::uint64_t last = 1000; model.say({"size", "work"}, "z") != "0"; ++last) model.take("z", last, true);
    RC_ASSERT(model.taken.size() == model.sent.size());
    for (const auto& [value, takes] : model.taken) RC_ASSERT(takes.size() == 1U);
  }));
}

// All of it is in the journal, and those that hold something have a lease to come back.
TEST(SharedObjectsJournal, TheyAreThereAfterARestart) {
  JournalHarness cluster;
  const auto say = [&](Words words, const std::string& token) {
    words.push_back("--token=" + token);
    cluster->client_says(AdminRequest{1, "shared", std::move(words), "ann@host"});
    cluster.write_all();
    const std::vector<AdminAnswer> answers = cluster->take_for<AdminAnswer>();
    return answers.size() == 1 && answers[0].value.record() != nullptr ? text_of(answers[0].value) : std::string{"?"};
  };
  EXPECT_EQ(say({"acquire", "lock", "--holder=1", "--limit=2"}, "a"), "yes");
  EXPECT_EQ(say({"acquire", "lock", "--holder=2", "--limit=2"}, "b"), "yes");
  EXPECT_EQ(say({"release", "lock", "--holder=2"}, "b"), "yes");
  EXPECT_EQ(say({"set", "best", "--value=7"}, "a"), "yes");
  EXPECT_EQ(say({"set", "gone", "--value=7"}, "a"), "yes");
  EXPECT_EQ(say({"delete", "gone"}, "a"), "yes");
  for (const std::string number : {"1", "2", "3"})
    EXPECT_EQ(say({"put", "work", "--number=" + number, "--value=w" + number}, "a"), "yes");
  EXPECT_EQ(say({"take", "work", "--number=1"}, "b"), "w1");
  EXPECT_EQ(say({"take", "work", "--number=2"}, "b"), "w2");
  EXPECT_EQ(say({"subscribe", "news"}, "b"), "yes");
  EXPECT_EQ(say({"publish", "news", "--value=one"}, "a"), "1");
  cluster.restart();
  EXPECT_EQ(say({"acquire", "lock", "--holder=3", "--limit=2"}, "c"), "yes");
  EXPECT_EQ(say({"acquire", "lock", "--holder=4", "--limit=2"}, "c"), "no") << "the first one has its place";
  EXPECT_EQ(say({"get", "best"}, "c"), "7");
  EXPECT_EQ(say({"get", "gone"}, "c"), "no");
  EXPECT_EQ(say({"take", "work", "--number=2"}, "b"), "w2") << "asked again: the answer may have been lost";
  EXPECT_EQ(say({"put", "work", "--number=2", "--value=w2"}, "a"), "yes") << "asked again, though it was taken";
  EXPECT_EQ(say({"take", "work", "--number=1"}, "c"), "w3");
  EXPECT_EQ(say({"next", "news", "--number=1"}, "b"), "one");
  EXPECT_EQ(say({"put", "work", "--number=1", "--value=w4"}, "d"), "yes");
  EXPECT_EQ(say({"take", "work", "--number=3"}, "b"), "w4") << "numbers of items go on";
  cluster->tick_after(seconds{31});
  cluster.write_all();
  EXPECT_EQ(say({"acquire", "lock", "--holder=4", "--limit=2"}, "c"), "yes") << "nobody has renewed the others";
}

}  // namespace
}  // namespace penstock::supervisor
