#include "supervisor/core/admin/time_limit_orders.hpp"

#include "common/base/quantity.hpp"
#include "common/protocol/time_limit.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/runs/time_limits.hpp"

namespace penstock::supervisor {
namespace {

/// Null: there is no limit.
Value seconds_value(Duration limit) {
  return limit == Duration{0} ? Value{} : Value{std::chrono::duration<double>(limit).count()};
}

}  // namespace

Result<Value> TimeLimitOrders::set_by_request(const AdminRequest& request) {
  const std::string whom = operand(request, 1);
  const std::string text = operand(request, 2);
  Duration limit{0};
  if (text != "none") {
    const Result<Duration> read = parse_duration(text);
    if (!read) return bad_argument("time-limit", "'" + text + "' is no time as in 90s, 30min or 2h, nor `none`");
    PENSTOCK_TRY(check_time_limit("time-limit", *read));
    limit = *read;
  }
  Job* job = jobs_.find(job_selector_of(whom, request.viewer));
  if (job == nullptr) return not_found("job '" + whom + "'", "`jobs` lists them");
  if (job->status.state != JobState::Running || job->status.cancelling)
    return Error{
        ErrorCode::WrongState,
        to_string(job->id),
        job->status.cancelling ? "is being ended" : "has ended already: " + std::string{to_string(job->status.state)},
        {}};
  JobSpec changed = job->spec;
  changed.time_limit = limit;
  PENSTOCK_TRY(rules_.check_limits(changed, *job->graph.shape));
  const Duration before = job->spec.time_limit;
  limits_.change(*job, limit);
  turns_.policy_changed();
  Value::Record done{
      {"job", to_string(job->id)}, {"time_limit_s", seconds_value(limit)}, {"was", seconds_value(before)}};
  if (const std::optional<Duration> left = time_left_of(*job, event_.now))
    done.emplace_back("time_left_s", std::chrono::duration<double>(*left).count());
  return Value{std::move(done)};
}

}  // namespace penstock::supervisor
