#include "supervisor/core/worker_group.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

Register worker(const std::string& name, const std::string& host, std::vector<std::string> labels) {
  Register description;
  description.name = name;
  description.host = host;
  description.labels = std::move(labels);
  return description;
}

TEST(WorkerGroup, AHostIsAGroupOfItsWorkers) {
  const Register first = worker("w1", "h1", {"rack-1"});
  EXPECT_EQ(groups_of(first, "host"), (std::vector<WorkerGroup>{{true, "h1"}}));
  EXPECT_TRUE(is_in({true, "h1"}, worker("w2", "h1", {})));
  EXPECT_FALSE(is_in({true, "h1"}, worker("h1", "h2", {"h1"})));
  EXPECT_EQ(groups_of(worker("alone", "", {}), "host"), (std::vector<WorkerGroup>{{true, "alone"}}));
}

TEST(WorkerGroup, ALabelIsAGroupOfTheWorkersThatHaveIt) {
  const Register first = worker("w1", "h1", {"a100", "rack-1", "rack-2"});
  EXPECT_EQ(groups_of(first, "rack-*"), (std::vector<WorkerGroup>{{false, "rack-1"}, {false, "rack-2"}}));
  EXPECT_EQ(groups_of(first, "a100"), (std::vector<WorkerGroup>{{false, "a100"}}));
  EXPECT_EQ(groups_of(first, "row-*"), std::vector<WorkerGroup>{});
  EXPECT_TRUE(is_in({false, "rack-2"}, first));
  EXPECT_FALSE(is_in({false, "rack-3"}, first));
}

TEST(WorkerGroup, ItsTextNamesTheKind) {
  EXPECT_EQ(text_of({true, "h1"}), "host 'h1'");
  EXPECT_EQ(text_of({false, "rack-1"}), "label 'rack-1'");
}

TEST(WorkerGroup, TheTextOfPartsHasTheirSlots) {
  EXPECT_EQ(text_of(std::vector<GroupPart>{{{true, "h1"}, 4}}), "host 'h1'");
  EXPECT_EQ(text_of(std::vector<GroupPart>{{{true, "h1"}, 4}, {{true, "h2"}, 8}}), "host 'h1' (4), host 'h2' (8)");
}

}  // namespace
}  // namespace penstock::supervisor
