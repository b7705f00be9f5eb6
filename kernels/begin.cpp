// The first launch of every frame: results and accumulators start from zero.
#include "args.h"

// One block, so that the order of its writes needs no care.
VX_KERNEL(vx_begin, 512, VxBeginArgs) {
    const VX_GLOBAL VxJob *job = vx_at<const VxJob>(args.frame.job);
    VX_GLOBAL u64 *results = vx_at<u64>(args.frame.results);
    for (u64 at = vx_thread() + 1; at < args.words; at += 512) results[at] = 0;
    if (vx_thread() == 0) {
        bool arrived = true;
        for (u32 i = 0; i < 4; i++) {
            const VxArrival arrival = {job->arrivals[i].address, job->arrivals[i].number};
            if (arrival.address) arrived &= *vx_at<const u64>(arrival.address) == arrival.number;
        }
        results[VX_SEQUENCE_WORD] = arrived ? job->sequence : 0;
    }
}
