#include "supervisor/core/ledger/audit_log.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/quantity.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/request_words.hpp"
#include "common/base/utc_text.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::size_t kWhoBytesMax = 256;
constexpr std::size_t kOrderBytesMax = 1024;
constexpr const char* kPolicy = "policy";
constexpr const char* kItself = "supervisor";

/// Whether the supervisor itself decided it.
bool is_own(const record::Ordered& order) { return order.who == kPolicy || order.who == kItself; }

/// As it would be typed; empty where the answer does not say it.
std::string text_of_before(const Value& answer) {
  if (answer.record() == nullptr) return {};
  for (const auto& [name, value] : *answer.record()) {
    if (name != "was" || value.boolean() != nullptr) continue;
    if (value.integer() != nullptr) return std::to_string(*value.integer());
    if (value.number() != nullptr) return decimal_text(std::int64_t{std::llround(*value.number() * 1000)});
    return value.text() == nullptr ? "none" : *value.text();
  }
  return {};
}

/// The change that an order has made, where its answer has the former value.
std::string outcome_of(const Value& answer) {
  std::string but;
  if (const Value::List* warnings = answer["warnings"].list())
    for (const Value& warning : *warnings) but += (but.empty() ? "; beware: " : "; ") + *warning.text();
  if (const std::string* changed = answer["changed"].text())
    return (changed->empty() ? "done, and nothing is different" : "done: " + *changed) + but;
  const std::string before = text_of_before(answer);
  return (before.empty() ? "done" : "done; it was " + before) + but;
}

}  // namespace

// With a journal the answer to the order leaves when its entry is on the disk.
void AuditLog::note_order(const AdminRequest& request, const Result<Value>& result) {
  if (!is_order(request.command)) return;
  record::Ordered entry;
  entry.number = next_number_++;
  entry.at_ms = now_ms();
  entry.who = request.who.substr(0, kWhoBytesMax);
  entry.order = words_of_order(request).substr(0, kOrderBytesMax);
  entry.outcome = (result.has_value() ? outcome_of(*result) : to_string(result.error())).substr(0, kOrderBytesMax);
  keep(std::move(entry));
}

void AuditLog::note_decision(std::string decision, std::string reason) {
  keep({next_number_++, now_ms(), kPolicy, std::move(decision), std::move(reason)});
}

void AuditLog::note_trouble(const std::string& decision, const std::string& reason) {
  keep({next_number_++, now_ms(), kItself, decision.substr(0, kOrderBytesMax), reason.substr(0, kOrderBytesMax)});
}

void AuditLog::keep(record::Ordered entry) {
  gate_.write(entry);
  (is_own(entry) ? decisions_ : orders_).push_back(std::move(entry));
  forget_old();
}

void AuditLog::recover(std::vector<record::Ordered>& entries) {
  for (record::Ordered& entry : entries) {
    next_number_ = std::max(next_number_, entry.number + 1);
    (is_own(entry) ? decisions_ : orders_).push_back(std::move(entry));
  }
  forget_old();
}

void AuditLog::forget_oldest(std::deque<record::Ordered>& from) {
  gate_.write(record::OrderForgotten{from.front().number});
  from.pop_front();
}

// Called only when there is a new entry: a history to which nothing is added needs no shortening.
void AuditLog::forget_old() {
  const std::int64_t oldest_ms = now_ms() - config_.audit_age_max / std::chrono::milliseconds{1};
  for (std::deque<record::Ordered>* each : {&orders_, &decisions_})
    while (!each->empty() && each->front().at_ms < oldest_ms) forget_oldest(*each);
  while (orders_.size() + decisions_.size() > config_.audit_entries_max) {
    const bool decided_first =
        orders_.empty() || (!decisions_.empty() && decisions_.front().number < orders_.front().number);
    forget_oldest(decisions_.size() > orders_.size() || decided_first ? decisions_ : orders_);
  }
}

Result<Value> AuditLog::list(const AdminRequest& request) const {
  std::uint32_t limit = 0xffffffffU;
  std::int64_t since_ms = INT64_MIN;
  if (const std::string text = option(request, "limit"); !text.empty() && !parse(text, limit))
    return bad_argument("--limit", "'" + text + "' is no number of orders");
  if (const std::string text = option(request, "since"); !text.empty()) {
    const Result<Duration> since = parse_duration(text);
    if (!since) return since.error();
    since_ms = now_ms() - *since / std::chrono::milliseconds{1};
  }
  std::vector<const record::Ordered*> all;
  for (const std::deque<record::Ordered>* each : {&orders_, &decisions_})
    for (const record::Ordered& entry : *each) all.push_back(&entry);
  const auto by_number = [](const record::Ordered* a, const record::Ordered* b) { return a->number < b->number; };
  std::inplace_merge(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(orders_.size()), all.end(), by_number);
  Value::List rows;
  for (std::size_t i = all.size() - std::min<std::size_t>(all.size(), limit); i < all.size(); ++i) {
    const record::Ordered& entry = *all[i];
    if (entry.at_ms < since_ms || !request.viewer.sees_orders_of(entry.who)) continue;
    rows.push_back(Value::Record{{"number", entry.number},
                                 {"time", utc_text(entry.at_ms)},
                                 {"who", entry.who},
                                 {"order", entry.order},
                                 {"outcome", entry.outcome}});
  }
  return Value{std::move(rows)};
}

}  // namespace penstock::supervisor
