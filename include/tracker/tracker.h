/* SPDX-License-Identifier: MIT */
/*
 * The C ABI of tracker: everything that the shared library exports, usable from C, C++, Rust, Go, Julia and Fortran.
 *
 * A run is opened with trk_init, written with trk_log* and trk_metric_log*, ended with trk_finish, released with
 * trk_free. Structs that cross the ABI start with their size, so that a caller built against an older header keeps
 * working: fill them with the TRK_*_INIT macros. Text is UTF-8; a length of TRK_NUL_TERMINATED means strlen().
 *
 * Threads: every function may be called from any thread, a handle may be shared by threads; only trk_free must be the
 * last call on its run. Cancelling a thread (pthread_cancel) within a call ends the process. After fork() a run and its
 * handles are inert in the child: calls return TRK_CLOSED until trk_attach.
 * Cost: trk_log* and trk_metric_log* take no lock, make no system call and allocate nothing in steady state, and never
 * raise, abort or print except for warnings, each once on stderr. None of them is async-signal-safe.
 * What a point survives after the call has returned TRK_OK is in trk_status.survives (docs/guarantees.md).
 */
#ifndef TRACKER_TRACKER_H_
#define TRACKER_TRACKER_H_

#include <stddef.h>
#include <stdint.h>

#include "version.h"

#if defined(TRK_BUILDING) || defined(__GNUC__)
#define TRK_API __attribute__((visibility("default")))
#else
#define TRK_API
#endif

#ifdef __cplusplus
#define TRK_NOEXCEPT noexcept
extern "C" {
#else
#define TRK_NOEXCEPT
#endif

/* Results. The numbers are part of the ABI. */
typedef enum trk_code {
  TRK_OK = 0,
  TRK_INVALID = 1,   /* an argument is wrong; the message says what was expected */
  TRK_NOT_FOUND = 2, /* no such run or store */
  TRK_EXISTS = 3,
  TRK_IO = 4, /* the disk reported an error */
  TRK_CORRUPT = 5,
  TRK_VERSION = 6, /* written by a newer version */
  TRK_BUSY = 7,
  TRK_TIMEOUT = 8, /* a bounded wait ended; nothing is lost */
  TRK_LIMIT = 9,   /* a documented limit (docs/limits.md): the point was dropped and counted */
  TRK_CLOSED = 10, /* the run is finished, disabled, gated by its rank, or belongs to the parent process */
  TRK_UNSUPPORTED = 11
} trk_code;

#define TRK_NUL_TERMINATED ((size_t)-1)
/* "1 + the run's largest step". Of calls at the same time each gets a step of its own; after INT64_MAX there is no next
 * step, and calls get that one again. INT64_MIN itself is therefore not a step; every other int64 is. */
/* Limit: the one int64 that is no step: it means the next one. Beyond it: after 2^63 - 1 the next step is that step
 * again. */
#define TRK_STEP_AUTO INT64_MIN

typedef struct trk_run trk_run;           /* a run this process writes */
typedef struct trk_metric trk_metric;     /* a metric resolved once: the 10 ns path. Valid as long as its run. */
typedef struct trk_artifact trk_artifact; /* files by name, version and content: being made, logged or used */

/* Filled when a call fails; may be NULL in every call. */
typedef struct trk_error {
  size_t size;
  int32_t code; /* trk_code */
  char message[500];
} trk_error;
#define TRK_ERROR_INIT {sizeof(trk_error), 0, {0}}

/* Types of a value. On disk: do not change. */
typedef enum trk_type {
  TRK_F64 = 1,
  TRK_F32 = 2,
  TRK_F16 = 3,  /* IEEE binary16, bits in u64 */
  TRK_BF16 = 4, /* bfloat16, bits in u64 */
  TRK_I64 = 5,
  TRK_BOOL = 6,
  TRK_TEXT = 7
} trk_type;

typedef struct trk_value {
  uint32_t type; /* trk_type */
  uint32_t reserved;
  union {
    double f64;
    float f32;
    int64_t i64;
    uint64_t u64; /* the raw bits of F16 and BF16; 0 or 1 for BOOL */
    struct {
      const char* data;
      size_t size; /* or TRK_NUL_TERMINATED */
    } text;
  } as;
} trk_value;

/* Values for trk_log, trk_config_set and trk_summary_set: trk_config_set(run, "lr", TRK_NUL_TERMINATED, &lr). */
static inline trk_value trk_f64(double number) {
  trk_value value;
  value.type = TRK_F64;
  value.reserved = 0;
  value.as.text.size = 0;
  value.as.f64 = number;
  return value;
}
static inline trk_value trk_i64(int64_t number) {
  trk_value value = trk_f64(0);
  value.type = TRK_I64;
  value.as.i64 = number;
  return value;
}
static inline trk_value trk_bool(int32_t truth) {
  trk_value value = trk_f64(0);
  value.type = TRK_BOOL;
  value.as.u64 = truth != 0;
  return value;
}
/* `text` is not copied and must live as long as the value; it ends with a NUL. */
static inline trk_value trk_text(const char* text) {
  trk_value value = trk_f64(0);
  value.type = TRK_TEXT;
  value.as.text.data = text;
  value.as.text.size = TRK_NUL_TERMINATED;
  return value;
}

typedef struct trk_point {
  const char* name;
  size_t name_size; /* or TRK_NUL_TERMINATED */
  trk_value value;
} trk_point;

/* Options of trk_init. Every pointer may be NULL and every number 0, which means the default; text is copied. Start
 * with TRK_INIT_OPTIONS_INIT, trk_init_options_default(), or zeroes and `size`. */
typedef struct trk_init_options {
  size_t size;
  const char* project; /* default: TRACKER_PROJECT, else "default"; never empty */
  const char* name;    /* display name; default: the id */
  const char* id;      /* label, unique in its project; default: TRACKER_RUN_ID, else made up ("brisk-otter-417") */
  const char* group;
  const char* job_type;
  const char* notes;
  const char* const* tags;
  size_t tag_count;
  const char* dir;     /* the store; default: TRACKER_DIR, the nearest .tracker upward, else ./.tracker */
  const char* mode;    /* "local" (default) | "online" | "offline" | "disabled"; default: TRACKER_MODE */
  const char* resume;  /* "never" (default) | "allow" | "must" */
  const char* ranks;   /* "first" (default) | "observe" | "all"; TRACKER_RANKS */
  const char* journal; /* "shm" | "disk" | "memory"; default: the best that the machine offers */
  const char* on_full; /* "wait" (default: a while, then drop and count) | "drop" | "block": for as long
                          as the store accepts nothing; signal handlers run meanwhile, and the wait continues */
  int32_t rank;        /* -1, and 0 without a world_size: read from the environment (docs/environment.md) */
  int32_t strict;     /* 1: a store that cannot be written is an error of trk_init; log calls return codes either way */
  int32_t quiet;      /* 1: no line at start and end on stderr */
  int32_t world_size; /* 0: as rank */
  const char* resume_from;      /* "run@step": continues that run; what it logged after the step is shadowed, never
                                   lost; "run" alone hides nothing. Default of resume is then "must" */
  const char* duplicate_policy; /* the row that readers see of a step logged twice: "last" (default) | "first" */
  const char* max_disk;         /* "10GB", "512MiB", "1000000000": while the store is larger, new points are dropped and
                                   counted; default: TRACKER_MAX_DISK, else no limit */
  const char* capture;     /* "none": nothing of the environment is recorded; or, in addition to the default, some of
                              "command", "environment", "diff", "source", with commas; default: TRACKER_CAPTURE */
  double system_interval;  /* seconds between samples of machine and process, 0.1 to 3600; 0: TRACKER_SYSTEM_INTERVAL,
                              else 15; below 0: none */
  const char* tensorboard; /* a folder: during the run, what is stored of it is also written, in the background, to
                              a TensorBoard event file in <folder>/<project>/<id>/ (docs/exchange.md); default: none */
  const char* on_sigterm;  /* "mark": a handler of SIGTERM marks the run as preempted and calls the previous handler,
                              which is restored after the run's end; default: SIGTERM is not handled */
  const char* on_exit;     /* "finish" (default): exit() finishes a run that was not finished, and waits up to 2 s |
                              "leave": as if the process were killed: the run has crashed and nothing of it is lost */
  const char* host;  /* of mode "online": the server, such as "https://tracker.example.org"; default: TRACKER_HOST,
                        else that of trk_login */
  const char* token; /* for that server; default: TRACKER_TOKEN, else that of trk_login. Stored in no run */
} trk_init_options;
#define TRK_INIT_OPTIONS_INIT \
  {sizeof(trk_init_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* What an accepted point survives right now (bits of trk_status.survives). */
#define TRK_SURVIVES_PROCESS 1u   /* any signal, _exit, abort, OOM kill */
#define TRK_SURVIVES_CONTAINER 2u /* at most 100 ms are lost when the container goes with the process */
#define TRK_SURVIVES_POWER 4u     /* at most 1 s and one fsync are lost at power loss or kernel panic */

typedef struct trk_status {
  size_t size;
  uint64_t points_logged;   /* = stored + dropped + pending */
  uint64_t points_stored;   /* committed to the database */
  uint64_t points_dropped;  /* counted, never stored */
  uint64_t points_pending;  /* accepted, not yet committed */
  uint64_t values_rejected; /* bad values and keys: never became points */
  uint64_t bytes_stored;
  uint32_t survives; /* TRK_SURVIVES_* */
  int32_t degraded;  /* 1: the store cannot be written now; see last_error */
  int32_t recording; /* 0: disabled, gated, finished or a forked child */
  int32_t rank;      /* -1: only a local or a node rank is known */
  char journal[16];  /* "shm", "disk", "memory" or "none" */
  char last_error[240];
  char store_files[16]; /* "sqlite", "frames" (a network or FUSE file system) or "none" (not opened yet) */
  int32_t store_parts;  /* files of the database; more than 1: a reader keeps a WAL from being emptied */
  int32_t disk_full;    /* 1: the store has reached max_disk; new points are dropped and counted */
  /* The cost of the tracker in this process. */
  uint64_t cost_call_ns;          /* in calls that log: an estimate from samples */
  uint64_t cost_thread_cpu_ns;    /* CPU of the background threads */
  uint64_t cost_memory_bytes;     /* rings, spill file and data that waits for the disk, now */
  uint64_t cost_memory_bytes_max; /* and the largest */
  uint64_t cost_bytes_written;    /* passed to the kernel for the store's disk */
  /* Of the artifacts that this process logged. */
  uint64_t artifacts_stored;
  uint64_t artifacts_pending;
  uint64_t artifacts_failed; /* refused or given up; the reason was written to stderr */
  /* Texts logged under a metric's key, which are not points: the same account. */
  uint64_t texts_logged; /* = stored + dropped + pending */
  uint64_t texts_stored;
  uint64_t texts_dropped;
  uint64_t texts_pending;
  /* Images and the like; pending = logged - stored - dropped. */
  uint64_t media_logged;
  uint64_t media_stored;
  uint64_t media_dropped;
  uint64_t entries_dropped; /* of config, summary, attributes, definitions, alerts: counted, not recorded */
} trk_status;
#define TRK_STATUS_INIT \
  {sizeof(trk_status),  \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   {0},                 \
   {0},                 \
   {0},                 \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0,                   \
   0}

/* The state of one metric's points. */
typedef struct trk_series_status {
  size_t size;
  uint64_t points_logged; /* = stored + dropped + pending */
  uint64_t points_stored;
  uint64_t points_dropped;
  uint64_t points_pending;
} trk_series_status;
#define TRK_SERIES_STATUS_INIT {sizeof(trk_series_status), 0, 0, 0, 0}

/* The values of TRK_INIT_OPTIONS_INIT, for languages that cannot use it: `size` is sizeof(trk_init_options) of the
 * caller; no more is written. Does nothing for NULL or a size without a field. */
TRK_API void trk_init_options_default(trk_init_options* options, size_t size) TRK_NOEXCEPT;

/*
 * Opens a run and makes it ready for logging; at most about 10 ms on a local disk, never waits for a network. If this
 * process already records the run, it waits for that one's flush, at most 2 s.
 * A store that cannot be created or written is not an error (unless strict): the run is recorded in memory up to its
 * limit, reports that once on stderr and in trk_get_status, and is stored when the disk works again.
 * Errors: TRK_INVALID (an option; `error` has what was expected), TRK_NOT_FOUND (resume="must" and no such run).
 */
TRK_API trk_code trk_init(const trk_init_options* options, trk_run** run, trk_error* error) TRK_NOEXCEPT;

/*
 * In a forked child: from now on the inherited run records there too, as a writer of its own of the same attempt and
 * rank; its handles record as well. Call it before other threads of the child use the run. What the parent logs belongs
 * to the parent, and each ends its own part. Cost: that of trk_init.
 * Errors: TRK_INVALID in the process that has opened the run, and for a run that recorded nothing there; strict:
 * TRK_IO.
 */
TRK_API trk_code trk_attach(trk_run* run, trk_error* error) TRK_NOEXCEPT;

/* Logs `count` points under one step and one timestamp. A bad one is counted and named once on stderr, the others are
 * kept. */
TRK_API trk_code trk_log(trk_run* run, const trk_point* points, size_t count, int64_t step) TRK_NOEXCEPT;
/* One number by name; about 10 ns more than through a handle. */
TRK_API trk_code trk_log_f64(trk_run* run, const char* name, size_t name_size, double value, int64_t step) TRK_NOEXCEPT;
TRK_API trk_code trk_log_i64(trk_run* run, const char* name, size_t name_size, int64_t value,
                             int64_t step) TRK_NOEXCEPT;
TRK_API trk_code trk_log_text(trk_run* run, const char* name, const char* text, size_t text_size,
                              int64_t step) TRK_NOEXCEPT;

/*
 * Logs one encoded value, such as a PNG file's bytes, under a name and a step (docs/media.md). kind: "image", "audio",
 * "video", "html", "table" or another word of a-z, 0-9 and _, at most 32. extension: png, jpg, gif, webp, svg, wav,
 * mp3, ogg, flac, mp4, webm, mov, html, md, txt, json, csv, npy or bin. metadata_json: NULL, or a JSON object that is
 * shown with it: "caption", "width", ...; secrets in it, and in svg, html, md, txt and json, are redacted. The bytes
 * become a file of the run, which is fsynced before the call returns: call it from a thread that may wait for the disk,
 * or seldom.
 * Errors: TRK_INVALID (a bad name, kind, extension or JSON: counted as rejected), TRK_LIMIT (above 1 GiB, no room on
 * the disk or in max_disk: dropped, counted in media_dropped, reported once), TRK_IO (dropped and counted too).
 */
TRK_API trk_code trk_log_media(trk_run* run, const char* name, size_t name_size, int64_t step, const char* kind,
                               const void* bytes, size_t size, const char* extension,
                               const char* metadata_json) TRK_NOEXCEPT;

/* Resolves a metric once. NULL only for a bad name (TRK_INVALID) or out of memory. The handle is valid as long as its
 * run. */
TRK_API trk_metric* trk_metric_open(trk_run* run, const char* name, size_t name_size, trk_error* error) TRK_NOEXCEPT;
TRK_API trk_code trk_metric_log_f64(trk_metric* metric, double value, int64_t step) TRK_NOEXCEPT;
TRK_API trk_code trk_metric_log_f32(trk_metric* metric, float value, int64_t step) TRK_NOEXCEPT;
TRK_API trk_code trk_metric_log_i64(trk_metric* metric, int64_t value, int64_t step) TRK_NOEXCEPT;
TRK_API trk_code trk_metric_log_bool(trk_metric* metric, int32_t value, int64_t step) TRK_NOEXCEPT;

/* Sets one value of the config or the summary; `key` nests by "/". A summary value set here overrides the last logged
 * one and is kept. */
TRK_API trk_code trk_config_set(trk_run* run, const char* key, size_t key_size, const trk_value* value) TRK_NOEXCEPT;
TRK_API trk_code trk_summary_set(trk_run* run, const char* key, size_t key_size, const trk_value* value) TRK_NOEXCEPT;

/* Defines a metric, or all metrics whose names match a pattern ("*": any bytes, "?": one; a metric's own definition
 * beats patterns, of which the last counts). Every pointer but `name` may be NULL. step_metric: the default x of
 * readers. summary: the metric's values in the summary, one or several of "last", "min", "max", "mean", "best",
 * separated by commas; the first under the metric's name, each of several also under "name.min". goal: "minimize" or
 * "maximize", which "best" needs. TRK_INVALID: `error` has what was expected. */
TRK_API trk_code trk_define_metric(trk_run* run, const char* name, const char* step_metric, const char* summary,
                                   const char* goal, trk_error* error) TRK_NOEXCEPT;

/*
 * Artifacts: files, folders and references under a name, stored by content in numbered versions. One is made, filled,
 * passed to trk_log_artifact, and freed with trk_artifact_free at any time. Threads: an artifact belongs to one thread
 * at a time, except trk_artifact_wait and trk_artifact_get_info. `path` is a path in the artifact: NULL or "" means the
 * file's own name, one that ends with "/" is the folder for the file.
 * A bad path is reported at once: TRK_NOT_FOUND, TRK_INVALID (a device, a pipe, a loop of links, a link that leads out
 * of the folder), TRK_EXISTS, TRK_LIMIT; `error` names the path.
 */
TRK_API trk_artifact* trk_artifact_new(const char* name, const char* type, trk_error* error) TRK_NOEXCEPT;
/* Reads size and time and returns: no content is read before the artifact is stored. Cost: one stat a file. */
TRK_API trk_code trk_artifact_add_file(trk_artifact* artifact, const char* file, const char* path,
                                       trk_error* error) TRK_NOEXCEPT;
/* All files below `folder`, or none. A store of ours below it is omitted, which is reported when the artifact is
 * logged. */
TRK_API trk_code trk_artifact_add_dir(trk_artifact* artifact, const char* folder, const char* path,
                                      trk_error* error) TRK_NOEXCEPT;
/* An entry whose content stays where it is. Passwords and keys in the URI are redacted; `checksum` may be NULL. */
TRK_API trk_code trk_artifact_add_reference(trk_artifact* artifact, const char* uri, const char* path,
                                            const char* checksum, trk_error* error) TRK_NOEXCEPT;
/* A file or reference, or with a "/" at the end everything below it. */
TRK_API trk_code trk_artifact_remove(trk_artifact* artifact, const char* path, trk_error* error) TRK_NOEXCEPT;
/* Makes an empty file for the caller to write and writes its path to `file`, of `file_size` bytes: its content at
 * trk_log_artifact becomes `path` of the artifact. It is in the run's store, or if nothing is recorded in a folder for
 * temporary files, and is removed when it is stored or the artifact freed. `path` may not end with "/". Such an
 * artifact can be logged once. TRK_EXISTS; TRK_IO: a disk error; TRK_INVALID: `error` has the size that `file` must
 * have. */
TRK_API trk_code trk_artifact_new_file(trk_run* run, trk_artifact* artifact, const char* path, char* file,
                                       size_t file_size, trk_error* error) TRK_NOEXCEPT;
TRK_API trk_code trk_artifact_describe(trk_artifact* artifact, const char* description) TRK_NOEXCEPT;
TRK_API trk_code trk_artifact_set_metadata(trk_artifact* artifact, const char* key, size_t key_size,
                                           const trk_value* value) TRK_NOEXCEPT;

/* Options of trk_log_artifact; text is copied. */
typedef struct trk_artifact_options {
  size_t size;
  const char* const* aliases; /* names that move to this version; "latest" moves automatically */
  size_t alias_count;
  const char* const* tags;
  size_t tag_count;
  int64_t ttl_s;    /* gc may remove the version after so many seconds; 0: never. The longest of all calls counts */
  int32_t is_input; /* 1: the run reads it; it did not make it */
  int32_t reserved;
  const char* use_as; /* of an input: its role ("train"), at most 256 bytes of UTF-8; may be NULL */
} trk_artifact_options;
#define TRK_ARTIFACT_OPTIONS_INIT {sizeof(trk_artifact_options), 0, 0, 0, 0, 0, 0, 0, 0}

/*
 * Passes the present content of the artifact to a background thread, which stores it as a version of the run's project,
 * and returns. A file is cloned, copied (new ones of at most 64 MiB together) or held open in the call, so that its
 * present content is stored (docs/artifacts.md). What is in the store already is not stored again. A file that is held
 * open and overwritten, a disk error and a queue that stays full fail the artifact, never the run: counted in
 * trk_status, reported once on stderr and by trk_artifact_wait. `options` may be NULL. If nothing is recorded
 * (disabled, gated, a forked child) it does nothing and returns TRK_OK.
 * Errors: TRK_INVALID, TRK_LIMIT: a bad alias or tag; strict: what was refused at once.
 */
TRK_API trk_code trk_log_artifact(trk_run* run, trk_artifact* artifact, const trk_artifact_options* options,
                                  trk_error* error) TRK_NOEXCEPT;
/* Waits until it is stored and the run has recorded that it made it. TRK_TIMEOUT: not yet; TRK_INVALID: it was never
 * logged; else why it was refused. TRK_OK also if nothing is recorded. */
TRK_API trk_code trk_artifact_wait(trk_artifact* artifact, int64_t timeout_ms, trk_error* error) TRK_NOEXCEPT;
/* Waits until all artifacts that this process logged are stored or refused. TRK_TIMEOUT: not yet. */
TRK_API trk_code trk_wait_artifacts(trk_run* run, int64_t timeout_ms) TRK_NOEXCEPT;
/* The version with the name `name`: "data", "data:latest", "data:v3", "data@<digest>", each with "project/" in front or
 * not; and records that the run uses it, as `use_as` (may be NULL). Works also if nothing is recorded. Waits at most 10
 * s for what this process has just logged under that name; if that is refused, the older version is returned, which is
 * reported on stderr. NULL: TRK_NOT_FOUND, TRK_INVALID, and `error` names the existing ones; TRK_TIMEOUT: it is not
 * stored yet, call trk_artifact_wait first. */
TRK_API trk_artifact* trk_use_artifact(trk_run* run, const char* name, const char* use_as,
                                       trk_error* error) TRK_NOEXCEPT;
/* Writes the files of a version, stored or used, into `folder` (NULL: a folder in the store) and the folder's path to
 * `written`, of `written_size` bytes; both may be NULL and 0. Each file is checked against its digest, appears
 * complete, and replaces a file of its path. TRK_CORRUPT names a damaged one; TRK_LIMIT: the run's max_disk has no room
 * for them in the store, and nothing was written: name a folder elsewhere. */
TRK_API trk_code trk_artifact_download(trk_artifact* artifact, const char* folder, char* written, size_t written_size,
                                       trk_error* error) TRK_NOEXCEPT;

/* One file of a version, stored or used: written into the folder of the store that trk_artifact_download(NULL) uses;
 * its path there is written to `written`. Errors as there; TRK_NOT_FOUND: no such file; TRK_INVALID: it is a reference,
 * or `written` is too short. */
TRK_API trk_code trk_artifact_get_path(trk_artifact* artifact, const char* path, char* written, size_t written_size,
                                       trk_error* error) TRK_NOEXCEPT;
/* Checks the files of a version, stored or used; `deep` not 0: reads every byte. TRK_CORRUPT names the first that is
 * damaged or missing, and the number of the others. */
TRK_API trk_code trk_artifact_verify(trk_artifact* artifact, int32_t deep, trk_error* error) TRK_NOEXCEPT;

/* An entry of a version. Text passed to a visitor is valid during its call; none is NULL. */
typedef struct trk_artifact_file {
  size_t size; /* of this struct */
  const char* path;
  uint64_t bytes;       /* of a reference: as given by its maker, 0 if unknown */
  const char* digest;   /* SHA-256, 64 hex digits; empty: a reference */
  const char* uri;      /* of a reference, else empty */
  const char* checksum; /* of a reference, as given by its maker */
} trk_artifact_file;
/* Returns 0 to get the next one. A visitor may call the library, but not free what is visited. */
typedef int32_t (*trk_artifact_file_visitor)(const trk_artifact_file* file, void* context);
/* The files and references of a version, stored or used, by path. Cost: reads its manifest. */
TRK_API trk_code trk_artifact_visit_files(trk_artifact* artifact, trk_artifact_file_visitor visitor, void* context,
                                          trk_error* error) TRK_NOEXCEPT;

/* A run made a version, or used it. */
typedef struct trk_artifact_use {
  size_t size;
  const char* name;   /* "project/name:v3"; "project/name@9f86d081ab12" if it is not in this store */
  const char* type;   /* of the artifact */
  const char* digest; /* of its content, 64 hex digits */
  const char* use_as;
  const char* run_project;
  const char* run_id;
  const char* run_uid;
  int64_t time_us;  /* since 1970 */
  int32_t is_input; /* 1: used, 0: made */
} trk_artifact_use;
typedef int32_t (*trk_artifact_use_visitor)(const trk_artifact_use* use, void* context);
/* The versions that the run has made and used, and the runs that made and used a version: as far as they are stored, so
 * call trk_flush first for this process's own. Each is visited; after that TRK_CORRUPT, TRK_VERSION or TRK_IO names a
 * run that could not be read, TRK_LIMIT means that the store has more than are read. Cost: for a run its databases, for
 * a version every run of the store. */
TRK_API trk_code trk_run_visit_artifacts(trk_run* run, trk_artifact_use_visitor visitor, void* context,
                                         trk_error* error) TRK_NOEXCEPT;
TRK_API trk_code trk_artifact_visit_runs(trk_artifact* artifact, trk_artifact_use_visitor visitor, void* context,
                                         trk_error* error) TRK_NOEXCEPT;

typedef struct trk_artifact_info {
  size_t size;
  int64_t version; /* -1: not stored, or not yet */
  uint64_t files;  /* references too */
  uint64_t bytes;
  char digest[72]; /* 64 hex digits of the content; empty: not stored */
} trk_artifact_info;
#define TRK_ARTIFACT_INFO_INIT {sizeof(trk_artifact_info), -1, 0, 0, {0}}
TRK_API trk_code trk_artifact_get_info(const trk_artifact* artifact, trk_artifact_info* info) TRK_NOEXCEPT;
/* A logged artifact is stored all the same; files of trk_artifact_new_file that were not logged are removed. NULL is
 * allowed. */
TRK_API void trk_artifact_free(trk_artifact* artifact) TRK_NOEXCEPT;

/* Records an alert during the run: stored with the time and the run's largest step, shown by readers. `text` may be
 * NULL; `level` is "info" (also NULL), "warn" or "error". A title above 256 bytes and a text above 16 KiB are cut,
 * which the alert shows. Errors: TRK_INVALID (no title, no such level), TRK_LIMIT (more than 60 a minute or 1,000 of
 * this process: counted, and the count is recorded in the run), TRK_CLOSED. On a rank that records nothing it does
 * nothing. */
TRK_API trk_code trk_alert(trk_run* run, const char* title, size_t title_size, const char* text, size_t text_size,
                           const char* level) TRK_NOEXCEPT;
/* 1 if `tracker stop RUN` has asked this attempt of the run to stop: leave the loop and call trk_finish. Nothing stops
 * automatically. A request is noticed about a second later, on a network file system when its client updates its cache;
 * 0 again when the request is withdrawn; 0 in a forked child. Cost: two loads; the first call starts a thread that
 * reads one file a second, and waits at most 100 ms for its first reading: so it notices an earlier request. */
TRK_API int32_t trk_should_stop(trk_run* run) TRK_NOEXCEPT;
/* Why, by whom and when, in one line: as much of it as `size` bytes hold, with a NUL at the end. Returns the bytes of
 * the whole line, 0 without a request. `out` may be NULL. */
TRK_API size_t trk_stop_reason(trk_run* run, char* out, size_t size) TRK_NOEXCEPT;

/* The machine is about to end the process (a spot instance, a job that is requeued): whether it exits or is killed, the
 * run's state is "preempted" from then on, with the exit code if it is known. TRK_CLOSED after the end; on a rank that
 * records nothing, and in a forked child, it does nothing. Not in a signal handler: there on_sigterm="mark" does it. */
TRK_API trk_code trk_mark_preempting(trk_run* run) TRK_NOEXCEPT;

/* Waits until everything that this process logged before is committed and fsynced. TRK_TIMEOUT after timeout_ms;
 * nothing is lost. TRK_CLOSED: something was logged after trk_finish, and dropped; or a forked child, which has logged
 * nothing. */
TRK_API trk_code trk_flush(trk_run* run, int64_t timeout_ms) TRK_NOEXCEPT;
/* Ends the run: commits, fsyncs, turns the store into plain files. `exit_code` 0 means finished, else failed; `reason`
 * may be NULL (else one line, such as the last line of a traceback). A second call does nothing. Waits at most 10 s for
 * artifacts that are not stored yet, gives up the rest and names them on stderr, and at most 2 s for the disk. */
TRK_API trk_code trk_finish(trk_run* run, int32_t exit_code, const char* reason) TRK_NOEXCEPT;

/* Saves a server and its token in a file of the user's config folder, mode 0600, for runs of mode "online". Either may
 * be NULL: TRACKER_HOST, TRACKER_TOKEN. TRK_OK: the server has accepted the token; TRK_TIMEOUT: saved, but the server
 * could not be reached; TRK_INVALID: no host, or the server refuses the token, and nothing is saved. */
TRK_API trk_code trk_login(const char* host, const char* token, trk_error* error) TRK_NOEXCEPT;
/* Sends what is stored of the run to the server, in any mode and after trk_finish too; waits while bytes flow, and
 * gives up after 30 s without progress. `folder`: the project on the server, NULL: the run's own; unless make_folder is
 * 1 it must exist (TRK_NOT_FOUND). TRK_TIMEOUT: something is left, `tracker sync` sends it; TRK_UNSUPPORTED: no server
 * is known; TRK_CLOSED: nothing is recorded here. */
TRK_API trk_code trk_upload(trk_run* run, const char* folder, int32_t make_folder, trk_error* error) TRK_NOEXCEPT;
TRK_API trk_code trk_get_status(trk_run* run, trk_status* status) TRK_NOEXCEPT;
/* The points of one metric that this process logged, all counts of one moment. `name` NULL: lost points without a
 * metric (too many metrics, a damaged journal, logged after the end; if more than 95 metrics lose points, those of the
 * others). TRK_NOT_FOUND: it was never logged here. Cost: a pass over the data that is not stored yet, some
 * milliseconds. */
TRK_API trk_code trk_get_series_status(trk_run* run, const char* name, size_t name_size,
                                       trk_series_status* status) TRK_NOEXCEPT;
/* Finishes if needed and releases the run with its handles. NULL is allowed. */
TRK_API void trk_free(trk_run* run) TRK_NOEXCEPT;

/* Facts about a run; the text is valid as long as the run. trk_run_step: the largest step logged by this process,
 * INT64_MIN before the first. If the store could not be opened when the run started, another run may have its id by the
 * time it can: then trk_run_id and trk_run_dir return the new ones, and texts returned before stay valid. Both are ""
 * while a rank waits for the run of rank 0. */
TRK_API const char* trk_run_id(const trk_run* run) TRK_NOEXCEPT;
TRK_API const char* trk_run_uid(const trk_run* run) TRK_NOEXCEPT;
TRK_API const char* trk_run_name(const trk_run* run) TRK_NOEXCEPT;
TRK_API const char* trk_run_project(const trk_run* run) TRK_NOEXCEPT;
TRK_API const char* trk_run_dir(const trk_run* run) TRK_NOEXCEPT;
TRK_API int64_t trk_run_step(const trk_run* run) TRK_NOEXCEPT;

/* "0.1.0" of the loaded library (TRK_VERSION_STRING is that of the header). */
TRK_API const char* trk_version(void) TRK_NOEXCEPT;
/* A short English name of a code. Never NULL. */
TRK_API const char* trk_code_name(trk_code code) TRK_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TRACKER_TRACKER_H_ */
