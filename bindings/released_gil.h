// SPDX-License-Identifier: MIT
// The one way to be without the GIL. Python ends a thread that asks for it while the interpreter ends, by an unwinding
// that no destructor survives: the process would abort, with no exit handler run. Such a thread sleeps here instead,
// until the process is gone; so what holds a lock of the library is declared behind the ReleasedGil, and has let go.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace tracker::python {

class ReleasedGil {
 public:
  // Whoever has the GIL while the interpreter ends is the thread that ends it, and keeps it: no other may have it.
  ReleasedGil() : state_(_Py_IsFinalizing() != 0 ? nullptr : PyEval_SaveThread()) {}
  ~ReleasedGil() { take_or_sleep(); }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

  // What `work` returns, done with the GIL by the same thread in the midst of its work without.
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
    } catch (...) {  // the interpreter began to end meanwhile; to leave here would abort
      for (;;) ::pause();
    }
  }

  PyThreadState* state_;
};

}  // namespace tracker::python
