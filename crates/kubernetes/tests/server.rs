//! Against a real API server. `dev/kubernetes` builds it, starts it, and runs this; CI does not, since the build takes ten minutes.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use perbuck_kubernetes::{Api, ApiError, Change, Context, ErrorKind, Kind, yaml};
use serde_json::{Value, json};

const MANAGER: &str = "perbuck-test";

const WIDGETS: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.perbuck.test, labels: {perbuck.test/run: kinds}}
spec:
  group: perbuck.test
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {size: {type: integer}}}}
    - name: v0
      served: true
      storage: false
      deprecated: true
      deprecationWarning: "perbuck.test/v0 Widget is old: use \"v1\""
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
"#;

fn config() -> PathBuf {
    std::env::var_os("PERBUCK_TEST_KUBECONFIG").expect("dev/kubernetes runs these tests").into()
}

fn context(name: Option<&str>) -> Context {
    Context { kubeconfig: Some(config()), name: name.map(str::to_owned) }
}

fn api() -> Api {
    Api::connect(&context(None)).unwrap()
}

/// Does something to the cluster, as `dev/kubernetes --help` says; what that prints.
fn rig(words: &[&str]) -> String {
    let done = Command::new(std::env::var_os("PERBUCK_TEST_KUBERNETES_RIG").unwrap()).args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": { "perbuck.test/run": "kinds" } } })
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": { "name": name, "namespace": "default", "labels": { "perbuck.test/run": "kinds" } },
    })
}

fn config_maps() -> Kind {
    Kind::of("v1", "ConfigMap")
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(100));
    }
}

fn failure<T: std::fmt::Debug>(result: Result<T, ApiError>) -> ApiError {
    let error = result.unwrap_err();
    assert!(!error.message.contains("token"), "{error:?}");
    error
}

#[test]
fn each_way_to_log_in_reaches_the_server() {
    for name in [None, Some("admin"), Some("plugin"), Some("nothing")] {
        assert_eq!(Api::connect(&context(name)).unwrap().server_version().unwrap(), "v1.37.2", "{name:?}");
    }
    let error = failure(Api::connect(&context(Some("other"))));
    assert!(
        error.kind == ErrorKind::Config && error.message.ends_with("no context `other`; it has admin, nothing, plugin"),
        "{error:?}"
    );
}

#[test]
fn an_apply_says_what_it_did() {
    let api = api();
    let apply = |value: &str| api.apply(&config_map("applied", &json!({ "a": value })), MANAGER).unwrap();
    assert_eq!(apply("1").change, Change::Created);
    assert_eq!(apply("1").change, Change::Unchanged);
    let changed = apply("2");
    assert_eq!((changed.change, &changed.warnings), (Change::Changed, &Vec::new()));
    assert_eq!(changed.object["data"]["a"], "2");
    // Fields of another manager are taken over, and stay where they are not named.
    rig(&["kubectl", "patch", "configmap", "applied", "--type=merge", "-p", r#"{"data": {"a": "3", "b": "4"}}"#]);
    let taken = apply("2");
    assert_eq!((taken.change, &taken.object["data"]), (Change::Changed, &json!({ "a": "2", "b": "4" })));
    assert_eq!(api.get(&config_maps(), Some("default"), "applied").unwrap().unwrap()["data"], taken.object["data"]);
    assert!(api.delete(&config_maps(), Some("default"), "applied").unwrap());
}

#[test]
fn a_merge_takes_fields_of_others_away_unless_the_object_changed_since() {
    let api = api();
    let (kind, name) = (config_maps(), "merged");
    let of = (&kind, Some("default"), name);
    assert!(!api.merge(of, &json!({ "data": { "a": null } }), MANAGER).unwrap());
    let first = api.apply(&config_map(name, &json!({ "a": "1", "b": "2" })), MANAGER).unwrap().object;
    // An apply takes nothing away that another manager has set.
    rig(&["kubectl", "patch", "configmap", name, "--type=merge", "-p", r#"{"data": {"a": "3"}}"#]);
    assert_eq!(api.apply(&config_map(name, &json!({ "b": "2" })), MANAGER).unwrap().object["data"]["a"], "3");
    let old = json!({ "metadata": { "resourceVersion": first["metadata"]["resourceVersion"] }, "data": { "a": null } });
    assert_eq!(failure(api.merge(of, &old, MANAGER)).kind, ErrorKind::Conflict);
    assert!(api.merge(of, &json!({ "data": { "a": null } }), MANAGER).unwrap());
    assert_eq!(api.get(&kind, Some("default"), name).unwrap().unwrap()["data"], json!({ "b": "2" }));
    assert!(api.delete(&kind, Some("default"), name).unwrap());
}

#[test]
fn a_controller_that_writes_the_status_changes_nothing() {
    let api = api();
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "busy", "namespace": "default" },
        "spec": { "replicas": 1, "selector": { "matchLabels": { "app": "busy" } }, "template": {
            "metadata": { "labels": { "app": "busy" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] },
        } },
    });
    let kind = Kind::of("apps/v1", "Deployment");
    assert_eq!(api.apply(&object, MANAGER).unwrap().change, Change::Created);
    let status = || api.get(&kind, Some("default"), "busy").unwrap().unwrap()["status"]["observedGeneration"].is_u64();
    wait_until("the controller writes a status", status);
    assert_eq!(api.apply(&object, MANAGER).unwrap().change, Change::Unchanged);
    assert!(api.delete(&kind, Some("default"), "busy").unwrap());
}

#[test]
fn an_unknown_field_is_refused_by_its_name() {
    let api = api();
    let mut object = config_map("wrong", &json!({}));
    object["dada"] = json!({ "a": "b" });
    let error = failure(api.apply(&object, MANAGER));
    assert_eq!(error.kind, ErrorKind::Invalid, "{error:?}");
    assert!(
        error.message.starts_with("ConfigMap default/wrong: https://127.0.0.1:") && error.message.contains("dada"),
        "{error:?}"
    );
    assert_eq!(api.get(&config_maps(), Some("default"), "wrong").unwrap(), None);
    let error = failure(api.apply(&json!({ "kind": "ConfigMap" }), MANAGER));
    assert_eq!(error.message, "an object needs apiVersion, kind and metadata.name");
    let error = failure(api.apply(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x" } }), MANAGER));
    assert_eq!(error.message, "ConfigMap x: a ConfigMap needs a namespace");
    let error = failure(api.get(&Kind::of("v1", "Gadget"), None, "x"));
    assert!(error.kind == ErrorKind::NotFound && error.message.ends_with("offers no kind v1 Gadget"), "{error:?}");
}

#[test]
fn objects_of_every_kind_are_found_by_their_label() {
    let api = api();
    let definition = yaml(WIDGETS).unwrap().remove(0);
    assert_eq!(api.apply(&definition, MANAGER).unwrap().change, Change::Created);
    api.apply(&namespace("kinds"), MANAGER).unwrap();
    // At once: the server offers the new kind a moment later.
    let mut widget = json!({
        "apiVersion": "perbuck.test/v1", "kind": "Widget", "spec": { "size": 1 },
        "metadata": { "name": "w", "namespace": "kinds", "labels": { "perbuck.test/run": "kinds" } },
    });
    assert_eq!(api.apply(&widget, MANAGER).unwrap().change, Change::Created);
    widget["spec"] = json!({ "sise": 1 });
    let error = failure(api.apply(&widget, MANAGER));
    assert!(error.kind == ErrorKind::Invalid && error.message.contains("sise"), "{error:?}");
    widget["apiVersion"] = json!("perbuck.test/v0");
    widget["spec"] = json!({ "size": 2 });
    assert_eq!(api.apply(&widget, MANAGER).unwrap().warnings, ["perbuck.test/v0 Widget is old: use \"v1\""]);
    api.apply(&config_map("labelled", &json!({})), MANAGER).unwrap();
    let found: BTreeSet<String> = api
        .labelled("perbuck.test/run=kinds")
        .unwrap()
        .iter()
        .map(|f| format!("{} {} {}", f.kind, f.namespace.as_deref().unwrap_or("-"), f.name))
        .collect();
    let expected = [
        "apiextensions.k8s.io/v1 CustomResourceDefinition - widgets.perbuck.test",
        "perbuck.test/v1 Widget kinds w",
        "v1 ConfigMap default labelled",
        "v1 Namespace - kinds",
    ];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    assert_eq!(failure(api.labelled(" ")).kind, ErrorKind::Invalid);
    for f in api.labelled("perbuck.test/run=kinds").unwrap() {
        // With its definition, or its namespace, an object is gone.
        api.delete(&f.kind, f.namespace.as_deref(), &f.name).unwrap();
    }
    wait_until("all is deleted", || api.labelled("perbuck.test/run=kinds").unwrap().is_empty());
}

#[test]
fn a_delete_says_whether_there_was_something() {
    let api = api();
    api.apply(&config_map("gone", &json!({})), MANAGER).unwrap();
    assert!(api.delete(&config_maps(), Some("default"), "gone").unwrap());
    wait_until("it is gone", || api.get(&config_maps(), Some("default"), "gone").unwrap().is_none());
    assert!(!api.delete(&config_maps(), Some("default"), "gone").unwrap());
    // The path of an object without a name is that of all objects.
    api.apply(&config_map("kept", &json!({})), MANAGER).unwrap();
    for name in ["", ".", ".."] {
        assert_eq!(failure(api.delete(&config_maps(), Some("default"), name)).kind, ErrorKind::Invalid);
    }
    assert!(!api.delete(&config_maps(), Some("default"), "../configmaps/kept").unwrap());
    assert!(api.get(&config_maps(), Some("default"), "kept").unwrap().is_some());
    assert!(api.delete(&config_maps(), Some("default"), "kept").unwrap());
}

#[test]
fn a_list_has_all_pages() {
    let api = api();
    let items: Vec<Value> = (0..501).map(|number| config_map(&format!("page-{number:04}"), &json!({}))).collect();
    let mut child = Command::new(std::env::var_os("PERBUCK_TEST_KUBERNETES_RIG").unwrap())
        .args(["kubectl", "create", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    child.stdin.take().unwrap().write_all(list.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let listed = api.list(&config_maps(), Some("default"), "perbuck.test/run=kinds").unwrap();
    assert_eq!(listed.len(), 501);
    assert!(listed.iter().all(|item| item["kind"] == "ConfigMap" && item["apiVersion"] == "v1"));
    assert_eq!(api.list(&config_maps(), None, "perbuck.test/run in (kinds)").unwrap().len(), 501);
    rig(&["kubectl", "delete", "--raw", "/api/v1/namespaces/default/configmaps?labelSelector=perbuck.test/run=kinds"]);
    assert!(api.list(&config_maps(), Some("default"), "perbuck.test/run=kinds").unwrap().is_empty());
}

#[test]
fn a_user_without_rights_is_told_which_one_is_missing() {
    let api = Api::connect(&context(Some("nothing"))).unwrap();
    let error = failure(api.list(&config_maps(), Some("default"), ""));
    assert!(error.kind == ErrorKind::Forbidden && error.message.contains("cannot list resource \"configmaps\""), "{error:?}");
    assert!(error.help.contains("--context nothing auth can-i --list"), "{error:?}");
    assert_eq!(failure(api.apply(&config_map("denied", &json!({})), MANAGER)).kind, ErrorKind::Forbidden);
    // A token that the server does not know.
    let text = std::fs::read_to_string(config()).unwrap();
    let start = text.find("{token: ").unwrap() + "{token: ".len();
    let token = &text[start..start + 32];
    let copy = std::env::temp_dir().join(format!("perbuck-kubernetes-{}", std::process::id()));
    std::fs::write(&copy, text.replace(token, "unknown-to-the-server")).unwrap();
    let error = Api::connect(&Context { kubeconfig: Some(copy.clone()), name: Some("nothing".to_owned()) }).unwrap_err();
    std::fs::remove_file(copy).unwrap();
    assert!(error.kind == ErrorKind::Forbidden && error.message.contains("401"), "{error:?}");
    assert!(!format!("{error:?}").contains("unknown-to-the-server"), "{error:?}");
}

#[test]
fn a_program_for_credentials_that_hangs_is_waited_for_no_longer_than_a_request() {
    let folder = std::env::temp_dir();
    let [plugin, copy] =
        ["plugin", "config"].map(|name| folder.join(format!("perbuck-kubernetes-hangs-{}-{name}", std::process::id())));
    std::fs::write(&plugin, "#!/bin/sh\nexec sleep 35\n").unwrap();
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o700)).unwrap();
    let text = std::fs::read_to_string(config()).unwrap();
    let own = config().with_file_name("plugin");
    std::fs::write(&copy, text.replace(own.to_str().unwrap(), plugin.to_str().unwrap())).unwrap();
    let start = Instant::now();
    let error = failure(Api::connect(&Context { kubeconfig: Some(copy.clone()), name: Some("plugin".to_owned()) }));
    std::fs::remove_file(plugin).unwrap();
    std::fs::remove_file(copy).unwrap();
    assert_eq!(error.kind, ErrorKind::Timeout, "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(32), "{:?}", start.elapsed());
}

/// A server that accepts connections and says nothing.
#[test]
fn a_server_that_says_nothing_is_waited_for_no_longer_than_a_connect_may_take() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    spawn(move || listener.incoming().collect::<Vec<_>>());
    let text = std::fs::read_to_string(config()).unwrap();
    let start = text.find("https://127.0.0.1:").unwrap();
    let end = start + text[start..].find('"').unwrap();
    let copy = std::env::temp_dir().join(format!("perbuck-kubernetes-silent-{}", std::process::id()));
    std::fs::write(&copy, text.replace(&text[start..end], &format!("https://127.0.0.1:{port}"))).unwrap();
    let start = Instant::now();
    let error = Api::connect(&Context { kubeconfig: Some(copy.clone()), name: None }).unwrap_err();
    std::fs::remove_file(copy).unwrap();
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[test]
fn a_download_trusts_the_certificates_of_the_system_alone() {
    let server = api().server().to_owned();
    let url = format!("{server}/version");
    if std::env::var_os("PERBUCK_TEST_TRUSTED").is_some() {
        assert!(Api::download(&url).unwrap().contains("v1.37.2"));
        assert_eq!(failure(Api::download(&format!("{server}/healthz/none"))).kind, ErrorKind::Other);
        return;
    }
    let error = failure(Api::download(&url));
    assert!(error.kind == ErrorKind::Unreachable && error.message.contains("certificate"), "{error:?}");
    // The same test in a process whose system trusts the server.
    let trusted = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_download_trusts_the_certificates_of_the_system_alone"])
        .env("PERBUCK_TEST_TRUSTED", "1")
        .env("SSL_CERT_FILE", config().with_file_name("ca.crt"))
        .output()
        .unwrap();
    assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stdout));
}
