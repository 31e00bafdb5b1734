// Makes snapshots for tests of the cluster policy short.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// A preset that exists.
inline Parts parts_named(std::string_view name) { return preset(name).value(); }

/// Adds things in the order of their age; everything can be changed in `snapshot` afterwards.
class PolicyBuilder {
 public:
  Snapshot snapshot;

  std::uint32_t band(std::int64_t slots, std::int64_t light_places = 0) {
    Band added;
    added.name = "band" + std::to_string(snapshot.bands.size());
    added.slots = slots;
    added.light_places = light_places;
    snapshot.bands.push_back(std::move(added));
    return static_cast<std::uint32_t>(snapshot.bands.size() - 1);
  }
  /// `rank`: as users say it, 1 is the most important.
  Workload& workload(const std::string& name, std::int64_t rank = 42) {
    Workload added;
    added.name = name;
    added.priority = -rank;
    added.submitted = static_cast<std::int64_t>(snapshot.workloads.size());
    added.position = added.submitted;
    snapshot.workloads.push_back(std::move(added));
    return snapshot.workloads.back();
  }
  /// Waiting members of the last workload.
  void waiting(std::int64_t slots, int count = 1) {
    for (int i = 0; i < count; ++i) {
      Member added;
      added.workload = static_cast<std::uint32_t>(snapshot.workloads.size() - 1);
      added.name = snapshot.workloads.back().name + "." + std::to_string(snapshot.members.size());
      added.slots = slots;
      added.submitted = snapshot.workloads.back().submitted;
      added.requested = static_cast<std::int64_t>(snapshot.members.size());
      snapshot.members.push_back(std::move(added));
    }
  }
  void running(std::int64_t slots, std::uint32_t on_band, int count = 1) {
    for (int i = 0; i < count; ++i) {
      waiting(slots);
      snapshot.members.back().state = MemberState::Running;
      snapshot.members.back().places = {{on_band, slots}};
    }
  }
  /// A band with whole devices of 100 MiB.
  std::uint32_t device_band(std::int64_t devices) {
    const std::uint32_t added = band(devices);
    snapshot.bands[added].capacity = {1'000'000, std::int64_t{1} << 40, devices * 1000};
    snapshot.bands[added].device_memory_mib = 100;
    return added;
  }
  /// Guaranteed devices, without bound for CPU and memory; a parent makes it a part of a department.
  std::uint32_t project(const std::string& name, std::int64_t devices, std::uint32_t parent = kNone) {
    Project added;
    added.name = name;
    added.parent = parent;
    added.created = static_cast<std::int64_t>(snapshot.projects.size());
    added.shares[0] = added.shares[1] = {.guaranteed = kUnlimited, .weight = 1000};
    added.shares[2] = {.guaranteed = devices * 1000, .weight = devices * 1000};
    snapshot.projects.push_back(std::move(added));
    return static_cast<std::uint32_t>(snapshot.projects.size() - 1);
  }
  /// A job of a project; larger priorities are more important, from 100 it may not be preempted.
  Workload& job(const std::string& name, std::uint32_t of_project, std::int64_t priority = 50) {
    Workload& added = workload(name);
    added.project = of_project;
    added.priority = priority;
    added.preemptible = priority < 100;
    return added;
  }
  /// Members that wait for whole devices.
  void wants(std::int64_t devices, int count = 1) {
    for (int i = 0; i < count; ++i) {
      waiting(devices);
      last_member().request = {1000, 1'000'000, devices * 1000};
    }
  }
  void holds(std::int64_t devices, std::uint32_t on_band, int count = 1) {
    for (int i = 0; i < count; ++i) {
      wants(devices);
      last_member().state = MemberState::Running;
      last_member().places = {{on_band, devices}};
    }
  }
  /// A member that waits for a part of one device, in thousandths.
  void wants_part(std::int64_t thousandths) {
    waiting(0);
    last_member().request = {1000, 1'000'000, 0};
    last_member().devices = 1;
    last_member().device_share = thousandths;
  }
  Member& last_member() { return snapshot.members.back(); }
  /// The last member may use these bands only.
  void only_on(std::vector<std::uint32_t> bands) {
    last_member().band_list = band_lists_.name(std::move(bands), snapshot);
  }

  /// The world when the plan has been carried out and all that were told to have left.
  void carry_out(const Plan& plan) {
    for (const Preemption& each : plan.preemptions) {
      snapshot.members[each.member].state = MemberState::Pending;
      snapshot.members[each.member].places.clear();
      snapshot.members[each.member].device_groups.clear();
    }
    for (const Start& each : plan.starts) {
      snapshot.members[each.member].state = MemberState::Running;
      snapshot.members[each.member].places = each.places;
      snapshot.members[each.member].device_groups = each.device_groups;
    }
  }
  /// Then a member that was promised a place has it. After `carry_out`.
  void keep_promises(const Plan& plan) {
    for (const Reservation& each : plan.reservations) {
      snapshot.members[each.member].state = MemberState::Running;
      snapshot.members[each.member].places = each.places;
      snapshot.members[each.member].device_groups = each.device_groups;
    }
  }
  /// How many members of a workload hold places.
  std::int64_t running_of(const std::string& name) const {
    return std::count_if(snapshot.members.begin(), snapshot.members.end(), [&](const Member& member) {
      return snapshot.workloads[member.workload].name == name && member.state == MemberState::Running;
    });
  }
  void finish(const std::string& name, std::int64_t count = INT64_MAX) {
    for (Member& member : snapshot.members) {
      if (snapshot.workloads[member.workload].name != name || member.state == MemberState::Succeeded) continue;
      if (count-- <= 0) return;
      member.state = MemberState::Succeeded;
      member.places.clear();
    }
  }

 private:
  BandLists band_lists_;
};

enum class Rules : std::uint8_t { All, OfThePages };

/// One pass of the preset `quota` with some of its actions only.
inline Plan run_actions(const PolicyBuilder& builder, const std::vector<Action>& actions, Rules rules = Rules::All) {
  Parts parts = parts_named("quota");
  parts.own_rules = rules == Rules::All;
  parts.action_count = 0;
  for (const Action action : actions) parts.actions[parts.action_count++] = action;
  return PolicyEngine{{parts}}.pass(builder.snapshot);
}

}  // namespace penstock::policy
