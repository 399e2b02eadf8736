# SPDX-License-Identifier: MIT
"""Goal: docs/limits.md tells the truth: each name in it is a constant of the code with that value, and a test knows it.

Method: the tables are read, the constants are found in the sources and evaluated, and their names are looked for in the
tests. What a test reaches without the name stands in BY_EFFECT, what has none in NOT_TESTED, with the reason.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOC = ROOT / "docs" / "limits.md"
SOURCES = ("src", "include", "bindings", "python/tracker")
SUFFIXES = {".h", ".cc", ".hpp", ".cpp", ".py"}

# Limits that a test reaches without naming them: the file and the test. Times and sizes that the test sets to a smaller
# value are among them: what happens at the edge is the same.
BY_EFFECT = {
    "kUploadInterval": "tests/python/test_upload.py: test_a_live_run_is_sent_while_it_runs_and_whole_when_it_has_ended",
    "kSyncBatchBytes": "tests/python/test_upload.py: test_a_proxy_that_takes_small_bodies_gets_halves",
    "kAwaitLookFirst": "tests/python/test_ranks_by_hand.py: test_three_processes_started_by_hand_make_one_run",
    "kAwaitLookMax": "tests/python/test_ranks_by_hand.py: test_what_a_rank_logs_before_rank_0_begins_is_stored",
    "kStopFirstLook": (
        "tests/python/test_stop.py: test_the_first_question_waits_no_longer_than_it_says_for_a_stuck_disk"
    ),
    "kImportKindsMax": "tests/unit/exchange/import_limits_test.cc: KindsThatASourceMakesUpAreCountedTogether",
    "IMPORT_ROWS_MAX": "tests/python/test_importers.py: test_many_rows_of_changing_shapes_are_carried_over_in_order",
    "kCsvBufferBytes": "tests/unit/exchange/import_test.cc: AFieldThatGoesOverManyLinesIsOneText",
    "kJsonReadBytes": "tests/python/test_import_rows.py: test_a_line_of_json_may_have_16_mib",
    "kEventBufferBytes": "tests/unit/exchange/import_test.cc: WhatWasImportedVerifies",
    "kImportFrameBytes": "tests/unit/exchange/import_test.cc: RowsOfManyShapesStandInTheOrderTheyWereLogged",
    "kGpuStuckAfter": "tests/unit/run/monitor_test.cc: ADriverThatHangsIsSaidOnceAndHoldsNothingUp",
    "ALERTS_MAX": "tests/python/test_notebooks.py: test_a_page_is_bounded_and_escaped",
    "CONFIG_MAX": "tests/python/test_notebooks.py: test_a_page_is_bounded_and_escaped",
    "METRICS_MAX": "tests/python/test_notebooks.py: test_a_page_is_bounded_and_escaped",
    "HISTOGRAM_VALUES_MAX": "tests/torch/test_watch.py: test_a_histogram_of_a_large_tensor_takes_each_nth_value",
    "PARAMETERS_MAX": "tests/torch/test_watch.py: test_of_a_model_of_very_many_parameters_the_first_are_watched",
    "WAIT_ASK_MS": "tests/torch/test_device_tensors.py: test_a_device_that_fails_costs_what_was_on_its_way_and_says_so",
    "WAIT_LOOK_MS": "tests/torch/test_device_tensors.py: test_what_has_not_arrived_at_the_end_is_dropped_and_counted",
    "TEXT_MAX": "tests/python/test_notebooks.py: test_a_page_is_bounded_and_escaped",
    "kArtifactFreeBytesMin": "tests/unit/artifact/snapshot_test.cc: ItStopsWhenAskedToAndWhereThereIsNoRoom",
    "kArtifactFreeShare": "tests/unit/artifact/snapshot_test.cc: ItStopsWhenAskedToAndWhereThereIsNoRoom",
    "kBlobAge": "tests/unit/artifact/blob_collect_test.cc: OnlyOldBlobsThatNothingRefersToGo",
    "kLookAgainAfter": "tests/unit/artifact/blob_collect_test.cc: "
    "AnArtifactOfWhichGcTookABlobWhileItWasStoredIsRefusedAndComesWholeTheNextTime",
    "kBlobTouchAge": "tests/unit/artifact/blob_collect_test.cc: AWriterTouchesABlobBeforeItRefersToIt",
    "kCatalogBusy": "tests/unit/query/runs_query_test.cc: ACatalogThatSomebodyHoldsDoesNotHoldUpAListing",
    "kCatalogRacy": "tests/unit/query/runs_query_test.cc: FoldersThatAreTooYoungToTellAChangeAreReadAgain",
    "kCompactFrameBytesAtEnd": "tests/unit/storage/compaction_test.cc: AShortRunStaysAFewFrames",
    "kCompactFrameBytesMin": "tests/unit/storage/compaction_test.cc: FramesWaitUntilThereAreEnoughForASegment",
    "kCompactionRetryNs": "tests/fault/compaction_test.cc: ADiskThatFailsAtAnyWriteOfItCostsNothingAndIsTriedAgain",
    "kDiskOthersInterval": "tests/python/test_max_disk.py: test_two_processes_at_once_stay_below_the_bound_together",
    "kDiskAgain": ("tests/python/test_max_disk.py: test_after_a_burst_points_come_back_as_soon_as_the_store_has_room"),
    "kDiskRingRoom": "tests/python/test_max_disk.py: test_a_run_stops_taking_points_at_the_bound_and_counts_them",
    "kCommitLate": "tests/fault/stuck_test.cc: WhatIsSaidToSurviveTheContainerIsCommittedOrWasJustLogged",
    "kDiskShare": "tests/python/test_max_disk.py: test_two_processes_at_once_stay_below_the_bound_together",
    "kFlushAskInterval": (
        "tests/python/test_flush_interrupt.py: test_a_flush_that_waits_for_the_disk_hears_signals_and_loses_nothing"
    ),
    "kTensorBoardFirst": "tests/python/test_tensorboard.py: test_a_killed_run_that_is_resumed_has_each_row_once",
    "kHoldShare": "tests/python/test_tensorboard.py: test_the_file_follows_the_run_and_is_whole_at_its_end",
    "SIZE_LOOK_MS": "tests/python/test_console_fd.py: test_the_window_keeps_its_size",
    "TAIL_LOOK_MS": "tests/python/test_console_fd.py: test_a_file_stays_a_file_and_needs_no_relay",
    "kShrinkWalBytes": (
        "tests/python/test_max_disk.py: test_after_a_burst_points_come_back_as_soon_as_the_store_has_room"
    ),
    "kSegmentRepeatBytes": "tests/unit/codec/segment_test.cc: AFrameThatNamesOneSeriesThousandsOfTimesStaysAFrame",
    "kSnapshotTriesMax": "tests/unit/artifact/snapshot_test.cc: AFileThatGoesOnChangingIsRefusedByName",
    "kTimestampTick": "tests/unit/artifact/snapshot_test.cc: AChangeOfContentAloneIsSeenEvenWithinATickOfTheClock",
    "kFinishLeast": "tests/python/test_process_end.py: test_runs_whose_disk_refuses_share_two_seconds_at_exit",
    "kFreePagesAStep": "tests/fault/compaction_test.cc: TheFileShrinksByWhatSegmentsSave",
    "kFreePagesMin": "tests/fault/compaction_test.cc: TheFileShrinksByWhatSegmentsSave",
    "kFreePagesShare": "tests/fault/compaction_test.cc: TheFileShrinksByWhatSegmentsSave",
    "kGaussianPairsMax": "tests/unit/query/smooth_test.cc: AGaussianOverTooManyPairsIsRefusedBeforeItIsWorkedOut",
    "kLeftoverAge": "tests/unit/cli/remove_test.cc: GcRemovesLeftoversAndSaysTheBytes",
    "kLevelCellRows": "tests/unit/codec/level_test.cc: TheFinestLevelHasAtLeast512RowsACellOnAverage",
    "kLevelCellsAlone": "tests/unit/storage/levels_test.cc: ALongSegmentHasTwoLevelsASeries",
    "kLevelRowBytes": "tests/unit/storage/levels_test.cc: NoiseTakesWiderCellsSoThatAPointCostsATwentiethOfAByte",
    "kMaxDiskMin": "tests/python/test_max_disk.py: test_a_bad_max_disk_says_what_was_expected",
    "kPinnedCommitsMin": "tests/unit/storage/writer_parts_test.cc: AParkedReaderMakesTheWriterLeaveThePartWhichIsWhole",
    "kRewindsMax": "tests/unit/cli/verify_command_test.cc: ALiveWriterThatCompactsMeanwhileHasNoDamage",
    "kRingBytesMax": "tests/unit/journal/full_ring_test.cc: ARingPastHalfFillGrowsUpToItsLimit",
    "kRingEntryShare": "tests/unit/journal/event_room_test.cc: EventsFindRoomWhereNumbersFindNone",
    "kRingEventReserve": "tests/unit/journal/event_room_test.cc: TheFirstRingKeepsRoomForATextOf64KiB",
    "kRingEventShare": "tests/unit/journal/event_room_test.cc: EventsFindRoomWhereNumbersFindNone",
    "kRingEventShareMax": "tests/unit/journal/event_room_test.cc: ItIsInOnePieceWhereverTheLapEnds",
    "kRingVersionsAhead": (
        "tests/python/compat/test_newer_versions.py: test_a_newer_version_is_named_and_not_a_byte_of_it_is_changed"
    ),
    "kRingsMax": "tests/unit/journal/pool_test.cc: ThreadsBeyondTheLimitOfRingsShareOneAndLoseNothing",
    "kSegmentPointsTarget": (
        "tests/unit/storage/compaction_test.cc: SegmentsOfALongRunAreFewAndEachPointIsRewrittenAFewTimes"
    ),
    "kSegmentBytesTarget": (
        "tests/unit/storage/compaction_test.cc: SegmentsOfALongRunAreFewAndEachPointIsRewrittenAFewTimes"
    ),
    "kSnapshotTries": "tests/unit/query/compacted_test.cc: AReaderInAnotherProcessMissesNothingAndGetsNothingTwice",
    "kStepInstructionsMax": "tests/unit/cli/foreign_schema_test.cc: AReadersStepIsBounded",
    "kTailPoll": "tests/unit/cli/tail_command_test.cc: AFollowedRunIsShownToItsEndEachRowOnce",
    "kTimedKeysMin": "tests/python/test_keys.py: test_one_call_may_hold_very_many_keys",
    "kUnsyncedBytesMax": "tests/unit/storage/frames_file_test.cc: RowsBehindAFrameAreFoundInALargeFileByABoundedIndex",
    "kWaitingNews": "tests/fault/stuck_account_test.cc: WhatWaitsInAJournalIsCountedForReadersBeforeAndAfterTheDeath",
    "wait_call": "tests/unit/journal/full_ring_test.cc: WaitIsBoundedByCallAndInAll",
    "wait_total": "tests/unit/journal/full_ring_test.cc: WaitIsBoundedByCallAndInAll",
    "kJsonRequestBytesMax": (
        "tests/python/test_server_access.py: test_a_body_that_is_too_large_is_refused_before_it_is_read"
    ),
    "kPairsMax": "tests/python/test_server_reading.py: test_a_bad_question_is_named",
    "kRowsLimitMax": "tests/unit/server/limits_test.cc: ListsRowsAndLinesOfOneAnswer",
    "kLinesLimitMax": "tests/unit/server/limits_test.cc: ListsRowsAndLinesOfOneAnswer",
}

# Limits at whose edge no test stands, and why.
NOT_TESTED: dict[str, str] = {
    "kIntakeFilesMax": "100,000 files",
    "kIntakeTornAge": "an hour",
    "kRowWait": "a disk that hangs between the last commit and a read",
    "kConnectWait": "libcurl's own, and 10 s long",
    "kIdleWait": "libcurl's own, and 30 s long",
    "kNoAccessPause": "a minute",
    "kNoProgressMax": "half a minute",
    "kResponseBytesMax": "no server of ours sends so much",
    "kIngestBytesMax": "512 MiB of batches that wait need a disk that stands still",
    "kApplyBytesMax": "where one transaction ends and the next begins has no effect that a reader sees",
    "kOpenWritersMax": "a thousand live writers",
    "kDescriptorsAWriter": "a thousand live writers",
    "kKnownWritersMax": "65,536 writers",
    "kIdleNs": "90 s",
    "kQuarantineBytesMax": "256 MiB of units that differ",
    "kChangedRunsMax": "a thousand runs that change",
    "BODY_BYTES_MAX": "512 MiB of bodies",
    "BODY_IDLE_SECONDS": "60 s",
    "CONNECTIONS_MAX": "uvicorn's",
    "SHUTDOWN_SECONDS_MAX": "uvicorn's",
    "kAsksMax": "a server that acknowledges nothing and refuses nothing",
    "kRestartsMax": "a server that answers each part with another offset",
    "kProblemsMax": "a hundred units that a server refuses",
    "kSignOfLifeUs": "15 s",
    "kSocketsMax": "64 connections of one process",
    "kLoginFileBytesMax": "a comparison",
    "kListLimit": "a default",
    "kRowsLimit": "a default",
    "kLinesLimit": "a default",
    "kFilesLimit": "a default",
    "kFilesLimitMax": "a comparison",
    "kArrivalLabelsMax": "10,000 runs of one label",
    "kScanNsMin": "how often, not what",
    "kAppliers": "how many, not what",
    "kApplyRetryNs": "how often, not what",
    "kSettleMs": "a disk that stands still for 10 s",
    "kServerBusyMs": "a process that holds server.db for 10 s",
    "kRecoverNs": "how often, not what",
    "kFinishNsMax": "databases that readers hold",
}

UNITS = {
    "": 1,
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "ns": 1,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
}
CHRONO = {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "seconds": 10**9}
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def rows() -> list[tuple[str, list[str]]]:
    """The text of each row of a table, and the names in its last cell."""
    out = []
    for line in DOC.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        names = re.findall(r"`([A-Za-z_]\w+)`", cells[-1]) if line.startswith("|") else []
        if names:
            out.append((" | ".join(cells[:-1]), names))
    return out


NAMES = sorted({name for _, names in rows() for name in names})


def quantities(text: str) -> set[float]:
    """What numbers with their units say, times in ns, sizes in bytes: "24 MiB", "262,144", "2³²", "each 15 s"."""
    found: set[float] = set()
    for base, power in re.findall(r"(\d+)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text):
        found.add(float(int(base) ** int(power.translate(SUPERSCRIPTS))))
    for number, unit in re.findall(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?:\s(B|KiB|MiB|GiB|ns|µs|ms|s)\b)?", text):
        plain = float(number.replace(",", ""))
        found |= {plain * UNITS[unit], plain}
    # "8 or 16 KiB", "64 or 1 MiB": the unit stands behind the last one.
    return found


@cache
def definitions() -> dict[str, list[tuple[str, int]]]:
    """Name -> of each definition the expression of its value, and what its unit is worth."""
    found: dict[str, list[tuple[str, int]]] = {}

    def add(name: str, expression: str, unit: int = 1) -> None:
        found.setdefault(name, []).append((expression, unit))

    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            text = re.sub(r"//.*", "", path.read_text())
            for match in re.finditer(r"constexpr\s+([\w:<>]+)\s+([^;(]*?[={][^;]*);", text):
                unit = next((worth for name, worth in CHRONO.items() if match[1].endswith(name)), 1)
                for name, braced, plain in re.findall(
                    r"(k\w+)\s*(?:\{([^{}]*)\}|=\s*([^,;{]+(?:\{[^}]*\}[^,;]*)?))", match[2]
                ):
                    add(name, braced or plain, unit)
            if path.suffix == ".py":
                for name, value in re.findall(r"^([A-Z][A-Z_]+)(?:: \w+)? = ([\d._*+ ]+)$", text, re.M):
                    add(name, value)
            for name, value in re.findall(r"std::chrono::nanoseconds (wait_\w+)\{([\d']+)\}", text):
                add(name, value)
            for name, value in re.findall(r"#define (TRK_\w+) (\w+)$", text, re.M):
                add(name, value)
    return found


def values_of(name: str) -> set[float]:
    """Of all constants of that name: rooms have some of their own."""
    return {evaluated(expression, unit) for expression, unit in definitions()[name]}


def evaluated(expression: str, unit: int) -> float:
    expression = re.sub(r"(?<=\d)['_](?=\d)", "", expression)
    expression = re.sub(r"(?<=\d)(?:ull|ll|u|l)\b", "", expression, flags=re.I)
    expression = re.sub(r"\b(?:u?int64_t|size_t|uint32_t)\{(\w+)\}", r"\1", expression)
    worth = re.search(r"std::chrono::(\w+)\((\w+)\)", expression)
    if worth:
        expression, unit = worth[2], CHRONO[worth[1]]
    for other in set(re.findall(r"\bk[A-Z]\w+\b", expression)):
        expression = re.sub(rf"\b{other}\b", str(int(min(values_of(other)))), expression)
    assert re.fullmatch(r"[\d.\s()*/+<\-]+", expression), f"{expression} cannot be evaluated here"
    return float(eval(expression.strip().replace("/", "//"))) * unit  # digits and operators only


def test_the_page_names_constants() -> None:
    assert len(NAMES) > 60


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_is_a_constant_of_the_code(name: str) -> None:
    assert name in definitions(), f"docs/limits.md names {name}, which no source defines"


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_has_the_value_that_the_page_says(name: str) -> None:
    if name == "TRK_STEP_AUTO":
        assert definitions()[name] == [("INT64_MIN", 1)]
        return
    texts = [text for text, names in rows() if name in names]
    values = values_of(name)
    assert any(values & quantities(text) for text in texts), f"{name} is {values}; the page says {texts}"


@cache
def all_tests() -> str:
    here = Path(__file__)
    files = [path for path in (ROOT / "tests").rglob("*") if path.suffix in SUFFIXES and path != here]
    return "\n".join(path.read_text() for path in files)


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_has_a_test_or_a_reason(name: str) -> None:
    named = re.search(rf"\b{name}\b", all_tests()) is not None
    listed = (name in BY_EFFECT) + (name in NOT_TESTED)
    assert listed <= 1
    assert named or listed, f"no test names {name}, and it is neither in BY_EFFECT nor in NOT_TESTED"
    assert not (named and listed), f"a test names {name}: take it out of the list here"


@pytest.mark.parametrize("name", sorted({*BY_EFFECT, *NOT_TESTED}))
def test_what_is_listed_here_is_true(name: str) -> None:
    assert name in NAMES, f"{name} is not in docs/limits.md"
    if name in BY_EFFECT:
        path, test = BY_EFFECT[name].split(": ")
        assert test in (ROOT / path).read_text(), f"{path} has no {test}"


def test_the_checks_find_what_is_wrong() -> None:
    assert 1024.0 in quantities("1,024 B of UTF-8")
    assert 24.0 * 2**20 in quantities("the least of 24 MiB, 1/8 of the free space")
    assert 15e9 in quantities("each 15 s")
    assert 2.0**32 in quantities("2³²")
    assert 1025.0 not in quantities("1,024 B of UTF-8")
