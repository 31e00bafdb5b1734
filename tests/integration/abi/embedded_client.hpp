// A cluster inside the test, and jobs on it, by client.hpp.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "client/include/penstock/client.hpp"

namespace penstock::engine {

class EmbeddedClientTest : public ::testing::Test {
 public:
  explicit EmbeddedClientTest(std::uint32_t slots) : client(open(slots)) {}
  Job submit(GraphBuilder&& graph, const JobOptions& options = {}) {
    Expected<Job> job = client.submit(std::move(graph), options);
    EXPECT_TRUE(job) << (job ? "" : job.failure().text());
    return std::move(job).value();
  }

  Client client;

 private:
  static Client open(std::uint32_t slots) {
    Expected<Client> client = Client::open({.address = {}, .slots = slots});
    EXPECT_TRUE(client) << (client ? "" : client.failure().text());
    return std::move(client).value();
  }
};

}  // namespace penstock::engine
