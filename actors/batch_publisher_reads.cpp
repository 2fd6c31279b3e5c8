// Reads of a batch's tables on other streams than that of its publications: what they wait for, and what waits for
// them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/batch_publisher.hpp"

namespace kvferry {

void batch_publisher::handle(const begin_read& message, outbox& out) {
  read_changed changed{message.call, version_, {}};
  if (version_ == 0) {
    changed.refused = refusal{error_code::not_published, "nothing was published yet", {}};
  } else {
    if (message.stream != stream_) {
      read_elsewhere_ = true; // the first time it waits for more than the table writes
      device_.wait(message.stream, end_of_publication(stream_));
    }
    open_reads_.push_back(message.stream);
  }
  out.send(std::move(changed));
}

void batch_publisher::handle(const end_read& message, outbox& out) {
  read_changed changed{message.call, version_, {}};
  const auto read = std::find(open_reads_.begin(), open_reads_.end(), message.stream);
  if (read == open_reads_.end()) {
    changed.refused =
        refusal{error_code::invalid_argument, fmt::format("no read is open on stream {}", message.stream.value()), {}};
  } else {
    open_reads_.erase(read);
    readers_.add(device_.record(message.stream));
  }
  out.send(std::move(changed));
}

/// What comes on `stream` from now on, table writes and steps, is behind the readers on other streams. Those on the
/// publications' own streams are before it anyway.
void batch_publisher::follow_readers(stream_id stream) {
  fence_set elsewhere = std::exchange(readers_, {});
  elsewhere.remove_if([&](fence f) { return f.stream == stream; });
  if (!elsewhere.empty())
    device_.wait(stream, elsewhere);
}

/// Behind all readers of the versions before, and the table writes. One event for all who need it.
fence batch_publisher::end_of_publication(stream_id stream) {
  if (end_.sequence == 0)
    end_ = device_.record(stream);
  return end_;
}

} // namespace kvferry
