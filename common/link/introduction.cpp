#include "common/link/introduction.hpp"

namespace penstock {

WelcomeMeaning meaning_of(const Welcome& welcome, const SupervisorTerm& known, bool linked, bool follows_terms) {
  if (!linked) return WelcomeMeaning::First;
  if (welcome.resumed && welcome.incarnation == known.incarnation) return WelcomeMeaning::Resumed;
  const bool goes_on = follows_terms && known.is_continued_by(SupervisorTerm::of(welcome));
  return goes_on ? WelcomeMeaning::Renewed : WelcomeMeaning::Over;
}

HelloAnswer answer_to(const Hello& hello, Incarnation self, const LinkCore* link) {
  const bool remembers = hello.peer == self;
  if (link == nullptr) return remembers ? HelloAnswer::GivenUp : HelloAnswer::Welcome;
  // Nothing has come of our first welcome.
  if (!remembers && link->received_through() == 0) return HelloAnswer::WelcomeAgain;
  return remembers && !link->lost() ? HelloAnswer::Resume : HelloAnswer::Unlinked;
}

}  // namespace penstock
