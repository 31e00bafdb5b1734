#include "supervisor/core/submissions.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/base/quantity.hpp"
#include "supervisor/core/graph_price.hpp"
#include "supervisor/core/job.hpp"

namespace penstock::supervisor {
namespace {

std::string text_of(std::uint64_t bytes) { return to_text(Bytes{static_cast<std::int64_t>(bytes)}); }

Error over_share(const std::string& name, std::uint64_t price, Bytes most) {
  return {ErrorCode::LimitExceeded, "graph of '" + name + "'",
          "would take up to " + text_of(price) +
              " of memory, and the graphs that one client submits at once may take " + to_text(most) + " together",
          "wait for an answer before submitting more, or raise `graph.submissions_bytes_max`"};
}

Error over_users_share(const std::string& name, const std::string& user, std::uint64_t price, Bytes most) {
  return {ErrorCode::LimitExceeded, "graph of '" + name + "'",
          "would take up to " + text_of(price) + " of memory, and the graphs that user '" + user +
              "' submits at once may take " + to_text(most) + " together, which is `users.submissions_bytes_max`",
          "wait for an answer before submitting more, or raise `users.submissions_bytes_max`"};
}

/// A graph of a few chunks is checked sooner.
constexpr Duration kUsersTurn = std::chrono::milliseconds{100};

Error too_many_of_user(const std::string& user, std::uint32_t most) {
  return {ErrorCode::LimitExceeded, "user '" + user + "'",
          "submits " + std::to_string(most) + " graphs at once already, which is `users.submissions_max`",
          "wait for an answer before submitting more, or raise `users.submissions_max`"};
}

}  // namespace

// Numbers can be guessed: the identity of the parent is a secret.
const std::string& user_of(const JobSpec& spec, const Job* parent) {
  const bool is_nested = spec.parent.any() && parent != nullptr && parent->identity == spec.parent->identity;
  return is_nested ? parent->spec.owner : spec.owner;
}

Error over_memory(const std::string& name, std::uint64_t price, std::uint64_t used_bytes, Bytes memory_max) {
  const auto all = static_cast<std::uint64_t>(memory_max.value());
  return {ErrorCode::LimitExceeded, "graph of '" + name + "'",
          "would take up to " + text_of(price) + " of memory, and of the " + to_text(memory_max) +
              " that graphs and jobs may take " + text_of(all - std::min(all, used_bytes)) + " are left",
          "submit it in parts or later, or raise `supervisor.memory_max`"};
}

/// Of two that cost the same the later one goes.
template <class Counts>
Submissions::Graphs::iterator Submissions::dearest(Counts counts) {
  auto found = under_way_.end();
  for (auto graph = under_way_.begin(); graph != under_way_.end(); ++graph)
    if (counts(*graph) && (found == under_way_.end() || graph->second.price >= found->second.price)) found = graph;
  return found;
}

std::vector<RefusedSubmission> Submissions::take(const SubmissionKey& key, const SubmitChunk& chunk,
                                                 std::uint64_t held_bytes, Instant now, const std::string& user) {
  if (!contains(key)) {
    if (!chunk.first) return {};  // The rest of a graph that was refused already.
    if (std::optional<RefusedSubmission> refused = begin(key, chunk, held_bytes, user)) return {std::move(*refused)};
  }
  const auto graph = under_way_.find(key);
  const std::string sender = graph->second.user;
  graph->second.idle_at = later(now, limits_.submission_idle_max);
  graph->second.complete = chunk.last;
  if (Result<void> fits = graph->second.size.add(chunk.graph, limits_); !fits)
    return {{key, std::move(fits).error(), erase_unchecked(graph)}};
  set_price(graph, std::max(graph->second.price, graph_price(graph->second.size.sum())));

  std::vector<RefusedSubmission> refused;
  const auto share = static_cast<std::uint64_t>(limits_.submissions_bytes_max.value());
  while (senders_.contains(key.client) && senders_.at(key.client).price > share) {
    PENSTOCK_COVERAGE_MARK("the graphs of one client are too dear together");
    const auto dear = dearest([&](const auto& each) { return each.first.client == key.client; });
    refuse(dear, over_share(dear->second.name, dear->second.price, limits_.submissions_bytes_max), refused);
  }
  const auto users_share = static_cast<std::uint64_t>(users_.submissions_bytes_max.value());
  while (by_user_.contains(sender) && by_user_.at(sender).price > users_share) {
    PENSTOCK_COVERAGE_MARK("the graphs of one user are too dear together");
    const auto dear = dearest([&](const auto& each) { return each.second.user == sender; });
    refuse(dear, over_users_share(dear->second.name, sender, dear->second.price, users_.submissions_bytes_max),
           refused);
  }
  const auto memory = static_cast<std::uint64_t>(memory_max_.value());
  while (memory > 0 && price_ > 0 && held_bytes + price_ > memory) {
    PENSTOCK_COVERAGE_MARK("a graph is too dear for the memory that is left");
    const auto dear = dearest([](const auto&) { return true; });
    const std::uint64_t price = dear->second.price;
    refuse(dear, over_memory(dear->second.name, price, held_bytes + price_ - price, memory_max_), refused);
  }
  return refused;
}

void Submissions::refuse(Graphs::iterator graph, Error why, std::vector<RefusedSubmission>& refused) {
  const SubmissionKey of = graph->first;
  refused.push_back({of, std::move(why), erase_unchecked(graph)});
}

std::optional<RefusedSubmission> Submissions::begin(const SubmissionKey& key, const SubmitChunk& first,
                                                    std::uint64_t held_bytes, const std::string& user) {
  const auto sender = senders_.find(key.client);
  if (sender != senders_.end() && sender->second.count >= limits_.submissions_max)
    return RefusedSubmission{
        key,
        {ErrorCode::LimitExceeded, first.spec.name, "too many graphs are being submitted at once by one client",
         "wait for an answer before submitting more, or raise `graph.submissions_max`"}};
  const auto users = by_user_.find(user);
  if (users != by_user_.end() && users->second.count >= users_.submissions_max) {
    PENSTOCK_COVERAGE_MARK("a user submits too many graphs at once");
    return RefusedSubmission{key, too_many_of_user(user, users_.submissions_max), 0, kUsersTurn};
  }
  if (Result<void> fits = check_totals(first.whole, limits_); !fits)
    return RefusedSubmission{key, std::move(fits).error()};
  // No other graph is refused instead: its chunks would keep their memory as well.
  const std::uint64_t price = graph_price(first.whole);
  const std::uint64_t used = held_bytes + price_ + ending_bytes_;
  if (memory_max_.value() > 0 && ending_bytes_ > 0 && used + price > static_cast<std::uint64_t>(memory_max_.value()))
    return RefusedSubmission{key, over_memory(first.spec.name, price, used, memory_max_)};
  ++senders_[key.client].count;
  ++by_user_[user].count;
  UnderWay graph;
  graph.name = first.spec.name;
  graph.user = user;
  set_price(under_way_.emplace(key, std::move(graph)).first, price);
  return std::nullopt;
}

std::vector<RefusedSubmission> Submissions::take_idle(Instant now) {
  std::vector<RefusedSubmission> idle;
  for (auto graph = under_way_.begin(); graph != under_way_.end();) {
    const auto present = graph++;
    if (present->second.complete || present->second.idle_at > now) continue;
    Error why{ErrorCode::TimedOut, "graph of '" + present->second.name + "'",
              "was begun, and nothing more of it has come for " + to_text(limits_.submission_idle_max),
              "submit it again, or raise `graph.submission_idle_max`"};
    const SubmissionKey of = present->first;
    idle.push_back({of, std::move(why), erase_unchecked(present)});
  }
  return idle;
}

std::optional<Instant> Submissions::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [key, graph] : under_way_)
    if (!graph.complete && (!next || graph.idle_at < *next)) next = graph.idle_at;
  return next;
}

void Submissions::end(const SubmissionKey& key) {
  if (const auto graph = under_way_.find(key); graph != under_way_.end()) erase(graph);
}

std::vector<LeftSubmission> Submissions::end_all_of(Incarnation client) {
  std::vector<LeftSubmission> ended;
  for (auto graph = under_way_.lower_bound({client, 0}); graph != under_way_.end() && graph->first.client == client;) {
    const SubmissionKey of = graph->first;
    ended.push_back({of, erase_unchecked(graph++)});
  }
  return ended;
}

void Submissions::set_price(Graphs::iterator graph, std::uint64_t price) {
  const std::uint64_t more = price - graph->second.price;  // The price only rises.
  graph->second.price = price;
  senders_.at(graph->first.client).price += more;
  by_user_.at(graph->second.user).price += more;
  price_ += more;
}

void Submissions::erase(Graphs::iterator graph) {
  const auto sender = senders_.find(graph->first.client);
  sender->second.price -= graph->second.price;
  price_ -= graph->second.price;
  if (--sender->second.count == 0) senders_.erase(sender);
  const auto user = by_user_.find(graph->second.user);
  user->second.price -= graph->second.price;
  if (--user->second.count == 0) by_user_.erase(user);
  under_way_.erase(graph);
}

std::uint64_t Submissions::erase_unchecked(Graphs::iterator graph) {
  const std::uint64_t bytes = graph_price(graph->second.size.sum());
  ending_bytes_ += bytes;
  erase(graph);
  return bytes;
}

}  // namespace penstock::supervisor
