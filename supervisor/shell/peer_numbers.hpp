// The numbers that a supervisor's core gives its peers.
#pragma once

#include <map>
#include <optional>

#include "common/base/ids.hpp"

namespace penstock::supervisor {

/// Peers of one kind by their incarnations, which the world knows, and by their numbers, which the core knows. Numbers
/// count up and are never used again, but for a peer of before a restart that comes back.
template <class Number>
class PeerNumbers {
 public:
  /// `next`: the first number that no earlier term has given.
  void go_on_from(Number next) { next_ = next.value(); }
  /// The peer was known before the restart by that number, and others may still name it so.
  void expect(Incarnation peer, Number number) { expected_[peer] = number; }

  /// REQUIRES: the peer has no number.
  Number add(Incarnation peer) {
    const auto before = expected_.extract(peer);
    const Number number = before.empty() ? Number{next_++} : before.mapped();
    numbers_[peer] = number;
    peers_[number] = peer;
    return number;
  }
  /// The number that it had; none: the peer is unknown.
  Number remove(Incarnation peer) {
    const Number number = find(peer);
    numbers_.erase(peer);
    peers_.erase(number);
    return number;
  }

  /// None: the peer is unknown.
  Number find(Incarnation peer) const {
    const auto known = numbers_.find(peer);
    return known == numbers_.end() ? Number::none() : known->second;
  }
  /// None: the peer is gone.
  Incarnation find(Number number) const {
    const auto known = peers_.find(number);
    return known == peers_.end() ? Incarnation::none() : known->second;
  }

 private:
  std::map<Incarnation, Number> numbers_;
  std::map<Number, Incarnation> peers_;
  std::map<Incarnation, Number> expected_;
  std::uint32_t next_ = 1;
};

}  // namespace penstock::supervisor
