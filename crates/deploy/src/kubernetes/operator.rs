//! TiDB Operator 1.6, which makes a TiDB cluster of a TidbCluster: its controller, without scheduler and admission webhook.

use super::object::{Entry, Object, Value, entry, map, texts};
use super::plan::{ADMIN, Cluster, Plan};
use super::pod;

/// The controller's name, and that of its account.
const NAME: &str = "tidb-controller-manager";
/// It answers here while it lives.
const HEALTH_PORT: u32 = 6060;

const ALL: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const NO_PATCH: &[&str] = &["create", "delete", "get", "list", "update", "watch"];
const READ: &[&str] = &["get", "list", "watch"];

/// What it may do: API groups, resources, verbs. Those of the release's chart without what its optional features need.
const RULES: [(&[&str], &[&str], &[&str]); 10] = [
    (&[""], &["events", "persistentvolumeclaims", "services"], ALL),
    (&["", "batch", "coordination.k8s.io"], &["configmaps", "endpoints", "jobs", "leases", "secrets"], NO_PATCH),
    (&[""], &["serviceaccounts"], &["create", "delete", "get", "update"]),
    (&[""], &["pods"], &["delete", "get", "list", "update", "watch"]),
    (&[""], &["persistentvolumes"], &["create", "get", "list", "patch", "update", "watch"]),
    (&["", "storage.k8s.io"], &["nodes", "storageclasses"], READ),
    (&["apps"], &["controllerrevisions", "deployments", "statefulsets"], ALL),
    (&["networking.k8s.io"], &["ingresses"], ALL),
    (&["pingcap.com"], &["*"], ALL),
    // Discovery and monitor have accounts of their own, which may do what the controller may not.
    (
        &["rbac.authorization.k8s.io"],
        &["clusterrolebindings", "clusterroles", "rolebindings", "roles"],
        &["create", "delete", "escalate", "get", "update"],
    ),
];

/// The namespace of what perbuck runs for the whole study: the operator and the load agents.
pub fn namespace(plan: &Plan) -> String {
    format!("perbuck-{}", plan.study)
}

/// Where a release has its CustomResourceDefinitions.
pub fn crds_url(version: &str) -> String {
    format!("https://raw.githubusercontent.com/pingcap/tidb-operator/{version}/manifests/crd.yaml")
}

/// The operator of a cluster; nothing where no contender needs one.
pub fn objects(plan: &Plan, cluster: &Cluster) -> Vec<Object> {
    let Some(version) = &cluster.operator else { return Vec::new() };
    let image = cluster.operator_image.clone().unwrap_or_else(|| format!("pingcap/tidb-operator:{version}"));
    let namespace = namespace(plan);
    vec![
        Object::new(
            "The operator's account.",
            [entry("apiVersion", "v1"), entry("kind", "ServiceAccount"), metadata(plan, NAME, Some(&namespace))],
        ),
        role(plan, &namespace),
        binding(plan, &namespace),
        deployment(plan, cluster, &namespace, &image),
    ]
}

fn metadata(plan: &Plan, name: &str, namespace: Option<&str>) -> Entry {
    pod::metadata(name, namespace, labels(plan))
}

fn labels(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut all = pod::of_contender(plan, None);
    all.extend(pod::of_role(ADMIN, None));
    all
}

/// Roles of a whole cluster have no namespace, so that their names hold the study's.
fn cluster_name(namespace: &str) -> String {
    format!("{namespace}-{NAME}")
}

fn role(plan: &Plan, namespace: &str) -> Object {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|&(groups, resources, verbs)| {
            map([entry("apiGroups", groups.to_vec()), entry("resources", resources.to_vec()), entry("verbs", verbs.to_vec())])
        })
        .collect();
    Object::new(
        "What the operator may do. The contenders have namespaces of their own, so that it holds for all of them.",
        [
            entry("apiVersion", "rbac.authorization.k8s.io/v1"),
            entry("kind", "ClusterRole"),
            metadata(plan, &cluster_name(namespace), None),
            entry("rules", rules),
        ],
    )
}

fn binding(plan: &Plan, namespace: &str) -> Object {
    let subject = texts([("kind", "ServiceAccount"), ("name", NAME), ("namespace", namespace)]);
    let role = cluster_name(namespace);
    let role_ref = texts([("apiGroup", "rbac.authorization.k8s.io"), ("kind", "ClusterRole"), ("name", role.as_str())]);
    Object::new(
        "The operator's account may do it.",
        [
            entry("apiVersion", "rbac.authorization.k8s.io/v1"),
            entry("kind", "ClusterRoleBinding"),
            metadata(plan, &role, None),
            entry("subjects", vec![subject]),
            entry("roleRef", role_ref),
        ],
    )
}

fn deployment(plan: &Plan, cluster: &Cluster, namespace: &str, image: &str) -> Object {
    let version = cluster.operator.as_deref().unwrap_or_default();
    let head = format!("TiDB Operator {version}, on a machine of role `{ADMIN}` of the first contender.");
    let selector = [("app.kubernetes.io/component", "controller-manager".to_owned())];
    let mut labels = labels(plan);
    labels.extend(selector.clone());
    let template = map([entry("metadata", map([entry("labels", texts(labels))])), entry("spec", spec(plan, cluster, image))]);
    Object::new(
        head,
        [
            entry("apiVersion", "apps/v1"),
            entry("kind", "Deployment"),
            metadata(plan, NAME, Some(namespace)),
            entry(
                "spec",
                map([
                    entry("replicas", 1_u32),
                    entry("selector", map([entry("matchLabels", texts(selector))])),
                    entry("template", template),
                ]),
            ),
        ],
    )
}

fn spec(plan: &Plan, cluster: &Cluster, image: &str) -> Value {
    let flags = vec![
        "/usr/local/bin/tidb-controller-manager".to_owned(),
        format!("-tidb-discovery-image={image}"),
        "-cluster-scoped=true".to_owned(),
        // A failed server stays failed: one more would change what is measured.
        "-auto-failover=false".to_owned(),
        // Another operator in an existing cluster, or one of another study, has clusters of its own.
        format!("-selector={}={}", super::label::STUDY, plan.study),
        "-v=2".to_owned(),
    ];
    let own_namespace = map([entry("fieldRef", map([entry("fieldPath", "metadata.namespace")]))]);
    let container = map([
        entry("name", "tidb-operator"),
        entry("image", image),
        entry("command", flags),
        entry(
            "env",
            vec![map([entry("name", "NAMESPACE"), entry("valueFrom", own_namespace)]), texts([("name", "TZ"), ("value", "UTC")])],
        ),
        entry("resources", map([entry("requests", texts([("cpu", "100m"), ("memory", "256Mi")]))])),
        entry(
            "livenessProbe",
            map([
                entry("tcpSocket", map([entry("port", HEALTH_PORT)])),
                entry("initialDelaySeconds", 30_u32),
                entry("failureThreshold", 10_u32),
            ]),
        ),
    ]);
    let admin = cluster.groups.iter().find(|group| group.role == ADMIN);
    let tolerations = admin.and_then(|group| pod::tolerations(cluster, group));
    let entries = [entry("serviceAccountName", NAME)]
        .into_iter()
        .chain(admin.map(|group| pod::node_selector(plan, group)))
        .chain(tolerations);
    map(entries.chain([entry("containers", vec![container])]))
}
