#include "supervisor/core/policy_agenda.hpp"

#include <utility>

#include "common/base/check.hpp"
#include "common/base/coverage_mark.hpp"
#include "supervisor/core/job.hpp"

namespace penstock::supervisor {
namespace {

/// A text of which different parts make different texts: each has its length before it.
class Words {
 public:
  void add(const std::string& part) { text_ += std::to_string(part.size()) + ':' + part; }
  void add(std::int64_t number) { text_ += std::to_string(number) + ';'; }
  void add(const std::vector<std::string>& parts) {
    add(static_cast<std::int64_t>(parts.size()));
    for (const std::string& part : parts) add(part);
  }
  void add(const BandSelector& selector) {
    add(selector.worker);
    add(selector.band);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_request(const ResourceVector& request, Words& words) {
  words.add(request.slots.value());
  words.add(request.cpu.value());
  words.add(request.gpu.value());
  words.add(request.memory.value());
  words.add(request.device_memory.value());
  for (const NamedAmount& named : request.named) {
    words.add(named.name);
    words.add(named.amount);
  }
}

}  // namespace

void PolicyAgenda::enter(JobId job, std::int32_t priority, const std::string& likeness, std::uint32_t depth) {
  Place place;
  place.priority = priority;
  if (!likeness.empty()) {
    place.at = groups_.try_emplace(likeness).first;
    place.group = &place.at->second;
    // Jobs that are hidden already come before this one, however few of the others wait.
    place.hidden = !place.group->hidden.empty() || place.group->members >= depth;
    ++place.group->members;
  }
  if (place.hidden)
    place.group->hidden.insert(job);
  else
    in_sight_.insert(job, priority);
  PENSTOCK_CHECK(places_.insert(job, place));
}

void PolicyAgenda::leave(JobId job) {
  const Place* found = places_.find(job);
  if (found == nullptr) return;
  const Place place = *found;
  places_.erase(job);
  in_sight_.erase(job, place.priority);
  if (place.group == nullptr) return;
  place.group->hidden.erase(job);
  if (--place.group->members == 0) groups_.erase(place.at);
}

void PolicyAgenda::look_at(JobId job) {
  Place* place = places_.find(job);
  if (place == nullptr || !place->hidden) return;
  place->hidden = false;
  place->group->hidden.erase(job);
  in_sight_.insert(job, place->priority);
}

void PolicyAgenda::hide(JobId job) {
  Place* place = places_.find(job);
  if (place == nullptr || place->hidden || place->group == nullptr) return;
  place->hidden = true;
  place->group->hidden.insert(job);
  in_sight_.erase(job, place->priority);
}

void PolicyAgenda::change(JobId job, std::int32_t priority, const std::string& likeness, std::uint32_t depth) {
  const Place* place = places_.find(job);
  if (place == nullptr) return;
  const bool in_sight = !place->hidden;
  leave(job);
  enter(job, priority, likeness, depth);
  if (in_sight) look_at(job);
}

KindShares* PolicyAgenda::wanted_alike(JobId job) {
  Group* group = places_.find(job)->group;
  return group == nullptr ? nullptr : &group->wanted;
}

bool PolicyAgenda::is_hidden(JobId job) const {
  const Place* place = places_.find(job);
  return place != nullptr && place->hidden;
}

std::size_t PolicyAgenda::hidden_like(JobId job) const { return places_.find(job)->group->hidden.size(); }

std::string likeness_of(const JobSpec& spec, const Graph& graph, bool has_external_inputs) {
  if (has_external_inputs || graph.templates.size() != 1 || spec.policy.gang > 0) {
    PENSTOCK_COVERAGE_MARK("a job is unlike all others");
    return {};
  }
  Words words;
  words.add(spec.owner);
  words.add(spec.priority);
  words.add(spec.policy.project);
  words.add(spec.policy.account);
  words.add(spec.policy.pools);
  words.add(spec.policy.labels);
  for (const std::int64_t number :
       {std::int64_t{spec.policy.weight}, std::int64_t{spec.policy.slots_max},
        static_cast<std::int64_t>(spec.policy.kind), static_cast<std::int64_t>(spec.policy.preemptible),
        std::int64_t{spec.policy.user_factor}, static_cast<std::int64_t>(spec.grace.count()),
        static_cast<std::int64_t>(spec.time_limit.count()), static_cast<std::int64_t>(graph.size())})
    words.add(number);
  words.add(spec.policy.qos);
  words.add(spec.policy.queue);
  const Template& only = graph.templates.front();
  words.add(static_cast<std::int64_t>(only.runner));
  words.add(only.required);
  words.add(only.preferred);
  words.add(std::int64_t{only.retryable});
  words.add(static_cast<std::int64_t>(only.time_limit.count()));
  add_request(only.request, words);
  return words.take();
}

std::string likeness_of(const Job& job) {
  return likeness_of(job.spec, job.graph.shape->graph(), !job.graph.shape->external_inputs().empty());
}

}  // namespace penstock::supervisor
