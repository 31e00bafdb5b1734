// A large datum passes from the subtask that makes it to the next one without a copy: resident memory shows it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "client/include/penstock/client.hpp"

namespace penstock::engine {
namespace {

// PENSTOCK_HANDOVER_MIB=1024 for the figure of docs/data-plane.md.
std::uint64_t datum_bytes() {
  const char* wanted = std::getenv("PENSTOCK_HANDOVER_MIB");  // tidy: allow call: a test has no configuration file
  return (wanted == nullptr ? 64 : std::strtoull(wanted, nullptr, 10)) << 20U;
}

// Of this process, in bytes: `VmRSS` now, `VmHWM` at most since `forget_peak`.
std::uint64_t resident(const std::string& which) {
  std::ifstream status{"/proc/self/status"};
  std::uint64_t kib = 0;
  for (std::string word; status >> word;)
    if (word == which + ":" && status >> kib) return kib << 10U;
  return 0;
}
void forget_peak() { std::ofstream{"/proc/self/clear_refs"} << "5"; }

// The most by which resident memory grows, as a part of the datum's size, while one subtask makes the datum and `next`
// adds it up.
double growth(Client& client, const std::string& next) {
  const std::uint64_t bytes = datum_bytes();
  GraphBuilder graph;
  const auto make = graph.operation<std::string>("make");
  const auto made = graph.add_with(make, std::string_view{reinterpret_cast<const char*>(&bytes), sizeof bytes});
  const auto sum = graph.add(graph.operation<std::uint64_t>(next), made);
  forget_peak();
  const std::uint64_t before = resident("VmRSS");
  Expected<Job> job = client.submit(std::move(graph));
  EXPECT_TRUE(job) << (job ? "" : job.failure().text());
  if (!job) return 0;
  const Expected<std::uint64_t> result = job->result(sum);
  EXPECT_TRUE(result) << (result ? "" : result.failure().text());
  EXPECT_EQ(result ? result.value() : 0, bytes);
  const double grown = static_cast<double>(resident("VmHWM") - before) / static_cast<double>(bytes);
  ::testing::Test::RecordProperty("growth_of_" + next, std::to_string(grown));
  return grown;
}

TEST(Handover, ALargeDatumIsSummedByTheNextSubtaskWithoutACopy) {
  // A client for each, so that the second finds no memory that the first has left.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps memory of its own";
#endif
  const ClientOptions options{.slots = 2, .operators = {PENSTOCK_LARGE_OPERATORS}};
  double shared = 0;
  double copied = 0;
  {
    Expected<Client> client = Client::open(options);
    ASSERT_TRUE(client);
    shared = growth(*client, "sum");
  }
  {
    Expected<Client> client = Client::open(options);
    ASSERT_TRUE(client);
    copied = growth(*client, "sum_of_copy");
  }
  std::printf("resident memory grew by %.2f times the datum; with one copy by %.2f\n", shared, copied);
  EXPECT_GT(shared, 0.9);
  EXPECT_LT(shared, 1.5);
  EXPECT_GT(copied, 1.9);  // A copy would have been noticed.
}

// 40 % of 20 MiB are for data: they hold four of the twelve, and the others are on disk when they are wanted.
TEST(Handover, WhatAClusterInsideAProcessHasNoMemoryForGoesToDiskAndComesBack) {
  Expected<Client> client =
      Client::open({.slots = 2, .operators = {PENSTOCK_LARGE_OPERATORS}, .memory_bytes = 20 << 20});
  ASSERT_TRUE(client);
  const std::uint64_t bytes = 2 << 20;
  const std::string_view size{reinterpret_cast<const char*>(&bytes), sizeof bytes};
  GraphBuilder graph;
  const auto make = graph.operation<std::string>("make");
  std::vector<Handle<std::string>> made;
  for (int i = 0; i < 12; ++i) made.push_back(graph.add_with(make, size));
  for (const auto handle : made) graph.want(handle);
  Expected<Job> job = client->submit(std::move(graph));
  ASSERT_TRUE(job);
  for (const auto handle : made) {
    const Expected<Datum> datum = job->datum(handle);
    ASSERT_TRUE(datum) << datum.failure().text();
    EXPECT_EQ(datum.value().bytes().size(), bytes);
    EXPECT_EQ(datum.value().bytes().back(), std::byte{1});
  }
}

TEST(Handover, AnOutputLargerThanTheStoreOfAClusterInsideAProcessFailsWithTheNumbers) {
  Expected<Client> client =
      Client::open({.slots = 2, .operators = {PENSTOCK_LARGE_OPERATORS}, .memory_bytes = 20 << 20});
  ASSERT_TRUE(client);
  const std::uint64_t bytes = 9 << 20;
  GraphBuilder graph;
  const auto make = graph.operation<std::string>("make");
  const auto made = graph.add_with(make, std::string_view{reinterpret_cast<const char*>(&bytes), sizeof bytes});
  Expected<Job> job = client->submit(std::move(graph));
  ASSERT_TRUE(job);
  const Expected<Datum> datum = job->datum(made);
  ASSERT_FALSE(datum);
  EXPECT_NE(datum.failure().text().find("store_bytes_max"), std::string::npos) << datum.failure().text();
}

}  // namespace
}  // namespace penstock::engine
