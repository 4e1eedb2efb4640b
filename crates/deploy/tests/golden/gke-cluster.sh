#!/usr/bin/env bash
set -euo pipefail

# A network of its own; a machine that reaches the pods must be in it.
gcloud compute networks create perbuck-tidb-two-clouds-today-gke \
    --subnet-mode custom

# Its addresses of machines; GKE adds those of pods.
gcloud compute networks subnets create perbuck-tidb-two-clouds-today-gke \
    --network perbuck-tidb-two-clouds-today-gke \
    --region us-central1 \
    --range 10.40.0.0/20

# The cluster; its default pool is for `gcp-admin`, where DNS and the operator run.
gcloud container clusters create perbuck-tidb-two-clouds-today-gke \
    --zone us-central1-a \
    --cluster-version 1.35 \
    --release-channel None \
    --enable-ip-alias \
    --network perbuck-tidb-two-clouds-today-gke \
    --subnetwork perbuck-tidb-two-clouds-today-gke \
    --labels perbuck-study=tidb-two-clouds-today \
    --logging SYSTEM \
    --monitoring SYSTEM \
    --no-enable-managed-prometheus \
    --machine-type c4a-standard-2 \
    --num-nodes 1 \
    --node-locations us-central1-a \
    --disk-type hyperdisk-balanced \
    --disk-size 20 \
    --node-labels perbuck/study=tidb-two-clouds-today,perbuck/contender=gcp,perbuck/role=admin \
    --no-enable-autoupgrade \
    --no-enable-autorepair

# `node.instance` of gcp, tidb, with its `count` and `root_volume`.
gcloud container node-pools create gcp-tidb \
    --cluster perbuck-tidb-two-clouds-today-gke \
    --zone us-central1-a \
    --machine-type c4a-standard-8 \
    --num-nodes 3 \
    --node-locations us-central1-a \
    --disk-type hyperdisk-balanced \
    --disk-size 50 \
    --node-labels perbuck/study=tidb-two-clouds-today,perbuck/contender=gcp,perbuck/role=tidb \
    --node-taints perbuck/role=tidb:NoSchedule \
    --no-enable-autoupgrade \
    --no-enable-autorepair

# `node.instance` of gcp, tikv, with its `count` and `root_volume`.
gcloud container node-pools create gcp-tikv \
    --cluster perbuck-tidb-two-clouds-today-gke \
    --zone us-central1-a \
    --machine-type c4a-highmem-8 \
    --num-nodes 3 \
    --node-locations us-central1-a \
    --disk-type hyperdisk-balanced \
    --disk-size 20 \
    --node-labels perbuck/study=tidb-two-clouds-today,perbuck/contender=gcp,perbuck/role=tikv \
    --node-taints perbuck/role=tikv:NoSchedule \
    --no-enable-autoupgrade \
    --no-enable-autorepair

# `node.instance` of gcp, pd, with its `count` and `root_volume`.
gcloud container node-pools create gcp-pd \
    --cluster perbuck-tidb-two-clouds-today-gke \
    --zone us-central1-a \
    --machine-type c4a-standard-4 \
    --num-nodes 1 \
    --node-locations us-central1-a \
    --disk-type hyperdisk-balanced \
    --disk-size 20 \
    --node-labels perbuck/study=tidb-two-clouds-today,perbuck/contender=gcp,perbuck/role=pd \
    --node-taints perbuck/role=pd:NoSchedule \
    --no-enable-autoupgrade \
    --no-enable-autorepair

# `node.instance` of gcp, client, with its `count` and `root_volume`.
gcloud container node-pools create gcp-client \
    --cluster perbuck-tidb-two-clouds-today-gke \
    --zone us-central1-a \
    --machine-type c4a-standard-16 \
    --num-nodes 1 \
    --node-locations us-central1-a \
    --disk-type hyperdisk-balanced \
    --disk-size 20 \
    --node-labels perbuck/study=tidb-two-clouds-today,perbuck/contender=gcp,perbuck/role=client \
    --node-taints perbuck/role=client:NoSchedule \
    --no-enable-autoupgrade \
    --no-enable-autorepair
