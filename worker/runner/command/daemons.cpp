#include "worker/runner/command/daemons.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "common/host/cgroup.hpp"

namespace penstock::worker {
namespace {

/// The number of looks is limited: some processes never have an environment.
constexpr int kLooksMax = 500;

/// All processes that a worker starts have this in their environment.
constexpr const char* kBand = "PENSTOCK_BAND=";

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

int number_of(std::string_view word) {
  int number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

std::string file_of(int process, const char* name) { return "/proc/" + std::to_string(process) + "/" + name; }

// Orphans become children of the main thread, and programs are started on it.
std::vector<int> children() {
  const std::string self = std::to_string(::getpid());
  const std::string text = read_small_file("/proc/self/task/" + self + "/children");
  std::vector<int> found;
  std::string_view rest = text;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) found.push_back(number_of(word));
  return found;
}

}  // namespace

bool has_entry(std::string_view environment, std::string_view entry) {
  while (!environment.empty()) {
    const std::string_view one = environment.substr(0, environment.find('\0'));
    if (one == entry) return true;
    environment.remove_prefix(std::min(one.size() + 1, environment.size()));
  }
  return false;
}

GroupAndSession parse_stat(std::string_view line) {
  GroupAndSession found;
  // The name in parentheses may contain anything, also parentheses.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos) return found;
  line.remove_prefix(name_end + 1);
  found.zombie = next_word(line) == "Z";
  next_word(line);
  found.group = number_of(next_word(line));
  found.session = number_of(next_word(line));
  return found;
}

void end_children_of_former_life() {
  // Children of an orphan that ends become ours, and are looked at in the next round.
  for (bool again = true; again;) {
    again = false;
    for (const int child : children()) {
      if (parse_stat(read_small_file(file_of(child, "stat"))).zombie) {
        again |= ::waitpid(child, nullptr, WNOHANG) == child;
        continue;
      }
      const std::string environment = read_small_file(file_of(child, "environ"));
      const bool is_ours =
          environment.starts_with(kBand) || environment.find(std::string{'\0'} + kBand) != environment.npos;
      if (!is_ours) continue;
      ::kill(-child, SIGKILL);
      ::kill(child, SIGKILL);
      again |= ::waitpid(child, nullptr, 0) == child;
    }
  }
}

Daemons::Daemons() : session_(::getsid(0)) { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool Daemons::is_program(int child) const {
  const GroupAndSession about = parse_stat(read_small_file(file_of(child, "stat")));
  // `Process::start` makes a program the leader of its own group in our session. An orphan is either in the group of
  // its program or in another session.
  return about.group == child && about.session == session_;
}

bool Daemons::end(const std::vector<std::string>& marks) {
  bool again = false;
  std::set<int> programs;
  std::map<int, int> unread;
  for (const int child : children()) {
    if (programs_.contains(child) || is_program(child)) {
      programs.insert(child);
      continue;
    }
    if (::waitpid(child, nullptr, WNOHANG) == child) {
      again = true;  // Its children became ours after the list was read.
      continue;
    }
    const std::string environment = read_small_file(file_of(child, "environ"));
    if (environment.empty()) {
      // The process is about to become another program, or is exiting and its children become ours only afterwards.
      const auto before = unread_.find(child);
      const int looks = before == unread_.end() ? 1 : before->second + 1;
      unread.emplace(child, looks);
      again |= looks < kLooksMax;
      continue;
    }
    const bool marked =
        std::all_of(marks.begin(), marks.end(), [&](const std::string& mark) { return has_entry(environment, mark); });
    if (!marked) continue;
    ::kill(child, SIGKILL);
    again = true;
  }
  programs_ = std::move(programs);
  unread_ = std::move(unread);
  return again;
}

}  // namespace penstock::worker
