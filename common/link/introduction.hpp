// Whether a link begins, resumes or ends when two processes introduce themselves.
#pragma once

#include <cstdint>

#include "common/link/link_core.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock {

/// One incarnation of a supervisor, and the state that it keeps on disk, as in `Welcome`.
struct SupervisorTerm {
  Incarnation incarnation;
  std::uint64_t state = 0;
  std::uint64_t branch = 0;
  std::uint64_t life = 0;

  static SupervisorTerm of(const Welcome& welcome) {
    return {welcome.incarnation, welcome.state, welcome.branch, welcome.life};
  }
  /// Whether `later` is another term that continues from what this one has begun. An earlier term, or another branch,
  /// does not know what was begun since, and may have other jobs under the same numbers.
  bool is_continued_by(const SupervisorTerm& later) const {
    return state != 0 && state == later.state && branch == later.branch && life < later.life;
  }
  bool goes_on_as(const SupervisorTerm& other) const {
    return incarnation == other.incarnation || is_continued_by(other);
  }
};

/// The meaning of a welcome for the link of a worker or client.
enum class WelcomeMeaning : std::uint8_t {
  First,    ///< There was no link; one begins.
  Resumed,  ///< The link goes on where it stood.
  Renewed,  ///< Another term continues: a link to it begins, and what was sent on the old one may be lost.
  Over,     ///< The supervisor does not know the link.
};
/// `linked`: there is a link to `known`. `follows_terms`: the peer can go on with another term.
WelcomeMeaning meaning_of(const Welcome& welcome, const SupervisorTerm& known, bool linked, bool follows_terms);

/// The answer of the supervisor to the introduction of a worker or client.
enum class HelloAnswer : std::uint8_t {
  Welcome,       ///< A link begins.
  WelcomeAgain,  ///< The same, and the one that there is goes: the peer has not received its welcome.
  Resume,        ///< The link goes on where it stood.
  Unlinked,      ///< Refused: the peer does not remember the link, or the link is lost.
  GivenUp,       ///< Refused: the peer remembers a link that is lost.
};
/// `link`: that of the peer's incarnation to `self`; null: there is none.
HelloAnswer answer_to(const Hello& hello, Incarnation self, const LinkCore* link);

}  // namespace penstock
