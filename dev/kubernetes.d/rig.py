"""What a test does to the cluster of dev/kubernetes: `$PERBUCK_TEST_KUBERNETES_RIG COMMAND…`."""

import os
import sys
import time

from api import Api, Refused

NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
READY_SECONDS = 60
# The addresses of nodes; those of pods start at 127.0.64.1.
NODE_NET = "127.0.32"


def fail(text):
    sys.exit(f"rig: {text}")


def wait_for(what, condition):
    end = time.monotonic() + READY_SECONDS
    while not condition():
        if time.monotonic() > end:
            fail(f"{what}: not within {READY_SECONDS} s")
        time.sleep(0.05)


def node(api, name, instance, arch, zone, cpu, memory, *more):
    labels = {
        "node.kubernetes.io/instance-type": instance, "kubernetes.io/arch": arch, "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": zone.rstrip("abcdefghijklmnopqrstuvwxyz"),
        "kubernetes.io/hostname": name,
    }
    taints = []
    for word in more:
        pair, colon, effect = word.rpartition(":")
        key, _, value = (pair if colon else word).partition("=")
        if not colon:
            labels[key] = value
        elif effect in EFFECTS:
            taints.append({"key": key, "value": value, "effect": effect})
        else:
            fail(f"`{word}`: the effect of a taint is one of {', '.join(EFFECTS)}")
    taken = {a["address"] for n in api.items(NODES) for a in n.get("status", {}).get("addresses", [])}
    address = next(a for a in (f"{NODE_NET}.{last}" for last in range(1, 255)) if a not in taken)
    room = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "100Gi"}
    status = {"addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
              "allocatable": room, "capacity": room, "nodeInfo": info(arch)}
    metadata = {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}}
    api.send("POST", NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints}, "status": status})
    wait_for(f"node {name}", lambda: is_ready(api.send("GET", f"{NODES}/{name}")))


def info(arch):
    names = ("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion", "machineID", "osImage", "systemUUID")
    return {**dict.fromkeys(names, ""), "architecture": arch, "operatingSystem": "linux"}


def is_ready(node):
    """Ready, and without the taint that the control plane puts on a new node."""
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
    return ready and not any(t["key"] == "node.kubernetes.io/not-ready" for t in node["spec"].get("taints", []))


def unnode(api, name):
    """The machine is gone, and its pods with it."""
    if not api.delete(f"{NODES}/{name}"):
        fail(f"no node {name}")
    for pod in api.items(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}"):
        kill_pod(api, pod["metadata"]["namespace"], pod["metadata"]["name"])


def kill_pod(api, namespace, name):
    """The pod is gone at once, without its grace period."""
    if not api.delete(f"{NAMESPACES}/{namespace}/pods/{name}", {"gracePeriodSeconds": 0}):
        fail(f"no pod {name} in {namespace}")


def exit_pod(api, namespace, name, code="0"):
    """The containers of the pod end with this exit code."""
    if not code.isdigit():
        fail(f"`{code}` is no exit code")
    patch = {"metadata": {"annotations": {"perbuck.test/exit": code}}}
    api.send("PATCH", f"{NAMESPACES}/{namespace}/pods/{name}", patch, "application/merge-patch+json")


def clear(api):
    """Deletes all nodes, all namespaces but the system's, what lies in `default`, and what tests leave beside namespaces."""
    mine = [n["metadata"]["name"] for n in api.items(NAMESPACES) if n["metadata"]["name"] not in SYSTEM]
    for group in ("/apis/apps/v1", "/apis/batch/v1", "/api/v1"):
        kinds = {"/apis/apps/v1": ("deployments", "statefulsets", "daemonsets", "replicasets"), "/apis/batch/v1": ("cronjobs", "jobs"),
                 "/api/v1": ("pods", "persistentvolumeclaims", "secrets")}[group]
        for namespace in [*mine, "default"]:
            for kind in kinds:
                api.delete(f"{group}/namespaces/{namespace}/{kind}", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
    for namespace in mine:
        api.delete(f"{NAMESPACES}/{namespace}")
    for path in (NODES, "/apis/storage.k8s.io/v1/storageclasses", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"):
        api.delete(path)
    for kind in ("clusterroles", "clusterrolebindings"):
        api.delete(f"/apis/rbac.authorization.k8s.io/v1/{kind}?labelSelector=%21kubernetes.io%2Fbootstrapping")
    wait_for("the end of all namespaces", lambda: all(n["metadata"]["name"] in SYSTEM for n in api.items(NAMESPACES)))
    wait_for("the end of all volumes", lambda: not api.items("/api/v1/persistentvolumes"))


def kubectl(api, *words):
    os.execvp("kubectl", ["kubectl", "--kubeconfig", f"{api.folder}/kubeconfig", *words])


ACTIONS = {"node": node, "unnode": unnode, "clear": clear, "kill-pod": kill_pod, "exit-pod": exit_pod, "kubectl": kubectl}


def change(folder, words):
    if not words or words[0] not in ACTIONS:
        fail(f"usage: {' | '.join(ACTIONS)}; `dev/kubernetes --help` explains them")
    try:
        ACTIONS[words[0]](Api(folder), *words[1:])
    except (Refused, TypeError) as error:
        fail(f"{' '.join(words)}: {error}")
