//! The load agents: a Job for each group of client machines, with one agent on each machine.

use super::object::{Entry, Object, entry, map, texts};
use super::plan::{Cluster, Group, Plan};
use super::render::{AGENT, Agents, Secret};
use super::{label, operator, pod};

/// The Secret with the token of the agents, and its key. `deploy up` makes it; nothing that is rendered holds a token.
pub const TOKEN: (&str, &str) = ("perbuck-agents", "token");
/// The port of an agent, which is also the default of `perbuck agent --listen`.
pub const PORT: u16 = 7117;
/// What an agent needs at least.
const CPU: &str = "1";
const MEMORY: &str = "1Gi";
/// The folder with the token.
const FOLDER: &str = "/etc/perbuck";

/// The agents of a cluster; nothing where the study names no image of perbuck, or has no machines for clients.
pub fn objects(plan: &Plan, cluster: &Cluster) -> Vec<Object> {
    let Some(image) = &cluster.agent else { return Vec::new() };
    let namespace = operator::namespace(plan);
    cluster.clients().map(|group| job(plan, cluster, group, image, &namespace)).collect()
}

/// The agents of each client group, as who drives them finds them.
pub fn all(plan: &Plan, cluster: &Cluster) -> Vec<Agents> {
    let of = |group: &Group| Agents {
        contender: group.contender.clone(),
        namespace: operator::namespace(plan),
        count: group.count,
        port: PORT,
        secret: TOKEN.0.to_owned(),
        key: TOKEN.1.to_owned(),
    };
    cluster.clients().filter(|_| cluster.agent.is_some()).map(of).collect()
}

/// The token of the agents.
pub fn token(plan: &Plan) -> Secret {
    let labels = vec![(label::STUDY.to_owned(), plan.study.clone())];
    Secret { namespace: operator::namespace(plan), name: TOKEN.0.to_owned(), key: TOKEN.1.to_owned(), labels }
}

fn job(plan: &Plan, cluster: &Cluster, group: &Group, image: &str, namespace: &str) -> Object {
    let mut labels = pod::labels(plan, group);
    labels.push((label::COMPONENT, AGENT.to_owned()));
    let template = [
        entry("metadata", map([entry("labels", texts(labels.clone()))])),
        entry("spec", map(spec((plan, cluster), group, image, labels.clone()))),
    ];
    let spec = [
        entry("completionMode", "Indexed"),
        entry("completions", group.count).of(format!("the node's machines: {}", group.instance)),
        entry("parallelism", group.count),
        entry("backoffLimitPerIndex", 0_u32).of("an agent that ends is lost, and the others stay"),
        entry("template", map(template)),
    ];
    let mut object = Object::new(
        format!("The load agents of group `{}`, one on each machine.", group.name),
        [
            entry("apiVersion", "batch/v1"),
            entry("kind", "Job"),
            pod::metadata(&group.name, Some(namespace), labels),
            entry("spec", map(spec)),
        ],
    );
    object.head.push(format!("Their token is in the Secret `{}`, which `perbuck deploy up` makes.", TOKEN.0));
    object
}

fn spec((plan, cluster): (&Plan, &Cluster), group: &Group, image: &str, labels: Vec<(&'static str, String)>) -> Vec<Entry> {
    let share = pod::share(cluster, group);
    // It has its machine to itself. A limit of processors would throttle it in bursts, which would be measured as latency.
    let requests = texts([("cpu", CPU), ("memory", MEMORY)]);
    let limits = texts([("memory", share.memory())]);
    let probe = [
        entry("tcpSocket", map([entry("port", u32::from(PORT))])),
        entry("periodSeconds", 2_u32),
        entry("failureThreshold", 60_u32),
    ];
    let container = map([
        entry("name", "agent"),
        entry("image", image),
        entry(
            "command",
            vec![
                "perbuck".to_owned(),
                "agent".to_owned(),
                "--listen".to_owned(),
                format!("0.0.0.0:{PORT}"),
                "--token-file".to_owned(),
                format!("{FOLDER}/{}", TOKEN.1),
            ],
        ),
        entry("ports", vec![map([entry("name", "agent"), entry("containerPort", u32::from(PORT))])]),
        entry("resources", map([entry("requests", requests), entry("limits", limits)])),
        entry("startupProbe", map(probe)).of("asked until it answers, and never under load"),
        entry("volumeMounts", vec![map([entry("name", "token"), entry("mountPath", FOLDER), entry("readOnly", true)])]),
    ]);
    let secret = texts([("secretName", TOKEN.0)]);
    let mut all = vec![
        entry("restartPolicy", "Never"),
        entry("automountServiceAccountToken", false),
        entry("enableServiceLinks", false),
        pod::node_selector(plan, group),
    ];
    all.extend(pod::tolerations(cluster, group));
    all.push(pod::apart(labels));
    all.push(entry("containers", vec![container]));
    all.push(entry("volumes", vec![map([entry("name", "token"), entry("secret", secret)])]));
    all
}
