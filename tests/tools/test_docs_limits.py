# SPDX-License-Identifier: MIT
"""Goal: the page of limits is true: each constant that bounds a user's input has a comment that says so, and a test.

Method: the comments of the sources are collected, and the names of their constants are searched for in the tests. A
test that reaches a limit without its name says "Reaches the limit kName." above itself.
"""

from __future__ import annotations

import re

import docs_limits
import pytest
import tidy

FILES = tidy.load().files
LIMITS = docs_limits.collect(FILES)
NAMES = sorted({limit.name for limit in LIMITS})
TESTS = "\n".join(
    text for path, text in FILES.items() if path.startswith("tests/") and path != "tests/tools/test_docs_limits.py"
)

# Constants called Max or _MAX that bound no input of a user: sizes of our own structures and buffers, pauses, formats.
INTERNAL_NAMES = """
ANCESTORS_MAX AWAIT_S_MAX BEGUN_MAX COLUMNS_MAX END_S_MAX FLUSH_S_MAX IMPORT_ROWS_MAX LINES_MAX LOOK_S_MAX OPENED_MAX
ROWS_MAX TIME_US_MAX TRIAL_SECONDS_MAX WHY_CHARS_MAX kAnswerBytesMax kApplyBytesMax kAwaitLookMax kBytesMax
kCandidatesMax kClaimBytesMax kCommitBytesMax kCompactionBytesMax kComparedBytesMax kDamageProbesMax
kDecimalExponentMax kDecimalFactorMax kDefinitionsBytesMax kDigestCacheShiftMax kDigestDigitsMax kDigitsMax
kDocumentBytesMax
kDurationUsMax kEntryExceptionsMax kExactIntMax kExactIntegerMax kExactMax kExtensionBytesMax kFastPairsMax
kFirstSampleMax kFolderNameBytesMax kFrameCellsMax kFrameNumberMax kFrameRowsMax kFramesBodyBytesMax
kFramesDamageLinesMax kGroupBytesMax kHparamsRecordsMax kImportColumnsMax kIndexBytesMax kIndexEntriesMax
kIndexPlacesMax kJournalLooksMax kKeyWidthMax kKnownKeysMax kLevelShiftMax kLogIndexCacheBytesMax kLooksMax
kLossCountMax kMediaReasonsMax kMiniExceptionsMax kNamedMax kNamesHeldBytesMax kNamesMax kNumberBytesMax kOperatorsMax
kOutputLinksMax kOverlapWorkMax kPackedOrderMax kPaddedWidthMax kPageBytesMax kParenthesesMax kPointsAPartMax
kRecordPairsMax kRemoveTriesMax kReserveRowsMax kResyncBytesMax kRetryMax kRingEventShareMax kRingPayloadMax
kRingsHeldMax kSampleBytesMax kSecondsMax kSegmentBuildBytesMax kSegmentCellsMax kSegmentFirstBytesMax
kSegmentFramesMax kSegmentLogBytesMax kSegmentRowsMax kSeriesRecordBytesMax kSizeMax kSlotsMax kSpareBlockCellsMax
kSpareBlocksMax kSpillGapFramesMax kStepMax kStopSearchMax kSyncedFileBytesMax kTailSegmentsMax kTextBytesMax
kTextsMax kTimeStretchesMax kTransactionNsMax kUnleveledRowsMax kUnsyncedBytesMax kUploadFileBytesMax kUrlBytesMax
kVarintBytesMax kVisitPointsMax kWholeMax kWriterBytesMax
"""
INTERNAL = {*INTERNAL_NAMES.split()}

# Limits without a test at the edge, and why.
NOT_TESTED = {
    "BODY_BYTES_MAX": "512 MiB of bodies",
    "BODY_IDLE_SECONDS": "60 s",
    "CONNECTIONS_MAX": "uvicorn's",
    "SHUTDOWN_SECONDS_MAX": "uvicorn's",
    "kArrivalLabelsMax": "10,000 runs of one label",
    "kAsksMax": "a server that acknowledges nothing and refuses nothing",
    "kChangedRunsMax": "a thousand runs that change",
    "kConnectWait": "libcurl's own, and 10 s long",
    "kFilesLimitMax": "a comparison",
    "kFinishNsMax": "databases that readers hold",
    "kIdleWait": "libcurl's own, and 30 s long",
    "kIngestBytesMax": "512 MiB of waiting batches need a disk that hangs",
    "kIntakeFilesMax": "100,000 files",
    "kKnownWritersMax": "65,536 writers",
    "kLoginFileBytesMax": "a comparison",
    "kNoProgressMax": "half a minute",
    "kOpenWritersMax": "a thousand live writers",
    "kProblemsMax": "a hundred units that a server refuses",
    "kQuarantineBytesMax": "256 MiB of units that differ",
    "kResponseBytesMax": "no server of ours sends so much",
    "kRestartsMax": "a server that answers each part with another offset",
    "kRowWait": "a disk that hangs between the last commit and a read",
    "kServerBusyMs": "a process that holds server.db for 10 s",
    "kStoreWaitingMs": "a disk that hangs for 10 s",
    "kSocketsMax": "64 connections of one process",
}

DEFINED = re.compile(r"(?:constexpr [^;(\n]*?\b|^|, )(k\w+Max|[A-Z][A-Z_]*_MAX)(?= ?[={]|: int =)", re.M)


def test_each_bound_is_a_limit_with_a_comment_or_listed_as_internal() -> None:
    code = (text for path, text in FILES.items() if path.startswith(docs_limits.FOLDERS))
    bounds = {name for text in code for name in DEFINED.findall(text)}
    assert len(bounds) > 300
    assert sorted(bounds - INTERNAL - {*NAMES}) == []
    assert sorted(INTERNAL - bounds) == [], "no constant has this name any more"
    assert sorted(INTERNAL & {*NAMES}) == [], "has a comment: take it out of the list"


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_has_a_test_or_a_reason(name: str) -> None:
    named = re.search(rf"\b{name}\b", TESTS) is not None
    assert named or name in NOT_TESTED, f"no test names {name}: write 'Reaches the limit {name}.' above one that does"
    assert not (named and name in NOT_TESTED), f"a test names {name}: take it out of the list here"


def test_the_list_of_untested_limits_names_limits() -> None:
    assert sorted({*NOT_TESTED} - {*NAMES}) == []


def found(source: str, path: str = "src/base/a.h") -> tuple[str, str, str, str]:
    (limit,) = docs_limits.limits_of(path, source)
    return limit.what, limit.beyond, limit.name, limit.value


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("constexpr size_t kX = 64 * 1024;  // bytes", "64 KiB"),
        ("static constexpr uint64_t kX = 1u << 20;", "1 MiB"),
        ("constexpr uint32_t kX = 262'143;", "262,143"),
        ("constexpr size_t kX =\n    kOther + 1;", "`kOther + 1`"),
        ("constexpr std::chrono::milliseconds kX{100};", "100 ms"),
        ("constexpr std::chrono::milliseconds kX{60'000};", "60 s"),
        ("std::chrono::nanoseconds kX{10'000'000};", "10 ms"),
        ("constexpr uint64_t kX = uint64_t{4} << 30;", "4 GiB"),
        ("#define kX INT64_MIN", "`INT64_MIN`"),
    ],
)
def test_a_limit_has_its_text_and_the_value_of_the_code(code: str, value: str) -> None:
    source = f"// Limit: bytes of a name that\n// is long. Beyond it: an error.\n{code}\n"
    assert found(source) == ("bytes of a name that is long", "an error", "kX", value)


def test_comments_of_python_and_c_are_read_too() -> None:
    assert found("# Limit: depth.\nDEPTH_MAX = 1_000\n", "python/tracker/a.py") == ("depth", "", "DEPTH_MAX", "1,000")
    assert found("/* Limit: steps that\n * count. */\n#define X 5\n", "include/tracker/tracker.h")[:3:2] == (
        "steps that count",
        "X",
    )


def test_a_comment_without_a_constant_is_an_error() -> None:
    with pytest.raises(ValueError, match="no constant"):
        found("// Limit: a name.\n\nvoid f();\n")
