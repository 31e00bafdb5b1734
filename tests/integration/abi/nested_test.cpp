// Runs that submit jobs of their own.
#include <gtest/gtest.h>

#include <string>

#include "client/include/penstock/client.hpp"
#include "common/host/clock.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"

namespace penstock::engine {
namespace {

Handle<std::string> add(GraphBuilder& graph, const std::string& payload) {
  return graph.add_as(graph.runner<std::string>({PENSTOCK_NESTING_RUNNER}), {.payload = payload});
}

std::string result_of(Client& client, const std::string& payload) {
  GraphBuilder graph;
  const auto handle = add(graph, payload);
  const Expected<Job> job = client.submit(std::move(graph));
  if (!job) return job.failure().text();
  const Expected<std::string> told = job.value().result(handle);
  return told ? told.value() : told.failure().text();
}

Client open(const ClientOptions& options) {
  Expected<Client> client = Client::open(options);
  EXPECT_TRUE(client) << (client ? "" : client.failure().text());
  return std::move(client).value();
}

TEST(Nested, ARecursionInOneSlotOfAnEmbeddedCluster) {
  Client client = open({.slots = 1});
  EXPECT_EQ(result_of(client, "fibonacci 9"), "34");
}

TEST(Nested, ARecursionInAClusterOfProcesses) {
  ClusterProcesses cluster;
  cluster.start_worker("one", {"--slots", "1"});
  cluster.start_worker("two", {"--slots", "1"});
  Client client = open({.address = cluster.address()});
  EXPECT_EQ(result_of(client, "fibonacci 7"), "13");
}

TEST(Nested, WhatIsNotDetachedEndsWithItsRun) {
  Client client = open({.slots = 1});
  EXPECT_EQ(result_of(client, "leave 0"), "left");
  Expected<Job> job = client.attach("detached");
  ASSERT_TRUE(job) << job.failure().text();
  EXPECT_EQ(job.value().wait().value(), JobState::Succeeded);
  const Instant late = monotonic_now() + std::chrono::seconds{30};
  std::string jobs;
  do {
    jobs = client.ask("jobs").value();
  } while (jobs != "[]" && monotonic_now() < late);
  EXPECT_EQ(jobs, "[]");
}

TEST(Nested, OutsideOfARunThereIsNone) {
  const Expected<Client> client = Client::in_run();
  ASSERT_FALSE(client);
  EXPECT_EQ(client.failure().code, "WrongState");
}

TEST(Nested, AClientNamesTheRunItself) {
  penstock_client_options own{};
  own.size = sizeof own;
  own.slots = 1;
  penstock_client* client = penstock_client_open(&own);
  ASSERT_NE(client, nullptr);
  penstock_job_options options{};
  options.size = sizeof options;
  options.parent_job = 1;
  for (const char* wrong : {"", "nonsense", "0123456789abcdef000000000000000f-1"}) {
    options.parent_attempt = wrong;
    EXPECT_EQ(penstock_submit(client, penstock_graph_new(), &options), -1);
    EXPECT_STREQ(penstock_last_error().name, "InvalidArgument") << wrong;
  }
  penstock_client_close(client);
}

}  // namespace
}  // namespace penstock::engine
