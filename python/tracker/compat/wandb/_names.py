# SPDX-License-Identifier: MIT
"""Names of the original that are accepted and record nothing: each is reported once and counted."""

from __future__ import annotations

MODULE = frozenset(
    (
        *("setup", "teardown", "unwatch", "log_model", "use_model", "link_model", "sweep", "agent"),
        *("controller", "plot_table", "require", "termlog", "termwarn", "termerror", "termsetup", "Api"),
        *("ArtifactTTL", "plot", "api", "attach", "pin_config_keys", "log_code", "JoinedTable", "Classes"),
        *("data_types", "env", "beta", "Object3D", "Molecule", "Graph", "box3d", "EvalTable", "sklearn"),
        *("xgboost", "lightgbm", "catboost", "keras", "tensorboard", "tensorflow", "sacred", "plots"),
        *("integration", "apis", "sync", "docker", "old", "wandb_agent", "wandb_lib", "ensure_configured"),
    )
)
RUN = frozenset(
    (
        *("upsert_artifact", "finish_artifact", "link_artifact", "log_model", "use_model", "link_model"),
        *("log_code", "write_logs", "pin_config_keys", "unwatch", "to_html", "sweep_url", "project_url"),
        *("sync_dir", "config_static"),
    )
)
ARTIFACT = frozenset((*("delete", "link", "unlink", "new_draft", "used_by", "logged_by", "storage_region"),))
TABLE = frozenset(
    (*("set_pk", "set_fk", "cast", "add_computed_columns", "MAX_ARTIFACT_ROWS", "bind_to_run", "to_json"),)
)
