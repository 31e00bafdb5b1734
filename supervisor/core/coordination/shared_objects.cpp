#include "supervisor/core/coordination/shared_objects.hpp"

#include <algorithm>

#include "common/base/check.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/request_words.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::size_t kNameBytesMax = 256;
constexpr Duration kLease = std::chrono::seconds{30};
constexpr Duration kLeaseMax = std::chrono::hours{24};
constexpr Duration kWaitMax = std::chrono::seconds{60};
/// Items that wait for a subscriber; the oldest goes when another is published.
constexpr std::size_t kUnreadMax = 10'000;
/// Numbers of puts of a session that are remembered for each queue: more are not under way at once.
constexpr std::size_t kPutsKnown = 64;
constexpr std::uint32_t kRowsMax = 1000;

/// Beside its value, of anything that is kept: its names and its places in tables.
constexpr std::int64_t kPartBytes = 512;

std::int64_t weight_of(const std::string& value) { return kPartBytes + static_cast<std::int64_t>(value.size()); }

Result<void> check_name(const std::string& what, const std::string& name) {
  if (name.empty()) return bad_argument(what, "is missing");
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (name.size() > kNameBytesMax || std::any_of(name.begin(), name.end(), is_bad))
    return bad_argument(what, "has control characters, or more than " + std::to_string(kNameBytesMax) + " bytes");
  return {};
}

/// Seconds of an option, as a decimal number; `otherwise` without it.
Result<Duration> seconds_of(const AdminRequest& request, const std::string& name, Duration otherwise, Duration most) {
  const std::string text = option(request, name);
  if (text.empty()) return otherwise;
  double seconds = 0;
  if (!parse(text, seconds) || !(seconds >= 0) || seconds > 1e6)
    return bad_argument("--" + name, "'" + text + "' are no seconds");
  return std::min(std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds}), most);
}

template <class Number>
Result<Number> number_of(const AdminRequest& request, const std::string& name, Number otherwise) {
  const std::string text = option(request, name);
  Number number = otherwise;
  if (!text.empty() && !parse(text, number))
    return bad_argument("--" + name, "'" + text + "' is no number, or too large a one");
  return number;
}

Value done(const char* what, bool is_done) { return Value::Record{{what, is_done}}; }

/// The answer when a wait is over.
const char* word_of(SharedObjects::Operation operation) {
  switch (operation) {
    case SharedObjects::Operation::Acquire: return "acquired";
    case SharedObjects::Operation::Put: return "put";
    case SharedObjects::Operation::Get: return "set";
    case SharedObjects::Operation::Take: break;
  }
  return "taken";
}

Value item(std::string value) { return Value::Record{{"taken", true}, {"value", std::move(value)}}; }

}  // namespace

Result<Value> SharedObjects::carry_out(ClientId client, const AdminRequest& request, bool& deferred) {
  Result<Value> result = carry_out_part(client, request, deferred);
  serve_waiters();
  return result;
}

Result<Value> SharedObjects::carry_out_part(ClientId client, const AdminRequest& request, bool& deferred) {
  const std::string operation = operand(request, 0);
  if (operation == "list" || operation.empty()) {
    const Result<std::uint32_t> rows = number_of(request, "limit", kRowsMax);
    if (!rows) return rows.error();
    return list(std::min(*rows, kRowsMax), option(request, "begins"), option(request, "after"));
  }
  PENSTOCK_TRY(touch(request));
  if (operation == "renew") return done("renewed", true);
  if (operation == "leave") {
    end_session(option(request, "token"), false);
    return done("left", true);
  }
  PENSTOCK_TRY(check_name("name of a shared object", operand(request, 1)));
  if (operation != "acquire" && operation != "get" && operation != "put" && operation != "take" && operation != "next")
    return carry_out_now(request);
  Result<Demand> demand = demand_of(request);
  if (!demand) return demand.error();
  return wait_or_answer(client, request, std::move(demand).value(), deferred);
}

Result<Value> SharedObjects::carry_out_now(const AdminRequest& request) {
  const std::string operation = operand(request, 0);
  const std::string name = operand(request, 1);
  const std::string token = option(request, "token");
  if (operation == "release") return done("released", give_up_place(name, option(request, "holder"), token));
  if (operation == "set" || operation == "publish") {
    std::string value = option(request, "value");
    if (operation == "publish") return publish(name, value);
    PENSTOCK_TRY(check_room_for(name, value));
    gate_.write(record::SharedKept{SharedKind::Variable, name, {}, 0, {}, 0, 0, value});
    const auto [variable, is_new] = variables_.try_emplace(name);
    if (!is_new) bytes_ -= weight_of(variable->second);
    bytes_ += weight_of(value);
    variable->second = std::move(value);
    to_serve_.insert({Operation::Get, {name, {}}});
    return done("set", true);
  }
  if (operation == "delete") {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return done("deleted", false);
    bytes_ -= weight_of(found->second);
    variables_.erase(found);
    forget(SharedKind::Variable, name, {});
    return done("deleted", true);
  }
  if (operation == "size") {
    const auto found = queues_.find({name, has_flag(request, "mine") ? token : std::string{}});
    return Value{Value::Record{{"items", found == queues_.end() ? std::size_t{0} : found->second.items.size()}}};
  }
  if (operation == "holders") {
    const auto found = semaphores_.find(name);
    return Value{
        Value::Record{{"holders", found == semaphores_.end() ? std::size_t{0} : found->second.holders.size()}}};
  }
  if (operation == "return") {
    const Result<std::uint64_t> number = number_of(request, "number", std::uint64_t{0});
    if (!number) return number.error();
    const QueueKey of{name, has_flag(request, "mine") ? token : std::string{}};
    end_waits([&](const Demand& demand) {
      return demand.operation == Operation::Take && demand.of == of && demand.token == token &&
             (*number == 0 || demand.number == *number);
    });
    put_back(of, token, *number);
    return done("returned", true);
  }
  if (operation == "acknowledge") {
    const Result<std::uint64_t> number = number_of(request, "number", std::uint64_t{0});
    if (!number) return number.error();
    acknowledge({name, {}}, token, *number);
    return done("acknowledged", true);
  }
  if (operation == "subscribe") {
    if (queues_.contains({name, token})) return done("subscribed", true);
    PENSTOCK_TRY(check_place_for(name));
    queues_.try_emplace({name, token});
    bytes_ += kPartBytes;
    gate_.write(record::SharedKept{SharedKind::Subscription, name, token, 0, {}, 0, 0, {}});
    return done("subscribed", true);
  }
  if (operation == "unsubscribe") {
    drop_queue({name, token});
    return done("unsubscribed", true);
  }
  return bad_argument("shared", "'" + operation + "' is no operation on shared objects");
}

Result<SharedObjects::Demand> SharedObjects::demand_of(const AdminRequest& request) const {
  const std::string operation = operand(request, 0);
  const Result<std::uint32_t> limit = number_of(request, "limit", std::uint32_t{0});
  if (!limit) return limit.error();
  const Result<std::uint64_t> number = number_of(request, "number", std::uint64_t{0});
  if (!number) return number.error();
  Demand demand;
  demand.of = {operand(request, 1), {}};
  demand.token = option(request, "token");
  demand.holder = option(request, "holder");
  demand.value = option(request, "value");
  demand.limit = *limit;
  demand.number = *number;
  if (operation == "acquire") {
    demand.operation = Operation::Acquire;
    demand.limit = std::max(demand.limit, 1U);
    PENSTOCK_TRY(check_name("--holder", demand.holder));
    const auto known = semaphores_.find(demand.of.first);
    if (known != semaphores_.end() && known->second.limit != demand.limit)
      return Error{ErrorCode::InvalidArgument, "semaphore '" + demand.of.first + "'",
                   "has " + std::to_string(known->second.limit) + " places, not " + std::to_string(demand.limit),
                   "use the same number everywhere, or another name"};
    if (known != semaphores_.end())
      if (const auto held = known->second.holders.find(demand.holder);
          held != known->second.holders.end() && held->second != demand.token)
        return Error{ErrorCode::InvalidArgument, "holder '" + demand.holder + "'", "is one of another session",
                     "give each acquisition a name of its own"};
    PENSTOCK_TRY(check_place_for(demand.of.first));
    return demand;
  }
  if (operation == "get") return demand;
  if (demand.number == 0) return bad_argument("--number", "is missing: count the items from 1");
  demand.operation = operation == "put" ? Operation::Put : Operation::Take;
  if (operation == "put") PENSTOCK_TRY(check_room_for(demand.of.first, demand.value));
  if (operation == "next") {
    demand.of.second = demand.token;
    if (!queues_.contains(demand.of))
      return Error{ErrorCode::NotFound, "subscription to '" + demand.of.first + "'",
                   "is not there, or its session has ended", "subscribe again"};
  }
  return demand;
}

Result<void> SharedObjects::check_room_for(const std::string& name, const std::string& value,
                                           std::int64_t times) const {
  const auto bytes = static_cast<std::int64_t>(value.size());
  if (bytes > config_.shared_value_max.value())
    return Error{ErrorCode::LimitExceeded, "value of '" + name + "'",
                 "has " + std::to_string(bytes) + " bytes; at most " +
                     std::to_string(config_.shared_value_max.value()) + " are taken",
                 "let calls return large values, or raise supervisor.shared_value_max"};
  if (room_for_values() < weight_of(value) * times) return no_room_for(name);
  return {};
}

Result<void> SharedObjects::check_place_for(const std::string& name) const {
  if (config_.shared_bytes_max.value() - bytes_ < kPartBytes) return no_room_for(name);
  return {};
}

Error SharedObjects::no_room_for(const std::string& name) const {
  return {ErrorCode::LimitExceeded, "'" + name + "'",
          "does not fit beside the " + std::to_string(bytes_) + " bytes that shared objects have",
          "take items from their queues, end waits, or raise supervisor.shared_bytes_max"};
}

Result<void> SharedObjects::touch(const AdminRequest& request) {
  const std::string token = option(request, "token");
  PENSTOCK_TRY(check_name("--token", token));
  const auto known = sessions_.find(token);
  const Result<Duration> lease =
      seconds_of(request, "lease", known == sessions_.end() ? kLease : known->second.lease, kLeaseMax);
  if (!lease) return lease.error();
  if (known == sessions_.end()) {
    PENSTOCK_TRY(check_place_for("session"));
    bytes_ += kPartBytes;
  }
  Session& session = sessions_[token];
  session_ends_.erase({session.until, token});
  session.lease = std::max(*lease, Duration{std::chrono::milliseconds{10}});
  session.until = later(event_.now, session.lease);
  session_ends_.emplace(session.until, token);
  return {};
}

Result<Value> SharedObjects::wait_or_answer(ClientId client, const AdminRequest& request, Demand demand,
                                            bool& deferred) {
  const Result<Duration> wait = seconds_of(request, "wait", Duration{0}, kWaitMax);
  if (!wait) return wait.error();
  const WaitKey key{demand.operation, demand.of};
  // A free place, or an item that is there, is one that no waiter could have had.
  if (std::optional<Value> met = try_to_meet(demand)) return std::move(*met);
  if (*wait <= Duration{0}) return done(word_of(demand.operation), false);
  if (demand.operation == Operation::Put)
    PENSTOCK_TRY(check_room_for(demand.of.first, demand.value));
  else
    PENSTOCK_TRY(check_place_for(demand.of.first));
  deferred = true;
  const std::uint64_t id = next_waiter_++;
  bytes_ += weight_of(demand.value);
  const Instant until = later(event_.now, *wait);
  waiters_.emplace(id, Waiter{client, request.request, std::move(demand), until});
  wait_ends_.emplace(until, id);
  waiting_[key].insert(id);
  return Value{};
}

std::optional<Value> SharedObjects::try_to_meet(const Demand& demand) {
  switch (demand.operation) {
    case Operation::Acquire: return acquire(demand);
    case Operation::Put: return put(demand);
    case Operation::Take: return take(demand);
    case Operation::Get: break;
  }
  const auto found = variables_.find(demand.of.first);
  if (found == variables_.end()) return {};
  return Value{Value::Record{{"set", true}, {"value", found->second}}};
}

std::optional<Value> SharedObjects::acquire(const Demand& demand) {
  Semaphore& semaphore = semaphores_[demand.of.first];
  semaphore.limit = demand.limit;
  if (semaphore.holders.contains(demand.holder)) return done("acquired", true);
  if (semaphore.holders.size() >= semaphore.limit) return {};
  semaphore.holders.emplace(demand.holder, demand.token);
  bytes_ += kPartBytes;
  gate_.write(
      record::SharedKept{SharedKind::Holder, demand.of.first, demand.holder, 0, demand.token, 0, demand.limit, {}});
  return done("acquired", true);
}

bool SharedObjects::give_up_place(const std::string& name, const std::string& holder, const std::string& token) {
  end_waits([&](const Demand& demand) {
    return demand.operation == Operation::Acquire && demand.of.first == name && demand.token == token &&
           demand.holder == holder;
  });
  return release(name, holder, token);
}

bool SharedObjects::release(const std::string& name, const std::string& holder, const std::string& token) {
  const auto found = semaphores_.find(name);
  if (found == semaphores_.end()) return false;
  const auto held = found->second.holders.find(holder);
  if (held == found->second.holders.end() || held->second != token) return false;
  found->second.holders.erase(held);
  bytes_ -= kPartBytes;
  forget(SharedKind::Holder, name, holder);
  to_serve_.insert({Operation::Acquire, {name, {}}});
  if (found->second.holders.empty()) semaphores_.erase(found);
  return true;
}

std::optional<Value> SharedObjects::put(const Demand& demand) {
  const Session& session = sessions_[demand.token];
  const auto known = session.put.find(demand.of);
  if (known != session.put.end() && known->second.contains(demand.number))
    return done("put", true);  // Asked again, as the answer was lost.
  if (demand.limit > 0) {
    const auto found = queues_.find(demand.of);
    if (found != queues_.end() && found->second.items.size() >= demand.limit) return {};
  }
  note_put(demand);
  push(demand.of, demand.value);
  return done("put", true);
}

// Also in the journal: a put may be asked again after a restart, when its item has been taken.
void SharedObjects::note_put(const Demand& demand) {
  std::set<std::uint64_t>& numbers = sessions_[demand.token].put[demand.of];
  numbers.insert(demand.number);
  if (numbers.size() > kPutsKnown) numbers.erase(numbers.begin());
  std::string text;
  for (const std::uint64_t number : numbers) text += std::to_string(number) + " ";
  gate_.write(record::SharedKept{SharedKind::Puts, demand.of.first, demand.token, 0, {}, 0, 0, std::move(text)});
}

void SharedObjects::push(const QueueKey& to, std::string value) {
  const std::uint64_t sequence = next_sequence_++;
  keep_item(to, {sequence, value, 0}, {});
  bytes_ += weight_of(value);
  queues_[to].items.emplace(sequence, std::move(value));
  to_serve_.insert({Operation::Take, to});
}

std::optional<Value> SharedObjects::take(const Demand& demand) {
  const auto found = queues_.find(demand.of);
  if (found == queues_.end()) return {};
  ItemList& queue = found->second;
  if (const auto taken = queue.taken.find(demand.token); taken != queue.taken.end()) {
    if (taken->second.number == demand.number) return item(taken->second.value);  // The answer was lost.
    acknowledge(demand.of, demand.token);
    if (!queues_.contains(demand.of)) return {};
  }
  if (queue.items.empty()) return {};
  const auto first = queue.items.begin();
  const Item& taken = queue.taken[demand.token] = Item{first->first, std::move(first->second), demand.number};
  queue.items.erase(first);
  keep_item(demand.of, taken, demand.token);
  to_serve_.insert({Operation::Put, demand.of});
  return item(queues_[demand.of].taken[demand.token].value);
}

void SharedObjects::acknowledge(const QueueKey& of, const std::string& token, std::uint64_t number) {
  const auto found = queues_.find(of);
  if (found == queues_.end()) return;
  const auto taken = found->second.taken.find(token);
  if (taken == found->second.taken.end() || (number != 0 && taken->second.number != number)) return;
  bytes_ -= weight_of(taken->second.value);
  forget(SharedKind::Item, of.first, of.second, taken->second.sequence);
  found->second.taken.erase(taken);
  forget_if_empty(of);
}

void SharedObjects::put_back(const QueueKey& of, const std::string& token, std::uint64_t number) {
  const auto found = queues_.find(of);
  if (found == queues_.end() || !found->second.taken.contains(token)) return;
  if (number != 0 && found->second.taken[token].number != number) return;
  Item taken = std::move(found->second.taken[token]);
  found->second.taken.erase(token);
  keep_item(of, {taken.sequence, taken.value, 0}, {});
  found->second.items.emplace(taken.sequence, std::move(taken.value));
  to_serve_.insert({Operation::Take, of});
}

void SharedObjects::drop_oldest(const QueueKey& key) {
  ItemList& queue = queues_[key];
  const auto oldest = queue.items.begin();
  bytes_ -= weight_of(oldest->second);
  forget(SharedKind::Item, key.first, key.second, oldest->first);
  queue.items.erase(oldest);
}

void SharedObjects::forget_if_empty(const QueueKey& key) {
  const auto found = queues_.find(key);
  if (key.second.empty() && found->second.items.empty() && found->second.taken.empty()) queues_.erase(found);
}

void SharedObjects::drop_queue(const QueueKey& key) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) return;
  const auto drop = [&](std::uint64_t sequence, const std::string& value) {
    bytes_ -= weight_of(value);
    forget(SharedKind::Item, key.first, key.second, sequence);
  };
  for (const auto& [sequence, value] : found->second.items) drop(sequence, value);
  for (const auto& [token, taken] : found->second.taken) drop(taken.sequence, taken.value);
  queues_.erase(found);
  bytes_ -= kPartBytes;
  forget(SharedKind::Subscription, key.first, key.second);
}

// A subscriber that does not read loses the oldest, and holds nobody up.
Result<Value> SharedObjects::publish(const std::string& name, const std::string& value) {
  std::vector<QueueKey> to;
  for (auto at = queues_.upper_bound({name, {}}); at != queues_.end() && at->first.first == name; ++at)
    to.push_back(at->first);
  const auto subscribers = static_cast<std::int64_t>(to.size());
  const auto items_of = [&](const QueueKey& key) { return queues_[key].items.size(); };
  while (room_for_values() < weight_of(value) * subscribers) {
    const auto longest = std::max_element(
        to.begin(), to.end(), [&](const QueueKey& a, const QueueKey& b) { return items_of(a) < items_of(b); });
    if (longest == to.end() || items_of(*longest) == 0) break;
    drop_oldest(*longest);
  }
  PENSTOCK_TRY(check_room_for(name, value, subscribers));
  for (const QueueKey& key : to) {
    push(key, value);
    if (items_of(key) > kUnreadMax) drop_oldest(key);
  }
  return Value{Value::Record{{"subscribers", subscribers}}};
}

void SharedObjects::serve_waiters() {
  while (!to_serve_.empty()) {
    const WaitKey key = *to_serve_.begin();
    to_serve_.erase(to_serve_.begin());
    for (auto line = waiting_.find(key); line != waiting_.end(); line = waiting_.find(key)) {
      const std::uint64_t first = *line->second.begin();
      std::optional<Value> met = try_to_meet(waiters_.at(first).demand);
      if (!met) break;
      answer(waiters_.at(first), std::move(*met));
      stop_waiting(first);
    }
  }
}

void SharedObjects::answer(const Waiter& waiter, Value value) {
  AdminAnswer reply;
  reply.request = waiter.request;
  reply.value = std::move(value);
  gate_.send_to_client(waiter.client, std::move(reply));
}

void SharedObjects::stop_waiting(std::uint64_t id) {
  const auto found = waiters_.find(id);
  const auto line = waiting_.find({found->second.demand.operation, found->second.demand.of});
  line->second.erase(id);
  if (line->second.empty()) waiting_.erase(line);
  wait_ends_.erase({found->second.until, id});
  bytes_ -= weight_of(found->second.demand.value);
  waiters_.erase(found);
}

void SharedObjects::client_gone(ClientId client) {
  std::vector<std::uint64_t> gone;
  for (const auto& [id, waiter] : waiters_)
    if (waiter.client == client) gone.push_back(id);
  for (const std::uint64_t id : gone) stop_waiting(id);
}

void SharedObjects::end_session(const std::string& token, bool returns) {
  const auto found = sessions_.find(token);
  if (found == sessions_.end()) return;
  session_ends_.erase({found->second.until, token});
  for (const auto& [queue, numbers] : found->second.put) forget(SharedKind::Puts, queue.first, token);
  sessions_.erase(found);
  bytes_ -= kPartBytes;
  end_waits([&](const Demand& demand) { return demand.token == token; });
  std::vector<std::pair<std::string, std::string>> held;
  for (const auto& [name, semaphore] : semaphores_)
    for (const auto& [holder, session] : semaphore.holders)
      if (session == token) held.emplace_back(name, holder);
  for (const auto& [name, holder] : held) release(name, holder, token);
  std::vector<QueueKey> keys;
  for (const auto& [key, queue] : queues_)
    if (key.second == token || queue.taken.contains(token)) keys.push_back(key);
  for (const QueueKey& key : keys) {
    if (key.second == token)
      drop_queue(key);
    else if (returns)
      put_back(key, token);
    else
      acknowledge(key, token);
  }
}

void SharedObjects::end_due() {
  while (!session_ends_.empty() && session_ends_.begin()->first <= event_.now) {
    const std::string token = session_ends_.begin()->second;
    const bool waits = std::any_of(waiters_.begin(), waiters_.end(),
                                   [&](const auto& each) { return each.second.demand.token == token; });
    if (waits) {  // The wait renews the lease until it is over.
      Session& session = sessions_[token];
      session_ends_.erase({session.until, token});
      session.until = later(event_.now, session.lease);
      session_ends_.emplace(session.until, token);
      continue;
    }
    end_session(token, true);
  }
  while (!wait_ends_.empty() && wait_ends_.begin()->first <= event_.now) {
    const std::uint64_t id = wait_ends_.begin()->second;
    give_up(id);
  }
  serve_waiters();
}

void SharedObjects::end_waits(const std::function<bool(const Demand&)>& are_over) {
  std::vector<std::uint64_t> over;
  for (const auto& [id, waiter] : waiters_)
    if (are_over(waiter.demand)) over.push_back(id);
  for (const std::uint64_t id : over) give_up(id);
}

void SharedObjects::give_up(std::uint64_t id) {
  const Waiter& waiter = waiters_.at(id);
  answer(waiter, done(word_of(waiter.demand.operation), false));
  stop_waiting(id);
}

Instant SharedObjects::next_due() const {
  const Instant session = session_ends_.empty() ? kNever : session_ends_.begin()->first;
  return std::min(session, wait_ends_.empty() ? kNever : wait_ends_.begin()->first);
}

Value SharedObjects::list(std::size_t rows_max, const std::string& begins, const std::string& after) const {
  Value::List rows;
  const auto is_wanted = [&](const std::string& name) {
    return rows.size() < rows_max && name.starts_with(begins) && name > after;
  };
  const auto waiters_for = [&](Operation operation, const QueueKey& key) {
    const auto found = waiting_.find({operation, key});
    return found == waiting_.end() ? std::size_t{0} : found->second.size();
  };
  for (const auto& [name, semaphore] : semaphores_)
    if (is_wanted(name))
      rows.push_back(Value::Record{{"name", name},
                                   {"kind", "semaphore"},
                                   {"holders", semaphore.holders.size()},
                                   {"limit", semaphore.limit},
                                   {"waiting", waiters_for(Operation::Acquire, {name, {}})}});
  for (const auto& [name, value] : variables_)
    if (is_wanted(name)) rows.push_back(Value::Record{{"name", name}, {"kind", "variable"}, {"bytes", value.size()}});
  for (const auto& [key, queue] : queues_)
    if (is_wanted(key.first))
      rows.push_back(Value::Record{{"name", key.first},
                                   {"kind", key.second.empty() ? "queue" : "subscription"},
                                   {"items", queue.items.size()},
                                   {"taken", queue.taken.size()},
                                   {"waiting", waiters_for(Operation::Take, key)}});
  return Value{std::move(rows)};
}

void SharedObjects::keep_item(const QueueKey& of, const Item& item, const std::string& taker) {
  gate_.write(
      record::SharedKept{SharedKind::Item, of.first, of.second, item.sequence, taker, item.number, 0, item.value});
}

void SharedObjects::forget(SharedKind kind, const std::string& name, const std::string& owner, std::uint64_t number) {
  gate_.write(record::SharedForgotten{kind, name, owner, number});
}

void SharedObjects::validate() const {
  std::int64_t bytes = static_cast<std::int64_t>(sessions_.size()) * kPartBytes;
  for (const auto& [name, value] : variables_) bytes += weight_of(value);
  for (const auto& [key, queue] : queues_) {
    if (!key.second.empty()) bytes += kPartBytes;
    for (const auto& [sequence, value] : queue.items) bytes += weight_of(value);
    for (const auto& [token, taken] : queue.taken) bytes += weight_of(taken.value);
    for (const auto& [token, taken] : queue.taken) PENSTOCK_CHECK(sessions_.contains(token));
    PENSTOCK_CHECK(key.second.empty() ? !queue.items.empty() || !queue.taken.empty() : sessions_.contains(key.second));
  }
  for (const auto& [name, semaphore] : semaphores_) {
    PENSTOCK_CHECK(!semaphore.holders.empty() && semaphore.holders.size() <= semaphore.limit);
    bytes += static_cast<std::int64_t>(semaphore.holders.size()) * kPartBytes;
    for (const auto& [holder, token] : semaphore.holders) PENSTOCK_CHECK(sessions_.contains(token));
  }
  for (const auto& [id, waiter] : waiters_) bytes += weight_of(waiter.demand.value);
  PENSTOCK_CHECK(bytes == bytes_);
  std::size_t in_line = 0;
  for (const auto& [key, line] : waiting_) in_line += line.size();
  PENSTOCK_CHECK(in_line == waiters_.size());
  PENSTOCK_CHECK(sessions_.size() == session_ends_.size() && waiters_.size() == wait_ends_.size() && to_serve_.empty());
}

void SharedObjects::recover(const std::vector<record::SharedKept>& parts) {
  const auto begin_session = [&](const std::string& token) {
    if (token.empty() || sessions_.contains(token)) return;
    const Instant until = later(event_.now, kLease);
    sessions_[token] = {kLease, until, {}};
    bytes_ += kPartBytes;
    session_ends_.emplace(until, token);
  };
  for (const record::SharedKept& part : parts) {
    if (part.kind != SharedKind::Subscription) continue;
    begin_session(part.owner);
    queues_.try_emplace({part.name, part.owner});
    bytes_ += kPartBytes;
  }
  for (const record::SharedKept& part : parts) {
    const QueueKey key{part.name, part.owner};
    if (part.kind == SharedKind::Subscription) continue;
    if (part.kind == SharedKind::Puts) {
      begin_session(part.owner);
      std::set<std::uint64_t>& numbers = sessions_[part.owner].put[{part.name, {}}];
      for (std::size_t at = 0, end = 0; (end = part.value.find(' ', at)) != std::string::npos; at = end + 1)
        if (std::uint64_t number = 0; parse(part.value.substr(at, end - at), number)) numbers.insert(number);
      continue;
    }
    if (part.kind == SharedKind::Item && !part.owner.empty() && !queues_.contains(key)) {
      forget(part.kind, part.name, part.owner, part.number);  // The record of the subscription was lost.
      continue;
    }
    bytes_ += weight_of(part.value);
    begin_session(part.session);
    if (part.kind == SharedKind::Variable) variables_[part.name] = part.value;
    if (part.kind == SharedKind::Holder) {
      semaphores_[part.name].limit = part.limit;
      semaphores_[part.name].holders[part.owner] = part.session;
    }
    if (part.kind != SharedKind::Item) continue;
    next_sequence_ = std::max(next_sequence_, part.number + 1);
    if (part.session.empty())
      queues_[key].items[part.number] = part.value;
    else
      queues_[key].taken[part.session] = {part.number, part.value, part.taken};
  }
}

}  // namespace penstock::supervisor
