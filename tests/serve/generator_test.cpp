// The generated workload: the same for the same seed, readable by kvferry-serve, and like the trace that it imitates.
#include "examples/workload/generator.hpp"

#include <map>

#include "examples/serve/workload.hpp"
#include "tests/catch.hpp"
#include "tests/serve/scratch_file.hpp"

namespace serve::test {
namespace {

std::string lines_of(const ::workload::shape& shape, std::uint64_t seed) {
  std::string text;
  for (const auto& request : ::workload::generator(shape, seed).run())
    text += ::workload::line_of(request);
  return text;
}

serve::workload generated(std::uint32_t requests) {
  ::workload::shape shape;
  shape.requests = requests;
  scratch_file file("generated.jsonl", lines_of(shape, 1));
  auto loaded = read_workload(file.path());
  REQUIRE(loaded);
  return *loaded;
}

} // namespace

TEST_CASE("a seed makes one workload, another seed another") {
  ::workload::shape shape;
  REQUIRE(lines_of(shape, 1) == lines_of(shape, 1));
  REQUIRE(lines_of(shape, 1) != lines_of(shape, 2));
}

TEST_CASE("generated rows are read back, all of them begin with the system prompt, and arrivals come in bunches") {
  auto loaded = generated(300);
  REQUIRE(loaded.requests.size() == 300);
  REQUIRE(loaded.bad_rows == 0);
  for (const workload_request& request : loaded.requests) {
    REQUIRE(request.prompt_tokens > 4096);
    for (std::uint64_t block = 0; block < 8; ++block)
      REQUIRE(request.blocks[block] == block);
    REQUIRE(request.arrival_us % 3'000'000 == 0);
  }
}

TEST_CASE("equal ids are equal prefixes in a generated workload, as in the trace") {
  std::map<std::uint64_t, std::pair<std::size_t, std::uint64_t>> places;
  std::uint64_t differ = 0;
  for (const workload_request& request : generated(2000).requests)
    for (std::size_t i = 0; i < request.blocks.size(); ++i) {
      std::pair place{i, i == 0 ? 0 : request.blocks[i - 1]};
      differ += places.emplace(request.blocks[i], place).first->second != place;
    }
  REQUIRE(differ == 0);
}

TEST_CASE("requests go on with earlier ones and branch off inside them as often as in the trace") {
  auto loaded = generated(4000);
  std::map<std::uint64_t, const workload_request*> last_with; // by block
  int continues = 0, diverges = 0;
  double prompt_tokens = 0, output_tokens = 0;
  for (const workload_request& request : loaded.requests) {
    std::size_t shared = 0;
    while (shared < request.blocks.size() && last_with.contains(request.blocks[shared]))
      ++shared;
    if (shared > 8) {
      bool to_its_end = shared + 1 >= last_with[request.blocks[shared - 1]]->blocks.size();
      ++(to_its_end ? continues : diverges);
    }
    for (std::uint64_t block : request.blocks)
      last_with[block] = &request;
    prompt_tokens += request.prompt_tokens;
    output_tokens += request.output_tokens;
  }
  // The trace: 3,959 and 699 of 12,031; means 12,035 and 343.
  REQUIRE(continues > 1000);
  REQUIRE(continues < 1500);
  REQUIRE(diverges > 130);
  REQUIRE(diverges < 350);
  REQUIRE(prompt_tokens / 4000 > 9000);
  REQUIRE(prompt_tokens / 4000 < 18000);
  REQUIRE(output_tokens / 4000 > 250);
  REQUIRE(output_tokens / 4000 < 500);
}

} // namespace serve::test
