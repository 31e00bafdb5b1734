#include "supervisor/policy/actions/solve.hpp"

#include <algorithm>

namespace penstock::policy {
namespace {

using Members = std::vector<std::uint32_t>;

/// Members of one job that are taken together.
using Piece = TakenMembers;

/// One search for one job.
class Solver {
 public:
  Solver(QuotaPass& pass, std::uint32_t workload, const SolveRules& rules)
      : pass_(pass),
        trial_(pass.trial()),
        workload_(workload),
        rules_(rules),
        offered_(pass.snapshot().members.size(), false) {}

  bool run() {
    const auto waits = [this](std::uint32_t member) { return pass_.waits(member); };
    const Members wanted = pass_.order().next_members(workload_, waits);
    if (wanted.empty()) return false;
    const std::size_t mark = trial_.mark();
    for (std::size_t count = 1; count <= wanted.size(); ++count) {
      trial_.undo_to(mark);
      wanted_.assign(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(count));
      if (!extend()) return trial_.undo_to(mark), false;
    }
    if (!pass_.order().all_at_min(workload_)) return trial_.undo_to(mark), false;
    for (const Piece& piece : recorded_)
      for (const std::uint32_t member : piece.members) note_victim(member, piece.workload);
    return true;
  }

 private:
  /// Whether it has lost the place, or the promise, that it had.
  bool left(std::uint32_t member) const {
    const MemberState state = trial_.state(member);
    return state == MemberState::Leaving || state == MemberState::Pending || trial_.holdings(member).left_band != kNone;
  }
  void note_victim(std::uint32_t member, std::uint32_t owner) {
    if (!left(member)) return;
    // Who loses a promise of this pass has others leaving for him: they leave for the new one now.
    if (trial_.state(member) == MemberState::Pending)
      pass_.pass_on(owner, workload_);
    else
      pass_.note_victim(member, rules_.reason, workload_);
  }
  bool is_recorded(std::uint32_t member) const {
    return std::any_of(recorded_.begin(), recorded_.end(), [member](const Piece& piece) {
      return std::find(piece.members.begin(), piece.members.end(), member) != piece.members.end();
    });
  }

  /// Finds a scenario for `wanted_`, from the victims that are recorded already.
  bool extend() {
    if (!recorded_.empty() && attempt(recorded_, kNone)) return true;
    std::vector<bool> taken(offered_.size(), false);
    const WorkloadOrder::Waits is_there = [&](std::uint32_t member) {
      return is_active(trial_.state(member)) && !taken[member];
    };
    Agenda agenda{pass_.order(), Direction::TakeFrom, is_there};
    for (std::uint32_t victim = 0; victim < pass_.snapshot().workloads.size(); ++victim)
      if (victim != workload_ && pass_.is_owned(victim) && rules_.is_candidate(victim)) agenda.add(victim);
    std::vector<Piece> pieces;
    std::uint32_t jobs = 0;
    while (const std::optional<std::uint32_t> victim = agenda.take()) {
      Piece piece{*victim, pass_.order().next_victims(*victim, is_there)};
      if (piece.members.empty()) continue;
      if (pieces.empty() || pieces.back().workload != *victim) ++jobs;
      if (rules_.victims_max != kNone && jobs > rules_.victims_max) return false;
      Resources amount;
      for (const std::uint32_t member : piece.members) {
        taken[member] = true;
        amount += trial_.amount(member);
      }
      agenda.chosen(pass_.snapshot().workloads[*victim].project, amount);
      if (std::any_of(pass_.order().members(*victim).begin(), pass_.order().members(*victim).end(), is_there))
        agenda.add(*victim);
      // What is recorded goes anyway; the rest of such a piece stays.
      std::erase_if(piece.members, [this](std::uint32_t member) { return is_recorded(member); });
      if (piece.members.empty()) continue;
      pieces.push_back(std::move(piece));
      if (enough_in_all(pieces) && attempt_on_bands(pieces)) return true;
    }
    return false;
  }

  /// A scenario without enough devices in all needs no trial.
  bool enough_in_all(const std::vector<Piece>& pieces) const {
    std::int64_t room = 0;
    for (const std::uint32_t band : trial_.bands()) {
      room += trial_.room(band).later().gpu;
      for (const DeviceGroup& group : trial_.room(band).groups) room += group.used() ? 1000 : 0;
    }
    for (const std::vector<Piece>* all : {&recorded_, &pieces})
      for (const Piece& piece : *all)
        for (const std::uint32_t member : piece.members) room += trial_.amount(member).gpu;
    return pass_.amount_of(wanted_).gpu <= room || pass_.amount_of(wanted_).gpu == 0;
  }

  /// Every band on which the last piece's job sits is a chance.
  bool attempt_on_bands(const std::vector<Piece>& pieces) {
    std::vector<std::uint32_t> bands;
    for (const Piece& piece : pieces)
      if (piece.workload == pieces.back().workload)
        for (const std::uint32_t member : piece.members) bands.push_back(trial_.holdings(member).band);
    std::sort(bands.begin(), bands.end());
    bands.erase(std::unique(bands.begin(), bands.end()), bands.end());
    for (const std::uint32_t band : bands) {
      std::vector<Piece> chosen = recorded_;
      for (const Piece& piece : pieces) {
        const bool sits_there = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& other) {
          return other.workload == piece.workload &&
                 std::any_of(other.members.begin(), other.members.end(),
                             [&](std::uint32_t member) { return trial_.holdings(member).band == band; });
        });
        if (sits_there) chosen.push_back(piece);
      }
      if (attempt(chosen, band)) return true;
    }
    return false;
  }

  /// Takes the pieces, lets everybody be placed again in their order, and asks the rules.
  bool attempt(const std::vector<Piece>& pieces, std::uint32_t) {
    const std::size_t mark = trial_.mark();
    std::vector<bool> allowed(pass_.snapshot().bands.size(), false);
    const bool any_band = std::any_of(wanted_.begin(), wanted_.end(),
                                      [this](std::uint32_t member) { return trial_.amount(member, kNone).gpu == 0; });
    for (const std::uint32_t band : trial_.bands()) allowed[band] = any_band || has_room_for_devices(band);
    for (const Piece& piece : pieces)
      for (const std::uint32_t member : piece.members) allowed[trial_.holdings(member).band] = true;
    std::vector<TakenMembers> jobs;
    for (const Piece& piece : pieces) {
      const auto same = [&piece](const TakenMembers& job) { return job.workload == piece.workload; };
      auto job = std::find_if(jobs.begin(), jobs.end(), same);
      if (job == jobs.end()) job = jobs.insert(jobs.end(), {piece.workload, {}});
      job->members.insert(job->members.end(), piece.members.begin(), piece.members.end());
      for (const std::uint32_t member : piece.members) {
        trial_.leave(member);
        offered_[member] = true;
      }
    }
    for (const std::uint32_t member : wanted_) offered_[member] = true;
    const bool placed = place_again(jobs, allowed);
    const bool good = placed && leaves_no_part_of_a_gang(jobs) && rules_.validate(jobs);
    for (const Piece& piece : pieces)
      for (const std::uint32_t member : piece.members) offered_[member] = false;
    for (const std::uint32_t member : wanted_) offered_[member] = false;
    if (!good) {
      trial_.undo_to(mark);
      return false;
    }
    // A piece of which nobody has gone or moved was not needed; the others stay whole, as gangs must.
    recorded_ = pieces;
    std::erase_if(recorded_, [this](const Piece& piece) {
      return std::none_of(piece.members.begin(), piece.members.end(),
                          [this](std::uint32_t member) { return left(member); });
    });
    return true;
  }

  /// Gangs of victims run with their minimum or not at all.
  bool leaves_no_part_of_a_gang(const std::vector<TakenMembers>& victims) const {
    return std::all_of(victims.begin(), victims.end(), [this](const TakenMembers& victim) {
      const std::vector<std::uint32_t>& members = pass_.order().members(victim.workload);
      const bool none_left = std::none_of(members.begin(), members.end(),
                                          [this](std::uint32_t member) { return is_active(trial_.state(member)); });
      return none_left || pass_.order().all_at_min(victim.workload);
    });
  }

  bool has_room_for_devices(std::uint32_t band) const {
    const BandRoom& room = trial_.room(band);
    if (room.later().gpu > 0) return true;
    return std::any_of(room.groups.begin(), room.groups.end(), [&](const DeviceGroup& group) {
      return group.used() && group.held_mib + group.promised_mib < room.device_memory_mib;
    });
  }

  /// In the order of the agenda: `wanted_` must find its place, victims may.
  bool place_again(const std::vector<TakenMembers>& victims, const std::vector<bool>& allowed) {
    const WorkloadOrder::Waits waits = [this](std::uint32_t member) {
      return offered_[member] &&
             (trial_.state(member) == MemberState::Pending || trial_.state(member) == MemberState::Leaving);
    };
    Agenda agenda{pass_.order(), Direction::Serve, waits};
    agenda.add(workload_);
    for (const TakenMembers& victim : victims) agenda.add(victim.workload);
    bool placed = false;
    while (const std::optional<std::uint32_t> job = agenda.take()) {
      const Members members = *job == workload_ ? wanted_ : pass_.order().next_members(*job, waits);
      if (members.empty()) continue;
      const bool fits = !pass_.refused(*job, members) && pass_.place_all(*job, members, Trial::When::Later, allowed);
      if (*job == workload_) {
        if (!fits) return false;
        placed = true;
      } else if (fits) {
        agenda.add(*job);
      }
    }
    return placed;
  }

  QuotaPass& pass_;
  Trial& trial_;
  const std::uint32_t workload_;
  const SolveRules& rules_;
  Members wanted_;
  std::vector<Piece> recorded_;
  std::vector<bool> offered_;
};

}  // namespace

bool solve(QuotaPass& pass, std::uint32_t workload, const SolveRules& rules) {
  return Solver{pass, workload, rules}.run();
}

std::vector<std::vector<std::uint32_t>> lost_pieces(const QuotaPass& pass, const TakenMembers& taken) {
  const Trial& trial = pass.trial();
  const Snapshot& snapshot = pass.snapshot();
  const std::vector<MemberSet>& sets = snapshot.workloads[taken.workload].sets;
  std::vector<std::int64_t> counts(sets.size(), 0);
  std::vector<Members> pieces;
  Members lost;
  for (const std::uint32_t member : pass.order().members(taken.workload)) {
    const bool was_taken = std::find(taken.members.begin(), taken.members.end(), member) != taken.members.end();
    const bool is_there = is_active(trial.state(member));
    if (is_there || was_taken) ++counts[snapshot.members[member].set];
    if (was_taken && !is_there) lost.push_back(member);
  }
  Members core;
  for (auto member = lost.rbegin(); member != lost.rend(); ++member) {
    const std::uint32_t set = snapshot.members[*member].set;
    if (counts[set] > sets[set].min)
      pieces.push_back({*member});
    else
      core.push_back(*member);
    --counts[set];
  }
  if (!core.empty()) pieces.push_back(std::move(core));
  return pieces;
}

}  // namespace penstock::policy
