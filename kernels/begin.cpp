// The first launch of every frame: results and accumulators start from zero.
#include "args.h"

// One block, so that the order of its writes needs no care.
VX_KERNEL(vx_begin, 512, VxBeginArgs) {
    const VX_GLOBAL VxJob *job = vx_at<const VxJob>(args.frame.job);
    VX_GLOBAL u64 *results = vx_at<u64>(args.frame.results);
    for (u64 at = vx_thread(); at < args.words; at += 512) results[at] = at == 0 ? job->sequence : 0;
}
