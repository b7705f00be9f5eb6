// What every kernel does for the accounts: no lost or doubled dispatch goes unseen.
#pragma once
#include "args.h"

// Counts the block. Every thread of it calls this, at the end; `over` is the thread's union of
// `sample >> depth` over the samples that it read, which is 0 unless one lies beyond the depth.
VX_INLINE void vx_account(const VxFrame &frame, u32 over) {
    VX_GLOBAL u64 *results = vx_at<u64>(frame.results);
    if (over) vx_atomic_add(results + VX_FAULT_WORD, 1);
    if (vx_thread() == 0) vx_atomic_add(results + frame.counter, 1);
}
