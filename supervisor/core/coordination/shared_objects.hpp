// Objects that programs share by name: semaphores, variables, queues and subscriptions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/time.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/records.hpp"

namespace penstock::supervisor {

class CommitGate;
struct EventContext;

/// Carries out `shared OPERATION NAME` for programs that coordinate themselves; python/penstock/coordination.py makes
/// locks, events, queues and topics of it. Every program has a session, by a token of its own: a lease that each of its
/// requests renews. A session without a request for so long has ended, and all that it holds is free: semaphores, its
/// subscriptions, and items that it took and has not acknowledged, which others take then. Waiters are served in the
/// order in which they came. An answer leaves when what it rests on is on the disk; after a restart of the supervisor
/// all is there, and sessions begin their leases anew.
///
/// Operations; `--token` names the session, `--wait` and `--lease` are seconds:
/// - `acquire NAME --holder --limit [--wait]`, `release NAME --holder`: a semaphore with so many holders; a release
///   ends the wait of that holder, too;
/// - `set NAME --value`, `get NAME [--wait]`, `delete NAME`: a variable; `get` waits until it is set;
/// - `holders NAME`: of a semaphore;
/// - `put NAME --value --number [--limit] [--wait]`: to the end of a queue, which has so many items at most; again
///   with the same number, the item is there once;
/// - `take NAME --number [--wait]`: the first item; with the same number again, the same one. The item is gone when the
///   session takes another, or says `acknowledge NAME --number`. `return NAME --number` ends that wait, and the item is
///   there for others; `size NAME`;
/// - `subscribe NAME`, `unsubscribe NAME`, `publish NAME --value`, `next NAME --number [--wait]`: `next` is `take` from
///   what was published since the session has subscribed;
/// - `renew`, and `leave`: the end of the session; what it took counts as acknowledged;
/// - `list [--begins=TEXT] [--after=NAME] [--limit=N]`, or nothing: all objects, or those with such names, for
///   operators.
/// Errors: InvalidArgument; LimitExceeded, with the setting to raise.
/// Cost: logarithmic in the objects, sessions and waiters; of `publish`, linear in the subscribers of the topic.
class SharedObjects {
 public:
  enum class Operation : std::uint8_t { Acquire, Get, Put, Take };  ///< May wait.

  SharedObjects(const SupervisorConfig& config, CommitGate& gate, const EventContext& event)
      : config_(config), gate_(gate), event_(event) {}
  SharedObjects(const SharedObjects&) = delete;
  SharedObjects& operator=(const SharedObjects&) = delete;

  /// `deferred`: the answer follows when the request can be served, or its wait is over.
  Result<Value> carry_out(ClientId client, const AdminRequest& request, bool& deferred);
  /// The waits of a client are over without an answer; its session lives as long as its lease.
  void client_gone(ClientId client);
  /// Ends sessions and waits that are due.
  void end_due();
  Instant next_due() const;
  void validate() const;
  /// `parts`: written by an earlier term.
  void recover(const std::vector<record::SharedKept>& parts);

 private:
  /// A queue of a name, or the subscription of a session to it.
  using QueueKey = std::pair<std::string, std::string>;
  struct Semaphore {
    std::uint32_t limit = 1;
    std::map<std::string, std::string> holders;  ///< With the tokens of their sessions.
  };
  struct Item {
    std::uint64_t sequence = 0;
    std::string value;
    std::uint64_t number = 0;  ///< By which it was taken.
  };
  struct ItemList {
    std::map<std::uint64_t, std::string> items;  ///< By sequence.
    std::map<std::string, Item> taken;           ///< By session.
  };
  struct Session {
    Duration lease{};
    Instant until = kNever;
    std::map<QueueKey, std::set<std::uint64_t>> put;  ///< The numbers of the last items that it has put.
  };
  struct Demand {
    Operation operation = Operation::Get;
    QueueKey of;  ///< Name, and subscriber.
    std::string token;
    std::string holder;
    std::string value;
    std::uint32_t limit = 0;
    std::uint64_t number = 0;
  };
  struct Waiter {
    ClientId client;
    std::uint64_t request = 0;
    Demand demand;
    Instant until;
  };
  using WaitKey = std::pair<Operation, QueueKey>;

  Result<Value> carry_out_part(ClientId client, const AdminRequest& request, bool& deferred);
  Result<Value> carry_out_now(const AdminRequest& request);
  Result<Value> wait_or_answer(ClientId client, const AdminRequest& request, Demand demand, bool& deferred);
  Result<Demand> demand_of(const AdminRequest& request) const;
  Result<void> check_room_for(const std::string& name, const std::string& value, std::int64_t times = 1) const;
  Result<void> check_place_for(const std::string& name) const;
  Error no_room_for(const std::string& name) const;
  Result<void> touch(const AdminRequest& request);

  /// The answer, or none if the demand cannot be met yet.
  std::optional<Value> try_to_meet(const Demand& demand);
  std::optional<Value> acquire(const Demand& demand);
  std::optional<Value> put(const Demand& demand);
  std::optional<Value> take(const Demand& demand);
  /// Serves those that wait for what has changed, in their order, as far as they can be served.
  void serve_waiters();
  void give_up(std::uint64_t id);
  void end_waits(const std::function<bool(const Demand&)>& are_over);
  void answer(const Waiter& waiter, Value value);
  void stop_waiting(std::uint64_t id);

  /// The holder has it, or waits for it.
  bool give_up_place(const std::string& name, const std::string& holder, const std::string& token);
  bool release(const std::string& name, const std::string& holder, const std::string& token);
  void push(const QueueKey& to, std::string value);
  /// `number`: as in `put_back`.
  void acknowledge(const QueueKey& of, const std::string& token, std::uint64_t number = 0);
  /// The item that the session has taken by that number is there for others, in its place. 0: by any number.
  void put_back(const QueueKey& of, const std::string& token, std::uint64_t number = 0);
  void note_put(const Demand& demand);
  void drop_oldest(const QueueKey& key);
  /// An eighth is left to sessions, places and waits: otherwise nobody could come to take items from full queues.
  std::int64_t room_for_values() const {
    return config_.shared_bytes_max.value() - config_.shared_bytes_max.value() / 8 - bytes_;
  }
  void drop_queue(const QueueKey& key);
  void forget_if_empty(const QueueKey& key);
  Result<Value> publish(const std::string& name, const std::string& value);
  /// `returns`: items that it took and has not acknowledged are there for others.
  void end_session(const std::string& token, bool returns);
  Value list(std::size_t rows_max, const std::string& begins, const std::string& after) const;

  void keep_item(const QueueKey& of, const Item& item, const std::string& taker);
  void forget(SharedKind kind, const std::string& name, const std::string& owner, std::uint64_t number = 0);

  const SupervisorConfig& config_;
  CommitGate& gate_;
  const EventContext& event_;
  std::map<std::string, Semaphore> semaphores_;
  std::map<std::string, std::string> variables_;
  std::map<QueueKey, ItemList> queues_;
  std::map<std::string, Session> sessions_;
  std::set<std::pair<Instant, std::string>> session_ends_;
  std::map<std::uint64_t, Waiter> waiters_;             ///< By their numbers, which are in their order.
  std::map<WaitKey, std::set<std::uint64_t>> waiting_;  ///< By what they wait for, none of them empty.
  std::set<std::pair<Instant, std::uint64_t>> wait_ends_;
  std::set<WaitKey> to_serve_;       ///< Within an event.
  std::uint64_t next_sequence_ = 1;  ///< Of items; over all queues and terms.
  std::uint64_t next_waiter_ = 1;
  std::int64_t bytes_ = 0;  ///< Of all values, sessions and waits, with what each takes beside its value.
};

}  // namespace penstock::supervisor
