// SPDX-License-Identifier: MIT
#include "query/table/arrow.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace tracker::internal {
namespace {

const char* format_of(const ArrowColumn& column) {
  if (column.is_time) return "tsu:UTC";
  switch (column.values.type) {
    case ValueType::kFloat64: return "g";
    case ValueType::kFloat32: return "f";
    case ValueType::kFloat16: return "e";
    case ValueType::kInt64: return "l";
    case ValueType::kBool: return "b";
    case ValueType::kBFloat16: break;  // widened by the table
  }
  return "f";
}

// Memory may end between two children: then those that are filled are released, and `out` counts as never filled.
template <typename T>
class ReleaseOnFailure {
 public:
  explicit ReleaseOnFailure(T* filled) : filled_(filled) {}
  ~ReleaseOnFailure() {
    if (filled_ != nullptr) filled_->release(filled_);
  }
  ReleaseOnFailure(const ReleaseOnFailure&) = delete;
  ReleaseOnFailure& operator=(const ReleaseOnFailure&) = delete;
  void keep() { filled_ = nullptr; }

 private:
  T* filled_;
};

struct SchemaHeld {
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
};

template <typename T>
void release_with_children(T* one) {
  for (int64_t i = 0; i < one->n_children; ++i)
    if (one->children[i]->release != nullptr) one->children[i]->release(one->children[i]);  // else it was moved away
}

void release_schema(ArrowSchema* schema) {
  release_with_children(schema);
  delete static_cast<SchemaHeld*>(schema->private_data);
  schema->release = nullptr;
}

void set_schema(std::string name, const char* format, int64_t flags, size_t children, ArrowSchema* out) {
  auto owner = std::make_unique<SchemaHeld>(SchemaHeld{std::move(name), std::vector<ArrowSchema>(children), {}});
  for (ArrowSchema& child : owner->children) owner->child_pointers.push_back(&child);
  SchemaHeld* held = owner.release();
  *out = {format,
          held->name.c_str(),
          nullptr,
          flags,
          static_cast<int64_t>(children),
          children > 0 ? held->child_pointers.data() : nullptr,
          nullptr,
          release_schema,
          held};
}

struct ArrayHeld {
  std::shared_ptr<const ArrowTable> table;
  std::vector<uint8_t> validity, bits;
  std::vector<uint64_t> repeated;
  const void* buffers[2] = {nullptr, nullptr};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
};

void release_array(ArrowArray* array) {
  release_with_children(array);
  delete static_cast<ArrayHeld*>(array->private_data);
  array->release = nullptr;
}

// One byte a flag to one bit a flag, least significant first.
std::vector<uint8_t> to_bits(const uint8_t* flags, size_t count) {
  std::vector<uint8_t> out((count + 7) / 8);
  for (size_t i = 0; i < count; ++i) out[i / 8] = static_cast<uint8_t>(out[i / 8] | (flags[i] != 0 ? 1 : 0) << (i % 8));
  return out;
}

void set_array(ArrayHeld* held, size_t rows, int64_t buffers, int64_t nulls, ArrowArray* out) {
  *out = {static_cast<int64_t>(rows),
          nulls,
          0,
          buffers,
          static_cast<int64_t>(held->children.size()),
          held->buffers,
          held->children.empty() ? nullptr : held->child_pointers.data(),
          nullptr,
          release_array,
          held};
}

void export_column(const std::shared_ptr<const ArrowTable>& table, const ArrowColumn& column, size_t begin,
                   size_t count, ArrowArray* out) {
  auto held = std::make_unique<ArrayHeld>();
  held->table = table;
  int64_t nulls = 0;
  if (column.present) {
    const auto* present = column.present.as<uint8_t>() + begin;
    nulls = std::count(present, present + count, uint8_t{0});
    if (nulls > 0) held->validity = to_bits(present, count);
    if (nulls > 0) held->buffers[0] = held->validity.data();
  }
  if (column.is_constant && count <= column.values.rows) {
    held->buffers[1] = column.values.data;
  } else if (column.is_constant) {
    held->repeated.assign(count, *column.values.as<uint64_t>());
    held->buffers[1] = held->repeated.data();
  } else if (column.values.type == ValueType::kBool) {
    held->bits = to_bits(column.values.as<uint8_t>() + begin, count);
    held->buffers[1] = held->bits.data();
  } else {
    held->buffers[1] = column.values.as<uint8_t>() + begin * value_width(column.values.type);
  }
  set_array(held.release(), count, 2, nulls, out);
}

struct StreamHeld {
  std::shared_ptr<const ArrowTable> table;
  size_t next = 0;
  const char* error = nullptr;
};

// Consumers are written in any language: no exception may reach them.
template <typename F>
int guarded(ArrowArrayStream* stream, F&& fill) {
  auto* held = static_cast<StreamHeld*>(stream->private_data);
  try {
    fill(held);
    held->error = nullptr;
    return 0;
  } catch (const std::bad_alloc&) {
    held->error = "out of memory";
    return ENOMEM;
  }
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guarded(stream, [out](StreamHeld* held) { export_schema(*held->table, out); });
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  return guarded(stream, [out](StreamHeld* held) {
    const size_t count = std::min(kArrowChunkRows, held->table->rows() - held->next);
    if (count == 0) {
      std::memset(out, 0, sizeof *out);  // released: the end
      return;
    }
    export_array(held->table, held->next, count, out);
    held->next += count;
  });
}

const char* stream_error(ArrowArrayStream* stream) { return static_cast<StreamHeld*>(stream->private_data)->error; }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamHeld*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

ArrowTable::ArrowTable(size_t rows, std::vector<ArrowColumn> columns) : rows_(rows), columns_(std::move(columns)) {
  for (ArrowColumn& column : columns_) {
    column.values = widen_bfloat16(column.values);
    if (!column.is_constant) continue;
    // All chunks of a stream share one buffer.
    const size_t shared = std::clamp<size_t>(rows, 1, kArrowChunkRows);
    column.values = pack_ints(std::vector<int64_t>(shared, *column.values.as<int64_t>()));
  }
}

std::string column_name(std::string name, const std::vector<std::string>& taken) {
  while (std::find(taken.begin(), taken.end(), name) != taken.end()) name += " (metric)";
  return name;
}

std::shared_ptr<const ArrowTable> arrow_table(const PackedHistory& history) {
  const auto sources = [&history](const char* name, int64_t RowSource::* number) {
    return ArrowColumn{name, column_of_sources(history, number), {}, false, !history.source};
  };
  std::vector<ArrowColumn> columns;
  columns.push_back({"step", history.steps, history.has_step, false, false});
  if (history.x)
    columns.push_back(
        {column_name(history.x_name, {"step", "value", "time", "attempt", "rank"}), history.x, {}, false, false});
  columns.push_back({"value", history.values, {}, false, false});
  columns.push_back({"time", history.times_us, {}, true, false});
  columns.push_back(sources("attempt", &RowSource::attempt));
  columns.push_back(sources("rank", &RowSource::rank));
  return std::make_shared<const ArrowTable>(history.steps.rows, std::move(columns));
}

void export_schema(const ArrowTable& table, ArrowSchema* out) {
  set_schema("", "+s", 0, table.columns().size(), out);
  ReleaseOnFailure filled(out);
  for (size_t i = 0; i < table.columns().size(); ++i) {
    const ArrowColumn& column = table.columns()[i];
    set_schema(column.name, format_of(column), column.present ? ARROW_FLAG_NULLABLE : 0, 0, out->children[i]);
  }
  filled.keep();
}

void export_array(const std::shared_ptr<const ArrowTable>& table, size_t begin, size_t count, ArrowArray* out) {
  auto held = std::make_unique<ArrayHeld>();
  held->table = table;
  held->children.resize(table->columns().size());
  for (ArrowArray& child : held->children) held->child_pointers.push_back(&child);
  set_array(held.release(), count, 1, 0, out);
  ReleaseOnFailure filled(out);
  for (size_t i = 0; i < table->columns().size(); ++i)
    export_column(table, table->columns()[i], begin, count, out->children[i]);
  filled.keep();
}

void export_stream(std::shared_ptr<const ArrowTable> table, ArrowArrayStream* out) {
  *out = {stream_schema, stream_next, stream_error, release_stream, new StreamHeld{std::move(table), 0, nullptr}};
}

}  // namespace tracker::internal
