#!/usr/bin/env bash
# A real Slurm on this host's loopback for tests: start.sh FOLDER. It needs Slurm and munge installed, and no root.
# Its ports are free ones, and its munge is its own, so that it meets no other Slurm. FOLDER/run/*.pid end it.
# Each node has one pretended GPU, /dev/null: options for GPUs work, and CUDA_VISIBLE_DEVICES is set.
set -euo pipefail
folder=$(realpath -m "$1")
host=$(hostname -s)
nodes=24
mkdir -p "$folder"/{state,run,munge}
chmod 700 "$folder/munge"
head -c 128 /dev/urandom > "$folder/munge/key"
chmod 600 "$folder/munge/key"
munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/run/munged.pid" \
  --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
# All are bound at once, so that they differ.
mapfile -t ports < <(python3 -c "
import socket, sys
taken = [socket.socket() for _ in range(int(sys.argv[1]))]
for one in taken:
    one.bind(('127.0.0.1', 0))
    print(one.getsockname()[1])
" $((nodes + 1)))
{
  cat <<CONF
ClusterName=speedproof-test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
KillWait=10
SlurmdTimeout=10
MessageTimeout=5
GresTypes=gpu
SlurmctldPort=${ports[0]}
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd.%n.pid
SlurmdSpoolDir=$folder/spool.%n
StateSaveLocation=$folder/state
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
CONF
  for node in $(seq "$nodes"); do
    # The last two are of another kind, and taken last.
    memory=$((node > 22 ? 2000 : 1000))
    echo "NodeName=n$node NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[$node]} Gres=gpu:1 CPUs=1" \
      "RealMemory=$memory Weight=$memory State=UNKNOWN"
  done
  cat <<CONF
PartitionName=all Nodes=n[1-16] Default=YES MaxTime=INFINITE State=UP
PartitionName=pair Nodes=n[17-18] MaxTime=INFINITE State=UP
PartitionName=lossy Nodes=n[19-20] MaxTime=INFINITE State=UP
PartitionName=mixed Nodes=n[21-24] MaxTime=INFINITE State=UP
PartitionName=closed Nodes=n[1-16] MaxTime=INFINITE State=DOWN
CONF
} > "$folder/slurm.conf"
echo "NodeName=n[1-$nodes] Name=gpu Count=1 File=/dev/null" > "$folder/gres.conf"
export SLURM_CONF=$folder/slurm.conf
slurmctld -f "$SLURM_CONF"
for node in $(seq "$nodes"); do slurmd -N "n$node" -f "$SLURM_CONF"; done
for _ in $(seq 300); do
  [ "$(sinfo --Node --noheader --states=idle --format=%N 2> /dev/null | sort -u | wc -l)" = "$nodes" ] && exit 0
  sleep 0.1
done
echo "$0: the nodes did not become idle; see $folder/*.log" >&2
exit 1
