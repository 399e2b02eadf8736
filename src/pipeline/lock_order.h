// SPDX-License-Identifier: MIT
// The order in which the threads of a run take locks. A thread that holds a lock of this list takes only locks of later
// lines; a lock of the last line is the only one of its line that a thread holds.
//
//   DrainThread::mutex_      one round of the drain thread; the store thread takes it to stop rounds
//   FrameQueue::hand_over_   while a frame goes from the rings to the queue: who holds it sees each point once
//   DrainInbox::mutex_       values, samples and facts that pass through no ring
//   FrameQueue::mutex_       the frames that wait, and the account of the stored ones; the only one with a condition
//   the journal's locks      journal/live/journal.h; under FrameQueue::mutex_ and DrainInbox::mutex_ files_mutex_ alone
//   WriterHealth::mutex_, RunFiles::mutex_, Warnings::mutex_
//
// No thread waits for the disk while it holds a lock of this list, but for DrainThread::mutex_: calls that log never
// take it, and spilling is a write to the journal's place.
#pragma once

#include <mutex>

namespace tracker::internal {

using Guard = std::lock_guard<std::mutex>;

}  // namespace tracker::internal
