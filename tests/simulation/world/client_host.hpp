// The engine of the simulated world: submits graphs, follows its jobs, and gives orders.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/world/endpoint.hpp"

namespace penstock::simulation {

/// Submissions from this number on borrow from one of a number that is lower by as much.
inline constexpr std::uint32_t kReferencing = 1000;
/// Submissions from this number on are those of runs.
inline constexpr std::uint32_t kNested = 2000;
inline constexpr const char* kNestedName = "nested-";
/// Of the submissions of the second client, and so on.
inline constexpr std::uint32_t kNumbersOfAClient = 10'000;

/// Whether the submission of that number borrows.
constexpr bool is_referencing(std::uint64_t number) { return number >= kReferencing && number < 2 * kReferencing; }
/// Whether a run makes the submission of that number.
constexpr bool is_nested(std::uint64_t number) { return number >= kNested && number < kNested + kReferencing; }

/// An engine. Of several in a world the first one is the operators', too.
class ClientHost {
 public:
  /// `index`: from 0 on.
  ClientHost(class World& world, std::uint32_t index);
  void start();
  void arrive(const Frame& frame);
  Endpoint& endpoint() { return *endpoint_; }
  std::shared_ptr<const Graph> graph_of(std::uint64_t submission) { return book_.submitted[submission]; }
  std::shared_ptr<const Graph> graph_of(const std::string& name);
  /// As it was submitted; null while its answer has not come.
  const JobSpec* spec_of(JobId job) const;
  void order(AdminRequest request);
  /// A run that has just begun submits a job, now and then.
  void maybe_nest(const ParentRun& run);
  const std::vector<JobId>& jobs() const { return jobs_; }
  bool everything_submitted() const { return book_.accepted.size() == wanted_; }
  /// The numbers of what is not accepted; for people.
  std::string unsubmitted() const;
  /// Its connection to the supervisor is gone.
  void connection_broke(std::uint64_t connection);
  std::uint64_t connection() const { return connection_; }
  /// Of its present connection: production's client ends with its link.
  Incarnation incarnation() const { return Incarnation{2'000'000 + index_ * 100'000 + lives_}; }
  /// The process dies in the middle of what it does; `farewell`: its sockets are closed. Its next life knows by name
  /// what it had submitted.
  void die(Duration away, bool farewell);

 private:
  void draw_graph(std::uint32_t number);
  void draw_labels(std::uint32_t number);
  void reference(std::uint32_t number);
  void look_away(std::uint32_t number);
  bool gives_up(const SubmitReply& reply);
  bool forget_submission(std::uint64_t number);
  void release_producer_job(std::uint64_t referencing);
  void release(JobId job);
  bool releases_outputs(std::uint64_t number) const;
  void release_outputs(std::uint64_t number, std::uint32_t one_in);
  void release_some(std::uint32_t number);
  bool is_to_be_referenced(JobId job) const;
  void check_failures(const JobProgress& progress) const;
  std::shared_ptr<const Graph> draw_known(std::uint32_t number);
  void submit(std::uint32_t number);
  void connect();
  void connect_again();
  void follow_branch();
  bool is_of_this_branch() const;
  void told_anew(JobId job);
  void is_gone(std::uint64_t number, const Error& why);
  void send(FromClient message);
  void plan_link_tick();
  void receive(const MessagePtr& message);

  class World& world_;
  const std::uint32_t index_;
  std::uint64_t lives_ = 0;
  std::unique_ptr<Endpoint> endpoint_;
  Instant wire_{};
  /// Its submissions by their numbers.
  struct Submissions {
    std::map<std::uint64_t, std::shared_ptr<const Graph>> submitted;
    std::map<std::uint64_t, JobSpec> specs;
    std::map<std::uint64_t, JobId> accepted;
    std::map<std::uint64_t, JobId> producer_jobs;  ///< Of submissions that borrow.
    std::map<std::uint64_t, JobIdentity> identities;
    std::set<std::uint64_t> again;       ///< Submissions that name a graph instead of sending it.
    std::set<std::uint64_t> sent_whole;  ///< Submissions that named one in vain.
  };
  Submissions book_;
  std::set<JobId> ended_;
  std::set<JobId> had_ended_;       ///< Before the state was put back.
  std::uint64_t branch_ = 1;        ///< Of the state that it knows.
  std::vector<FromClient> unsent_;  ///< While there is no connection.
  std::uint64_t connection_ = 0;
  std::vector<JobId> jobs_;
  std::uint32_t wanted_ = 0;
  std::uint32_t nested_ = 0;  ///< Submissions of runs.
  std::uint32_t graph_max_ = ~0U;  ///< Subtasks of a graph; small in worlds of many jobs.
};

}  // namespace penstock::simulation
