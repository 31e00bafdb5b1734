#include "supervisor/policy/actions/solve.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "supervisor/policy/actions/best_case_room.hpp"
#include "supervisor/policy/actions/chosen_pieces.hpp"
#include "supervisor/policy/actions/give_way.hpp"
#include "supervisor/policy/actions/limit_relief.hpp"
#include "supervisor/policy/actions/wanted_room.hpp"
#include "supervisor/policy/fitting/band_score.hpp"
#include "supervisor/policy/fitting/device_fit.hpp"

namespace penstock::policy {
namespace {

using Members = std::vector<std::uint32_t>;
using Bands = std::vector<std::uint32_t>;

/// Members of one job that are taken together.
using Piece = VictimPiece;

/// Not settings: a new look at whether a search may succeed costs as much as so many tries for each job that holds
/// something, and an attempt as much as so many others.
constexpr std::size_t kTriesBeforeLooking = 32;
constexpr std::size_t kVictimsForOneTry = 2;
constexpr std::size_t kTriesOfAnAttempt = 16;

/// The choices of one scenario's search so far.
struct Choices {
  explicit Choices(ChosenPieces& chosen) : pieces(chosen) {}
  ChosenPieces& pieces;
  std::deque<Piece> rests;          ///< Pieces without recorded members.
  LimitRelief limits;               ///< Without those that go in any case.
  LimitRelief limits_left;          ///< And without those below.
  std::vector<std::size_t> relief;  ///< Positions of pieces that lift limits.
  bool any_room = false;            ///< A band of theirs has room for the first member that lacks some.
};

/// Where a scenario may still succeed.
struct Outlook {
  std::size_t tries = 0;
  bool looked = false;            ///< The members below are valid; else every band is hopeful.
  bool anywhere = false;          ///< All of the wanted members might fit whichever go, or they are too many to tell.
  std::int64_t helpful_left = 0;  ///< Members on hopeful bands that have not been taken, at most.
  std::vector<bool> helps;        ///< By band: hopeful, or its jobs may be on a hopeful one as well.
  bool had_room = false;          ///< For each of the wanted members, in the last attempt while its pieces had left.
  std::vector<bool> hopeful;      ///< By band: it might hold one of the wanted members if all went that may.
};

/// One search for one job.
class Solver {
 public:
  Solver(QuotaPass& pass, std::uint32_t workload, const SolveRules& rules)
      : pass_(pass),
        trial_(pass.trial()),
        workload_(workload),
        rules_(rules),
        victims_(pass.victims_in_order()),
        chosen_(pass.chosen_pieces()),
        room_(pass, rules),
        is_to_be_placed_([this](std::uint32_t member) {
          return offered_[member] &&
                 (trial_.state(member) == MemberState::Pending || trial_.state(member) == MemberState::Leaving);
        }),
        agenda_(pass.order(), Direction::Serve, is_to_be_placed_),
        offered_(pass.snapshot().members.size(), false) {}
  Solver(const Solver&) = delete;  // The agenda refers to its solver.
  Solver& operator=(const Solver&) = delete;

  bool run() {
    const auto waits = [this](std::uint32_t member) { return pass_.waits(member); };
    const Members wanted = pass_.order().next_members(workload_, waits);
    if (wanted.empty()) return false;
    if (!anybody_to_take_from()) return false;
    const std::size_t mark = trial_.mark();
    const bool found = rules_.one_piece ? take_one_piece(wanted) : take_pieces(wanted) && take_more(mark);
    if (outlook_.looked) pass_.best_case_rooms().note_search(found);
    if (!found || !pass_.order().all_at_min(workload_)) return trial_.undo_to(mark), false;
    if (pass_.parts().own_rules && rules_.may_give_way) let_betters_first();
    for (const Piece& piece : recorded_)
      for (const std::uint32_t member : piece.members) note_victim(member, piece.workload);
    return true;
  }

 private:
  /// A place to which a victim has moved goes to the first in its project that can use it.
  void let_betters_first() {
    std::map<std::uint32_t, Members> moved;
    for (const Piece& piece : recorded_)
      for (const std::uint32_t member : piece.members)
        if (trial_.state(member) == MemberState::Promised && trial_.holdings(member).left_band != kNone)
          moved[piece.project].push_back(member);
    for (const auto& [project, members] : moved) give_way(pass_, project, members, rules_.not_project);
  }

  /// As many as it takes, for one member more each time.
  bool take_pieces(const Members& wanted) {
    const std::size_t mark = trial_.mark();
    for (std::size_t count = 1; count <= wanted.size(); ++count) {
      trial_.undo_to(mark);
      wanted_.assign(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(count));
      if (!extend()) return false;
    }
    return true;
  }

  /// One search for each of these members would take from other victims each time, though one victim may be enough for
  /// all. A member that needs no further victim is left to the next pass, as the specification has it.
  /// Spec: policy-runai 5.
  bool take_more(std::size_t mark) {
    for (const std::uint32_t member : rules_.more) {
      const std::vector<Piece> before = recorded_;
      trial_.undo_to(mark);
      wanted_.push_back(member);
      if (extend() && !is_same(before, recorded_)) continue;
      // The search without the member is repeated from its beginning, so that it ends as it did.
      trial_.undo_to(mark);
      recorded_.clear();
      const Members kept(wanted_.begin(), wanted_.end() - 1);
      return take_pieces(kept);
    }
    return true;
  }

  static bool is_same(const std::vector<Piece>& a, const std::vector<Piece>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& left, const Piece& right) {
      return left.workload == right.workload && left.members == right.members;
    });
  }

  bool take_one_piece(const Members& wanted) {
    wanted_ = wanted;
    look_at_room();
    const WorkloadOrder::Waits is_there = [this](std::uint32_t member) { return is_active(trial_.state(member)); };
    Agenda agenda = victims_agenda(is_there);
    while (const std::optional<std::uint32_t> victim = agenda.take()) {
      if (!is_worth_a_try()) return false;
      const Piece piece{
          *victim, pass_.order().next_victims(*victim, is_there), {}, pass_.snapshot().workloads[*victim].project};
      if (!piece.members.empty() && might_fit({&piece}) && attempt({&piece})) return true;
    }
    return false;
  }

  Agenda victims_agenda(const WorkloadOrder::Waits& is_there) {
    Agenda agenda{pass_.order(), Direction::TakeFrom, is_there};
    agenda.admit_only([this](std::uint32_t victim) { return is_candidate(victim); });
    for (std::uint32_t project = 0; project < victims_.size(); ++project)
      if (may_take_from(project)) agenda.add_sorted(project, victims_[project]);
    return agenda;
  }

  /// A job that holds something is no victim of its own.
  VictimChoice victim_choice() const {
    const std::uint64_t own = pass_.holds_anything(workload_) ? std::uint64_t{workload_} + 1 : 0;
    const std::uint64_t kind = static_cast<std::uint64_t>(rules_.reason) + 1;
    return {rules_.only_project, rules_.not_project, kind << 60 ^ own << 30 ^ rules_.candidates_name};
  }

  /// Whether each of `wanted_` fits while no member has gone.
  void look_at_room() {
    room_.look_at(wanted_);
    bands_with_room_.clear();
    outlook_.tries = 0;
    std::size_t victims = 0;
    for (std::uint32_t project = 0; project < victims_.size(); ++project)
      if (may_take_from(project)) victims += victims_[project].size();
    tries_before_looking_ = kTriesBeforeLooking + victims * pass_.best_case_rooms().patience() / kVictimsForOneTry;
    outlook_.looked = false;
    outlook_.anywhere = true;
    outlook_.helpful_left = INT64_MAX;
  }

  /// Whether one more try may succeed. Most searches that succeed do so soon; only longer ones are worth a look at all
  /// bands, unless an earlier search has looked already.
  bool is_worth_a_try() {
    const BestCaseKey key{rules_.only_project, rules_.not_project, wanted_.size() > 1};
    if (outlook_.looked || (++outlook_.tries <= tries_before_looking_ && !pass_.best_case_rooms().has(trial_, key)))
      return true;
    outlook_.looked = true;
    return find_hopeful_bands(key);
  }

  /// Finds the bands that could hold one of `wanted_` at best. False: one of them finds no such band.
  bool find_hopeful_bands(const BestCaseKey& key) {
    const BestCaseRoom& best_case =
        pass_.best_case_rooms().get(trial_, key, [this](BestCaseRoom& fresh) { look_at_victims(fresh); });
    if (!room_.gang().might_fit(best_case)) return false;
    outlook_.hopeful.assign(pass_.snapshot().bands.size(), false);
    outlook_.helpful_left = 0;
    bool all = true;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const Member& wanted = pass_.snapshot().members[wanted_[i]];
      bool any = room_.fits_anyway(i);
      for (const std::uint32_t band : trial_.bands()) {
        if (!best_case.might_hold(wanted_[i], band) || !band_allowed(pass_.snapshot(), wanted, band)) continue;
        outlook_.hopeful[band] = any = true;
      }
      all = all && any;
    }
    // Members that go together with one on a hopeful band help, too.
    outlook_.helps = outlook_.hopeful;
    for (const std::uint32_t band : trial_.bands()) {
      if (best_case.is_tied(band)) outlook_.helps[band] = true;
      if (outlook_.helps[band]) outlook_.helpful_left += best_case.takeable(band);
    }
    outlook_.anywhere = wanted_.size() > 1 || room_.fits_anyway(0);
    if (outlook_.anywhere) outlook_.helpful_left = INT64_MAX;
    return all;
  }

  void look_at_victims(BestCaseRoom& best_case) const {
    const std::vector<bool> several = bands_of_several();
    for (std::uint32_t project = 0; project < victims_.size(); ++project) {
      if (!may_take_from(project)) continue;
      for (const std::uint32_t victim : victims_[project]) {
        const Members& members = pass_.order().members(victim);
        const auto is_there = [this](std::uint32_t member) { return is_active(trial_.state(member)); };
        const auto together = std::count_if(members.begin(), members.end(), is_there);
        for (const std::uint32_t member : members)
          if (is_there(member))
            best_case.may_go(member, room_.may_be_lost(project), several[trial_.holdings(member).band], together);
      }
    }
  }

  /// Bands where a member may leave together with others on other bands, which make room for it there.
  std::vector<bool> bands_of_several() const {
    std::vector<bool> several(pass_.snapshot().bands.size(), wanted_.size() > 1);
    if (wanted_.size() > 1) return several;
    for (const Members& jobs : victims_)
      for (const std::uint32_t job : jobs) {
        const Members& members = pass_.order().members(job);
        if (members.size() < 2) continue;
        for (const std::uint32_t member : members)
          if (is_active(trial_.state(member))) several[trial_.holdings(member).band] = true;
      }
    return several;
  }

  /// Whether a piece belongs to a job that a try on a hopeful band could include.
  bool is_helpful(const Piece& piece) const {
    if (outlook_.anywhere || piece.only_band != kNone) return outlook_.anywhere || outlook_.helps[piece.only_band];
    const Members& members = pass_.order().members(piece.workload);
    return std::any_of(members.begin(), members.end(), [this](std::uint32_t member) {
      return is_active(trial_.state(member)) && outlook_.helps[trial_.holdings(member).band];
    });
  }

  bool is_hopeful(const Bands& bands) const {
    return outlook_.anywhere ||
           std::any_of(bands.begin(), bands.end(), [this](std::uint32_t band) { return outlook_.hopeful[band]; });
  }

  bool may_take_from(std::uint32_t project) const {
    return rules_.only_project == kNone ? project != rules_.not_project : project == rules_.only_project;
  }
  bool is_candidate(std::uint32_t victim) const { return victim != workload_ && rules_.is_candidate(victim); }
  bool anybody_to_take_from() const {
    for (std::uint32_t project = 0; project < victims_.size(); ++project)
      if (may_take_from(project) && std::any_of(victims_[project].begin(), victims_[project].end(),
                                                [this](std::uint32_t victim) { return is_candidate(victim); }))
        return true;
    return false;
  }
  /// Whether it has lost the place, or the promise, that it had.
  bool left(std::uint32_t member) const {
    const MemberState state = trial_.state(member);
    return state == MemberState::Leaving || state == MemberState::Pending || trial_.holdings(member).left_band != kNone;
  }
  void note_victim(std::uint32_t member, std::uint32_t owner) {
    if (!left(member)) return;
    // Members that leave for a promise of this pass leave for the new one when the promise is lost. A start of this
    // pass is simply forgotten when it is lost.
    if (trial_.state(member) == MemberState::Pending)
      pass_.pass_on(owner, workload_), trial_.forget_start(member);
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
    look_at_room();
    std::vector<const Piece*> recorded;
    for (const Piece& piece : recorded_) recorded.push_back(&piece);
    if (!recorded.empty() && attempt(recorded)) return true;
    VictimOrder& order = pass_.victim_order();
    order.choose(victim_choice(), [this](std::uint32_t victim) { return is_candidate(victim); });
    chosen_.pieces.clear();
    chosen_.rests.clear();
    look_at_limits();
    room_.look_at_recorded(recorded);
    chosen_.any_room = room_.is_there();
    std::uint32_t jobs = 0;
    std::uint32_t last_job = kNone;
    // A scenario without enough devices in all needs no trial.
    const std::int64_t needed = pass_.amount_of(wanted_).gpu;
    std::int64_t room = trial_.devices().later + trial_.devices().shared;
    for (const Piece& piece : recorded_) room += devices_of(piece);
    for (std::size_t position = 0; const VictimPiece* next = order.at(position); ++position) {
      if (!is_worth_a_try()) return false;
      if (last_job != next->workload) ++jobs;
      if (rules_.victims_max != kNone && jobs > rules_.victims_max) return false;
      // Recorded victims go anyway; the rest of such a piece stays.
      const bool is_known = std::any_of(recorded_.begin(), recorded_.end(),
                                        [next](const Piece& piece) { return piece.workload == next->workload; }) &&
                            std::any_of(next->members.begin(), next->members.end(),
                                        [this](std::uint32_t member) { return is_recorded(member); });
      if (is_known && std::all_of(next->members.begin(), next->members.end(),
                                  [this](std::uint32_t member) { return is_recorded(member); }))
        continue;
      last_job = next->workload;
      const Piece& piece = is_known ? without_recorded(*next) : *next;
      room += piece.amount.gpu;
      const bool was_limited = !chosen_.limits_left.lifted();
      const bool is_relief = was_limited && chosen_.limits_left.is_helped_by(piece.project, counted_amount(piece));
      const bool helps = is_helpful(piece);
      if (!helps && !is_relief) continue;
      if (helps) outlook_.helpful_left -= std::ssize(piece.members);
      choose(piece, is_relief);
      if (!chosen_.limits_left.lifted()) continue;
      if ((needed <= room || needed == 0) && (was_limited ? attempt_within_limits() : attempt_on_bands())) return true;
      if (outlook_.helpful_left <= 0) return false;  // No band that is left can help.
    }
    return false;
  }

  const Piece& without_recorded(const Piece& piece) {
    Piece& rest = chosen_.rests.emplace_back(Piece{piece.workload, {}, {}, piece.project});
    for (const std::uint32_t member : piece.members) {
      if (is_recorded(member)) continue;
      rest.members.push_back(member);
      rest.amount += trial_.amount(member);
    }
    return rest;
  }

  /// The amount of a piece in the sums of its owners.
  Resources counted_amount(const Piece& piece) const {
    Resources sum;
    for (const std::uint32_t member : piece.members)
      if (trial_.holdings(member).counted) sum += trial_.amount(member);
    return sum;
  }

  /// Finds the limits that `wanted_` passes when the recorded victims have gone.
  void look_at_limits() {
    Resources amount;
    for (const std::uint32_t member : wanted_) amount += amount_at_most(trial_, member);
    chosen_.limits = LimitRelief{trial_, pass_.snapshot().workloads[workload_].project, amount};
    for (const Piece& piece : recorded_) chosen_.limits.take(piece.project, counted_amount(piece));
    chosen_.limits_left = chosen_.limits;
    chosen_.relief.clear();
  }

  /// The limits have just been lifted: tries what lifts them alone, then every band of the pieces so far.
  bool attempt_within_limits() {
    if (attempt_there({})) return true;
    const Bands bands = chosen_.pieces.bands();
    return std::any_of(bands.begin(), bands.end(), [this](std::uint32_t band) { return attempt_on(band); });
  }

  std::int64_t devices_of(const Piece& piece) const {
    std::int64_t sum = 0;
    for (const std::uint32_t member : piece.members) sum += trial_.amount(member).gpu;
    return sum;
  }

  /// Tries every band on which the last piece's job holds a place, with all that was chosen of the jobs there gone.
  bool attempt_on_bands() {
    const Bands& bands = chosen_.pieces.last_bands();
    if (!chosen_.any_room) return false;
    return std::any_of(bands.begin(), bands.end(), [this](std::uint32_t band) { return attempt_on(band); });
  }

  bool attempt_on(std::uint32_t band) {
    // Found in constant time where jobs of one member each leave that band alone.
    if (chosen_.limits.lifted() && room_.is_missing_on(band, chosen_.pieces)) return false;
    return attempt_there(chosen_.pieces.of_jobs_on(band));
  }

  /// Tries with those pieces, and with as many more as lift the limits.
  bool attempt_there(std::vector<std::size_t> there) {
    LimitRelief limits = chosen_.limits;
    for (const std::size_t piece : there) {
      if (limits.lifted()) break;
      limits.take(chosen_.pieces[piece].project, counted_amount(chosen_.pieces[piece]));
    }
    for (const std::size_t piece : chosen_.relief) {
      if (limits.lifted()) break;
      const std::uint32_t project = chosen_.pieces[piece].project;
      const Resources amount = counted_amount(chosen_.pieces[piece]);
      if (!limits.is_helped_by(project, amount) || std::find(there.begin(), there.end(), piece) != there.end())
        continue;
      limits.take(project, amount);
      there.push_back(piece);
    }
    std::sort(there.begin(), there.end());
    std::vector<const Piece*> chosen;
    for (const Piece& piece : recorded_) chosen.push_back(&piece);
    for (const std::size_t piece : there) chosen.push_back(&chosen_.pieces[piece]);
    return might_fit(chosen) && attempt(chosen);
  }

  void choose(const Piece& piece, bool is_relief) {
    if (is_relief) {
      chosen_.relief.push_back(chosen_.pieces.size());
      chosen_.limits_left.take(piece.project, counted_amount(piece));
    }
    chosen_.pieces.add(piece, room_.may_be_lost(piece.project));
    const Bands& bands = chosen_.pieces.last_bands();
    chosen_.any_room = chosen_.any_room || std::any_of(bands.begin(), bands.end(), [this](std::uint32_t band) {
                         return room_.is_for_first_on(band, chosen_.pieces.all_from(band));
                       });
  }

  bool might_fit(const std::vector<const Piece*>& pieces) const {
    return is_hopeful(bands_of(pieces)) && room_.might_fit(pieces);
  }

  /// Whether each member of `wanted_` fits alone, now that the pieces have left and none is placed again. Bands that no
  /// piece has left are as they were.
  bool have_room_now(const Bands& left_bands) const {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (room_.fits_anyway(i)) continue;
      const Member& wanted = pass_.snapshot().members[wanted_[i]];
      if (std::none_of(left_bands.begin(), left_bands.end(), [&](std::uint32_t band) {
            return trial_.fits_now_or_later(wanted_[i], band, Trial::When::Later) &&
                   band_allowed(pass_.snapshot(), wanted, band);
          }))
        return false;
    }
    return true;
  }

  /// Finds the bands that have room for devices while no member has gone; all bands, if a member wants none.
  void find_bands_with_room() {
    bands_with_room_.assign(pass_.snapshot().bands.size(), false);
    const bool any_band = std::any_of(wanted_.begin(), wanted_.end(),
                                      [this](std::uint32_t member) { return trial_.amount(member, kNone).gpu == 0; });
    for (const std::uint32_t band : trial_.bands())
      bands_with_room_[band] = any_band || has_room_for_devices(trial_.room(band));
  }

  /// Where the members of the pieces are, each once.
  Bands bands_of(const std::vector<const Piece*>& pieces) const {
    Bands bands;
    for (const Piece* piece : pieces)
      for (const std::uint32_t member : piece->members) bands.push_back(trial_.holdings(member).band);
    std::sort(bands.begin(), bands.end());
    bands.erase(std::unique(bands.begin(), bands.end()), bands.end());
    return bands;
  }

  /// Takes the pieces, places them again, and asks the rules. Where every victim keeps a place, that of `wanted_` may
  /// be found first: victims that go before it may go back to where they were.
  bool attempt(const std::vector<const Piece*>& pieces) {
    outlook_.tries += kTriesOfAnAttempt;
    const Bands left_bands = bands_of(pieces);
    if (bands_with_room_.empty()) find_bands_with_room();
    outlook_.had_room = false;
    return attempt_once(pieces, left_bands, rules_.one_piece) ||
           (outlook_.had_room && rules_.wanted_may_be_first && attempt_once(pieces, left_bands, true));
  }

  bool attempt_once(const std::vector<const Piece*>& pieces, const Bands& left_bands, bool wanted_first) {
    const std::size_t mark = trial_.mark();
    std::vector<bool> allowed = bands_with_room_;
    for (const std::uint32_t band : left_bands) allowed[band] = true;
    std::vector<TakenMembers> jobs;
    for (const Piece* piece : pieces) {
      const auto same = [piece](const TakenMembers& job) { return job.workload == piece->workload; };
      auto job = std::find_if(jobs.begin(), jobs.end(), same);
      if (job == jobs.end()) job = jobs.insert(jobs.end(), {piece->workload, {}});
      job->members.insert(job->members.end(), piece->members.begin(), piece->members.end());
      for (const std::uint32_t member : piece->members) {
        trial_.leave(member);
        offered_[member] = true;
      }
    }
    for (const std::uint32_t member : wanted_) offered_[member] = true;
    outlook_.had_room = have_room_now(left_bands);
    const bool placed = outlook_.had_room && place_again(jobs, allowed, wanted_first);
    const bool good = placed && leaves_no_part_of_a_gang(jobs) && rules_.validate(jobs);
    for (const Piece* piece : pieces)
      for (const std::uint32_t member : piece->members) offered_[member] = false;
    for (const std::uint32_t member : wanted_) offered_[member] = false;
    if (!good) {
      trial_.undo_to(mark);
      return false;
    }
    // A piece was not needed if none of its members has gone or moved; the others stay whole, as gangs must.
    std::vector<Piece> needed;
    for (const Piece* piece : pieces)
      if (std::any_of(piece->members.begin(), piece->members.end(),
                      [this](std::uint32_t member) { return left(member); }))
        needed.push_back(*piece);
    recorded_ = std::move(needed);
    return true;
  }

  /// Gangs of victims run with their minimum or not at all, unless nothing has been done to them.
  bool leaves_no_part_of_a_gang(const std::vector<TakenMembers>& victims) const {
    return std::all_of(victims.begin(), victims.end(), [this](const TakenMembers& victim) {
      if (std::none_of(victim.members.begin(), victim.members.end(),
                       [this](std::uint32_t member) { return left(member); }))
        return true;
      const std::vector<std::uint32_t>& members = pass_.order().members(victim.workload);
      const bool none_left = std::none_of(members.begin(), members.end(),
                                          [this](std::uint32_t member) { return is_active(trial_.state(member)); });
      return none_left || pass_.order().all_at_min(victim.workload);
    });
  }

  bool place_wanted(const std::vector<bool>& allowed) {
    return !pass_.refused(workload_, wanted_) && pass_.place_all(workload_, wanted_, Trial::When::Later, allowed);
  }

  /// In the order of the agenda: `wanted_` must find its place, victims may.
  bool place_again(const std::vector<TakenMembers>& victims, const std::vector<bool>& allowed, bool wanted_first) {
    agenda_.clear();
    bool placed = wanted_first && place_wanted(allowed);
    if (wanted_first && !placed) return false;
    if (!placed) agenda_.add(workload_);
    if (rules_.victims_move)
      for (const TakenMembers& victim : victims) agenda_.add(victim.workload);
    while (const std::optional<std::uint32_t> job = agenda_.take()) {
      if (*job == workload_) {
        if (!place_wanted(allowed)) return false;
        placed = true;
        continue;
      }
      const Members members = pass_.order().next_members(*job, is_to_be_placed_);
      if (members.empty()) continue;
      if (!pass_.refused(*job, members) && pass_.place_all(*job, members, Trial::When::Later, allowed)) {
        agenda_.add(*job);
      } else if (!rules_.may_lose.empty() && !rules_.may_lose[pass_.snapshot().workloads[*job].project]) {
        return false;  // The member would be lost, and the rules forbid that.
      }
    }
    return placed;
  }

  QuotaPass& pass_;
  Trial& trial_;
  const std::uint32_t workload_;
  const SolveRules& rules_;
  const std::vector<Members>& victims_;  ///< By project, while nothing has been tried.
  Members wanted_;
  std::vector<Piece> recorded_;
  Choices chosen_;
  WantedRoom room_;
  const WorkloadOrder::Waits is_to_be_placed_;
  Agenda agenda_;  ///< Of one attempt: made once, because there are many.
  std::vector<bool> bands_with_room_;
  Outlook outlook_;
  std::size_t tries_before_looking_ = 0;
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
