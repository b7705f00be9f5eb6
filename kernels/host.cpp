// The variable through which whatever runs the host's kernels lends them position, barrier and
// exchange (see vx.h). Compiled for the host alone.
#include "vx.h"

extern "C" {
__attribute__((visibility("default"))) vx_host_functions vx_host = {};
}
