//! What the objects of operator, systems and agents say, and that schemas allow it.

use super::fixture::{MYSQL, TIDB, plan, study};
use super::object::Value;
use super::{Object, Plan, agents, operator, schema, single, tidb};

/// TiDB on GKE in three zones, with every component.
const WHOLE: &str = r#"
[[contender]]
name = "arm"
replication_factor = 3
node = [
  { role = "tidb", instance = "c4a-standard-8", count = 3, zones = 3 },
  { role = "tikv", instance = "c4a-highmem-8", count = 3, zones = 3, volume = { kind = "hyperdisk-balanced", size_gb = 500 } },
  { role = "tiflash", instance = "c4a-highmem-8", count = 1, volume = { kind = "hyperdisk-balanced", size_gb = 800 } },
  { role = "pd", instance = "c4a-standard-2", count = 3, zones = 3, volume = { kind = "hyperdisk-balanced", size_gb = 20 } },
  { role = "monitor", instance = "c4a-standard-4", count = 1, volume = { kind = "hyperdisk-balanced", size_gb = 100 } },
  { role = "admin", instance = "c4a-standard-2", count = 1 },
]
deploy = { provider = "gke", kind = "tidb", version = "v8.5.3", kubernetes = "1.33", operator = "v1.6.6", zones = ["us-central1-a", "us-central1-b", "us-central1-c"], image = { operator = "own/operator:1", tikv = { arm64 = "own/tikv@sha256:ab" }, tidb = "own/tidb:2" }, config = { tiflash = { logger.level = "warn", proxy.server.grpc-concurrency = 4 }, tidb = { log.level = "error" } } }
"#;

/// PostgreSQL on EKS, with an agent beside it.
const POSTGRES: &str = r#"
[[contender]]
name = "arm"
node = [
  { role = "postgres", instance = "r6g.2xlarge", count = 1, volume = { kind = "gp3", size_gb = 500 } },
  { role = "admin", instance = "c6g.large", count = 1 },
  { role = "client", instance = "c5.4xlarge", count = 1 },
]
deploy = { provider = "eks", kind = "postgres", version = "17.5", kubernetes = "1.33", zones = ["us-east-1a"], image = { agent = { x86_64 = "registry.example/perbuck:1" } }, config = { postgres = { shared_buffers = "16GB", fsync = true } } }
"#;

fn planned(contenders: &str) -> Plan {
    plan(&study(contenders)).unwrap().unwrap()
}

/// All objects of a plan's only cluster.
fn objects(plan: &Plan) -> Vec<Object> {
    let [cluster] = plan.clusters.as_slice() else { panic!("{plan:#?}") };
    let systems = cluster.systems.iter().flat_map(|system| {
        let both = [tidb::objects(plan, cluster, system), single::objects(plan, cluster, system)];
        both.into_iter().flatten()
    });
    let all = [operator::objects(plan, cluster), systems.collect(), agents::objects(plan, cluster)];
    all.into_iter().flatten().collect()
}

fn find(objects: &[Object], kind: &str) -> Object {
    objects.iter().find(|object| object.kind() == kind).unwrap_or_else(|| panic!("no {kind}")).clone()
}

/// The value at a path.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| match (value, key.parse::<usize>()) {
        (Value::List(all), Ok(index)) => &all[index],
        _ => value.at(key).unwrap_or_else(|| panic!("{path}: no {key}")),
    })
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).text().unwrap_or_else(|| panic!("{path} is no text"))
}

#[test]
fn every_object_is_of_its_schema_and_has_its_labels() {
    let mut checked = 0;
    for contenders in [TIDB, WHOLE, MYSQL, POSTGRES] {
        let objects = objects(&planned(contenders));
        let mut names: Vec<_> = objects.iter().map(|o| (o.kind(), o.namespace(), o.name())).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), objects.len());
        for object in objects {
            assert_eq!(text(&object.value, "metadata.labels.perbuck/study"), "arm-value");
            let Some(faults) = schema::faults(&object) else { continue };
            assert!(faults.is_empty(), "{faults:#?}\n{}", object.yaml());
            checked += 1;
        }
    }
    assert_eq!(checked, 4);
}

#[test]
fn a_tidb_cluster_is_what_the_nodes_say() {
    let objects = objects(&planned(TIDB));
    let spec = at(&find(&objects, "TidbCluster").value, "spec").clone();
    assert_eq!(at(&spec, "tikv.replicas"), &Value::Int(3));
    assert_eq!((text(&spec, "tikv.requests.cpu"), text(&spec, "tikv.requests.storage")), ("7600m", "1000Gi"));
    assert_eq!(text(&spec, "tikv.requests.memory"), text(&spec, "tikv.limits.memory"));
    assert_eq!(at(&spec, "tikv.limits").at("cpu"), None);
    assert_eq!(text(&spec, "tikv.config"), "[storage.block-cache]\ncapacity = \"24GiB\"\n");
    assert_eq!(text(&spec, "pd.config"), "[replication]\nmax-replicas = 3\n");
    assert_eq!(text(&spec, "tidb.config"), "[log.file]\nmax-backups = 3\n");
    assert_eq!(text(&spec, "tikv.storageClassName"), "perbuck-arm-value-arm-tikv");
    assert_eq!(text(&spec, "tikv.nodeSelector.perbuck/contender"), "arm");
    assert_eq!(at(&spec, "tikv.nodeSelector").at("kubernetes.io/arch"), Some(&Value::from("arm64")));
    assert_eq!((text(&spec, "tikv.tolerations.0.key"), text(&spec, "tikv.tolerations.0.value")), ("perbuck/role", "tikv"));
    assert_eq!(text(&spec, "discovery.nodeSelector.perbuck/role"), "admin");
    let rule = "tikv.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.0";
    assert_eq!(text(&spec, &format!("{rule}.topologyKey")), "kubernetes.io/hostname");
    assert_eq!(text(&spec, &format!("{rule}.labelSelector.matchLabels.perbuck/component")), "tikv");
    assert_eq!(at(&spec, "tikv").at("topologySpreadConstraints"), None);
    assert_eq!((text(&spec, "tikv.baseImage"), at(&spec, "tikv").at("version")), ("pingcap/tikv", None));
    assert_eq!(spec.at("tiflash"), None);
}

#[test]
fn zones_images_and_volumes_of_every_component_are_given() {
    let objects = objects(&planned(WHOLE));
    let cluster = find(&objects, "TidbCluster");
    let spec = at(&cluster.value, "spec");
    assert_eq!(
        text(spec, "pd.config"),
        "[replication]\nmax-replicas = 3\nlocation-labels = [\"topology.kubernetes.io/zone\", \"kubernetes.io/hostname\"]\n"
    );
    assert_eq!(text(spec, "tikv.topologySpreadConstraints.0.topologyKey"), "topology.kubernetes.io/zone");
    assert_eq!((text(spec, "tikv.baseImage"), text(spec, "tikv.version")), ("own/tikv@sha256:ab", ""));
    assert_eq!((text(spec, "tidb.baseImage"), text(spec, "tidb.version")), ("own/tidb", "2"));
    assert_eq!(text(spec, "tikv.tolerations.1.key"), "kubernetes.io/arch");
    assert_eq!(text(spec, "tiflash.storageClaims.0.resources.requests.storage"), "800Gi");
    assert_eq!(text(spec, "tiflash.config.config"), "[logger]\nlevel = \"warn\"\n");
    assert_eq!(text(spec, "tiflash.config.proxy"), "[server]\ngrpc-concurrency = 4\n");
    let monitor = find(&objects, "TidbMonitor");
    assert_eq!((text(&monitor.value, "spec.storage"), at(&monitor.value, "spec").at("grafana")), ("100Gi", None));
    let controller = find(&objects, "Deployment");
    let pod = at(&controller.value, "spec.template.spec");
    assert_eq!((text(pod, "containers.0.image"), text(pod, "nodeSelector.perbuck/role")), ("own/operator:1", "admin"));
    assert_eq!(text(pod, "tolerations.0.key"), "kubernetes.io/arch");
    assert_eq!(text(pod, "containers.0.command.4"), "-selector=perbuck/study=arm-value");
    assert!(agents::objects(&planned(WHOLE), &planned(WHOLE).clusters[0]).is_empty());
    assert!(operator::crds_url("v1.6.6").ends_with("/v1.6.6/manifests/crd.yaml"));
}

#[test]
fn a_server_has_its_settings_its_password_and_its_volume() {
    for (contenders, file, settings, secret) in [
        (MYSQL, "my.cnf", "[mysqld]\nmax_connections = 51\ninnodb_buffer_pool_size = 103079215104\n", "mysql-root"),
        (
            POSTGRES,
            "postgresql.conf",
            "listen_addresses = '*'\nmax_connections = 51\nfsync = on\nshared_buffers = '16GB'\n",
            "postgres-root",
        ),
    ] {
        let plan = planned(contenders);
        let objects = objects(&plan);
        let config = find(&objects, "ConfigMap");
        assert_eq!(at(&config.value, "data").at(file).and_then(Value::text), Some(settings));
        let set = find(&objects, "StatefulSet").value;
        let env = at(&set, "spec.template.spec.containers.0.env.0.valueFrom.secretKeyRef");
        assert_eq!((text(env, "name"), text(env, "key")), (secret, "password"));
        assert_eq!(text(&set, "spec.volumeClaimTemplates.0.spec.resources.requests.storage"), "500Gi");
        assert_eq!(text(&find(&objects, "Service").value, "spec.clusterIP"), "None");
        assert!(objects.iter().all(|object| object.kind() != "Secret"));
    }
}

#[test]
fn what_objects_would_not_hold_is_refused() {
    for (contenders, from, to, said) in [
        (TIDB, "v1.6.3", "v2.0.1", "perbuck deploys by TiDB Operator 1.6"),
        (WHOLE, "\"c4a-standard-4\", count = 1", "\"c4a-standard-4\", count = 2", "has 2 machines of role `monitor`"),
        (POSTGRES, "\"r6g.2xlarge\", count = 1", "\"r6g.2xlarge\", count = 2", "write `count = 1`"),
        (TIDB, "config = { tikv", "config = { pd.replication.max-replicas = 1, tikv", "`replication_factor` is 3"),
        (TIDB, "\"r6g.2xlarge\", count = 3", "\"r6g.2xlarge\", count = 2", "keeps 3 copies of the data on 2 machines"),
        (WHOLE, "tidb = { log.level", "tidb = { log = 1, \"log.level\"", "is a value and a table"),
        (TIDB, "perbuck:1", "perbuck:2", "differ in `deploy.image.agent`"),
    ] {
        assert!(contenders.contains(from), "{from}");
        let problems = plan(&study(&contenders.replacen(from, to, 1))).unwrap_err();
        let text: String = problems.iter().map(ToString::to_string).collect();
        assert!(text.contains(said), "{to}: {text}");
    }
}

/// Compares with a golden file, or rewrites it.
fn golden(name: &str, object: &Object) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, object.yaml()).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(object.yaml() == expected, "{name} differs (UPDATE_GOLDEN=1 rewrites it):\n{}", object.yaml());
}

#[test]
fn objects_read_as_before() {
    golden("tidb-cluster.yaml", &find(&objects(&planned(TIDB)), "TidbCluster"));
    golden("mysql.yaml", &find(&objects(&planned(MYSQL)), "StatefulSet"));
}

#[test]
fn agents_are_one_on_each_machine() {
    let objects = objects(&planned(TIDB));
    let job = find(&objects, "Job");
    assert_eq!((job.name(), job.namespace()), ("client", Some("perbuck-arm-value")));
    assert_eq!((at(&job.value, "spec.completions"), at(&job.value, "spec.parallelism")), (&Value::Int(2), &Value::Int(2)));
    let pod = at(&job.value, "spec.template.spec");
    assert_eq!(text(pod, "containers.0.image"), "registry.example/perbuck:1");
    assert_eq!(at(pod, "containers.0.resources.limits").at("cpu"), None, "a limit would throttle it");
    assert_eq!(text(pod, "volumes.0.secret.secretName"), agents::TOKEN.0);
    assert_eq!(at(pod, "nodeSelector").at("perbuck/contender"), None);
}
