# Installs kvferry from its build folder into one of the test's own, builds the consumer against that, and runs it.

set(prefix "${CONSUMER_BUILD}/prefix")
set(build "${CONSUMER_BUILD}/build")
# Nothing of an earlier run may make this one pass.
file(REMOVE_RECURSE "${prefix}" "${build}")

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${KVFERRY_BUILD}" --prefix "${prefix}")
string(REPLACE ";" "\\;" prefix_path "${prefix};${PREFIX_PATH}")
run("${CMAKE_COMMAND}"
    -S "${CONSUMER_SOURCE}"
    -B "${build}"
    -G "${GENERATOR}"
    "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
    "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
    "-DCMAKE_PREFIX_PATH=${prefix_path}"
    "-DCAF_DIR=${CAF_DIR}")
run("${CMAKE_COMMAND}" --build "${build}" --parallel 2)
run("${build}/consumer")
