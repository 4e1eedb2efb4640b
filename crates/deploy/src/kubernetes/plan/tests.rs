use super::super::fixture::{MYSQL, TIDB, plan, study};
use super::*;

#[test]
fn contenders_of_one_region_share_a_cluster_and_a_client() {
    let plan = plan(&study(TIDB)).unwrap().unwrap();
    let [cluster] = plan.clusters.as_slice() else { panic!("{plan:#?}") };
    assert_eq!((cluster.name.as_str(), cluster.region.as_deref()), ("perbuck-arm-value-eks", Some("us-east-1")));
    let groups: Vec<(&str, u32)> = cluster.groups.iter().map(|g| (g.name.as_str(), g.count)).collect();
    let of = |c: &'static str| [(c, "tidb", 3), (c, "tikv", 3), (c, "pd", 1), (c, "admin", 1)];
    let mut expected: Vec<(String, u32)> =
        of("arm").into_iter().chain(of("x86")).map(|(c, role, n)| (format!("{c}-{role}"), n)).collect();
    expected.push(("client".to_owned(), 2));
    assert_eq!(groups, expected.iter().map(|(name, n)| (name.as_str(), *n)).collect::<Vec<_>>());
    let arm = &cluster.systems[0];
    assert_eq!((arm.namespace.as_str(), arm.images[&Component::Tikv].as_str()), ("perbuck-arm-value-arm", "pingcap/tikv:v8.5.3"));
    let groups: Vec<Component> = cluster.groups_of(arm).map(|(component, _)| component).collect();
    assert_eq!(groups, [Component::Tidb, Component::Tikv, Component::Pd]);
    assert_eq!(cluster.zones, ["us-east-1a"]);
}

#[test]
fn a_study_without_a_deployment_has_no_plan() {
    let bare: String = MYSQL.lines().filter(|line| !line.starts_with("deploy")).map(|line| format!("{line}\n")).collect();
    assert!(plan(&study(&bare)).unwrap().is_none());
}

#[test]
fn every_contender_that_cannot_be_deployed_is_named() {
    for (from, to, said) in [
        ("kind = \"tidb\"", "kind = \"tidbb\"", "did you mean `tidb`?"),
        ("name = \"arm\"", "name = \"X86\"", "`X86` and `x86` have one name on Kubernetes"),
        ("role = \"tidb\"", "role = \"tibd\"", "runs nothing on a node of role `tibd`"),
        ("role = \"pd\"", "role = \"tidb\"", "has no node of role `pd`"),
        ("role = \"admin\"", "role = \"monitor\"", "has no node of role `admin`"),
        (
            "count = 3, volume = { kind = \"gp3\", size_gb = 1000, iops = 6000, throughput_mib_s = 500 }",
            "count = 3",
            "keeps data",
        ),
        ("\"c6g.2xlarge\", count = 3", "\"c6g.2xlarge\", count = 3, volume = { kind = \"gp3\", size_gb = 9 }", "root_volume"),
        ("v8.5.3", "v4.0.10", "no public image for Arm"),
        ("r6g.2xlarge", "r99.2xlarge", "no price list describes `r99.2xlarge`"),
        ("operator = \"v1.6.3\", ", "", "no version of TiDB Operator"),
        ("operator = \"v1.6.3\"", "operator = \"v1.6.2\"", "differ in `deploy.operator`"),
        ("kubernetes = \"1.33\", ", "", "no version of Kubernetes"),
        ("zones = [\"us-east-1a\"], ", "", "names no zone"),
        ("count = 2, priced", "count = 3, priced", "has another client"),
        ("config = { tikv", "config = { tikw", "no component `tikw`"),
        ("image = { agent", "image = { agnet", "no component `agnet`"),
        ("name = \"arm\"", "name = \"arm-a-contender-with-a-name-that-no-namespace-can-hold-any-more\"", "above 63"),
        ("\"c6g.2xlarge\", count = 3", "\"c6g.2xlarge\", count = 3, zones = 2", "spread over 2 zones"),
    ] {
        assert!(TIDB.contains(from), "{from}");
        let problems = plan(&study(&TIDB.replacen(from, to, 1))).unwrap_err();
        let text: String = problems.iter().map(ToString::to_string).collect();
        assert!(text.contains(said), "{to}: {text}");
    }
}
