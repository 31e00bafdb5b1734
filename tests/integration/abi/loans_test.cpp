// Loans over a state that was put back, by hand: nothing but the identity in a loan tells jobs of one number apart.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "client/include/penstock/client.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"

namespace penstock::engine {
namespace {

namespace fs = std::filesystem;

class LoansTest : public ::testing::Test {
 protected:
  Client open() {
    Expected<Client> client = Client::open({.address = cluster.address()});
    EXPECT_TRUE(client) << (client ? "" : client.failure().text());
    return std::move(client).value();
  }
  /// A job with a subtask 0 that makes `value`.
  static Job make(Client& client, const std::string& name, const std::string& value) {
    GraphBuilder graph;
    graph.value(value);
    Expected<Job> job = client.submit(std::move(graph), {.name = name});
    EXPECT_TRUE(job) << (job ? "" : job.failure().text());
    EXPECT_EQ(job->wait().value(), JobState::Succeeded);
    return std::move(job).value();
  }
  static Expected<std::string> read(Client& client, const Job& lender) {
    GraphBuilder graph;
    const auto borrowed = graph.borrow(lender, Handle<std::string>{});
    Expected<Job> job = client.submit(std::move(graph));
    if (!job) return job.failure();
    return job->result(borrowed);
  }

  ClusterProcesses cluster{{"--state", "state"}};
};

TEST_F(LoansTest, AJobThatWasGivenTheNumberSinceDoesNotLend) {
  cluster.start_worker("w1", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  Client client = open();
  const Job first = make(client, "first", "1");
  cluster.supervisor().signal_group(SIGSTOP);  // No file changes while it is copied.
  fs::copy(cluster.path_of("state"), cluster.path_of("backup"), fs::copy_options::recursive);
  cluster.supervisor().signal_group(SIGCONT);
  const Job lender = make(client, "lender", "old");
  EXPECT_EQ(read(client, lender).value(), "old");
  cluster.kill_supervisor();
  fs::remove_all(cluster.path_of("state"));
  fs::rename(cluster.path_of("backup"), cluster.path_of("state"));
  cluster.restart_supervisor();
  Client other = open();
  const Job thief = make(other, "thief", "new");
  ASSERT_EQ(thief.number(), lender.number()) << "the number is used again";
  ASSERT_TRUE(client.attach("first")) << "the client has found the next life";
  const Expected<std::string> refused = read(client, lender);
  ASSERT_FALSE(refused) << refused.value();
  EXPECT_EQ(refused.failure().code, "NotFound");
  EXPECT_NE(refused.failure().message.find("which is another job now"), std::string::npos) << refused.failure().text();
  const Expected<std::string> lent = read(other, thief);
  EXPECT_EQ(lent ? lent.value() : lent.failure().text(), "new");
}

}  // namespace
}  // namespace penstock::engine
