// SPDX-License-Identifier: MIT
// Secrets in an SVG or a page, piece by piece: as prose a secret would include the tag or the quote after it, and
// what is left would be no XML.
#include <algorithm>
#include <string>

#include "model/redact/redact.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

class MarkupRedactor {
 public:
  MarkupRedactor(std::string_view text, uint64_t* count) : text_(text), count_(count) { out_.reserve(text.size()); }

  std::string run() {
    while (at_ < text_.size()) {
      if (between("<!--", "-->") || between("<![CDATA[", "]]>")) continue;
      if (raw("script") || raw("style")) continue;
      if (text_[at_] == '<') tag();
      else piece_to(text_.find('<', at_));
    }
    return std::move(out_);
  }

 private:
  void piece_to(size_t end) {
    end = std::min(end, text_.size());
    out_ += redact_text(text_.substr(at_, end - at_), count_);
    at_ = end;
  }

  bool between(std::string_view begin, std::string_view end) {
    if (!text_.substr(at_).starts_with(begin)) return false;
    out_ += begin;
    at_ += begin.size();
    piece_to(text_.find(end, at_));
    return true;  // the end is a piece of its own, in which nothing is found
  }

  // An element whose text is no markup, up to its end: "</script" and "</style".
  bool raw(std::string_view name) {
    if (!begins_tag(at_, "<", name)) return false;
    tag();
    const size_t begin = at_;
    size_t end = text_.find("</", begin);
    while (end != std::string_view::npos && !begins_tag(end, "</", name)) end = text_.find("</", end + 2);
    end = std::min(end, text_.size());
    out_ += redact_script(text_.substr(begin, end - begin), count_);
    at_ = end;
    return true;
  }

  bool begins_tag(size_t at, std::string_view begin, std::string_view name) const {
    const std::string_view rest = text_.substr(at, begin.size() + name.size() + 1);
    if (rest.size() <= begin.size() + name.size() || !rest.starts_with(begin)) return false;
    for (size_t i = 0; i < name.size(); ++i)
      if ((rest[begin.size() + i] | 0x20) != name[i]) return false;
    const char last = rest.back();
    return last == '>' || last == '/' || kSpace.find(last) != std::string_view::npos;
  }

  // The values of its attributes are pieces each; a '>' within one does not end it.
  void tag() {
    while (at_ < text_.size()) {
      const size_t next = text_.find_first_of("\"'>", at_);
      const size_t begin = at_;
      piece_to(next);
      if (at_ == text_.size()) return;
      const char c = text_[at_];
      out_ += c;
      ++at_;
      if (c == '>') return;
      const size_t end = std::min(text_.find(c, at_), text_.size());
      if (is_secret_in_prose(attribute_in(text_.substr(begin, next - begin))) && end > at_) {
        out_ += kRedacted;
        ++*count_;
        at_ = end;
      } else {
        piece_to(end);
      }
      if (at_ < text_.size()) out_ += text_[at_++];
    }
  }

  // "name" of ` x name = `, which is in front of a value.
  static std::string_view attribute_in(std::string_view before) {
    const size_t equals = before.find_last_of('=');
    if (equals == std::string_view::npos) return {};
    before = before.substr(0, equals);
    const size_t end = before.find_last_not_of(kSpace);
    if (end == std::string_view::npos) return {};
    before = before.substr(0, end + 1);
    const size_t space = before.find_last_of(kSpace);
    return space == std::string_view::npos ? before : before.substr(space + 1);
  }

  std::string_view text_;
  uint64_t* count_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string redact_markup(std::string_view text, uint64_t* count) { return MarkupRedactor(text, count).run(); }

std::string redact_document(std::string_view text, std::string_view extension, uint64_t* count) {
  if (extension == "json") return redact_json(text, count);
  return extension == "html" || extension == "svg" ? redact_markup(text, count) : redact_text(text, count);
}

}  // namespace tracker::internal
