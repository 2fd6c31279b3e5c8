// Replays a trace: fresh actors handle the recorded messages in the recorded order, and all that they send, and ask of
// the device, is compared with the record. For kvferry::trace, which users see, and for tests.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "runtime/trace/replay_device.hpp"
#include "runtime/trace/replayed_actors.hpp"
#include "runtime/trace/trace_file.hpp"

namespace kvferry {

/// What one handling did otherwise than the record says.
struct handling_difference {
  enum class kind : std::uint8_t {
    other,        ///< both sides have something, and it differs
    not_made,     ///< the record has something that replay did not send or call
    not_recorded, ///< the reverse
    not_taken,    ///< the record has a handling that cannot be: the actor has ended, or does not take the message
  };

  kind what = kind::other;
  std::uint64_t handling = 0;             ///< its record; 0: an actor was made
  const trace_record* recorded = nullptr; ///< null: with not_recorded
  std::optional<outgoing> replayed;
};

/// Looks on at a replay.
class replay_observer {
public:
  virtual ~replay_observer() = default;

  /// Every record, before what it says is done.
  virtual void about_to_handle(const trace_record&) {}

  /// A handling that was replayed and found equal, and all that it sent.
  virtual void handled(const trace_record& record, const any_message& message, const std::vector<outgoing>& sent,
                       const replayed_actors& actors) = 0;
};

class replayer {
public:
  /// All actors, or `only` one from its inbox. `file` outlives this.
  explicit replayer(const trace_file& file, std::optional<address> only = std::nullopt);

  /// Replays until the record ends or something differs.
  void run(replay_observer* observer = nullptr);

  const std::optional<handling_difference>& difference() const { return difference_; }

  /// What was sent in the place of a damaged record; nothing: it is not known.
  std::optional<outgoing> sent_instead(const trace_record& damaged);

  std::uint64_t handlings() const { return handlings_; }
  std::uint64_t compared() const { return compared_; }
  std::uint64_t undelivered() const { return left_.size(); }

private:
  /// A message that the record does not have.
  struct left_message {
    std::uint64_t handling;
    outgoing what;
  };

  using channel = std::pair<address, address>;

  bool is_live(const address& who) const;
  bool step(const trace_record& record, replay_observer* observer);
  void make_storage();
  bool replay_handling(const trace_record& record, replay_observer* observer);
  expected<any_message> take_message(const trace_record& record);
  std::vector<const trace_record*> calls_of(std::uint64_t handling, const address& caller) const;
  bool compare(const trace_record& handling, const address& actor, std::vector<outgoing>& sent);
  bool is_cut_in(const trace_record& handling) const;
  void judge_left();
  bool differ(handling_difference::kind what, std::uint64_t handling, const trace_record* recorded,
              std::optional<outgoing> replayed);

  const trace_file& file_;
  const std::optional<address> only_;
  replay_device device_;
  replayed_actors actors_;
  std::map<address, std::uint64_t> last_handled_;          // by actor, over the whole record
  std::map<channel, std::uint64_t> last_cause_;            // of a message from, to
  std::unordered_map<std::uint64_t, any_message> waiting_; // sent in replay, equal to the record of that number
  std::vector<left_message> left_;
  std::optional<handling_difference> difference_;
  std::uint64_t handlings_ = 0;
  std::uint64_t compared_ = 0;
};

} // namespace kvferry
