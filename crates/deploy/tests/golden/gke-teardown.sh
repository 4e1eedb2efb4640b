#!/usr/bin/env bash
set -euo pipefail

# The cluster with all its machines.
gcloud container clusters delete perbuck-tidb-two-clouds-today-gke \
    --zone us-central1-a \
    --quiet

# Its network.
gcloud compute networks subnets delete perbuck-tidb-two-clouds-today-gke \
    --region us-central1 \
    --quiet

# The network itself.
gcloud compute networks delete perbuck-tidb-two-clouds-today-gke \
    --quiet

# Volumes that are left; an empty list is right.
gcloud compute disks list \
    --filter labels.perbuck-study=tidb-two-clouds-today
