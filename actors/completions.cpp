#include "actors/completions.hpp"

#include <algorithm>

namespace kvferry {

void completions::handle(const watch_copies& message, outbox& out) {
  copies_.push_back(message.submitted);
  report(out); // it may have passed before we were told of it
}

void completions::handle(const watch_fences& message, outbox& out) {
  watched_.add(message.fences);
  report(out);
}

void completions::handle(const streams_progressed& message, outbox& out) {
  passed_.add(message.passed);
  failed_.insert(failed_.end(), message.failed.begin(), message.failed.end());
  report(out);
}

void completions::report(outbox& out) {
  std::erase_if(copies_, [&](const fence& submitted) {
    if (submitted.sequence > passed_.sequence_on(submitted.stream))
      return false;
    copy_completed done{submitted, {}};
    std::erase_if(failed_, [&](const failed_positions& f) {
      if (f.submitted != submitted)
        return false;
      done.failed.insert(done.failed.end(), f.positions.begin(), f.positions.end());
      return true;
    });
    out.send(std::move(done));
    return true;
  });
  bool news = false; // of any: a stream that stands still holds no other's back
  watched_.remove_if([&](fence f) {
    const bool has_passed = passed_.covers(f);
    news = news || has_passed;
    return has_passed;
  });
  if (news)
    out.send(fence_passed{passed_});
}

} // namespace kvferry
