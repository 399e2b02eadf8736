// SPDX-License-Identifier: MIT
// Finds media among the values of log() and passes them to tracker/_media.py, which is imported with the first one: a
// run without media has no cost from them. Threads: with the GIL held.
#pragma once

#include <Python.h>

#include <string>

#include "ref.h"

namespace tracker::python {

// Called by tracker/_media/log_media.py: the class of all media, `log(run, key, values, step)`, which returns None or
// an exception for a strict run, and `coerce(value)`, which returns a medium or None. Returns None.
PyObject* set_media_hook(PyObject* module, PyObject* args);
// One of that class, or a list or tuple whose first item is one.
bool is_media(PyObject* value);
// Converts what log() accepts as a medium: a figure of matplotlib or plotly, an image of Pillow, or a list whose first
// item is one. Null: it is none (no
// error set), or an exception must propagate (error set).
Ref media_from(PyObject* value);
// A hint on what to log instead of a value that log() refuses (tracker/_hint.py): "; …" or "". No error is set, except
// one that must propagate.
std::string hint_for(PyObject* value);
// Null with an error set; else None or an exception.
Ref log_media(PyObject* run, PyObject* key, PyObject* value, PyObject* step);

}  // namespace tracker::python
