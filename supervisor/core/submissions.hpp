// Graphs that clients are sending: their number for each client, and their cost together.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/graph_shape.hpp"

namespace penstock::supervisor {

struct Job;

/// A graph under way is named by its client and the number that the client has given it.
struct SubmissionKey {
  Incarnation client;
  std::uint64_t number = 0;
  friend auto operator<=>(const SubmissionKey&, const SubmissionKey&) = default;
};

struct RefusedSubmission {
  SubmissionKey key;
  Error why;
  std::uint64_t arrived_bytes = 0;  ///< Memory that its chunks may take, until `freed` is told of it.
  Duration retry_after{0};          ///< If time undoes the reason.
};

/// A graph under way when its client was lost.
struct LeftSubmission {
  SubmissionKey key;
  std::uint64_t arrived_bytes = 0;  ///< Memory that its chunks may take, until `freed` is told of it.
};

/// The graphs under way of all clients, with their costs (`graph_price`): as announced by the first chunk, or by the
/// chunks so far when that is more. Decides which are refused, and holds none of them.
///
/// Always true between two calls: no client has more than `graph.submissions_max` under way, or such as cost more than
/// `graph.submissions_bytes_max` together; nor has a user by all of its clients more than `users.submissions_max` and
/// `users.submissions_bytes_max`. After `take` all of them cost no more than the rest of the memory. The
/// chunks of a graph that ended unchecked keep their memory until their check's thread has had a turn: while they do, a
/// new graph begins only where there is memory beside them. Cost: logarithmic in the graphs under way; linear when one
/// is refused. Single-threaded.
class Submissions {
 public:
  /// `memory_max`: the memory of graphs under way, kept graphs and jobs together; 0: no limit.
  Submissions(const GraphLimits& limits, Bytes memory_max, const UserLimits& users = {})
      : limits_(limits), users_(users), memory_max_(memory_max) {}

  /// A chunk has come. Returns the graphs that must be refused, which may be others than its own: those that break a
  /// limit of their client, their user or of graphs, and the dearest of all while they do not fit beside the
  /// `held_bytes` of graphs and jobs. `user`: of the graph; only that of its first chunk counts.
  std::vector<RefusedSubmission> take(const SubmissionKey& key, const SubmitChunk& chunk, std::uint64_t held_bytes,
                                      Instant now, const std::string& user);
  /// False after `take`: its own graph is refused, or was before.
  bool contains(const SubmissionKey& key) const { return under_way_.contains(key); }
  /// Submissions of which nothing has come for `graph.submission_idle_max`.
  std::vector<RefusedSubmission> take_idle(Instant now);
  /// When `take_idle` has something to return, unless more of it comes.
  std::optional<Instant> next_deadline() const;
  /// The graph has been checked.
  void end(const SubmissionKey& key);
  /// The client is gone. Returns its graphs under way.
  std::vector<LeftSubmission> end_all_of(Incarnation client);
  /// Chunks of a refused or left graph have given back their memory. REQUIRES: `bytes` is the graph's `arrived_bytes`,
  /// named once.
  void freed(std::uint64_t bytes) { ending_bytes_ -= bytes; }

 private:
  struct UnderWay {
    std::string name;
    std::string user;
    GraphSize size;
    std::uint64_t price = 0;
    Instant idle_at{};
    bool complete = false;  ///< All of it is here: it is being checked.
  };
  struct Sender {
    std::uint32_t count = 0;
    std::uint64_t price = 0;
  };
  using Graphs = std::map<SubmissionKey, UnderWay>;

  /// None: it has begun.
  std::optional<RefusedSubmission> begin(const SubmissionKey& key, const SubmitChunk& first, std::uint64_t held_bytes,
                                         const std::string& user);
  void refuse(Graphs::iterator graph, Error why, std::vector<RefusedSubmission>& refused);
  void set_price(Graphs::iterator graph, std::uint64_t price);
  void erase(Graphs::iterator graph);
  /// Erases a graph that has chunks in memory, and counts their bytes until `freed`. Returns these bytes.
  std::uint64_t erase_unchecked(Graphs::iterator graph);
  template <class Counts>
  Graphs::iterator dearest(Counts counts);

  const GraphLimits limits_;
  const UserLimits users_;
  const Bytes memory_max_;
  Graphs under_way_;
  std::map<Incarnation, Sender> senders_;  ///< Of those.
  std::map<std::string, Sender> by_user_;  ///< The same by their users.
  std::uint64_t price_ = 0;                ///< Of all of them.
  std::uint64_t ending_bytes_ = 0;         ///< `arrived_bytes` of all that are not freed.
};

/// The user of a graph under way: of one that a run submits, the owner of the run's job. `parent`: the job that it
/// names as that; null: there is none.
const std::string& user_of(const JobSpec& spec, const Job* parent);

/// The refusal of a graph or a job that is too dear. REQUIRES: `memory_max` is not 0.
Error over_memory(const std::string& name, std::uint64_t price, std::uint64_t used_bytes, Bytes memory_max);

}  // namespace penstock::supervisor
