// SupervisorCore: who has ordered what.
#include <algorithm>

#include "common/base/quantity.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::size_t kWhoBytesMax = 256;
constexpr std::size_t kOrderBytesMax = 1024;

std::string words_of(const AdminRequest& request) {
  std::string words = request.command;
  for (const std::string& argument : request.arguments) words += " " + argument;
  return words.substr(0, kOrderBytesMax);
}

/// `2026-11-21T17:56:59Z`
std::string utc_text(std::int64_t unix_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> at{milliseconds{unix_ms}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss time{floor<seconds>(at - day)};
  const auto padded = [](std::int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::to_string(static_cast<int>(date.year())) + "-" + padded(static_cast<unsigned>(date.month())) + "-" +
         padded(static_cast<unsigned>(date.day())) + "T" + padded(time.hours().count()) + ":" +
         padded(time.minutes().count()) + ":" + padded(time.seconds().count()) + "Z";
}

/// What an order has changed, where its answer says what was before.
std::string outcome_of(const Value& answer) {
  if (const std::string* changed = answer["changed"].text())
    return changed->empty() ? "done, and nothing is different" : "done: " + *changed;
  const std::string* before = answer["was"].text();
  return before == nullptr ? "done" : "done; it was " + *before;
}

}  // namespace

/// Orders that were refused are told of, too. With a journal the answer leaves when this is written.
void SupervisorCore::note_order(const AdminRequest& request, const Result<Value>& result) {
  if (!is_order(request.command)) return;
  record::Ordered order;
  order.number = next_order_++;
  order.at_ms = unix_ms(now_);
  order.who = request.who.substr(0, kWhoBytesMax);
  order.order = words_of(request);
  order.outcome = (result.has_value() ? outcome_of(*result) : to_string(result.error())).substr(0, kOrderBytesMax);
  if (durable()) records_.push_back(order);
  orders_.push_back(std::move(order));
  forget_old_orders();
}

/// What policy has decided about somebody who may ask why.
void SupervisorCore::note_decision(std::string decision, std::string reason) {
  record::Ordered order{next_order_++, unix_ms(now_), "policy", std::move(decision), std::move(reason)};
  if (durable()) records_.push_back(order);
  orders_.push_back(std::move(order));
  forget_old_orders();
}

void SupervisorCore::recover_orders(std::vector<record::Ordered>& orders) {
  for (record::Ordered& order : orders) {
    next_order_ = std::max(next_order_, order.number + 1);
    orders_.push_back(std::move(order));
  }
  forget_old_orders();
}

// Only when there is a new one: whoever orders nothing has no list to keep short.
void SupervisorCore::forget_old_orders() {
  const std::int64_t oldest_ms = unix_ms(now_) - config_.audit_age_max / std::chrono::milliseconds{1};
  while (!orders_.empty() && (orders_.size() > config_.audit_entries_max || orders_.front().at_ms < oldest_ms)) {
    if (durable()) records_.push_back(record::OrderForgotten{orders_.front().number});
    orders_.pop_front();
  }
}

/// The last ones, oldest first.
Result<Value> SupervisorCore::list_orders(const AdminRequest& request) const {
  std::uint32_t limit = 0xffffffffU;
  std::int64_t since_ms = INT64_MIN;
  if (const std::string text = option(request, "limit"); !text.empty() && !parse(text, limit))
    return bad_argument("--limit", "'" + text + "' is no number of orders");
  if (const std::string text = option(request, "since"); !text.empty()) {
    const Result<Duration> since = parse_duration(text);
    if (!since) return since.error();
    since_ms = unix_ms(now_) - *since / std::chrono::milliseconds{1};
  }
  Value::List rows;
  for (std::size_t i = orders_.size() - std::min<std::size_t>(orders_.size(), limit); i < orders_.size(); ++i) {
    const record::Ordered& order = orders_[i];
    if (order.at_ms < since_ms) continue;
    rows.push_back(Value::Record{{"number", order.number},
                                 {"time", utc_text(order.at_ms)},
                                 {"who", order.who},
                                 {"order", order.order},
                                 {"outcome", order.outcome}});
  }
  return Value{std::move(rows)};
}

}  // namespace penstock::supervisor
