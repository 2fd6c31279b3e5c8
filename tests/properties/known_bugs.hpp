// What random engines leave out because the runtime is known to do it wrong. Each switch has a test case in
// known_bugs_test.cpp that turns it on, and goes when the bug does.
#pragma once

namespace kvferry::test {

struct known_bugs {
  /// A suspended decoder that gets a row shows history blocks in its page_storage.
  bool suspended_decoders_join = false;

  /// A match never ends inside a block (design section 4.5).
  bool matches_end_inside_blocks = false;

  /// A slot that a member's earlier steps read is written before they have run, once it has left its batch.
  bool members_leave = false;

  /// A request that is suspended before its new slots were published is copied without a wait for their earlier users.
  bool suspends_before_published = false;
};

/// Those that are met on purpose.
inline known_bugs met_bugs;

} // namespace kvferry::test
