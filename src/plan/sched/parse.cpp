// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "base/text.h"
#include "plan/sched/list_program.h"
#include "plan/sched/operation_kinds.h"
#include "plan/sched/program_text.h"

namespace tutti::sched {
namespace {

// One line of the text. The first error stays; after it nothing else matters.
class Line {
  public:
    Line(std::string_view text, std::string_view where) : text_(text), where_(where) {
        skip_blanks();
    }
    [[nodiscard]] bool is_at_end() const { return at_ == text_.size(); }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }
    void fail(const std::string& what) {
        if (error_) return;
        error_ = Error{ErrorCode::kArgument,
                       std::string(where_) + ":" + std::to_string(begin_ + 1) + ": " + what};
    }
    // Letters, digits, '_' and '-' up to something else; empty if there are none.
    std::string_view word() {
        begin_ = at_;
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        const std::string_view word = text_.substr(begin_, at_ - begin_);
        skip_blanks();
        return word;
    }
    bool take(char symbol) {
        begin_ = at_;
        if (at_ == text_.size() || text_[at_] != symbol) return false;
        ++at_;
        skip_blanks();
        return true;
    }
    void want(char symbol) {
        if (!take(symbol)) fail(std::string("'") + symbol + "' is missing here");
    }
    void want_word(std::string_view wanted) {
        if (word() != wanted) fail("'" + std::string(wanted) + "' is missing here");
    }
    uint64_t number(uint64_t most) {
        const std::string_view digits = word();
        uint64_t value = 0;
        bool is_number = !digits.empty();
        for (const char c : digits) {
            if (c < '0' || c > '9') is_number = false;
            if (!is_number) break;
            const auto digit = static_cast<uint64_t>(c - '0');
            if (digit > most || value > (most - digit) / 10) {
                fail("the number is greater than " + std::to_string(most));
                return 0;
            }
            value = value * 10 + digit;
        }
        if (!is_number) fail("a number is missing here");
        return value;
    }
    uint32_t number32() {
        return static_cast<uint32_t>(number(std::numeric_limits<uint32_t>::max()));
    }
    // Up to the end of the line, without blanks at its ends.
    std::string_view rest() {
        begin_ = at_;
        at_ = text_.size();
        std::string_view rest = text_.substr(begin_);
        while (!rest.empty() && is_blank(rest.back())) rest.remove_suffix(1);
        return rest;
    }
    void want_end() {
        begin_ = at_;
        if (!is_at_end()) fail("the line should end here");
    }
    // The place of the next error, without reading.
    void stay() { begin_ = at_; }

  private:
    static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
    static bool is_word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    }
    void skip_blanks() {
        while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    }

    std::string_view text_;
    std::string_view where_;
    size_t at_ = 0;
    size_t begin_ = 0;  // of what was read last
    std::optional<Error> error_;
};

template <size_t n>
std::optional<size_t> index_of(const std::array<std::string_view, n>& names,
                               std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return {};
    return static_cast<size_t>(found - names.begin());
}

template <size_t n>
size_t one_of(Line& line, const std::array<std::string_view, n>& names, std::string_view what) {
    const std::string_view word = line.word();
    const auto index = index_of(names, word);
    if (index) return *index;
    if (word.empty()) {
        line.fail("the name of the " + std::string(what) + " is missing here");
        return 0;
    }
    std::string message = "'" + printable(word) + "' is no " + std::string(what);
    if (const auto near = nearest(word, names))
        message += "; did you mean '" + std::string(*near) + "'?";
    line.fail(message);
    return 0;
}

Block parse_block(Line& line) {
    Block block;
    block.buffer = static_cast<Buffer>(one_of(line, kBufferNames, "buffer"));
    if (block.buffer == Buffer::kNone) return block;
    constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
    line.want('[');
    block.offset = line.number(most);
    line.want('+');
    block.bytes = line.number(most - block.offset);
    line.want(']');
    return block;
}

// Where a message lands in one of two operands, that has a star.
void parse_operand(Line& line, Block& operand, Operation& op, bool is_left) {
    if (is_left && line.take('*')) op.incoming = Incoming::kLeft;
    if (!is_left && op.incoming == Incoming::kRight) line.want('*');
    operand = parse_block(line);
}

void parse_neighbour(Line& line, Operation& op) {
    static constexpr std::array<std::string_view, 2> kPlaces = {"parent", "child"};
    op.incoming = one_of(line, kPlaces, "place") == 0 ? Incoming::kLeft : Incoming::kRight;
    op.peer = line.number32();
}

void parse_near(Line& line, Operation& op) {
    Line ahead = line;
    if (ahead.word() != "near") return;
    line = ahead;
    op.order = uint64_t{line.number32()} + 1;
}

void parse_fed(Line& line, Operation& op) {
    static constexpr std::array<std::string_view, 2> kWays = {"in", "out"};
    const bool is_fed = one_of(line, kWays, "way") == 0;
    (is_fed ? op.to : op.left) = parse_block(line);
}

void parse_field(Line& line, Field field, Operation& op) {
    switch (field) {
        case Field::kMessage:
            op.message = line.number32();
            return;
        case Field::kPeer:
            op.peer = line.number32();
            return;
        case Field::kOrder:
            op.order = line.number32();
            return;
        case Field::kTo:
            op.to = parse_block(line);
            return;
        case Field::kLeft:
            op.left = parse_block(line);
            return;
        case Field::kRight:
            op.right = parse_block(line);
            return;
        case Field::kStarLeft:
            return parse_operand(line, op.left, op, true);
        case Field::kStarRight:
            return parse_operand(line, op.right, op, false);
        case Field::kNeighbour:
            return parse_neighbour(line, op);
        case Field::kNear:
            return parse_near(line, op);
        case Field::kFed:
            return parse_fed(line, op);
    }
}

// Whether it stands there.
bool parse_mark(Line& line, std::string_view mark) {
    Line ahead = line;
    if (ahead.word() != mark) return false;
    line = ahead;
    return true;
}

void parse_after(Line& line, Operation& op) {
    line.stay();
    if (line.is_at_end()) return;
    line.want_word("after");
    if (line.error()) return;
    op.after = kAfterNone;
    Line ahead = line;
    if (ahead.word() == "none") {
        line = ahead;
        return;
    }
    do {
        op.after |= after_op(static_cast<uint32_t>(line.number(kRoundOpsMax - 1)));
    } while (!line.error() && line.take(','));
}

Operation parse_operation(Line& line, OperationKind kind) {
    Operation op;
    op.kind = kind;
    const OperationRow& row = row_of(kind);
    for (std::string_view left = row.text; !left.empty();) {
        const std::string_view word = take_word(left);
        if (word.starts_with('$')) {
            parse_field(line, *field_of(word.substr(1)), op);
        } else if (word == "=") {
            line.want('=');
        } else {
            line.want_word(word);
        }
    }
    if (row.may_be_counted) op.is_counted = parse_mark(line, "counted");
    if (row.may_be_bundled) op.is_bundled = parse_mark(line, "bundled");
    if (row.order != Order::kNone) {
        line.want_word("order");
        op.order = line.number(std::numeric_limits<uint64_t>::max());
    }
    parse_after(line, op);
    line.want_end();
    return op;
}

class Parser {
  public:
    Parser(std::string_view file_name, size_t first_line)
        : file_name_(printable(file_name)), first_line_(first_line) {}

    Result<ParsedProgram> parse(std::string_view text) {
        size_t number = first_line_ - 1;
        for (std::string_view content : split(text, '\n')) {
            ++number;
            content = content.substr(0, content.find('#'));
            const std::string where = file_name_ + ":" + std::to_string(number);
            Line line(content, where);
            if (line.is_at_end()) continue;
            if (!program_ && !parse_header(line)) {
                if (line.error()) return *line.error();
                continue;
            }
            parse_body(line);
            if (line.error()) return *line.error();
        }
        if (!program_) begin_program();
        if (next_key_ == kOrderedKey) ++next_key_;
        if (next_key_ < kRequiredKeys) {
            return Error{ErrorCode::kArgument, file_name_ + ":" + std::to_string(number) + ":1: '" +
                                                   std::string(kKeys[next_key_]) + "' is missing"};
        }
        parsed_.program = std::move(program_);
        return std::move(parsed_);
    }

  private:
    // In this order; `ordered` may be left out, and `multicasts`, which is the last.
    static constexpr std::array<std::string_view, 14> kKeys = {
        "schedule", "collective", "ranks", "root",      "bytes",  "element", "ordered",
        "rank",     "name",       "lanes", "in_flight", "rounds", "scratch", "multicasts"};
    static constexpr size_t kOrderedKey = 6;
    static constexpr size_t kRequiredKeys = kKeys.size() - 1;

    // True where the header has ended before this line.
    bool parse_header(Line& line) {
        const Line before = line;
        const std::string_view key = line.word();
        if (next_key_ >= kRequiredKeys && (next_key_ == kKeys.size() || key != kKeys.back())) {
            line = before;
            begin_program();
            return true;
        }
        if (next_key_ == kOrderedKey && key != kKeys[kOrderedKey]) ++next_key_;
        if (key != kKeys[next_key_]) {
            line.fail("'" + std::string(kKeys[next_key_]) + "' is missing here");
            return false;
        }
        parse_value(line);
        line.want_end();
        ++next_key_;
        return false;
    }

    void parse_value(Line& line) {
        constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
        Shape& shape = parsed_.shape;
        switch (next_key_) {
            case 0:
                if (line.number(most) != 1) line.fail("only version 1 is known");
                return;
            case 1:
                shape.collective =
                    static_cast<tutti_collective>(one_of(line, kCollectiveNames, "collective"));
                return;
            case 2:
                shape.ranks = line.number32();
                if (shape.ranks == 0) line.fail("there is at least one rank");
                return;
            case 3:
                shape.root = line.number32();
                if (shape.root >= shape.ranks) line.fail("the root is none of the ranks");
                return;
            case 4:
                shape.bytes = line.number(most);
                return parse_lengths(line);
            case 5:
                shape.element_bytes = line.number32();
                if (shape.element_bytes == 0) line.fail("an element has at least one byte");
                return;
            case kOrderedKey:
                shape.is_commutative = false;
                return;
            case 7:
                parsed_.rank = line.number32();
                if (parsed_.rank >= shape.ranks) line.fail("there is no such rank");
                return;
            case 8:
                name_ = line.rest();
                if (name_.empty()) line.fail("a name is missing here");
                return;
            case 9:
                extent_.lanes = line.number(most);
                if (extent_.lanes == 0) line.fail("there is at least one lane");
                return;
            case 10:
                extent_.lanes_in_flight = line.number32();
                if (extent_.lanes_in_flight == 0 || extent_.lanes_in_flight > kLanesInFlightMax) {
                    line.fail("1 to " + std::to_string(kLanesInFlightMax) +
                              " lanes can be in flight");
                }
                return;
            case 11:
                extent_.rounds = line.number(most);
                return;
            case 12:
                extent_.scratch_bytes = line.number(most);
                return;
            default:
                extent_.multicasts = line.number(most);
                return;
        }
    }

    // Of a vector form; the longest block has `bytes`.
    void parse_lengths(Line& line) {
        Shape& shape = parsed_.shape;
        if (line.is_at_end()) return;
        line.want_word("lengths");
        if (facts(shape.collective).lengths != tutti::Lengths::kKnownToAll) {
            line.fail("this collective has none that all ranks know");
        }
        std::vector<uint64_t> lengths;
        while (!line.error() && !line.is_at_end()) lengths.push_back(line.number(shape.bytes));
        if (line.error()) return;
        if (lengths.size() != shape.ranks) return line.fail("there is one for each rank");
        if (std::ranges::max(lengths) != shape.bytes) {
            return line.fail("the longest block has as many bytes as it says in front");
        }
        parsed_.lengths = OwnLengths(lengths);
        shape.lengths = parsed_.lengths.view();
    }

    void begin_program() { program_ = std::make_unique<ListProgram>(name_, extent_); }

    void parse_body(Line& line) {
        const Line before = line;
        const std::string_view word = line.word();
        if (word == "lane") {
            const uint64_t lane = line.number(std::numeric_limits<uint64_t>::max());
            if (lane >= extent_.lanes) return line.fail("there is no such lane");
            if (lane_ && lane <= *lane_) return line.fail("lanes ascend");
            lane_ = lane;
            round_.reset();
            return line.want_end();
        }
        if (word == "round") {
            if (!lane_) return line.fail("a lane comes first");
            const uint64_t round = line.number(std::numeric_limits<uint64_t>::max());
            if (round >= extent_.rounds) return line.fail("there is no such round");
            if (round_ && round <= *round_) return line.fail("rounds ascend");
            round_ = round;
            count_ = 0;
            return line.want_end();
        }
        line = before;
        const size_t kind = one_of(line, kOperationWords, "operation");
        if (line.error()) return;
        if (!round_) return line.fail("a lane and a round come first");
        if (++count_ > kRoundOpsMax) {
            return line.fail("a round has at most " + std::to_string(kRoundOpsMax) + " operations");
        }
        const Operation op = parse_operation(line, static_cast<OperationKind>(kind));
        if (!line.error()) program_->add(*lane_, *round_, op);
    }

    std::string file_name_;
    size_t first_line_;
    size_t next_key_ = 0;
    std::string name_;
    Extent extent_;
    ParsedProgram parsed_;
    std::unique_ptr<ListProgram> program_;
    std::optional<uint64_t> lane_;
    std::optional<uint64_t> round_;
    uint32_t count_ = 0;  // operations of this round
};

}  // namespace

Result<ParsedProgram> parse_program(std::string_view text, std::string_view file_name,
                                    size_t first_line) {
    return Parser(file_name, first_line).parse(text);
}

Result<std::unique_ptr<Program>> parse(std::string_view text, std::string_view file_name) {
    auto parsed = parse_program(text, file_name);
    if (!parsed) return parsed.error();
    return std::move(parsed.value().program);
}

}  // namespace tutti::sched
