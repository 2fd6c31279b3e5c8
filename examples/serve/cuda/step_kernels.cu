#include "examples/serve/cuda/step_kernels.hpp"

#include "examples/pages/mixing.hpp"

namespace serve {
namespace {

constexpr std::uint32_t warp = 32;
constexpr std::uint32_t threads = 256;
constexpr std::uint32_t past_end_looked_at = 4;
constexpr std::uint32_t other_rows_stride = 16;
constexpr std::uint32_t not_seen = 0xffffffff;

__device__ void report(const gpu_run& run, const gpu_step& step, finding what) {
  const unsigned long long number = atomicAdd(&run.found->mismatches, 1ull);
  if (number >= findings_kept)
    return;
  what.step = step.step;
  what.version = step.version;
  run.found->first[number] = what;
}

/// The table row of a step's row; -1 when the tables name none.
__device__ std::int32_t place_of_row(const gpu_run& run, std::uint32_t i) {
  const std::int32_t place = run.active_rows[i];
  return place >= 0 && static_cast<std::uint32_t>(place) < run.rows ? place : -1;
}

__device__ const std::byte* fragment_at(const gpu_group& group, const gpu_fragment& fragment, std::uint32_t tier,
                                        std::uint32_t slot) {
  return tier == pages::gpu_tier ? fragment.base + std::uint64_t{slot} * fragment.stride_bytes
                                 : group.host_base + std::uint64_t{slot} * group.host_slot_bytes + fragment.blob_offset;
}

__device__ bool slot_exists(const gpu_group& group, std::uint32_t tier, std::int32_t slot) {
  const std::uint32_t slots = tier == pages::gpu_tier    ? group.gpu_slots
                              : tier == pages::host_tier ? group.host_slots
                                                         : 0;
  return slot >= 0 && static_cast<std::uint32_t>(slot) < slots;
}

// -- what every step brings -------------------------------------------------------------------------------------------

__global__ void extend_chains(gpu_run run, gpu_step step) {
  const gpu_row row = step.rows[blockIdx.x];
  std::uint64_t* chain = run.chains + row.chain_slot * run.chain_tokens;
  for (std::uint32_t token = row.known_tokens + threadIdx.x; token < row.written_tokens; token += blockDim.x)
    chain[token] = step.words[row.words_from + (token - row.known_tokens)];
  if (row.forgets)
    for (std::uint32_t i = threadIdx.x; i < run.group_count * run.max_blocks; i += blockDim.x)
      run.seen[std::uint64_t{row.chain_slot} * run.group_count * run.max_blocks + i] = not_seen;
}

// -- the pattern writer -----------------------------------------------------------------------------------------------

__device__ void write_block(const gpu_run& run, const gpu_group& group, const std::uint64_t* chain, std::uint32_t slot,
                            std::uint32_t begin, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t b = 0; b < group.fragment_count; ++b) {
    const gpu_fragment& fragment = run.fragments[group.fragment_first + b];
    auto* out = reinterpret_cast<std::uint8_t*>(fragment.base + std::uint64_t{slot} * fragment.stride_bytes);
    const std::uint64_t end = fragment.pattern.begin_of(last - begin);
    for (std::uint64_t i = fragment.pattern.begin_of(first - begin) + threadIdx.x; i < end; i += blockDim.x) {
      const std::uint32_t token = fragment.pattern.token_at(i);
      out[i] = fragment.pattern.byte_of(chain[begin + token], i - fragment.pattern.begin_of(token));
    }
  }
}

/// A block of threads takes some of one row's blocks in one group.
__global__ void write_pages(gpu_run run, gpu_step step) {
  const gpu_row row = step.rows[blockIdx.x];
  const gpu_group& group = run.groups[blockIdx.y];
  const std::int32_t place = place_of_row(run, blockIdx.x);
  if (place < 0 || run.row_request[place] != row.request) {
    if (blockIdx.y == 0 && blockIdx.z == 0 && threadIdx.x == 0)
      report(run, step, {.kind = finding_kind::active_rows, .row = blockIdx.x, .slot = place, .request = row.request});
    return;
  }
  const std::uint64_t* chain = run.chains + row.chain_slot * run.chain_tokens;
  const std::uint64_t entries = std::uint64_t{static_cast<std::uint32_t>(place)} * run.max_blocks;
  const std::uint32_t T = run.tokens_per_block;
  if (row.written_tokens <= row.history_tokens)
    return;
  const std::uint32_t last = (row.written_tokens - 1) / T;
  for (std::uint32_t ordinal = row.history_tokens / T + blockIdx.z; ordinal <= last; ordinal += gridDim.z) {
    const std::uint32_t tier = group.page_tier[entries + ordinal];
    const std::int32_t slot = group.page_index[entries + ordinal];
    if (tier == pages::gpu_tier && slot_exists(group, tier, slot))
      write_block(run, group, chain, static_cast<std::uint32_t>(slot), ordinal * T,
                  max(row.history_tokens, ordinal * T), min(row.written_tokens, (ordinal + 1) * T));
    else if (threadIdx.x == 0)
      report(run, step,
             {.kind = finding_kind::not_writable,
              .row = static_cast<std::uint32_t>(place),
              .group = blockIdx.y,
              .ordinal = ordinal,
              .tier = tier,
              .slot = slot,
              .request = row.request});
  }
}

// -- attention --------------------------------------------------------------------------------------------------------

/// One row of one group, as a block of threads sees it.
struct checked_row {
  const gpu_run& run;
  const gpu_step& step;
  const gpu_group& group;
  const gpu_row& row;
  const pages::row_rules& rules;
  const std::uint64_t* chain;
  std::uint32_t place;
  std::uint32_t group_number;
  std::uint64_t step_word;

  __device__ std::uint64_t entry(std::uint32_t ordinal) const {
    return std::uint64_t{place} * run.max_blocks + ordinal;
  }
  __device__ std::uint32_t tier(std::uint32_t ordinal) const { return group.page_tier[entry(ordinal)]; }
  __device__ std::int32_t slot(std::uint32_t ordinal) const { return group.page_index[entry(ordinal)]; }

  __device__ finding at(finding_kind kind, std::uint32_t ordinal) const {
    return {.kind = kind,
            .row = place,
            .group = group_number,
            .ordinal = ordinal,
            .tier = tier(ordinal),
            .slot = slot(ordinal),
            .request = row.request};
  }

  /// Holds eight bytes (fewer at the fragment's end) against the tokens' record. Says whether all were right.
  __device__ bool compare(std::uint32_t ordinal, std::uint32_t tier, std::uint32_t slot, std::uint32_t buffer,
                          std::uint64_t offset) const {
    const gpu_fragment& fragment = run.fragments[group.fragment_first + buffer];
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(fragment_at(group, fragment, tier, slot) + offset);
    const std::uint32_t begin = ordinal * run.tokens_per_block;
    const std::uint32_t tokens = min(run.tokens_per_block, row.written_tokens - begin);
    const std::uint64_t left = fragment.pattern.bytes_per_slot() - offset;
    const std::uint32_t size = left < 8 ? static_cast<std::uint32_t>(left) : 8;
    std::uint64_t held = 0;
    if (size == 8 && reinterpret_cast<std::uintptr_t>(bytes) % 8 == 0)
      held = *reinterpret_cast<const std::uint64_t*>(bytes);
    else
      for (std::uint32_t i = 0; i < size; ++i)
        held |= std::uint64_t{bytes[i]} << (8 * i);
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t token = fragment.pattern.token_at(offset + i);
      if (token >= tokens)
        break; // not written yet
      const std::uint8_t right =
          fragment.pattern.byte_of(chain[begin + token], offset + i - fragment.pattern.begin_of(token));
      const auto found = static_cast<std::uint8_t>(held >> (8 * i));
      if (found == right)
        continue;
      finding wrong = at(finding_kind::wrong_byte, ordinal);
      wrong.buffer = buffer;
      wrong.offset = offset + i;
      wrong.expected = right;
      wrong.found = found;
      report(run, step, wrong);
      return false;
    }
    return true;
  }

  /// By a whole warp.
  __device__ void compare_all(std::uint32_t ordinal, std::uint32_t tier, std::uint32_t slot, std::uint32_t lane) const {
    const std::uint32_t begin = ordinal * run.tokens_per_block;
    const std::uint32_t tokens = min(run.tokens_per_block, row.written_tokens - begin);
    for (std::uint32_t b = 0; b < group.fragment_count; ++b) {
      const std::uint64_t end = run.fragments[group.fragment_first + b].pattern.begin_of(tokens);
      bool right = true;
      for (std::uint64_t offset = lane * 8; offset < end && right; offset += warp * 8)
        right = compare(ordinal, tier, slot, b, offset);
    }
  }

  /// By one thread: a few bytes, at another position each step.
  __device__ void compare_stamp(std::uint32_t ordinal, std::uint32_t tier, std::uint32_t slot) const {
    const std::uint64_t mixed = pages::mix(step_word + ordinal);
    const std::uint32_t buffer = pages::below(group.fragment_count, mixed);
    compare(ordinal, tier, slot, buffer, run.fragments[group.fragment_first + buffer].pattern.offset_by(mixed << 32));
  }

  /// Whether an entry names a page that may be there.
  __device__ bool check_place(std::uint32_t ordinal, std::uint32_t tier, std::int32_t slot) const {
    finding_kind wrong;
    if (slot == pages::no_slot && tier == pages::no_tier)
      wrong = finding_kind::no_page;
    else if (!slot_exists(group, tier, slot))
      wrong = finding_kind::no_slot;
    else if (tier == pages::host_tier && ordinal >= rules.host_end)
      wrong = finding_kind::not_on_gpu;
    else
      return true;
    report(run, step, at(wrong, ordinal));
    return false;
  }

  __device__ void check_pages(std::uint32_t* seen) const {
    const std::int32_t num_blocks = group.num_blocks[place];
    if (threadIdx.x == 0 && (num_blocks < 0 || static_cast<std::uint32_t>(num_blocks) > rules.host_end)) {
      finding wrong = at(finding_kind::num_blocks, 0);
      wrong.expected = rules.host_end;
      wrong.slot = num_blocks;
      report(run, step, wrong);
    }
    const std::uint32_t lane = threadIdx.x % warp;
    const std::uint32_t begin = pages::below(run.stride, step_word);
    std::uint32_t compared = 0;
    for (std::uint32_t first = threadIdx.x - lane; begin + first * run.stride < rules.written_end;
         first += blockDim.x) {
      const std::uint32_t ordinal = begin + (first + lane) * run.stride;
      std::uint32_t tier = pages::no_tier;
      std::int32_t slot = pages::no_slot;
      bool whole = false;
      if (ordinal < rules.written_end) {
        tier = this->tier(ordinal);
        slot = this->slot(ordinal);
        const bool gone = slot == pages::no_slot && tier == pages::no_tier && ordinal < rules.window_begin;
        const std::uint32_t where = static_cast<std::uint32_t>(slot) << 1 | (tier & 1);
        const bool moved = where != seen[ordinal] || tier > pages::host_tier;
        if (!gone && (!moved || check_place(ordinal, tier, slot))) {
          if (tier != pages::host_tier && static_cast<std::int64_t>(ordinal) < num_blocks)
            report(run, step, at(finding_kind::not_on_host, ordinal));
          ++compared;
          whole = moved;
          seen[ordinal] = where;
          if (!moved)
            compare_stamp(ordinal, tier, static_cast<std::uint32_t>(slot));
        }
      }
      // Pages seen in a place for the first time are compared as a whole, by all threads of the warp.
      for (std::uint32_t left = __ballot_sync(~0u, whole); left != 0; left &= left - 1) {
        const int of = __ffs(static_cast<int>(left)) - 1;
        compare_all(__shfl_sync(~0u, ordinal, of), __shfl_sync(~0u, tier, of),
                    static_cast<std::uint32_t>(__shfl_sync(~0u, slot, of)), lane);
        __syncwarp();
      }
    }
    if (compared != 0)
      atomicAdd(&run.found->pages_verified, static_cast<unsigned long long>(compared));
  }

  /// Entries behind the written ones: pages while there is capacity, nothing from there on.
  __device__ void check_end() const {
    for (std::uint32_t ordinal = rules.written_end + threadIdx.x; ordinal < rules.capacity_end; ordinal += blockDim.x)
      if (tier(ordinal) != pages::gpu_tier || !slot_exists(group, pages::gpu_tier, slot(ordinal)))
        report(run, step, at(finding_kind::no_capacity, ordinal));
    const std::uint32_t end = rules.capacity_end;
    if (end >= run.max_blocks || threadIdx.x > past_end_looked_at)
      return;
    const std::uint32_t ordinal = threadIdx.x < past_end_looked_at
                                      ? end + threadIdx.x
                                      : end + pages::below(run.max_blocks - end, pages::mix(step_word));
    if (ordinal < run.max_blocks && (slot(ordinal) != pages::no_slot || tier(ordinal) != pages::no_tier))
      report(run, step, at(finding_kind::past_end, ordinal));
  }
};

__global__ void check_rows(gpu_run run, gpu_step step) {
  const gpu_row row = step.rows[blockIdx.x];
  const std::int32_t place = place_of_row(run, blockIdx.x);
  if (place < 0 || (static_cast<std::uint32_t>(place) + step.step) % run.stride != 0)
    return;
  if (run.row_request[place] != row.request) {
    if (blockIdx.y == 0 && threadIdx.x == 0)
      report(run, step,
             {.kind = finding_kind::row_request, .row = static_cast<std::uint32_t>(place), .request = row.request});
    return;
  }
  const std::uint64_t version = run.row_version[place];
  if (blockIdx.y == 0 && threadIdx.x == 0 && (version == 0 || version > step.version))
    report(run, step,
           {.kind = finding_kind::row_version,
            .row = static_cast<std::uint32_t>(place),
            .slot = static_cast<std::int32_t>(version),
            .request = row.request});
  const checked_row check{run,
                          step,
                          run.groups[blockIdx.y],
                          row,
                          step.rules[blockIdx.x * run.group_count + blockIdx.y],
                          run.chains + row.chain_slot * run.chain_tokens,
                          static_cast<std::uint32_t>(place),
                          blockIdx.y,
                          pages::mix(step.step * 64 + blockIdx.y, row.request)};
  check.check_pages(run.seen + (std::uint64_t{row.chain_slot} * run.group_count + blockIdx.y) * run.max_blocks);
  check.check_end();
}

/// The step's rows in the engine's order, each once, then -1; in others nobody who left, and holes are empty.
/// One block of threads; shared memory: a word for each row of the tables.
__global__ void check_tables(gpu_run run, gpu_step step) {
  extern __shared__ std::uint32_t named[]; // [rows] how often active_rows names it
  for (std::uint32_t i = threadIdx.x; i < run.rows; i += blockDim.x)
    named[i] = 0;
  __syncthreads();
  if (threadIdx.x == 0 && *run.num_active != static_cast<std::int32_t>(step.row_count))
    report(run, step, {.kind = finding_kind::num_active, .slot = *run.num_active, .expected = step.row_count});
  if (threadIdx.x == 0 && step.row_count < run.rows && run.active_rows[step.row_count] != -1)
    report(run, step,
           {.kind = finding_kind::behind_last, .row = step.row_count, .slot = run.active_rows[step.row_count]});
  for (std::uint32_t i = threadIdx.x; i < step.row_count; i += blockDim.x) {
    const std::int32_t place = place_of_row(run, i);
    if (place < 0 || atomicAdd(&named[place], 1u) != 0)
      report(
          run, step,
          {.kind = finding_kind::active_rows, .row = i, .slot = run.active_rows[i], .request = step.rows[i].request});
  }
  __syncthreads();
  for (std::uint32_t number =
           static_cast<std::uint32_t>(step.step % other_rows_stride) + threadIdx.x * other_rows_stride;
       number < run.rows; number += blockDim.x * other_rows_stride) {
    if (named[number] != 0)
      continue;
    const std::uint64_t request = run.row_request[number];
    if (request != pages::no_request) {
      bool rests = false;
      for (std::uint32_t i = 0; i < step.resting_count; ++i)
        rests = rests || step.resting[i] == request;
      if (!rests)
        report(run, step, {.kind = finding_kind::row_of_the_absent, .row = number, .request = request});
      continue;
    }
    const std::uint32_t anywhere = pages::below(run.max_blocks, pages::mix(step.step, number));
    for (std::uint32_t g = 0; g < run.group_count; ++g)
      for (std::uint32_t ordinal : {0u, anywhere}) {
        const std::uint64_t entry = std::uint64_t{number} * run.max_blocks + ordinal;
        const std::int32_t slot = run.groups[g].page_index[entry];
        const std::uint32_t tier = run.groups[g].page_tier[entry];
        if (run.groups[g].num_blocks[number] != 0 || slot != pages::no_slot || tier != pages::no_tier)
          report(run, step,
                 {.kind = finding_kind::hole_not_empty,
                  .row = number,
                  .group = g,
                  .ordinal = ordinal,
                  .tier = tier,
                  .slot = slot});
      }
  }
}

} // namespace

cudaError_t launch_step(const gpu_run& run, const gpu_step& step, bool verify, cudaStream_t stream) {
  constexpr std::uint32_t blocks_at_once = 8; // of one row and group
  if (step.row_count != 0) {
    extend_chains<<<step.row_count, threads, 0, stream>>>(run, step);
    write_pages<<<dim3(step.row_count, run.group_count, blocks_at_once), threads, 0, stream>>>(run, step);
  }
  if (verify && step.row_count != 0)
    check_rows<<<dim3(step.row_count, run.group_count), threads, 0, stream>>>(run, step);
  if (verify)
    check_tables<<<1, threads, run.rows * sizeof(std::uint32_t), stream>>>(run, step);
  return cudaGetLastError();
}

} // namespace serve
