// The check against an independent model: random programs on three streams, whose unordered pairs are also found by
// reachability in the graph of their operations.
#include <map>
#include <random>

#include "tests/catch.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

namespace {

/// One bit per operation: those that come before.
using operations = std::uint64_t;

constexpr std::uint32_t streams = 3;
constexpr std::uint32_t slots = 3;
constexpr int program_length = 20; // steps, each of at most three operations

/// Builds a program on a device and, beside it, the graph of what comes before what.
class random_program {
public:
  random_program(host_device_options options, std::uint64_t seed)
      : random_(seed), care_(below(9)), rig_(options, config_of({group_of({8}, slots, slots)})) {
    for (std::uint32_t i = 0; i < streams; ++i)
      ids_.push_back(rig_.gpu->create_stream(std::string(1, static_cast<char>('a' + i))));
    for (int i = 0; i < program_length; ++i)
      add_one();
    rig_.gpu->run_all();
  }

  std::uint64_t reported() const { return rig_.gpu->unordered_accesses(); }

  bool expected() const {
    for (std::size_t later = 0; later < accesses_.size(); ++later)
      for (std::size_t earlier = 0; earlier < later; ++earlier)
        if (conflict(accesses_[earlier], accesses_[later]))
          return true;
    return false;
  }

private:
  struct access {
    int operation;
    page_ref page;
    bool writes;
    operations before;
  };

  static bool conflict(const access& earlier, const access& later) {
    return earlier.page == later.page && (earlier.writes || later.writes) && earlier.operation != later.operation &&
           (later.before >> earlier.operation & 1) == 0;
  }

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  void add_one() {
    std::uint32_t on = below(streams);
    switch (below(8)) {
    case 0:
    case 1: rig_.gpu->run_one(); break;
    case 2:
      rig_.runtime_view->poll().passed.for_each([&](fence f) { host_ |= through_.at({f.stream, f.sequence}); });
      break;
    case 3: wait_for_some(on); break;
    case 4: record(on); break;
    case 5: catch_up(on), copy(on); break;
    default: catch_up(on), touch(on);
    }
  }

  /// Adds an operation to the graph; returns its number.
  int next(std::uint32_t on) {
    before_[on] |= host_;
    int number = count_++;
    last_before_ = before_[on];
    before_[on] |= operations{1} << number;
    return number;
  }

  void note_fence(fence f, int number) {
    through_[{f.stream, f.sequence}] = last_before_ | operations{1} << number;
    fences_.push_back(f);
  }

  fence record(std::uint32_t on) {
    int number = next(on);
    fence recorded = rig_.gpu->record(ids_[on]);
    note_fence(recorded, number);
    return recorded;
  }

  void wait(std::uint32_t on, const fence_set& fences) {
    fences.for_each([&](fence f) { before_[on] |= through_.at({f.stream, f.sequence}); });
    rig_.gpu->wait(ids_[on], fences);
  }

  void wait_for_some(std::uint32_t on) {
    fence_set chosen;
    for (std::uint32_t i = 0; i < 2 && !fences_.empty(); ++i)
      chosen.add(fences_[below(static_cast<std::uint32_t>(fences_.size()))]);
    wait(on, chosen);
  }

  /// Orders the stream after the others, as often as this program is careful.
  void catch_up(std::uint32_t on) {
    fence_set others;
    for (std::uint32_t other = 0; other < streams; ++other)
      if (other != on && below(8) < care_)
        others.add(record(other));
    wait(on, others);
  }

  void touch(std::uint32_t on) {
    page_ref page = gpu_page(below(slots));
    bool writes = below(2) == 0;
    accesses_.push_back({next(on), page, writes, last_before_});
    rig_.gpu->launch(ids_[on], "touch", [page, writes](kernel& k) {
      writes ? static_cast<void>(k.write(page, 0, 0, 8)) : static_cast<void>(k.read(page, 0, 0, 8));
    });
  }

  void copy(std::uint32_t on) {
    bool to_host = below(2) == 0;
    page_copy moved = copy_of(below(slots), below(slots));
    int number = next(on);
    accesses_.push_back({number, gpu_page(moved.gpu.value()), !to_host, last_before_});
    accesses_.push_back({number, host_page(moved.host.value()), to_host, last_before_});
    note_fence(rig_.copy(ids_[on], to_host ? copy_direction::to_host : copy_direction::to_gpu, {moved}), number);
  }

  std::mt19937_64 random_;
  std::uint32_t care_; // eighths
  rig rig_;
  std::vector<stream_id> ids_;
  int count_ = 0;
  operations before_[streams] = {};
  operations host_ = 0;
  operations last_before_ = 0;
  std::map<std::pair<stream_id, std::uint64_t>, operations> through_; // a fence's own operation, and all before it
  std::vector<fence> fences_;
  std::vector<access> accesses_;
};

} // namespace

TEST_CASE("an unordered access is reported exactly when the graph of operations has one, in every drive mode") {
  auto drive = GENERATE(drive_mode::eager, drive_mode::by_hand, drive_mode::random);
  int disordered = 0;
  constexpr int programs = 1000;
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    host_device_options options;
    options.drive = drive;
    options.seed = seed;
    random_program program(options, seed);
    INFO("seed " << seed);
    REQUIRE((program.reported() != 0) == program.expected());
    disordered += program.expected() ? 1 : 0;
  }
  // Both kinds are common among the programs, else the comparison says little.
  REQUIRE(disordered > programs / 20);
  REQUIRE(disordered < programs - programs / 20);
}

} // namespace kvferry::test
