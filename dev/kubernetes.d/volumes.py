"""What a driver of volumes does beside a real cluster: it makes the volume of a claim, and removes it after the claim."""

import threading

from api import Refused

CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
SELECTED = "volume.kubernetes.io/selected-node"
ZONE = "topology.kubernetes.io/zone"
PERIOD_SECONDS = 0.2


def volume_of(claim, storage_class, node):
    """The volume that a driver would make for this claim, in the zone of the node that the scheduler selected."""
    meta, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{meta['uid']}"
    volume = {
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": storage_class["provisioner"]}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"], "volumeMode": spec.get("volumeMode", "Filesystem"),
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": meta["namespace"], "name": meta["name"],
                         "uid": meta["uid"]},
            "csi": {"driver": storage_class["provisioner"], "volumeHandle": name,
                    "volumeAttributes": {str(k): str(v) for k, v in storage_class.get("parameters", {}).items()}},
        },
    }
    zone = node["metadata"]["labels"].get(ZONE) if node else None
    if zone:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return volume


def provision(api):
    for claim in api.items(CLAIMS):
        annotations = claim["metadata"].get("annotations", {})
        if claim["status"].get("phase") != "Pending" or claim["spec"].get("volumeName") or not claim["spec"].get("storageClassName"):
            continue
        storage_class = api.send("GET", f"/apis/storage.k8s.io/v1/storageclasses/{claim['spec']['storageClassName']}")
        waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        if storage_class["provisioner"] == "kubernetes.io/no-provisioner" or (waits and SELECTED not in annotations):
            continue
        node = api.send("GET", f"/api/v1/nodes/{annotations[SELECTED]}") if SELECTED in annotations else None
        api.send("POST", VOLUMES, volume_of(claim, storage_class, node))


def reclaim(api):
    for volume in api.items(VOLUMES):
        if volume["status"].get("phase") == "Released" and volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete":
            api.delete(f"{VOLUMES}/{volume['metadata']['name']}")


def serve(api, stopped: threading.Event):
    """Does the driver's work until the event. A refused request is sent again in the next period: an object may have changed or gone."""
    while not stopped.wait(PERIOD_SECONDS):
        for work in (provision, reclaim):
            try:
                work(api)
            except (Refused, OSError):
                continue
