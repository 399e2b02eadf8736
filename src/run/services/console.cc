// SPDX-License-Identifier: MIT
#include "run/services/console.h"

#include "base/clock.h"
#include "journal/live/journal.h"
#include "model/value.h"
#include "run/run_impl.h"

namespace tracker::internal {

RunConsole::RunConsole(Log log)
    : log_(std::move(log)),
      out_([this](const ConsolePiece& piece) { return log_piece(ConsoleStream::kStdout, piece); }),
      err_([this](const ConsolePiece& piece) { return log_piece(ConsoleStream::kStderr, piece); }) {}

void RunConsole::write(ConsoleStream stream, std::string_view bytes) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!finished_) (stream == ConsoleStream::kStdout ? out_ : err_).write(bytes, monotonic_ns());
}

void RunConsole::finish() {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (std::exchange(finished_, true)) return;
  out_.finish();
  err_.finish();
}

uint64_t RunConsole::cut_bytes() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return out_.cut_bytes() + err_.cut_bytes();
}

uint64_t RunConsole::redacted() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return redacted_;
}

bool RunConsole::log_piece(ConsoleStream stream, const ConsolePiece& piece) {
  PrivateKeyLines& keys = stream == ConsoleStream::kStdout ? out_keys_ : err_keys_;
  Value payload = Value::Map{{"stream", static_cast<int64_t>(stream)},
                             {"line", static_cast<int64_t>(piece.line)},
                             {"text", keys.redact(piece.line, piece.text, &redacted_)}};
  if (piece.updates > 0) payload.set("updates", static_cast<int64_t>(piece.updates));
  if (piece.open) payload.set("open", true);
  if (piece.joined) payload.set("joined", true);
  if (piece.cut_bytes > 0) payload.set("cut", static_cast<int64_t>(piece.cut_bytes));
  if (piece.no_room) payload.set("no_room", true);
  return log_(encode_cbor(payload));
}

// Lines never wait for room, and are no points: what finds none is cut, and recorded in the lines themselves.
void Run::write_console(ConsoleStream stream, std::string_view bytes) {
  if (impl_->forked() || !impl_->writer || bytes.empty()) return;
  impl_->console->write(stream, bytes);
}

bool Run::takes_console() const { return impl_->writer != nullptr && !impl_->forked(); }

bool Run::log_console(const std::string& payload) {
  const JournalUse use(impl_->observed() ? impl_->observer_hot : hot_);
  if (use.get() == nullptr || impl_->writer->disk_room() != DiskRoom::kEnough) return false;
  if (use.get()->log_event(EventType::kConsole, payload, 0, false) == Code::kOk) return true;
  // A burst, which the first small ring cannot hold: in memory until the next drain, at most 100 ms.
  // The last words, the mark for what is missing among them, have the room of texts.
  return impl_->writer->push_large(EventType::kConsole, payload, 0, false, finished()) == Code::kOk;
}

}  // namespace tracker::internal
