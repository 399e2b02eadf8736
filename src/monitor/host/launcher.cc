// SPDX-License-Identifier: MIT
#include "monitor/host/launcher.h"

#include <cstdlib>
#include <string>

#include "model/redact/redact.h"
#include "monitor/host/utf8_text.h"

namespace tracker::internal {
namespace {

constexpr const char* kNames[] = {
    // torchrun and its kin
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "ROLE_NAME",
    "NODE_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS",
    "OMP_NUM_THREADS",
    // Slurm
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_QOS",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_JOB_GPUS",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_STEP_ID",
    "SLURM_STEP_NODELIST",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
    "SLURM_GPUS",
    "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_GPUS_ON_NODE",
    "SLURM_MEM_PER_NODE",
    "SLURM_MEM_PER_CPU",
    "SLURM_MEM_PER_GPU",
    "SLURM_NODEID",
    "SLURM_NNODES",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_CLUSTER_NAME",
    "SLURM_RESTART_COUNT",
    "SLURM_SUBMIT_DIR",
    "SLURM_SUBMIT_HOST",
    // MPI
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_NODE_RANK",
    "OMPI_UNIVERSE_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "PMIX_SIZE",
    "JSM_NAMESPACE_RANK",
    "JSM_NAMESPACE_SIZE",
    // Kubernetes and what runs jobs on it
    "KUBERNETES_SERVICE_HOST",
    "POD_NAME",
    "POD_NAMESPACE",
    "NODE_NAME",
    "JOB_COMPLETION_INDEX",
    "REPLICA_INDEX",
    "TF_CONFIG",
    "VC_TASK_INDEX",
    "RAY_JOB_ID",
    "RAY_NODE_ID",
    // Batch systems of other kinds
    "PBS_JOBID",
    "PBS_JOBNAME",
    "PBS_QUEUE",
    "PBS_NODENUM",
    "PBS_ARRAY_INDEX",
    "LSB_JOBID",
    "LSB_JOBINDEX",
    "LSB_QUEUE",
    "LSB_HOSTS",
    "JOB_ID",
    "JOB_NAME",
    "SGE_TASK_ID",
    "_CONDOR_SLOT",
    "FLUX_JOB_ID",
    "COBALT_JOBID",
    "AWS_BATCH_JOB_ID",
    "AWS_BATCH_JOB_ATTEMPT",
    "SM_CURRENT_HOST",
    "CLOUD_ML_JOB_ID",
    // Which devices
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
};

}  // namespace

std::span<const char* const> launcher_names() { return kNames; }

Value launcher_variables() {
  Value out = Value::map();
  uint64_t count = 0;
  for (const char* name : kNames) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == 0) continue;
    out.set(name, cut_utf8(redact_text(as_utf8(value), &count), kLauncherValueBytesMax));
  }
  return out;
}

}  // namespace tracker::internal
