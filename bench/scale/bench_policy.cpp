// One pass of the cluster policy over many bands and jobs; prints one JSON line for each measurement.
// usage: bench_policy [--bands N] [--jobs N] [--preset NAME] [--repeat N] [--labelled N] [--bound N] [--single 1]
//                     [--victims N] [--wants N] [--fitting WORD]
// --labelled: adds a job with so many members that may only use every other band
// --bound: so many of every hundred jobs may only use some bands: those with one of four labels, or one of five bands
// --single: every job requests one slot
// --victims: so many jobs of one half of the projects hold all bands in equal parts, and the jobs of the other half
// hold nothing and reclaim; --wants: devices of each of these, instead of 1 to 8
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "common/base/rng.hpp"
#include "supervisor/policy/choose_parts.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace {

using namespace penstock;
using namespace penstock::policy;

constexpr std::int64_t kDevices = 8;  ///< Of a band.
constexpr std::uint32_t kDepartments = 10;
constexpr std::uint32_t kProjects = 100;

void add_owners(Snapshot& snapshot, std::int64_t devices) {
  for (std::uint32_t i = 0; i < kDepartments + kProjects; ++i) {
    Project& added = snapshot.projects.emplace_back();
    const bool department = i < kDepartments;
    added.name = "p" + std::to_string(i);
    added.parent = department ? kNone : i % kDepartments;
    added.created = i;
    const std::int64_t guaranteed = devices * 1000 / (department ? kDepartments : kProjects) / 2;
    added.shares[0] = added.shares[1] = {.guaranteed = kUnlimited, .weight = 1000};
    added.shares[2] = {.guaranteed = guaranteed / 1000 * 1000, .weight = 1000};
  }
}

/// A cluster with `jobs` waiting jobs of 1 to 8 devices, one gang of several members in ten.
Snapshot make_cluster(std::uint32_t bands, std::uint32_t jobs, std::uint64_t seed, bool single) {
  Rng rng{seed};
  Snapshot snapshot;
  snapshot.now = Instant{std::chrono::hours{10}};
  for (std::uint32_t i = 0; i < bands; ++i) {
    Band& added = snapshot.bands.emplace_back();
    added.name = "band" + std::to_string(i);
    added.slots = kDevices;
    added.capacity = {64'000, std::int64_t{1} << 40, kDevices * 1000};
    added.device_memory_mib = 80'000;
  }
  add_owners(snapshot, bands * kDevices);
  for (std::uint32_t i = 0; i < jobs; ++i) {
    Workload& added = snapshot.workloads.emplace_back();
    added.name = "job" + std::to_string(i);
    added.project = kDepartments + static_cast<std::uint32_t>(rng.below(kProjects));
    added.priority = rng.chance(1, 10) ? 100 : 50;
    added.preemptible = added.priority < 100;
    added.submitted = i;
    added.submitted_at = Instant{std::chrono::seconds{i}};
    added.time_limit = std::chrono::seconds{rng.between(60, 36000)};
    const int members = rng.chance(1, 10) ? static_cast<int>(rng.between(2, 4)) : 1;
    added.sets[0].min = members;
    const std::int64_t devices = rng.chance(1, 4) && !single ? rng.between(2, kDevices) : 1;
    for (int k = 0; k < members; ++k) {
      Member& member = snapshot.members.emplace_back();
      member.name = added.name + "." + std::to_string(k);
      member.workload = i;
      member.submitted = i;
      member.requested = k;
      member.slots = devices;
      member.request = {1000, 1 << 20, devices * 1000};
    }
  }
  return snapshot;
}

void add_labelled(Snapshot& snapshot, std::uint32_t count) {
  Workload& added = snapshot.workloads.emplace_back();
  added.name = "labelled";
  added.project = kDepartments;
  added.priority = 50;
  added.submitted = -1;
  added.time_limit = std::chrono::seconds{600};
  std::vector<std::uint32_t> list;
  for (std::uint32_t band = 0; band < snapshot.bands.size(); band += 2) list.push_back(band);
  const std::uint32_t band_list = BandLists{}.name(std::move(list), snapshot);
  for (std::uint32_t i = 0; i < count; ++i) {
    Member& member = snapshot.members.emplace_back();
    member.name = "labelled." + std::to_string(i);
    member.workload = static_cast<std::uint32_t>(snapshot.workloads.size() - 1);
    member.submitted = -1;
    member.requested = i;
    member.slots = 1;
    member.single_band = true;
    member.request = {1000, 1 << 20, 1000};
    member.band_list = band_list;
  }
}

void bind_jobs(Snapshot& snapshot, std::uint32_t of_hundred) {
  constexpr std::uint32_t kLabels = 4;
  Rng rng{2};
  BandLists lists;
  std::vector<std::uint32_t> chosen;
  const auto bands = static_cast<std::uint32_t>(snapshot.bands.size());
  for (std::size_t i = 0; i < snapshot.workloads.size(); ++i) {
    std::vector<std::uint32_t> list;
    if (rng.chance(of_hundred, 100)) {
      const auto label = static_cast<std::uint32_t>(rng.below(kLabels));
      if (rng.chance(1, 5))
        list.push_back(static_cast<std::uint32_t>(rng.below(bands)));
      else  // Labels overlap: a band has two of them.
        for (std::uint32_t band = 0; band < bands; ++band)
          if (band % kLabels == label || (band / kLabels) % kLabels == label) list.push_back(band);
    }
    chosen.push_back(lists.name(std::move(list), snapshot));
  }
  for (Member& member : snapshot.members) {
    member.band_list = chosen[member.workload];
    member.single_band = member.single_band || member.band_list != kNone;
  }
}

/// The project of the same department in the half that holds, or in the half that waits.
std::uint32_t in_half(std::uint32_t project, bool holds) {
  const std::uint32_t rank = project - kDepartments;
  return kDepartments + rank / (2 * kDepartments) * 2 * kDepartments + rank % kDepartments + (holds ? 0 : kDepartments);
}

/// Gives all bands to `victims` jobs in equal parts; all other jobs wait in projects that hold nothing.
void add_victims(Snapshot& snapshot, std::uint32_t victims, std::int64_t wants) {
  for (Workload& job : snapshot.workloads) job.project = in_half(job.project, false);
  for (Member& member : snapshot.members)
    if (wants > 0) member.request.gpu = (member.slots = wants) * 1000;
  const auto bands = static_cast<std::uint32_t>(snapshot.bands.size());
  const std::int64_t devices = std::max<std::int64_t>(1, bands * kDevices / victims);
  Rng rng{3};
  for (std::uint32_t i = 0; i < victims; ++i) {
    Workload& added = snapshot.workloads.emplace_back();
    added.name = "victim" + std::to_string(i);
    added.project = in_half(kDepartments + static_cast<std::uint32_t>(rng.below(kProjects)), true);
    added.priority = 50;
    added.submitted = std::int64_t{i} - victims;
    added.time_limit = std::chrono::hours{1};
    Member& member = snapshot.members.emplace_back();
    member.name = added.name + ".0";
    member.workload = static_cast<std::uint32_t>(snapshot.workloads.size() - 1);
    member.submitted = added.submitted;
    member.slots = devices;
    member.request = {1000, 1 << 20, devices * 1000};
    member.state = MemberState::Running;
    member.places = {{i % bands, devices}};
  }
}

void carry_out(Snapshot& snapshot, const Plan& plan) {
  for (const Preemption& each : plan.preemptions) {
    snapshot.members[each.member].state = MemberState::Pending;
    snapshot.members[each.member].places.clear();
  }
  for (const Start& each : plan.starts) {
    snapshot.members[each.member].state = MemberState::Running;
    snapshot.members[each.member].places = each.places;
    Workload& owner = snapshot.workloads[snapshot.members[each.member].workload];
    owner.ends_by = snapshot.now + *owner.time_limit;
  }
}

/// Processor time of this thread: a pass has one thread and never waits, and other processes may be busy on the
/// machine.
double processor_ms() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);  // tidy: allow call: a benchmark measures
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double pass_ms(const PolicyEngine& engine, const Snapshot& snapshot, int repeat, Plan& plan) {
  double best = 0;
  for (int i = 0; i < repeat; ++i) {
    const double began = processor_ms();
    plan = engine.pass(snapshot);
    const double ms = processor_ms() - began;
    if (i == 0 || ms < best) best = ms;
  }
  return best;
}

std::uint32_t number(const char* text) {
  std::uint32_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t bands = 1000;
  std::uint32_t jobs = 10'000;
  std::uint32_t labelled = 0;
  std::uint32_t bound = 0;
  std::uint32_t victims = 0;
  std::uint32_t wants = 0;
  bool single = false;
  int repeat = 3;
  std::string name = "quota";
  std::string fitting;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--bands") bands = number(argv[i + 1]);
    if (option == "--jobs") jobs = number(argv[i + 1]);
    if (option == "--labelled") labelled = number(argv[i + 1]);
    if (option == "--bound") bound = number(argv[i + 1]);
    if (option == "--victims") victims = number(argv[i + 1]);
    if (option == "--wants") wants = number(argv[i + 1]);
    if (option == "--single") single = number(argv[i + 1]) > 0;
    if (option == "--repeat") repeat = static_cast<int>(number(argv[i + 1]));
    if (option == "--preset") name = argv[i + 1];
    if (option == "--fitting") fitting = argv[i + 1];
  }
  const Result<Parts> parts = choose_parts({.preset = name, .fitting = fitting});
  if (!parts) {
    std::fprintf(stderr, "%s\n", to_string(parts.error()).c_str());
    return 2;
  }
  const PolicyEngine engine{{*parts}};
  Snapshot snapshot = make_cluster(bands, jobs, 1, single);
  if (bound > 0) bind_jobs(snapshot, bound);
  if (labelled > 0) add_labelled(snapshot, labelled);
  if (victims > 0) add_victims(snapshot, victims, wants);
  Plan plan;
  const double empty_ms = pass_ms(engine, snapshot, repeat, plan);
  if (victims > 0) {
    std::printf(
        "{\"preset\": \"%s\", \"bands\": %u, \"jobs\": %u, \"bound\": %u, \"victims\": %u, \"wants\": %u, "
        "\"pass_ms\": %.1f, \"preemptions\": %zu}\n",
        name.c_str(), bands, jobs, bound, victims, wants, empty_ms, plan.preemptions.size());
    return 0;
  }
  const std::size_t starts = plan.starts.size();
  carry_out(snapshot, plan);
  const double full_ms = pass_ms(engine, snapshot, repeat, plan);
  std::printf(
      "{\"preset\": \"%s\", \"bands\": %u, \"jobs\": %u, \"labelled\": %u, \"bound\": %u, "
      "\"from_empty_ms\": %.1f, "
      "\"starts\": %zu, "
      "\"when_full_ms\": "
      "%.1f, "
      "\"preemptions\": %zu}\n",
      name.c_str(), bands, jobs, labelled, bound, empty_ms, starts, full_ms, plan.preemptions.size());
  return 0;
}
