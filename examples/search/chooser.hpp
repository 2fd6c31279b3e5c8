// Who decides at a choice point: a given schedule, chance, or an explorer that wants to see every way.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <unordered_map>

#include "examples/search/foresight.hpp"
#include "examples/search/schedule.hpp"
#include "kvferry/delivery.hpp"

namespace search {

/// One way to go on.
struct option {
  enum class kind : std::uint8_t {
    deliver,         ///< the oldest message from `from` to `to`
    go_on,           ///< the engine goes on: from a call that has its answer, or with its next step
    run_stream,      ///< stream `number` runs to its next fence, and what has completed enters
    fail_copy,       ///< the next page copy fails
    fail_allocation, ///< the next allocation of the device is refused
    repeat,          ///< completion `number` is reported once more
    kill_request,    ///< the actor of the request `number`, in the order of their names, ends
    kill_actor,      ///< another ends, and with it the runtime
  };
  kind what = kind::deliver;
  kvferry::actor_key from = kvferry::actor_key::engine, to = kvferry::actor_key::engine;
  std::uint64_t number = 0;

  bool is_fault() const { return what >= kind::fail_copy; }
};

struct choice_point {
  std::uint32_t number = 0; ///< in this run, from 0
  std::span<const option> options;
  std::uint64_t state = 0;     ///< equal: everything that can follow is the same
  const moment* now = nullptr; ///< among deliveries, and going on behind them; null: between two steps
};

/// Thrown out of a run that need not go on: what follows has been seen.
struct cut {};

class chooser {
public:
  virtual ~chooser() = default;

  /// Less than the number of options. May throw `cut`.
  virtual std::uint32_t choose(const choice_point& at) = 0;

  /// Whether what must hold when all is quiet is worth asking for now; false: another run has asked here.
  virtual bool on_new_ground() const { return true; }

  /// Gets to know what each handling of the run does; null: nobody wants to.
  virtual foresight* learns() { return nullptr; }
};

/// Goes by a schedule. Deviations that fit no point, or have no such option, are passed over.
class given_schedule final : public chooser {
public:
  explicit given_schedule(schedule deviations) : deviations_(std::move(deviations)) {}
  std::uint32_t choose(const choice_point& at) override;

private:
  schedule deviations_;
  std::size_t next_ = 0;
};

/// Any way, each as likely; faults are rare.
class random_choice final : public chooser {
public:
  explicit random_choice(std::uint64_t seed) : random_(seed) {}
  std::uint32_t choose(const choice_point& at) override;

private:
  std::mt19937_64 random_;
};

/// Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): what has the highest priority goes, priorities
/// are random, and at `depth - 1` random points the one that would go falls behind all others. Finds a fault that takes
/// `depth` orderings, of n ways and k points, with a chance of at least 1 / (n * k^(depth - 1)). Faults have no
/// priority: one comes at a random point, and the next at another.
class priority_choice final : public chooser {
public:
  priority_choice(std::uint64_t seed, std::uint32_t depth, std::uint32_t points_expected);
  std::uint32_t choose(const choice_point& at) override;

private:
  std::uint64_t& priority_of(const option& way);
  std::uint32_t highest(std::span<const option> ways);

  std::mt19937_64 random_;
  std::vector<std::uint32_t> change_points_; // any order
  std::uint64_t falls_ = 0;                  // so far; later ones fall deeper
  std::uint32_t points_expected_;
  std::uint32_t fault_point_; // the next fault comes at the first point from here on that has one
  std::unordered_map<std::uint64_t, std::uint64_t> priorities_;
};

} // namespace search
