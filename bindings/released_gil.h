// SPDX-License-Identifier: MIT
// The one way to release the GIL. A thread that requests the GIL while the interpreter ends is terminated by Python
// with an unwinding that no destructor survives: the process would abort, and no exit handler would run. Such a thread
// sleeps here instead, until the process is gone. So an object that holds a lock of the library must be declared after
// the ReleasedGil, to be destroyed before.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace tracker::python {

class ReleasedGil {
 public:
  // A thread that has the GIL while the interpreter ends is the thread that ends it, and keeps the GIL: no other thread
  // may get it.
  ReleasedGil() : state_(_Py_IsFinalizing() != 0 ? nullptr : PyEval_SaveThread()) {}
  ~ReleasedGil() { take_or_sleep(); }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

  // Runs `work` with the GIL, in a thread that has released it, and returns its result.
  template <typename Work>
  auto taken(Work&& work) {
    struct Taken {
      explicit Taken(ReleasedGil* released) : gil(released) { gil->take_or_sleep(); }
      ~Taken() { gil->release(); }
      Taken(const Taken&) = delete;
      Taken& operator=(const Taken&) = delete;
      ReleasedGil* gil;
    };
    const Taken taken(this);
    return work();
  }

 private:
  void release() {
    if (state_ != nullptr) state_ = PyEval_SaveThread();
  }

  void take_or_sleep() {
    if (state_ == nullptr) return;
    while (_Py_IsFinalizing() != 0) ::pause();
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {  // the interpreter has started to end; leaving this function would abort
      for (;;) ::pause();
    }
  }

  PyThreadState* state_;
};

}  // namespace tracker::python
